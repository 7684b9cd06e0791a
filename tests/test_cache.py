"""What builds keep for the next one: sound entries only, and never another site than a cold build's."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sites import EVIL, ROOT, Builder, BuildFailed, pin
from suite_runs import write_others
from test_site import broken

from benchmarks.synthetic import flawed, write_run
from hooks import cache as caching
from hooks import loading, pages, resolving
from hooks.cache import Cache
from runner import store
from runner.model import Run, Sample

DAY = 86400


@pytest.fixture
def builder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Builder:
    return Builder(tmp_path, monkeypatch)


def evil(run: Run, samples: list[Sample]) -> tuple[Run, list[Sample]]:
    labels = {kind: {name: EVIL + name for name in names} for kind, names in run.labels.items()}
    return run.model_copy(update={"title": EVIL, "labels": labels}), samples


def fresh_process() -> None:
    """Forget what a new process would not know."""
    loading._views.clear()


def tree_of(site: Path) -> dict[str, str]:
    """Every file of a site, links followed → its hash; compressed files tell the time of their making."""
    return {
        str(path.relative_to(site)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(site.rglob("*"))
        if path.is_file() and path.suffix != ".gz"
    }


# --- entries ----------------------------------------------------------------------------------------


def entry(folder: Path) -> Path:
    (path,) = [path for path in folder.iterdir() if not path.name.startswith(".")]
    return path


def test_entry_is_what_was_put(tmp_path: Path) -> None:
    parts = [b"", b"one\n", bytes(range(256)), b""]
    Cache(tmp_path / "c").put("page", "key", parts)
    again = Cache(tmp_path / "c")
    assert again.has("page", "key")
    assert again.get("page", "key") == parts
    assert again.get("page", "other") is None
    assert again.get("head", "key") is None
    assert [path.name for path in (tmp_path / "c").iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("how", ["empty", "torn", "byte", "size", "foreign", "folder"])
def test_entry_that_is_not_sound_is_none(tmp_path: Path, how: str) -> None:
    cache = Cache(tmp_path)
    cache.put("page", "key", [b"content", b"more"])
    path = entry(tmp_path)
    data = path.read_bytes()
    if how == "foreign":  # sound, but another entry's
        cache.put("page", "other", [b"content", b"more"])
        other = next(p for p in tmp_path.iterdir() if p != path)
        other.replace(path)
    elif how == "folder":
        path.unlink()
        path.mkdir()
    else:
        path.write_bytes(
            {
                "empty": b"",
                "torn": data[:-3],
                "byte": data.replace(b"content", b"contenT"),
                "size": data.replace(b"[7,4]", b"[4,7]"),
            }[how]
        )
    assert Cache(tmp_path).get("page", "key") is None


def test_other_code_has_other_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Cache(tmp_path).put("page", "key", [b"old"])
    monkeypatch.setattr(caching, "code", lambda: "edited")
    assert Cache(tmp_path).get("page", "key") is None


def test_code_is_all_of_hooks_and_runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("hooks", "runner"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(caching, "_ROOT", tmp_path)
    seen = {caching.code.__wrapped__()}
    for name in ("hooks/markup.py", "runner/frames.py", "runner/importers/published/aiohttp-asgi.toml"):
        with (tmp_path / name).open("a") as file:
            file.write("\n")
        seen.add(caching.code.__wrapped__())
    monkeypatch.setattr(caching, "_version", lambda name: "9.9")
    seen.add(caching.code.__wrapped__())
    assert len(seen) == 5


def test_without_a_folder_nothing_is_kept(tmp_path: Path) -> None:
    cache = Cache(None)
    cache.put("page", "key", [b"content"])
    cache.prune()
    assert cache.get("page", "key") is None
    assert not cache.has("page", "key")


def test_what_cannot_be_stored_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = Cache(tmp_path / "file")
    cache.put("page", "key", [b"content"])
    cache.prune()
    assert cache.get("page", "key") is None


def test_pruning_spares_what_is_used_young_or_not_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = Cache(tmp_path)
    for name in ("used", "young", "old"):
        cache.put("page", name, [name.encode()])
    (tmp_path / "notes.txt").write_text("mine")
    old = time.time() - 15 * DAY
    for path in tmp_path.iterdir():
        if b"young" not in path.read_bytes():
            os.utime(path, (old, old))
    later = Cache(tmp_path)
    assert later.get("page", "used") == [b"used"]
    later.prune()
    assert later.get("page", "old") is None
    assert later.get("page", "young") == [b"young"]
    assert (tmp_path / "notes.txt").exists()
    used = next(path for path in tmp_path.iterdir() if b"used" in path.read_bytes())
    assert time.time() - used.stat().st_mtime < DAY
    monkeypatch.setattr(caching, "_UNUSED_BYTES", 0)
    last = Cache(tmp_path)
    assert last.get("page", "used") == [b"used"]
    last.prune()
    assert last.get("page", "young") is None
    assert last.get("page", "used") == [b"used"]


# --- sites ------------------------------------------------------------------------------------------


@pytest.fixture
def runs(builder: Builder) -> Builder:
    """Pinned runs with flaws and with names of every kind, and two local ones."""
    write_run(builder.artifacts, "ref-flawed", servers=6, mutate=flawed)
    write_run(builder.artifacts, "rest-evil", servers=3, repeats=2, mutate=evil)
    write_run(builder.artifacts, "rest-local", servers=2, workloads=1, raw=False)
    pin(builder.artifacts, rest="ref-flawed", **write_others(builder.artifacts))
    return builder


def cold(builder: Builder) -> dict[str, str]:
    fresh_process()
    return tree_of(builder.build(local=True))


def warm(builder: Builder) -> dict[str, str]:
    fresh_process()
    return tree_of(builder.build(local=True, cache=builder.folder / "cache"))


def test_site_from_the_cache_is_the_cold_one_byte_for_byte(runs: Builder) -> None:
    expected = cold(runs)
    assert len(expected) > 100
    assert warm(runs) == expected  # nothing in the cache yet
    assert warm(runs) == expected
    for path in (runs.folder / "cache").iterdir():
        path.write_bytes(path.read_bytes()[:-1])
    assert warm(runs) == expected


def test_changed_removed_and_pinned_again_is_as_built_anew(runs: Builder) -> None:
    warm(runs)
    shutil.rmtree(runs.artifacts / "rest-local")
    write_run(runs.artifacts, "rest-local", servers=3, workloads=1, raw=False)
    assert warm(runs) == cold(runs)
    shutil.rmtree(runs.artifacts / "rest-evil")
    assert warm(runs) == cold(runs)
    pin(runs.artifacts, rest="ref-flawed", other="rest-local", **write_others(runs.folder / "more"))
    for run in (runs.folder / "more").iterdir():
        shutil.rmtree(runs.artifacts / run.name, ignore_errors=True)
        shutil.copytree(run, runs.artifacts / run.name)
    assert warm(runs) == cold(runs)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The runs and pages that are made, and not taken from the cache, by id and name."""
    names: list[str] = []
    render, resolve = pages._render, resolving.resolve

    def rendered(page: object, entry: object) -> object:
        names.append(entry.view.id)
        return render(page, entry)

    def resolved(markdown: str, functions: object, source: str, first: int) -> str:
        names.append(source)
        return resolve(markdown, functions, source, first)

    monkeypatch.setattr(pages, "_render", rendered)
    monkeypatch.setattr(resolving, "resolve", resolved)
    return names


