"""Lapsheet's runner: captures pinned benchmark runs and keeps their evidence."""


def __getattr__(name: str) -> str:
    """``__version__``, looked up when it is asked for: importing the package must cost nothing."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("lapsheet")
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "0+unknown"
