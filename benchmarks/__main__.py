"""``python -m benchmarks [NAME …]``: Lapsheet's own speed, each figure against its limit.

Each benchmark prints what it measured, and last one line ``NAME ratio R limit L``. Exits 1 if a limit is
exceeded, 2 if something could not be measured.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from benchmarks import capture_overhead, page_load, site_build, site_serve
from benchmarks.figure import Figure
from runner.errors import LapsheetError

BENCHMARKS: dict[str, Callable[[], Figure]] = {
    "site-page": site_build.page_cost,
    "site-cached": site_build.cached_cost,
    "site-linear": site_build.linear_cost,
    "site-cached-linear": site_build.cached_linear_cost,
    "site-serve": site_serve.serve_cost,
    "site-start": site_build.start_cost,
    "page-charts": page_load.charts_after_text,
    "page-blocking": page_load.blocking,
    "page-lighthouse": page_load.lighthouse_score,
    "capture-wall": capture_overhead.wall_cost,
    "capture-cpu": capture_overhead.runner_cpu,
}


def main(arguments: list[str] | None = None) -> int:
    """Run the named benchmarks, or all; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Lapsheet's own speed.")
    parser.add_argument(
        "names", metavar="NAME", nargs="*", help=f"one of: {', '.join(BENCHMARKS)}; default all"
    )
    names = parser.parse_args(arguments).names or list(BENCHMARKS)
    if unknown := [name for name in names if name not in BENCHMARKS]:
        parser.error(f"no benchmark {unknown[0]!r}; there are: {', '.join(BENCHMARKS)}")
    status = 0
    for name in names:
        try:
            figure = BENCHMARKS[name]()
        except LapsheetError as error:
            print(f"{name}: {error}", file=sys.stderr)
            status = 2
            continue
        print(figure.line(), flush=True)
        if not figure.kept:
            status = status or 1
    return status


if __name__ == "__main__":
    sys.exit(main())