PAGES = {
    "one.md": '# One\n\n{{ table("rest") }}\n',
    "two.md": '# Two\n\n{{ table("other") }}\n',
    "all.md": "# All\n\n{{ runs() }}\n",
}


def test_only_what_depends_on_a_change_is_made_again(builder: Builder, made: list[str]) -> None:
    for name, seed in [("ref-a", 1), ("ref-b", 2), ("rest-c", 3)]:
        write_run(builder.artifacts, name, servers=2, workloads=1, raw=False, seed=seed)
    pin(builder.artifacts, rest="ref-a", other="ref-b")
    cache = builder.folder / "cache"

    def build(sources: dict[str, str] = PAGES) -> set[str]:
        fresh_process()
        made.clear()
        builder.build(local=True, pages=sources, cache=cache)
        assert len(made) == len(set(made))
        return set(made)

    assert build() == {"one.md", "two.md", "all.md", "ref-a", "ref-b", "rest-c"}
    assert build() == set()
    shutil.rmtree(builder.artifacts / "rest-c")
    write_run(builder.artifacts, "rest-c", servers=2, workloads=1, raw=False, seed=4)
    assert build() == {"all.md", "rest-c"}
    shutil.rmtree(builder.artifacts / "ref-b")
    write_run(builder.artifacts, "ref-b", servers=2, workloads=1, raw=False, seed=5)
    pin(builder.artifacts, rest="ref-a", other="ref-b")
    assert build() == {"two.md", "all.md", "ref-b"}
    assert build(PAGES | {"one.md": PAGES["one.md"] + "\nMore.\n"}) == {"one.md"}
    pin(builder.artifacts, rest="ref-b", other="ref-a")
    assert build() == {"one.md", "two.md", "all.md", "ref-a", "ref-b"}
    # A server of a new family takes the hue of one that comes after it, and only of that.
    write_run(builder.artifacts, "rest-d", servers=5, workloads=1, raw=False)
    assert build() == {"all.md", "rest-d"}


