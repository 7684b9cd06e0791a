"""Reading /proc: real processes, awkward names, races."""

from __future__ import annotations

import gzip
import itertools
import os
import platform
import re
import shutil
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner import proc

SLEEP = "import time; time.sleep(20)"
CHILD = f"""
import subprocess, sys
subprocess.Popen([sys.executable, "-c", {SLEEP!r}])
print("up", flush=True)
{SLEEP}
"""
FAMILY = f"""
import subprocess, sys
subprocess.Popen([sys.executable, "-c", {CHILD!r}])
{SLEEP}
"""


@pytest.fixture
def family() -> Iterator[subprocess.Popen[str]]:
    """A process with a child and a grandchild; all of them end by themselves after 20 s."""
    process = subprocess.Popen([sys.executable, "-c", FAMILY], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        yield process
    finally:
        for pid in reversed(proc.tree(process.pid)):
            os.kill(pid, 9)
        process.communicate()


def test_a_tree_has_all_descendants_parents_first(family: subprocess.Popen[str]) -> None:
    tree = proc.tree(family.pid)
    assert len(tree) == 3
    assert tree[0] == family.pid
    for parent, child in itertools.pairwise(tree):
        stat = Path(f"/proc/{child}/stat").read_text()
        assert int(stat.rpartition(")")[2].split()[1]) == parent
    assert set(tree) <= set(proc.tree(os.getpid()))


def test_children_of_other_threads_belong_to_the_tree() -> None:
    started: list[subprocess.Popen[bytes]] = []
    finish = threading.Event()

    def start() -> None:
        started.append(subprocess.Popen([sys.executable, "-c", SLEEP]))
        finish.wait(10)

    thread = threading.Thread(target=start)
    thread.start()
    while not started:
        time.sleep(0.01)
    try:
        assert started[0].pid in proc.tree(os.getpid())
    finally:
        started[0].kill()
        started[0].wait()
        finish.set()
        thread.join()


def test_a_kernel_without_children_files_is_read_the_slow_way(
    family: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fast, read = proc.tree(family.pid), proc._read

    def without(path: str) -> bytes:
        if path.endswith("/children"):
            raise FileNotFoundError(path)
        return read(path)

    monkeypatch.setattr(proc, "_read", without)
    assert proc.tree(family.pid) == fast


def test_what_is_gone_is_empty_or_none() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    pid = process.pid
    assert proc.tree(pid) == []
    assert proc.threads(pid) == []
    assert proc.children(pid) == []
    assert proc.affinities([pid]) == {}
    assert proc.affinity(pid) is None
    assert proc.thread_time(pid, pid) is None
    assert proc.process_time(pid) is None
    assert proc.started(pid, pid) == 0.0


def test_affinities_are_of_every_thread() -> None:
    cpus = sorted(os.sched_getaffinity(0))
    code = """
        import os, threading, time
        def pin():
            os.sched_setaffinity(threading.get_native_id(), {%d})
            print("up", flush=True)
            time.sleep(20)
        threading.Thread(target=pin, daemon=True).start()
        time.sleep(20)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code % cpus[-1])], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        found = proc.affinities([process.pid])
        assert found.pop(process.pid) == cpus
        assert list(found.values()) == [[cpus[-1]]]
    finally:
        process.kill()
        process.communicate()


def test_a_process_name_with_spaces_and_brackets(tmp_path: Path) -> None:
    program = tmp_path / "a) 7 (b c"
    shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    process = subprocess.Popen([program, "20"])
    try:
        time.sleep(0.2)
        found = proc.process_time(process.pid)
        assert found is not None
        assert before - 2 * proc.TICK <= found.started <= time.clock_gettime(time.CLOCK_BOOTTIME)
        assert found.started == proc.started(process.pid, process.pid)
        assert 0 <= found.own < 0.2
        assert found.reaped == 0
    finally:
        process.kill()
        process.wait()


def test_times_agree_with_the_process_itself() -> None:
    code = """
        import threading, time
        def burn():
            while time.thread_time() < 0.15: pass
        burn()
        for _ in range(2):
            thread = threading.Thread(target=burn); thread.start(); thread.join()
        print(time.process_time(), flush=True)
        time.sleep(20)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        truth = float(process.stdout.readline())
        found, main = proc.process_time(process.pid), proc.thread_time(process.pid, process.pid)
        assert found is not None
        assert main is not None
        assert found.own == pytest.approx(truth, abs=0.02)
        # The two ended threads are in the process's time and in no thread's.
        assert found.own - main == pytest.approx(0.3, abs=0.03)
    finally:
        process.kill()
        process.communicate()
    me = proc.process_time(os.getpid())
    assert me is not None
    assert me.reaped > 0.4


def test_cpu_clocks_run_with_the_wall_clock() -> None:
    before, began = proc.cpu_times(), time.monotonic()
    time.sleep(0.5)
    after, window = proc.cpu_times(), time.monotonic() - began
    assert set(before) >= os.sched_getaffinity(0)
    for cpu, start in before.items():
        end = after[cpu]
        assert -0.03 <= end.idle - start.idle <= window + 0.03
        assert end.steal >= start.steal
        assert end.interrupts >= start.interrupts
        assert end.ticked >= start.ticked


def test_fields_of_the_cpu_clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = int(1 / proc.TICK)
    whole = [tenfold * ticks for tenfold in (1, 2, 3, 40, 5, 6, 7, 8, 9, 10)]
    text = f"cpu  9 9 9 9\ncpu3 {' '.join(map(str, whole))}\ncpu12 {ticks} 0 0 {ticks}\nintr 5 cpu9\n"
    monkeypatch.setattr(proc, "_read", lambda path: text.encode())
    # user nice system idle iowait irq softirq steal, and guest time that user and nice already hold
    assert proc.cpu_times() == {
        3: proc.CpuTimes(idle=45.0, steal=8.0, interrupts=13.0, ticked=72.0),
        12: proc.CpuTimes(idle=1.0, steal=0.0, interrupts=0.0, ticked=2.0),
    }


def kernel_config() -> str:
    """The kernel's build configuration, empty where it is not published."""
    packed = Path("/proc/config.gz")
    if packed.exists():
        return gzip.decompress(packed.read_bytes()).decode()
    plain = Path(f"/boot/config-{platform.release()}")
    return plain.read_text() if plain.exists() else ""


def test_who_is_charged_for_interrupts_is_what_the_kernel_was_built_for() -> None:
    proc.interrupts_charged.cache_clear()
    config = kernel_config()
    if not config:
        # No truth to compare with: at least two measurements must agree.
        first = proc.interrupts_charged()
        proc.interrupts_charged.cache_clear()
        assert proc.interrupts_charged() == first
        return
    built = re.search(r"^CONFIG_IRQ_TIME_ACCOUNTING=y$", config, re.M) is not None
    # A kernel built for it still needs a clock good enough, so that only one direction is certain.
    assert proc.interrupts_charged() or built


def test_time_missing_from_the_scheduler_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    scheduled = proc._scheduled
    monkeypatch.setattr(proc, "_scheduled", lambda: 0.8 * scheduled())
    assert not proc.interrupts_charged.__wrapped__()
