"""Processes, threads and CPU times, straight from /proc.

Reading a file of /proc costs 5 to 10 µs, so a whole process tree is read in well under a millisecond;
psutil, which parses every process of the machine to find children, takes tens. Everything here copes with
processes and threads that end while they are read.
"""

from __future__ import annotations

import functools
import os
import socket
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

TICK = 1.0 / os.sysconf("SC_CLK_TCK")
_GONE = (FileNotFoundError, ProcessLookupError, PermissionError)


@dataclass(frozen=True)
class CpuTimes:
    """One CPU's clock since boot, in seconds.

    ``idle`` includes waiting for I/O, ``interrupts`` are hard and soft ones, ``ticked`` is everything.
    """

    idle: float
    steal: float
    interrupts: float
    ticked: float


@dataclass(frozen=True)
class ProcessTime:
    """CPU seconds of one process: its own (ended threads too) and those of its ended, reaped children.

    ``started`` is in seconds since boot.
    """

    started: float
    own: float
    reaped: float


def cpu_times() -> dict[int, CpuTimes]:
    """Every online CPU's times from /proc/stat (fields of proc_pid_stat(5)'s neighbour, proc_stat(5))."""
    times = {}
    for line in _read("/proc/stat").splitlines():
        if not line.startswith(b"cpu"):
            break
        name, *fields = line.split()
        if name == b"cpu":
            continue
        # user nice system idle iowait irq softirq steal; guest time is already part of user.
        values = [int(field) * TICK for field in fields[:8]] + [0.0] * (8 - len(fields[:8]))
        times[int(name[3:])] = CpuTimes(
            idle=values[3] + values[4],
            steal=values[7],
            interrupts=values[5] + values[6],
            ticked=sum(values),
        )
    return times


def threads(pid: int) -> list[int]:
    """The thread ids of a process, empty if it is gone."""
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]  # noqa: PTH208 (ten times as fast)
    except _GONE:
        return []


def children(pid: int) -> list[int]:
    """The living child processes of a process, empty if it is gone."""
    found: list[int] = []
    for tid in threads(pid):
        try:
            found += map(int, _read(f"/proc/{pid}/task/{tid}/children").split())
        except _GONE:
            if tid == pid and Path(f"/proc/{pid}/stat").exists():
                return _slow_children(pid)
    return found


def _slow_children(pid: int) -> list[int]:
    """For kernels built without CONFIG_PROC_CHILDREN."""
    try:
        return [child.pid for child in psutil.Process(pid).children()]
    except psutil.Error:
        return []


def tree(pid: int) -> list[int]:
    """The process and all its living descendants, parents first; empty if the process is gone."""
    if not Path(f"/proc/{pid}").exists():
        return []
    found = [pid]
    seen = {pid}
    for parent in found:
        for child in children(parent):
            if child not in seen:
                seen.add(child)
                found.append(child)
    return found


def affinities(pids: Iterable[int]) -> dict[int, list[int]]:
    """Thread id → the CPUs it may run on, for every thread of those processes; ended threads are left out."""
    return {tid: cpus for pid in pids for tid in threads(pid) if (cpus := affinity(tid)) is not None}


def affinity(tid: int) -> list[int] | None:
    """The CPUs a thread may run on, or None if it is gone."""
    try:
        return sorted(os.sched_getaffinity(tid))
    except (ProcessLookupError, PermissionError):
        return None


def thread_time(pid: int, tid: int) -> float | None:
    """CPU seconds of one thread, or None if it is gone: nanosecond counts where the kernel keeps them."""
    try:
        return int(_read(f"/proc/{pid}/task/{tid}/schedstat").split()[0]) * 1e-9
    except (*_GONE, IndexError):
        pass
    try:
        fields = _after_name(_read(f"/proc/{pid}/task/{tid}/stat"))
        return (int(fields[11]) + int(fields[12])) * TICK
    except (*_GONE, IndexError):
        return None


def started(pid: int, tid: int) -> float:
    """When a thread was started, in seconds since boot; 0 if it is gone."""
    try:
        return int(_after_name(_read(f"/proc/{pid}/task/{tid}/stat"))[19]) * TICK
    except (*_GONE, IndexError):
        return 0.0


def process_time(pid: int) -> ProcessTime | None:
    """CPU seconds of one process, or None if it is gone and reaped."""
    try:
        fields = _after_name(_read(f"/proc/{pid}/stat"))
        user, system, reaped_user, reaped_system = (int(field) * TICK for field in fields[11:15])
    except (*_GONE, ValueError):
        return None
    try:
        # The process's CPU clock (see clock_getcpuclockid(3)) is exact; a zombie has none any more.
        own = time.clock_gettime((~pid << 3) | 2)
    except OSError:
        own = user + system
    return ProcessTime(int(fields[19]) * TICK, own, reaped_user + reaped_system)


@functools.cache
def interrupts_charged() -> bool:
    """Whether this kernel charges the time of (soft) interrupts to the thread they interrupt.

    It does unless it was built with CONFIG_IRQ_TIME_ACCOUNTING, and then loopback traffic, a good tenth
    of a busy CPU, belongs to no thread. No file tells on every kernel, so this sends datagrams to itself
    for 50 ms, never sleeping: what is then missing from the thread's time and its time in the run queue
    was charged to nobody.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        peer.bind(("127.0.0.1", 0))
        peer.connect(peer.getsockname())
        peer.setblocking(False)
        payload = bytes(1400)
        try:
            began, before = time.perf_counter(), _scheduled()
            while time.perf_counter() - began < 0.05:
                peer.send(payload)
                peer.recv(2048)
            after, ended = _scheduled(), time.perf_counter()
        except (OSError, ValueError):
            return True
    return (after - before) / (ended - began) > 0.92


def _scheduled() -> float:
    """Seconds this thread ran, to the nanosecond, or waited for a CPU."""
    waited = int(_read(f"/proc/self/task/{threading.get_native_id()}/schedstat").split()[1]) * 1e-9
    return time.thread_time() + waited


def _after_name(stat: bytes) -> list[bytes]:
    """The fields of a stat line from the third on; the second, the name, may hold spaces and ')'."""
    return stat[stat.rfind(b")") + 2 :].split()


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = b""
        while chunk := os.read(descriptor, 1 << 16):
            data += chunk
        return data
    finally:
        os.close(descriptor)
