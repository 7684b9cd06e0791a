"""Runs that were changed after they were written, for what proves runs to find out or to bear."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from benchmarks.synthetic import CONNECTIONS, DURATION
from runner import store
from runner.generators import by_name
from runner.generators.base import Load
from runner.generators.reading import write_load
from runner.model import FileEntry, Sample


def hashed(path: str, data: bytes) -> FileEntry:
    return FileEntry(path=path, size=len(data), sha256=hashlib.sha256(data).hexdigest())


def rewrite(folder: Path, change: Callable[[Sample], Sample]) -> None:
    """Change the stored samples of a run whose hashes all follow, as somebody who cheats would."""
    stored = store.read(folder)
    samples = [change(sample) for sample in stored.samples]
    lines = b"".join(sample.model_dump_json(exclude_none=True).encode() + b"\n" for sample in samples)
    (folder / store.SAMPLES).write_bytes(lines)
    files = [entry for sample in samples for entry in sample.raw] + [hashed(store.SAMPLES, lines)]
    run = stored.run.model_copy(update={"files": files})
    (folder / store.MANIFEST).write_bytes(run.model_dump_json(exclude_none=True).encode())


def with_raw(folder: Path, sample: Sample, name: str, data: bytes) -> Sample:
    """The sample with another content of one of its raw files, and its hash."""
    path = f"{store.RAW}/{sample.order:04d}/{name}"
    (folder / path).write_bytes(data)
    kept = [entry for entry in sample.raw if entry.path != path]
    return sample.model_copy(update={"raw": [*kept, hashed(path, data)]})


def k9_shaped(folder: Path) -> None:
    """Give a run the files that k9 writes, for figures that k9 would have reported."""

    def change(sample: Sample) -> Sample:
        metrics, ok = sample.metrics, sample.counts["ok"]
        window = ok / metrics["rps"]
        names = {"mean": "avg", "p50": "med", "p75": "p(75)", "p90": "p(90)", "p95": "p(95)"}
        names |= {"p99": "p(99)", "p999": "p(99.9)", "max": "max"}
        summary = {
            "http_reqs": {"count": ok, "rate": ok / window},
            "http_reqs{status:0}": {"count": 0},
            "http_reqs{status:200}": {"count": ok - 5},
            "http_reqs{status:204}": {"count": 5},
            "http_req_duration": {name: metrics[key] * 1e3 for key, name in names.items()},
        }
        raw = folder / store.RAW / f"{sample.order:04d}"
        (raw / "oha.json").unlink()
        write_load(raw, Load("http://127.0.0.1:8000/", CONNECTIONS, DURATION, payload=2048))
        (raw / "k9-summary.json").write_text(json.dumps({"metrics": summary}))
        (raw / "k9.txt").write_text(f"running (00m05.0s), 000/100 VUs, {ok} complete and 100 interrupted\n")
        raws = [hashed(f"raw/{raw.name}/{file.name}", file.read_bytes()) for file in sorted(raw.iterdir())]
        again = by_name("k9").read(raw).metrics
        return sample.model_copy(update={"metrics": again, "raw": raws})

    rewrite(folder, change)
    manifest = json.loads((folder / store.MANIFEST).read_text())
    manifest["generator"]["name"] = "k9"
    (folder / store.MANIFEST).write_text(json.dumps(manifest))


def unfinished(folder: Path) -> None:
    """As a running capture leaves its manifest: without the list of files."""
    manifest = json.loads((folder / store.MANIFEST).read_text())
    manifest |= {"state": "running", "files": []}
    (folder / store.MANIFEST).write_text(json.dumps(manifest))


def disagree(folder: Path, path: str) -> None:
    """Let the manifest list another hash for a file than samples.jsonl does."""
    manifest = json.loads((folder / store.MANIFEST).read_text())
    (entry,) = (entry for entry in manifest["files"] if entry["path"] == path)
    entry["sha256"] = "a" * 64
    (folder / store.MANIFEST).write_text(json.dumps(manifest))
