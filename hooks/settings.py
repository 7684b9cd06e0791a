"""The ``extra: lapsheet:`` table of mkdocs.yml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.errors import LapsheetError

_KEYS = {"artifacts", "cache", "local"}
_OFF = (False, "off", "0", 0)


@dataclass(frozen=True)
class Settings:
    """``artifacts`` is the folder of runs and pins; ``local`` whether unpinned runs are shown too.

    ``cache`` is the folder for what the next build need not make again; None for none.
    """

    artifacts: Path
    local: bool
    cache: Path | None = None


def read_settings(extra: Mapping[str, Any], config_file: str | None, *, serving: bool) -> Settings:
    """The settings, from MkDocs' ``extra`` mapping.

    Relative folders are relative to mkdocs.yml. Where ``local`` is not set, unpinned runs are shown in
    ``mkdocs serve`` only. Raises LapsheetError naming the key.
    """
    table = extra.get("lapsheet") or {}
    if not isinstance(table, Mapping):
        raise LapsheetError("mkdocs.yml: extra.lapsheet must be a table")
    unknown = sorted(set(table) - _KEYS)
    if unknown:
        raise LapsheetError(
            f"mkdocs.yml: extra.lapsheet: unknown key {unknown[0]!r}", f"Known: {', '.join(sorted(_KEYS))}."
        )
    artifacts = table.get("artifacts", "artifacts")
    if not isinstance(artifacts, str) or not artifacts:
        raise LapsheetError(f"mkdocs.yml: extra.lapsheet.artifacts must be a folder, not {artifacts!r}")
    local = table.get("local")
    if local is not None and local not in (0, 1):
        raise LapsheetError(
            f"extra.lapsheet.local (LAPSHEET_LOCAL) must be 0 or 1, not {local!r}",
            "Leave it out to show unpinned runs in `mkdocs serve` only.",
        )
    cache = table.get("cache", ".cache/lapsheet")
    if cache not in _OFF and (not isinstance(cache, str) or not cache):
        raise LapsheetError(
            f"extra.lapsheet.cache (LAPSHEET_CACHE) must be a folder or off, not {cache!r}",
            "Leave it out to keep the cache in .cache/lapsheet.",
        )
    base = Path(config_file).parent if config_file else Path()
    return Settings(
        artifacts=base / artifacts,
        local=serving if local is None else bool(local),
        cache=None if cache in _OFF else base / cache,
    )
