"""Process trees with real processes: nothing outlives its guardian."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from runner.errors import ServerError
from runner.process import ProcessTree, Spec

FAMILY = """
    import os, sys, time
    for _ in range(3):
        if os.fork() == 0:
            if {detach}:
                os.setsid()
            time.sleep(300)
            os._exit(0)
    print("ready", flush=True)
    time.sleep(300)
"""

STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(300)
"""


def spec(tmp_path: Path, code: str, cpus: tuple[int, ...] = ()) -> Spec:
    return Spec(
        argv=[sys.executable, "-c", textwrap.dedent(code)],
        cwd=tmp_path,
        stdout=tmp_path / "out.log",
        stderr=tmp_path / "err.log",
        cpus=cpus,
    )


def eventually(condition, timeout: float = 10.0) -> bool:
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())


def running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("detach", [False, True])
def test_stop_ends_the_whole_tree(tmp_path: Path, detach: bool) -> None:
    with ProcessTree(spec(tmp_path, FAMILY.format(detach=detach))) as tree:
        assert eventually(lambda: len(tree.pids()) == 4)
        pids = tree.pids()
        stopped = tree.stop(0.5)
    assert not [pid for pid in pids if running(pid)]
    # Workers in a session of their own never see the group's SIGTERM and have to be killed.
    assert len(stopped.killed) == (3 if detach else 0)


def test_orphans_stay_in_the_tree_when_their_parent_is_killed(tmp_path: Path) -> None:
    with ProcessTree(spec(tmp_path, FAMILY.format(detach=False))) as tree:
        assert eventually(lambda: len(tree.pids()) == 4)
        workers = tree.pids() - {tree.pid}
        os.kill(tree.pid, signal.SIGKILL)
        assert tree.wait(5.0) == -signal.SIGKILL
        assert tree.pids() == workers
    assert not [pid for pid in workers if running(pid)]


def test_sigterm_ignored_is_killed_after_the_grace(tmp_path: Path) -> None:
    tree = ProcessTree(spec(tmp_path, STUBBORN))
    assert eventually(lambda: (tmp_path / "out.log").read_text() == "ready\n")
    stopped = tree.stop(0.3)
    assert stopped.killed == [tree.pid]
    assert stopped.status == -signal.SIGKILL
    assert stopped.seconds >= 0.3


def test_exit_status_and_outputs(tmp_path: Path) -> None:
    with ProcessTree(
        spec(tmp_path, "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)")
    ) as tree:
        assert tree.wait(10.0) == 7
    assert (tmp_path / "out.log").read_text() == "out\n"
    assert (tmp_path / "err.log").read_text() == "err\n"


def test_affinity_is_set_before_the_program_runs(tmp_path: Path) -> None:
    cpu = max(os.sched_getaffinity(0))
    with ProcessTree(spec(tmp_path, "import os; print(sorted(os.sched_getaffinity(0)))", (cpu,))) as tree:
        assert tree.wait(10.0) == 0
    assert (tmp_path / "out.log").read_text() == f"[{cpu}]\n"


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match=r"no-such-program.*No such file") as caught:
        ProcessTree(Spec(["no-such-program"], tmp_path, tmp_path / "o", tmp_path / "e"))
    assert caught.value.code == "start"
    assert "installed" in caught.value.hint


def test_leaving_by_an_exception_kills_at_once(tmp_path: Path) -> None:
    tree = ProcessTree(
        spec(tmp_path, "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(300)")
    )
    begin = time.monotonic()
    with pytest.raises(RuntimeError), tree:
        raise RuntimeError
    assert not running(tree.pid)
    assert time.monotonic() - begin < 5


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_a_killed_owner(tmp_path: Path, number: signal.Signals) -> None:
    """The owner is killed, the server's parent before it: the workers must go all the same."""
    owner = textwrap.dedent(f"""
        import sys, time
        from pathlib import Path
        from runner.process import ProcessTree, Spec
        here = Path({str(tmp_path)!r})
        argv = {[sys.executable, "-c", textwrap.dedent(FAMILY.format(detach=True))]!r}
        tree = ProcessTree(Spec(argv, here, here / "o", here / "e"))
        while len(tree.pids()) < 4:
            time.sleep(0.01)
        print(tree.pid, *tree.pids(), flush=True)
        time.sleep(300)
    """)
    process = subprocess.Popen([sys.executable, "-c", owner], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    parent, *pids = map(int, process.stdout.readline().split())
    assert len(pids) == 4
    os.kill(parent, signal.SIGKILL)
    process.send_signal(number)
    process.wait(10.0)
    assert eventually(lambda: not any(map(running, pids)))
    process.stdout.close()


def test_workers_that_change_parents_during_the_stop_are_not_missed(tmp_path: Path) -> None:
    """A parent dies as the stop begins: for a moment /proc shows its workers below neither parent."""
    family = FAMILY.format(detach=True).replace("range(3)", "range(12)")
    for _ in range(8):
        tree = ProcessTree(spec(tmp_path, family))
        assert eventually(lambda tree=tree: len(tree.pids()) == 13)
        pids = tree.pids()
        os.kill(tree.pid, signal.SIGKILL)
        tree.stop(0.0)
        assert not [pid for pid in pids if running(pid)]


def test_a_stop_in_progress_ends_at_once_when_the_owner_dies(tmp_path: Path) -> None:
    """A server that takes its time to stop must not outlive a runner killed meanwhile."""
    owner = textwrap.dedent(f"""
        import sys, time
        from pathlib import Path
        from runner.process import ProcessTree, Spec
        here = Path({str(tmp_path)!r})
        tree = ProcessTree(Spec({[sys.executable, "-c", STUBBORN]!r}, here, here / "o", here / "e"))
        while "ready" not in (here / "o").read_text():
            time.sleep(0.01)
        tree.begin_stop(120.0)
        print(tree.pid, flush=True)
        time.sleep(300)
    """)
    process = subprocess.Popen([sys.executable, "-c", owner], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    pid = int(process.stdout.readline())
    time.sleep(0.2)
    assert running(pid)
    process.kill()
    process.wait(10.0)
    assert eventually(lambda: not running(pid), 5.0)
    process.stdout.close()


def test_a_stop_can_be_hurried(tmp_path: Path) -> None:
    tree = ProcessTree(spec(tmp_path, STUBBORN))
    assert eventually(lambda: (tmp_path / "out.log").read_text() == "ready\n")
    tree.begin_stop(120.0)
    begin = time.monotonic()
    assert tree.stop(0.0).killed == [tree.pid]
    assert time.monotonic() - begin < 5


def test_a_killed_guardian_leaves_nothing_and_is_noticed(tmp_path: Path) -> None:
    tree = ProcessTree(spec(tmp_path, FAMILY.format(detach=False)))
    assert eventually(lambda: len(tree.pids()) == 4)
    pids = tree.pids()
    os.kill(psutil.Process(tree.pid).ppid(), signal.SIGKILL)
    assert tree.stop(1.0).killed == [tree.pid]
    assert eventually(lambda: not any(map(running, pids)))
