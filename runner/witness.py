"""What the CPUs really did during a sample: busy, stolen, ours, and somebody else's."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from runner import proc
from runner.model import CpuSetWitness

Roles = Mapping[str, tuple[list[int], Callable[[], set[int]]]]


@dataclass
class _Thread:
    """CPU seconds of one thread when the window began and when it was last read."""

    first: float
    last: float
    cpus: frozenset[int]

    @property
    def spent(self) -> float:
        return max(0.0, self.last - self.first)


@dataclass
class _Process:
    """The coarser clock of a process, which keeps what its ended threads and reaped children used."""

    first: proc.ProcessTime
    last: proc.ProcessTime

    @property
    def spent(self) -> float:
        return max(0.0, self.last.own - self.first.own)

    @property
    def before(self) -> float:
        return self.first.own + self.first.reaped

    @property
    def reaped(self) -> float:
        return max(0.0, self.last.reaped - self.first.reaped)


class Witness:
    """Reads the CPU clocks and the run's own threads at both ends of a sample.

    ``roles`` maps a role to its CPUs and to a callable giving the pids of its process tree at that
    moment. The runner's own process tree always counts as the run's own.

    A CPU is busy for the window less its idle time, which Linux keeps exactly, where the other counters
    of /proc/stat only sample the tick; a thread's time is the scheduler's own count, and the two agree
    within a third of a per cent. A thread that may run both inside and outside a set counts there in
    proportion. One that starts within the window counts from zero. What one that ends within
    it used after it was last read is found again in its process's clock, or for a whole process in the
    clock of the parent that reaped it (in ticks of 10 ms); between several that ended it is divided in
    proportion to what was seen of them.
    """

    def __init__(self, roles: Roles) -> None:
        self._roles = roles
        self._charged = proc.interrupts_charged()
        self._clear()

    def _clear(self) -> None:
        self._threads: dict[tuple[int, int], _Thread] = {}
        self._processes: dict[int, _Process] = {}
        self._living: set[tuple[int, int]] = set()
        self._members: dict[str, set[int]] = {role: set() for role in self._roles}
        self._most_threads = dict.fromkeys(self._roles, 0)
        self._boot_start: float | None = None
        self._start = 0.0
        self._clocks: dict[int, proc.CpuTimes] = {}

    def start(self) -> None:
        """Begin the window."""
        self._clear()
        self.observe()
        self._boot_start = time.clock_gettime(time.CLOCK_BOOTTIME)
        self._start, self._clocks = time.monotonic(), proc.cpu_times()

    def observe(self) -> None:
        """Read the run's threads once more; called now and then, less is lost of those that end."""
        pids = set(proc.tree(os.getpid()))
        for role, (_, members) in self._roles.items():
            now = members()
            pids |= now
            self._members[role] |= now
        self._living = {(pid, tid) for pid in pids for tid in proc.threads(pid) if self._read(pid, tid)}
        for pid in pids:
            self._read_process(pid)
        for role in self._roles:
            count = sum(pid in self._members[role] for pid, _ in self._living)
            self._most_threads[role] = max(self._most_threads[role], count)

    def stop(self) -> dict[str, CpuSetWitness]:
        """End the window: the witness of every role.

        A role is left out where /proc/stat has no running clock of its CPUs, as in some sandboxes.
        """
        window, clocks = time.monotonic() - self._start, proc.cpu_times()
        self.observe()
        own = self._own_by_cpu()
        return {
            role: found
            for role, (cpus, _) in self._roles.items()
            if (found := self._witness(role, cpus, window, clocks, own))
        }

    def _read(self, pid: int, tid: int) -> bool:
        """Read one thread; whether it was there."""
        now, cpus = proc.thread_time(pid, tid), proc.affinity(tid)
        if now is None or cpus is None:
            return False
        known = self._threads.get((pid, tid))
        if known is None:
            born = self._boot_start is not None and proc.started(pid, tid) >= self._boot_start - proc.TICK
            self._threads[pid, tid] = _Thread(0.0 if born else now, now, frozenset(cpus))
        else:
            known.last, known.cpus = now, frozenset(cpus)
        return True

    def _read_process(self, pid: int) -> None:
        now = proc.process_time(pid)
        if now is None:
            return
        known = self._processes.get(pid)
        if known is None:
            born = self._boot_start is not None and now.started >= self._boot_start - proc.TICK
            first = proc.ProcessTime(now.started, 0.0, 0.0) if born else now
            self._processes[pid] = _Process(first, now)
        else:
            known.last = now

    def _own_by_cpu(self) -> dict[int, float]:
        """CPU seconds of the run's own threads on every CPU."""
        own: dict[int, float] = {}
        parts = self._found_again()
        parts += [(thread.spent, thread.cpus) for thread in self._threads.values()]
        for seconds, cpus in parts:
            for cpu in cpus:
                own[cpu] = own.get(cpu, 0.0) + seconds / len(cpus)
        return own

    def _found_again(self) -> list[tuple[float, frozenset[int]]]:
        """Give ended threads what they used unseen; what no known thread can have used is returned."""
        seen: dict[int, float] = {}
        ended: dict[int, list[_Thread]] = {}
        for key, thread in self._threads.items():
            seen[key[0]] = seen.get(key[0], 0.0) + thread.spent
            if key not in self._living:
                ended.setdefault(key[0], []).append(thread)
        alive = {pid for pid, _ in self._living} & self._processes.keys()
        rest = []
        for pid in alive:
            unseen = self._processes[pid].spent - seen.get(pid, 0.0)
            rest += self._spread(unseen, ended.get(pid, []), pid)
        gone = self._processes.keys() - alive
        # A parent's count holds the whole life of the child it reaped.
        known = sum(seen.get(pid, 0.0) + self._processes[pid].before for pid in gone)
        parents = [pid for pid in alive if self._processes[pid].reaped > 0]
        if parents:
            unseen = sum(self._processes[pid].reaped for pid in parents) - known
            rest += self._spread(unseen, [t for pid in gone for t in ended.get(pid, [])], parents[-1])
        return rest

    def _spread(self, unseen: float, threads: list[_Thread], pid: int) -> list[tuple[float, frozenset[int]]]:
        """Unseen seconds to the threads in proportion to what was seen, or to the CPUs of the process."""
        # The clocks that were subtracted are a tick apart: less than a few ticks is no time at all.
        if unseen <= 3 * proc.TICK:
            return []
        if not threads:
            main = self._threads.get((pid, pid))
            return [(unseen, main.cpus)] if main else []
        total = sum(thread.spent for thread in threads)
        for thread in threads:
            thread.last += unseen * (thread.spent / total if total else 1 / len(threads))
        return []

    def _witness(
        self,
        role: str,
        cpus: list[int],
        window: float,
        clocks: dict[int, proc.CpuTimes],
        own: dict[int, float],
    ) -> CpuSetWitness | None:
        pairs = [(self._clocks[cpu], clocks[cpu]) for cpu in cpus if cpu in clocks and cpu in self._clocks]
        if not pairs or window <= 0 or not any(after.ticked > before.ticked for before, after in pairs):
            return None
        whole = window * len(pairs)
        busy = [share(window - (after.idle - before.idle), window) for before, after in pairs]
        steal = sum(after.steal - before.steal for before, after in pairs) / whole
        interrupts = sum(after.interrupts - before.interrupts for before, after in pairs) / whole
        mine = sum(own.get(cpu, 0.0) for cpu in cpus) / whole
        mean = sum(busy) / len(busy)
        spent = [thread.spent for (pid, _), thread in self._threads.items() if pid in self._members[role]]
        return CpuSetWitness(
            cpus=cpus,
            busy=mean,
            steal=share(steal, 1.0),
            foreign=foreign(mean, mine, steal, 0.0 if self._charged else interrupts),
            busiest_cpu=max(busy),
            busiest_thread=share(max(spent, default=0.0), window),
            own=share(mine, 1.0),
            threads=self._most_threads[role],
        )


def foreign(busy: float, own: float, steal: float, interrupts: float) -> float:
    """The share of a CPU set that neither idles nor runs the run's own processes.

    ``interrupts`` is the share that the kernel charged to no thread (see `proc.interrupts_charged`): on a
    benchmark over loopback it is the run's own traffic. Where the kernel charges stolen time to the thread
    it was stolen from, ``busy - own`` misses it, so foreign time is never less than ``steal``.
    """
    return min(1.0, max(0.0, steal, busy - own - interrupts))


def share(seconds: float, window: float) -> float:
    """Seconds as a share of the window, 0 to 1: the two clocks differ by a few ticks."""
    return min(1.0, max(0.0, seconds / window))
