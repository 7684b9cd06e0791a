"""The runs of one build: those published under a pin, and in local mode those that are not."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hooks.cache import Cache
from hooks.hues import Style, assign
from hooks.loading import load
from hooks.near import near
from hooks.settings import Settings
from hooks.view import View
from runner import store
from runner.errors import AnalysisError, ArtifactError, LapsheetError


@dataclass(frozen=True)
class Entry:
    """A run to show. ``pins`` are the names it is published under; a local run has none."""

    view: View
    pins: tuple[str, ...] = ()
    note: str = ""

    @property
    def local(self) -> bool:
        return not self.pins

    @property
    def url(self) -> str:
        """The address of its page, from the root of the site."""
        return f"runs/{self.view.id}/"


@dataclass(frozen=True)
class Unreadable:
    """A local run that cannot be shown, and why."""

    id: str
    error: LapsheetError


class Catalogue:
    """``pinned`` by pin name in file order; ``local`` and ``unreadable`` the newest first.

    ``styles`` gives every server its hue and symbol, the same on all pages. The catalogue notes what it is
    asked for: so much, and no more, a page depends on (`asked`). Styles are no question of their own,
    because a page has none but those of the runs it asked for.
    """

    def __init__(
        self,
        artifacts: str,
        pinned: Mapping[str, Entry] | None = None,
        local: list[Entry] | None = None,
        unreadable: list[Unreadable] | None = None,
        styles: Mapping[str, Style] | None = None,
    ) -> None:
        self.artifacts = artifacts
        self.styles = dict(styles or {})
        self._pinned = dict(pinned or {})
        self._local = local or []
        self._unreadable = unreadable or []
        self._asked: set[str] = set()
        self._prints: dict[str, str] = {}

    def unasked(self) -> Catalogue:
        """The same catalogue, which nobody has asked for anything yet."""
        other = Catalogue(self.artifacts, self._pinned, self._local, self._unreadable, self.styles)
        other._prints = self._prints
        return other

    def asked(self) -> dict[str, str]:
        """Each question so far → `answer`."""
        return {question: self.answer(question) for question in sorted(self._asked)}

    def answer(self, question: str) -> str:
        """What a question is answered with, as a hash: equal where pages made of it are equal."""
        if question not in self._prints:
            kind, _, name = question.partition(" ")
            told: object = not self._pinned
            if kind == "pin":
                told = entry_key(entry, self.styles) if (entry := self._pinned.get(name)) else None
            elif kind == "published":
                told = [(name, entry_key(entry, self.styles)) for name, entry in self._pinned.items()]
            elif kind == "local":
                broken = [(item.id, item.error.message, item.error.hint) for item in self._unreadable]
                told = [entry_key(entry, self.styles) for entry in self._local], broken
            self._prints[question] = hashlib.sha256(repr(told).encode()).hexdigest()
        return self._prints[question]

    @property
    def empty(self) -> bool:
        """Whether nothing is published at all, as in a repository that has no run yet."""
        self._asked.add("empty")
        return not self._pinned

    def pin(self, name: str) -> Entry:
        """The published run of that name. Raises AnalysisError with the near matches."""
        self._asked.add(f"pin {name}")
        try:
            return self._pinned[name]
        except (KeyError, TypeError):
            raise AnalysisError(f"no pin {name!r} in {store.PINS}", near(name, self._pinned)) from None

    def published(self) -> list[Entry]:
        """The published runs, each once however many pins it has."""
        self._asked.add("published")
        return list({entry.view.id: entry for entry in self._pinned.values()}.values())

    @property
    def local(self) -> list[Entry]:
        self._asked.add("local")
        return self._local

    @property
    def unreadable(self) -> list[Unreadable]:
        self._asked.add("local")
        return self._unreadable

    def entries(self) -> Iterator[Entry]:
        """Every run that has a page."""
        yield from self.published()
        yield from self.local


def entry_key(entry: Entry, styles: Mapping[str, Style]) -> str:
    """Everything that pages show of a run: its content, how it is published, and its servers' looks."""
    looks = [(server, styles.get(server)) for server in entry.view.head.servers]
    return repr((entry.view.id, entry.view.key, entry.pins, entry.note, looks))


def read_catalogue(settings: Settings, cache: Cache) -> Catalogue:
    """The runs to show; what ``cache`` knows of them is not read again.

    Raises ArtifactError if a pinned run is missing, broken, incomplete or not the one that was pinned;
    an unpinned run that cannot be read is listed as such.
    """
    artifacts = settings.artifacts
    pins = store.read_pins(artifacts)
    pinned_ids = list(dict.fromkeys(pin.run for pin in pins.values()))
    local_ids = [i for i in store.run_ids(artifacts) if i not in set(pinned_ids)] if settings.local else []
    for name, pin in pins.items():
        if not (artifacts / pin.run / store.MANIFEST).is_file():
            raise ArtifactError(
                f"{artifacts / store.PINS}: pin {name!r}: no run {pin.run!r} in {artifacts}",
                f"Restore the folder {artifacts / pin.run}, or remove the pin.",
            )
    loaded = load(artifacts, [*pinned_ids, *local_ids], cache)
    views: dict[str, View] = {}
    for name, pin in pins.items():
        view = loaded[pin.run]
        if isinstance(view, LapsheetError):
            raise ArtifactError(f"pin {name!r}: {view.message}", view.hint) from view
        if view.manifest_sha256 != pin.sha256:
            raise ArtifactError(
                f"pin {name!r}: {artifacts / pin.run / store.MANIFEST} is not the manifest that was pinned "
                f"(SHA-256 {view.manifest_sha256}, the pin says {pin.sha256})",
                f"Restore the run folder, or pin the run as it is now in {artifacts / store.PINS}.",
            )
        if view.head.state != "complete":
            raise ArtifactError(
                f"pin {name!r}: run {pin.run!r} is {view.head.state}, not complete",
                "Complete it with `lapsheet run … --resume`, then pin it again.",
            )
        views[name] = view
    pinned = {
        name: Entry(view, tuple(other for other in pins if pins[other].run == view.id), pins[name].note)
        for name, view in views.items()
    }
    local, unreadable = _local(loaded, local_ids)
    styles = assign([entry.view for entry in [*pinned.values(), *sorted(local, key=lambda e: e.view.id)]])
    return Catalogue(str(artifacts), pinned, local, unreadable, styles)


def _local(loaded: dict[str, View | LapsheetError], ids: list[str]) -> tuple[list[Entry], list[Unreadable]]:
    """The local runs, newest first, and those that cannot be read."""
    entries: list[Entry] = []
    unreadable: list[Unreadable] = []
    for run_id in ids:
        view = loaded[run_id]
        if isinstance(view, LapsheetError):
            unreadable.append(Unreadable(run_id, view))
        else:
            entries.append(Entry(view))
    entries.sort(key=lambda entry: (entry.view.head.created, entry.view.id), reverse=True)
    return entries, unreadable
