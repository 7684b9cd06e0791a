"""The runs of one build: those published under a pin, and in local mode those that are not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

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


@dataclass(frozen=True)
class Catalogue:
    """``pinned`` by pin name in file order; ``local`` and ``unreadable`` the newest first.

    ``styles`` gives every server its hue and symbol, the same on all pages.
    """

    artifacts: str
    pinned: dict[str, Entry] = field(default_factory=dict)
    local: list[Entry] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)
    styles: dict[str, Style] = field(default_factory=dict)

    @cached_property
    def palette(self) -> str:
        """All styles as one text, for what was rendered with them."""
        return str(self.styles)

    @property
    def empty(self) -> bool:
        """Whether nothing is published at all, as in a repository that has no run yet."""
        return not self.pinned

    def pin(self, name: str) -> Entry:
        """The published run of that name. Raises AnalysisError with the near matches."""
        try:
            return self.pinned[name]
        except (KeyError, TypeError):
            raise AnalysisError(f"no pin {name!r} in {store.PINS}", near(name, self.pinned)) from None

    def published(self) -> list[Entry]:
        """The published runs, each once however many pins it has."""
        return list({entry.view.id: entry for entry in self.pinned.values()}.values())

    def entries(self) -> Iterator[Entry]:
        """Every run that has a page."""
        yield from self.published()
        yield from self.local


def read_catalogue(settings: Settings) -> Catalogue:
    """The runs to show.

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
    loaded = load(artifacts, [*pinned_ids, *local_ids])
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
        if view.run.state != "complete":
            raise ArtifactError(
                f"pin {name!r}: run {pin.run!r} is {view.run.state}, not complete",
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
    entries.sort(key=lambda entry: (entry.view.run.created, entry.view.id), reverse=True)
    return entries, unreadable
