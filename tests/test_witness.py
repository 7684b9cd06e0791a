"""The utilisation witness, held against processes that know what they used."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from runner import proc, witness
from runner.model import CpuSetWitness
from runner.witness import Witness, foreign

CPUS = sorted(os.sched_getaffinity(0))
FIRST, LAST = CPUS[0], CPUS[-1]

# Busy for so many seconds of wall time on one CPU, then says what CPU time that was.
SPIN = """
    import os, sys, time
    os.sched_setaffinity(0, {int(sys.argv[1])})
    print("up", flush=True)
    end = time.monotonic() + float(sys.argv[2])
    while time.monotonic() < end: pass
    print(time.process_time(), flush=True)
    time.sleep(float(sys.argv[3]))
"""


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    """Start Python code that says when it is up."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


@contextmanager
def stranger(cpu: int, seconds: float) -> Iterator[int]:
    """A busy process outside this process's tree: its parent ends at once."""
    code = f"""
        import os, time
        if os.fork():
            os._exit(0)
        os.setsid()
        os.sched_setaffinity(0, {{{cpu}}})
        print(os.getpid(), flush=True)
        end = time.monotonic() + {seconds}
        while time.monotonic() < end: pass
    """
    launcher = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True
    )
    assert launcher.stdout is not None
    pid = int(launcher.stdout.readline())
    launcher.wait()
    launcher.stdout.close()
    try:
        yield pid
    finally:
        # It is a child of init or of a subreaper: not ours to wait for.
        if proc.started(pid, pid):
            os.kill(pid, signal.SIGKILL)


def pids_of(process: subprocess.Popen[str]) -> Callable[[], set[int]]:
    return lambda: set(proc.tree(process.pid))


def used(pid: int) -> float:
    found = proc.process_time(pid)
    assert found is not None
    return found.own


def test_a_busy_loop_of_ours_is_own_and_not_foreign() -> None:
    process = start(SPIN, FIRST, 5, 0)
    try:
        observer = Witness({"server": ([FIRST], pids_of(process))})
        before, began = used(process.pid), time.monotonic()
        observer.start()
        time.sleep(1.0)
        found = observer.stop()["server"]
        truth = (used(process.pid) - before) / (time.monotonic() - began)
    finally:
        end(process)
    assert found.cpus == [FIRST]
    assert found.threads == 1
    assert found.busiest_thread == pytest.approx(truth, abs=0.05)
    assert found.own == pytest.approx(truth, abs=0.05)
    assert found.busy > 0.95
    assert found.busiest_cpu == found.busy
    # Whatever the machine does besides, what is busy and not ours is foreign.
    assert found.foreign == pytest.approx(max(found.steal, found.busy - found.own), abs=0.01)


def test_a_stranger_on_the_same_cpu_is_foreign_by_its_share() -> None:
    with stranger(FIRST, 6) as pid:
        process = start(SPIN, FIRST, 5, 0)
        try:
            observer = Witness({"server": ([FIRST], pids_of(process))})
            before, began = used(pid), time.monotonic()
            observer.start()
            time.sleep(1.2)
            found = observer.stop()["server"]
            share = (used(pid) - before) / (time.monotonic() - began)
        finally:
            end(process)
    assert share > 0.1
    assert found.foreign >= share - 0.05
    assert found.own + found.foreign == pytest.approx(found.busy, abs=0.05)


def test_an_idle_role_sees_the_stranger_as_all_there_is() -> None:
    with stranger(FIRST, 4) as pid:
        observer = Witness({"server": ([FIRST], set)})
        before, began = used(pid), time.monotonic()
        observer.start()
        time.sleep(0.8)
        found = observer.stop()["server"]
        share = (used(pid) - before) / (time.monotonic() - began)
    assert found.threads == 0
    assert found.busiest_thread == 0
    assert found.foreign >= share - 0.05


# A kilobyte goes back and forth between two processes: most of it is softirq work of the loopback.
# Neither end ever sleeps: on some hosts waking up costs time that is neither idle nor anybody's, and here
# only what the traffic costs is looked at.
ECHO = """
    import os, socket, sys, time
    def take(end):
        while True:
            try:
                return end.recv(4096)
            except BlockingIOError:
                pass
    os.sched_setaffinity(0, {int(sys.argv[1])})
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    peer, _ = server.accept()
    peer.setblocking(False)
    client.setblocking(False)
    if os.fork() == 0:
        os.sched_setaffinity(0, {int(sys.argv[2])})
        client.close()  # or the end of the other would not be seen
        while data := take(peer): peer.sendall(data)
        os._exit(0)
    peer.close()
    print("up", flush=True)
    end = time.monotonic() + 12
    while time.monotonic() < end:
        client.sendall(b"x" * 1000); take(client)
"""


