"""Lapsheet's runner: captures pinned benchmark runs and keeps their evidence."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("lapsheet")
except PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0+unknown"