def test_unchanged_site_needs_no_pandas_and_is_the_same(tmp_path: Path) -> None:
    """This project's own site, as its user types it, each build in a new process."""
    code = (
        "import sys, runpy\n"
        "sys.argv = ['mkdocs', 'build', '-q', '--strict', '-d', sys.argv[1]]\n"
        "try:\n    runpy.run_module('mkdocs', run_name='__main__')\n"
        "except SystemExit as end:\n    assert not end.code, end.code\n"
        "names = 'pandas numpy pyarrow plotly'.split()\n"
        "print('IMPORTED', [name for name in names if name in sys.modules])\n"
    )
    # Of its own code: what is edited meanwhile must not count as changed between the two.
    for name in ("hooks", "runner", "site_src", "overrides"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    (tmp_path / "artifacts").symlink_to(ROOT / "artifacts")

    def build(site: str) -> str:
        result = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / site)],
            env=os.environ
            | {"LAPSHEET_CACHE": str(tmp_path / "cache"), "LAPSHEET_LOCAL": "0"}
            | {"PYTHONPATH": str(tmp_path)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert result.returncode == 0, result.stderr
        return result.stdout

    assert "pandas" in build("cold")
    assert "IMPORTED []" in build("warm")
    assert len(tree_of(tmp_path / "cold")) > 1000
    assert tree_of(tmp_path / "warm") == tree_of(tmp_path / "cold")


@pytest.mark.parametrize(
    "what",
    [
        *("folder", "manifest", "manifest edited", "version", "samples pointer", "samples byte"),
        *("samples torn", "samples missing", "raw size", "raw byte", "raw pointer", "raw missing"),
        *("incomplete", "path outside", "pins"),
    ],
)
def test_broken_pinned_run_fails_a_warm_build_too(builder: Builder, what: str) -> None:
    write_run(builder.artifacts, "ref-run", servers=1, workloads=1, repeats=2)
    pin(builder.artifacts, rest="ref-run")
    cache = builder.folder / "cache"
    builder.build(pages={"index.md": "# Page\n"}, cache=cache)
    pattern = broken(builder, what)
    fresh_process()
    with pytest.raises(BuildFailed) as caught:
        builder.build(pages={"index.md": "# Page\n"}, cache=cache)
    assert re.search(pattern, str(caught.value), re.DOTALL), str(caught.value)


def test_false_claim_fails_a_warm_build_too(builder: Builder) -> None:
    write_run(builder.artifacts, "ref-run", servers=4, workloads=1)
    pin(builder.artifacts, rest="ref-run")
    claim = '# Page\n\n{{ claim("rest", "faster", server="granian", than="aiohttp-asgi-rloop") }}\n'
    cache = builder.folder / "cache"
    builder.build(pages={"index.md": claim}, cache=cache)
    shutil.rmtree(builder.artifacts / "ref-run")

    def swapped(run: Run, samples: list[Sample]) -> tuple[Run, list[Sample]]:
        names = {"granian/": "aiohttp-asgi-rloop/", "aiohttp-asgi-rloop/": "granian/"}
        of = {
            sample.case: next((sample.case.replace(a, b) for a, b in names.items() if a in sample.case), "")
            for sample in samples
        }
        known = {case.id for case in run.cases}
        return run, [s.model_copy(update={"case": of[s.case]}) if of[s.case] in known else s for s in samples]

    write_run(builder.artifacts, "ref-run", servers=4, workloads=1, mutate=swapped)
    pin(builder.artifacts, rest="ref-run")
    fresh_process()
    with pytest.raises(BuildFailed, match=r"index\.md, line 3: .*unsupported claim"):
        builder.build(pages={"index.md": claim}, cache=cache)


def test_run_that_changes_while_it_is_built_is_told(
    builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(builder.artifacts, "ref-run", servers=2, workloads=1, raw=False)
    pin(builder.artifacts, rest="ref-run")
    cache = builder.folder / "cache"
    builder.build(pages={"index.md": "# Page\n"}, cache=cache)
    fresh_process()
    samples = builder.artifacts / "ref-run" / store.SAMPLES
    real = loading.load

    def load(*arguments: object) -> object:
        found = real(*arguments)
        samples.write_bytes(samples.read_bytes().replace(b'"repeat":2', b'"repeat":3', 1))
        return found

    monkeypatch.setattr("hooks.catalogue.load", load)
    with pytest.raises(BuildFailed, match="changed while the site was built"):
        builder.build(pages={"index.md": '# Page\n\n{{ table("rest") }}\n'}, cache=cache)


def test_frame_is_what_the_theme_would_have_made(builder: Builder) -> None:
    """The second page of a kind is set into the frame of the first; alone, it is rendered itself."""
    for name in ("rest-a", "rest-b"):
        write_run(builder.artifacts, name, servers=2, workloads=1, raw=False)
    sources = {"index.md": "# Page\n"}
    builder.build(local=True, pages=sources)
    both = {name: builder.text(f"runs/{name}/index.html") for name in ("rest-a", "rest-b")}
    for name, other in (("rest-a", "rest-b"), ("rest-b", "rest-a")):
        (builder.artifacts / other).rename(builder.folder / other)
        builder.build(local=True, pages=sources)
        assert builder.text(f"runs/{name}/index.html") == both[name]
        assert f"<title>{name} - " in both[name]
        (builder.folder / other).rename(builder.artifacts / other)


def test_setting_of_the_cache_is_checked(builder: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BuildFailed, match=r"LAPSHEET_CACHE\) must be a folder or off, not 7"):
        builder.build(pages={"index.md": "# Page\n"}, cache=Path("7"))