def used_by_others(ours: set[int]) -> float:
    """CPU seconds of every process of the machine but ours, and of the children they have reaped."""
    pids = {int(path.name) for path in Path("/proc").glob("[0-9]*")} - ours
    return sum(found.own + found.reaped for pid in pids if (found := proc.process_time(pid)))


def test_loopback_traffic_makes_no_false_foreign_time() -> None:
    process = start(ECHO, FIRST, LAST)
    sets = ["server"] if FIRST == LAST else ["server", "generator"]
    beyond = []
    try:
        # What nobody reaps is missing from the sum of the others: where the machine is busy, look again.
        for _ in range(8):
            ours = set(proc.tree(os.getpid()))
            observer = Witness(
                {"server": ([FIRST], pids_of(process)), "generator": ([LAST], pids_of(process))}
            )
            before, began = used_by_others(ours), time.monotonic()
            observer.start()
            time.sleep(0.8)
            found = observer.stop()
            others = (used_by_others(ours) - before) / (time.monotonic() - began)
            assert found["server"].own > 0.05
            assert found["server"].threads == 2
            beyond.append(sum(found[role].foreign for role in sets) - others)
            if beyond[-1] < 0.03 * len(sets):
                return
    finally:
        for pid in reversed(proc.tree(process.pid)):
            os.kill(pid, signal.SIGKILL)
        process.communicate()
    pytest.fail(f"foreign time beyond what other processes used: {beyond}")


def test_a_process_that_ends_in_the_window_is_still_own() -> None:
    process = start(SPIN, FIRST, 0.6, 0)
    observer = Witness({"generator": ([FIRST], pids_of(process))})
    observer.start()
    began, already = time.monotonic(), used(process.pid)
    truth = float(process.communicate()[0]) - already
    found = observer.stop()["generator"]
    window = time.monotonic() - began
    assert found.own == pytest.approx(truth / window, abs=0.08)
    assert found.busiest_thread == pytest.approx(truth / window, abs=0.08)
    assert found.threads == 1


def test_threads_and_processes_born_in_the_window_count_from_zero() -> None:
    code = """
        import os, subprocess, sys, threading, time
        os.sched_setaffinity(0, {int(sys.argv[1])})
        print("up", flush=True)
        def burn():
            while time.thread_time() < 0.2: pass
        time.sleep(0.3)
        subprocess.run([sys.executable, "-c", "import time\\nwhile time.process_time() < 0.2: pass"])
        for _ in range(2):
            thread = threading.Thread(target=burn); thread.start(); thread.join()
        print("done", flush=True)
        time.sleep(20)
    """
    process = start(code, FIRST)
    try:
        observer = Witness({"server": ([FIRST], pids_of(process))})
        began = time.monotonic()
        observer.start()
        assert process.stdout is not None
        assert process.stdout.readline() == "done\n"
        found = observer.stop()["server"]
        window = time.monotonic() - began
    finally:
        end(process)
    # Two threads and one process, all ended when it is read; the runner's own time comes on top.
    assert found.own * window == pytest.approx(0.6, abs=0.12)


def test_reading_costs_next_to_nothing() -> None:
    observer = Witness({"server": ([FIRST], lambda: {os.getpid()})})
    observer.start()
    began = time.process_time()
    for _ in range(50):
        observer.observe()
    each = (time.process_time() - began) / 50
    tasks = sum(len(proc.threads(pid)) for pid in proc.tree(os.getpid()))
    assert each < 0.0005 * (1 + tasks)


