"""Records the folders beside this file: real outputs of each generator against the truth server.

``python tests/data/generators/record.py`` writes them anew. Each keeps what `read` needs and
``truth.json``, the server's own counters after the load.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

from truth_server import serving  # noqa: E402

from runner.generators import GENERATORS, Load  # noqa: E402

SERVERS = {
    "fixed": ["--delay", "0.02"],
    "two-mode": ["--mode", "two-mode", "--delay", "0.005"],
    "errors": ["--mode", "errors", "--delay", "0.005"],
    "aborts": ["--mode", "abort", "--delay", "0.005"],
    "hang": ["--mode", "hang", "--after", "100", "--delay", "0.005"],
    "silent": ["--mode", "hang"],
    "refused": None,
    "open": ["--mode", "stall", "--stall", "0.3", "--after", "100", "--delay", "0.005"],
}
CONNECTIONS = 10
DURATION = 1.0
RATE = 200.0


def record(name: str, case: str, server: list[str] | None) -> None:
    """One folder, ``GENERATOR-CASE``; its paths are relative, so that no machine's name is in it."""
    folder = Path(f"{name}-{case}")
    folder.mkdir(exist_ok=True)
    with serving(server or []) as truth:
        url = truth.url if server is not None else "http://127.0.0.1:9/"
        load = Load(url, CONNECTIONS, DURATION, rate=RATE if case == "open" else None)
        command = GENERATORS[name].command(load, folder)
        with (folder / command.stdout).open("wb") as stdout:
            subprocess.run(command.argv, stdout=stdout, stderr=subprocess.DEVNULL, check=True, timeout=30)
        counters = truth.identity()["truth"]
    (folder / "truth.json").write_text(json.dumps(counters, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    os.chdir(HERE)
    for generator in GENERATORS:
        for case, server in SERVERS.items():
            if (generator, case) != ("k9", "open"):
                record(generator, case, server)
