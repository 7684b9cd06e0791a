"""Where a run's page and its files are on the site, from the site's root."""

from __future__ import annotations

from hooks.view import View


def folder(view: View) -> str:
    """Where a run's page and its exports are."""
    return f"runs/{view.id}/"


def evidence(view: View) -> str:
    """Where the run's own files are, as in its folder."""
    return f"{folder(view)}files/"


def receipts(view: View) -> str:
    """The script that brings the run's manifest and samples to its receipts."""
    # Named by what it holds, so that no browser shows yesterday's samples of a run that goes on.
    return f"{folder(view)}receipts-{view.key[:12]}.js"