@pytest.mark.parametrize(
    ("busy", "own", "steal", "interrupts", "expected"),
    [
        (1.0, 1.0, 0.0, 0.0, 0.0),
        (0.9, 0.6, 0.0, 0.0, 0.3),
        (0.5, 0.52, 0.0, 0.0, 0.0),  # two clocks, read one after the other
        (1.0, 0.9, 0.1, 0.0, 0.1),  # stolen time that the kernel charged to nobody
        (1.0, 1.0, 0.1, 0.0, 0.1),  # stolen time that it charged to us
        (0.9, 0.75, 0.0, 0.15, 0.0),  # the run's own traffic, charged to nobody
        (1.0, 0.0, 0.0, 0.0, 1.0),
    ],
)
def test_what_is_foreign(busy: float, own: float, steal: float, interrupts: float, expected: float) -> None:
    assert foreign(busy, own, steal, interrupts) == pytest.approx(expected)


@dataclass
class FakeMachine:
    """Two CPUs and a runner (pid 1) whose clocks a test sets by hand."""

    now: float = 100.0
    idle: dict[int, float] = field(default_factory=lambda: {0: 50.0, 1: 50.0})
    steal: float = 0.0
    interrupts: float = 0.0
    tree: list[int] = field(default_factory=lambda: [1])
    threads: dict[int, dict[int, float]] = field(default_factory=lambda: {1: {1: 3.0}})
    born: dict[int, float] = field(default_factory=dict)
    reaped: dict[int, float] = field(default_factory=dict)
    ended: dict[int, float] = field(default_factory=dict)
    cpus: dict[int, list[int]] = field(default_factory=dict)

    def install(self, monkeypatch: pytest.MonkeyPatch, charged: bool = True) -> None:
        monkeypatch.setattr(proc, "interrupts_charged", lambda: charged)
        monkeypatch.setattr(proc, "tree", lambda pid: list(self.tree))
        monkeypatch.setattr(proc, "threads", lambda pid: list(self.threads.get(pid, {})))
        monkeypatch.setattr(proc, "thread_time", lambda pid, tid: self.threads[pid].get(tid))
        monkeypatch.setattr(proc, "affinity", lambda tid: self.cpus.get(tid, [0, 1]))
        monkeypatch.setattr(proc, "started", lambda pid, tid: self.born.get(tid, 1.0))
        monkeypatch.setattr(proc, "process_time", self.process_time)
        monkeypatch.setattr(proc, "cpu_times", self.cpu_times)
        monkeypatch.setattr(witness.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(witness.time, "clock_gettime", lambda clock: self.now)

    def process_time(self, pid: int) -> proc.ProcessTime | None:
        if pid not in self.threads:
            return None
        own = sum(self.threads[pid].values()) + self.ended.get(pid, 0.0)
        return proc.ProcessTime(self.born.get(pid, 1.0), own, self.reaped.get(pid, 0.0))

    def cpu_times(self) -> dict[int, proc.CpuTimes]:
        return {
            cpu: proc.CpuTimes(idle, self.steal, self.interrupts, self.now) for cpu, idle in self.idle.items()
        }

    def spend(self, seconds: float, idle: tuple[float, float]) -> None:
        self.now += seconds
        self.idle[0] += idle[0]
        self.idle[1] += idle[1]


class TestArithmetic:
    """The witness on a machine whose every clock is known."""

    @pytest.fixture
    def machine(self, monkeypatch: pytest.MonkeyPatch) -> FakeMachine:
        machine = FakeMachine(
            tree=[1, 7], threads={1: {1: 3.0}, 7: {7: 10.0, 8: 20.0}}, cpus={7: [0], 8: [0]}
        )
        machine.install(monkeypatch)
        return machine

    def see(
        self, machine: FakeMachine, change: Callable[[], None], cpus: list[int] | None = None
    ) -> CpuSetWitness:
        observer = Witness({"server": (cpus or [0], lambda: {7})})
        observer.start()
        change()
        return observer.stop()["server"]

    def test_shares_are_of_the_window_and_the_set(self, machine: FakeMachine) -> None:
        def change() -> None:
            machine.threads[7] |= {7: 13.0, 8: 20.5}
            machine.spend(5.0, (1.0, 4.0))

        one = self.see(machine, change)
        assert (one.busy, one.own, one.busiest_thread) == pytest.approx((0.8, 0.7, 0.6))
        assert one.foreign == pytest.approx(0.1)
        assert one.threads == 2

    def test_a_set_of_two_cpus_is_their_mean(self, machine: FakeMachine) -> None:
        def change() -> None:
            machine.threads[7] |= {7: 13.0, 8: 20.5}
            machine.spend(5.0, (1.0, 4.0))

        both = self.see(machine, change, [0, 1])
        assert (both.busy, both.busiest_cpu, both.own) == pytest.approx((0.5, 0.8, 0.35))
        assert both.foreign == pytest.approx(0.15)

    def test_a_thread_of_both_cpus_counts_half_on_each(self, machine: FakeMachine) -> None:
        machine.cpus[8] = [0, 1]

        def change() -> None:
            machine.threads[7][8] += 2.0
            machine.spend(5.0, (4.0, 4.0))

        assert self.see(machine, change).own == pytest.approx(0.2)

    def test_the_runner_is_own_wherever_it_runs(self, machine: FakeMachine) -> None:
        def change() -> None:
            machine.cpus[1] = [0]
            machine.threads[1][1] += 1.0
            machine.spend(5.0, (4.0, 5.0))

        found = self.see(machine, change)
        assert found.own == pytest.approx(0.2)
        assert found.foreign == pytest.approx(0.0)
        assert found.busiest_thread == 0

    def test_a_thread_found_late_but_born_before_counts_from_when_it_was_found(
        self, machine: FakeMachine
    ) -> None:
        def change() -> None:
            machine.threads[7][9] = 40.0
            machine.spend(5.0, (5.0, 5.0))

        assert self.see(machine, change).busiest_thread == 0

    def test_a_thread_born_in_the_window_counts_from_zero(self, machine: FakeMachine) -> None:
        def change() -> None:
            machine.born[9], machine.cpus[9] = machine.now + 1, [0]
            machine.threads[7][9] = 2.0
            machine.spend(5.0, (3.0, 5.0))

        found = self.see(machine, change)
        assert (found.busiest_thread, found.own, found.foreign) == pytest.approx((0.4, 0.4, 0.0))
        assert found.threads == 3

    def test_an_ended_thread_is_found_in_its_process(self, machine: FakeMachine) -> None:
        def change() -> None:
            del machine.threads[7][8]
            machine.ended[7] = 22.0
            machine.spend(5.0, (3.0, 5.0))

        found = self.see(machine, change)
        assert (found.own, found.busiest_thread, found.foreign) == pytest.approx((0.4, 0.4, 0.0))

    def test_an_ended_process_is_found_with_the_parent_that_reaped_it(self, machine: FakeMachine) -> None:
        def change() -> None:
            del machine.threads[7]
            machine.tree.remove(7)
            machine.reaped[1] = 30.0 + 2.5
            machine.spend(5.0, (2.5, 5.0))

        found = self.see(machine, change)
        assert (found.own, found.foreign) == pytest.approx((0.5, 0.0))
        assert found.threads == 2

    def test_interrupts_charged_to_nobody_are_the_runs_own_traffic(
        self, machine: FakeMachine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def change() -> None:
            machine.threads[7][7] += 3.0
            machine.interrupts += 1.0
            machine.spend(5.0, (1.0, 5.0))

        assert self.see(machine, change).foreign == pytest.approx(0.2)
        monkeypatch.setattr(proc, "interrupts_charged", lambda: False)
        assert self.see(machine, change).foreign == pytest.approx(0.0)

    def test_stolen_time_is_foreign_and_named(self, machine: FakeMachine) -> None:
        def change() -> None:
            machine.threads[7][7] += 3.0
            machine.steal += 1.0
            machine.spend(5.0, (1.0, 5.0))

        found = self.see(machine, change)
        assert (found.steal, found.foreign) == pytest.approx((0.2, 0.2))

    def test_a_machine_without_cpu_clocks_has_no_witness(
        self, machine: FakeMachine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stopped = proc.CpuTimes(0.0, 0.0, 0.0, 0.0)
        monkeypatch.setattr(proc, "cpu_times", lambda: {0: stopped, 1: stopped})
        observer = Witness({"server": ([0], lambda: {7})})
        observer.start()
        machine.now += 5
        assert observer.stop() == {}

    def test_a_second_window_starts_anew(self, machine: FakeMachine) -> None:
        observer = Witness({"server": ([0], lambda: {7})})
        observer.start()
        machine.threads[7][7] += 3.0
        machine.spend(5.0, (2.0, 5.0))
        assert observer.stop()["server"].own == pytest.approx(0.6)
        observer.start()
        machine.spend(5.0, (5.0, 5.0))
        assert observer.stop()["server"].own == 0
