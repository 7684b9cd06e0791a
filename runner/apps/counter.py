"""Requests counted in shared memory: one slot a worker process, read from outside at any time.

The file named by the environment variable ``LAPSHEET_COUNTERS`` holds slots of 16 bytes, two native
unsigned 64-bit integers each: pid (0: free) and count. A process claims a slot when it counts for the
first time and keeps it for life, so a restarted worker shows as one slot more, never as a reset count.
Without the variable the counts live in private memory and only this process sees them.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import time
import weakref
from collections.abc import Callable
from itertools import repeat
from pathlib import Path

VARIABLE = "LAPSHEET_COUNTERS"
SLOT_BYTES = 16


class CounterError(RuntimeError):
    """The shared file is missing, has a wrong size or no free slot; the message names it."""


class Counter:
    """This process's count. ``path`` is the shared file, or None to count in private memory.

    One thread a process may increment, as one event loop a worker does. After a fork the child claims
    a slot of its own.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = os.fspath(path) if path is not None else None
        self._cells = memoryview(b"").cast("Q")
        self._at = 0  # index of this process's count in _cells; 0, never a count, until a slot is claimed
        _counters.add(self)

    @classmethod
    def from_environment(cls) -> Counter:
        """The counter of the file that ``LAPSHEET_COUNTERS`` names, private where it is unset or empty."""
        return cls(os.environ.get(VARIABLE) or None)

    def beside(self, suffix: str) -> Counter:
        """A counter of something else: its file is this one's name plus ``suffix``, with as many slots.

        The first process that comes makes the file, whole at once. Private where this counter is.
        Raises CounterError if this counter's file is missing or no file can be made beside it.
        """
        if self.path is None:
            return Counter()
        path = self.path + suffix
        mine = f"{path}.{os.getpid()}"
        try:
            create(mine, Path(self.path).stat().st_size // SLOT_BYTES)
            # A link appears with its contents or not at all, and never takes another's place.
            with contextlib.suppress(FileExistsError):
                os.link(mine, path)
            Path(mine).unlink()
        except (OSError, ValueError) as error:
            raise CounterError(f"{path} (beside {VARIABLE}): {error}") from error
        return Counter(path)

    def increment(self) -> None:
        """Count one request. Raises CounterError if there is no slot to claim."""
        at = self._at or self.claim()  # before _cells is read: claiming maps the file
        self._cells[at] += 1

    def claim(self) -> int:
        """Make sure that this process has a slot; the index of its count. Raises CounterError."""
        if not self._at:
            self._cells, self._at = _private() if self.path is None else _shared(self.path)
        return self._at

    def totals(self) -> dict[int, int]:
        """Count by pid, over all processes that ever claimed a slot of the file."""
        return _by_pid(self._cells)

    def _forget(self) -> None:
        self._at = 0


_counters: weakref.WeakSet[Counter] = weakref.WeakSet()


def _after_fork() -> None:
    for counter in _counters:
        counter._forget()


os.register_at_fork(after_in_child=_after_fork)


def _private() -> tuple[memoryview[int], int]:
    cells = memoryview(mmap.mmap(-1, SLOT_BYTES)).cast("Q")
    cells[0] = os.getpid()
    return cells, 1


def _shared(path: str) -> tuple[memoryview[int], int]:
    try:
        file = open(path, "r+b")  # noqa: PTH123, SIM115 - closed below
    except OSError as error:
        raise CounterError(f"{path} (from {VARIABLE}): {error.strerror}") from error
    with file:
        size = os.fstat(file.fileno()).st_size
        if not size or size % SLOT_BYTES:
            raise CounterError(f"{path}: {size} bytes is not a number of {SLOT_BYTES}-byte slots")
        cells = memoryview(mmap.mmap(file.fileno(), size)).cast("Q")
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            return cells, _take(cells, path)
        finally:
            # Closing the file would not do it: the mapping keeps a duplicate of the descriptor, lock and all.
            fcntl.flock(file, fcntl.LOCK_UN)


def _take(cells: memoryview[int], path: str) -> int:
    for at in range(0, len(cells), 2):
        if not cells[at]:
            cells[at] = os.getpid()
            return at + 1
    pids = ", ".join(map(str, cells[::2]))
    raise CounterError(f"{path}: all {len(cells) // 2} slots are taken, none for pid {os.getpid()} ({pids})")


def _by_pid(cells: memoryview[int]) -> dict[int, int]:
    found: dict[int, int] = {}
    for at in range(0, len(cells), 2):
        if cells[at]:
            # The kernel may give a new process the pid of a dead one: their counts are one total.
            found[cells[at]] = found.get(cells[at], 0) + cells[at + 1]
    return found


def create(path: str | os.PathLike[str], slots: int) -> None:
    """Make the shared file with that many free slots.

    Raises FileExistsError: a file that processes may have mapped is never cut under them.
    """
    if slots < 1:
        raise ValueError(f"slots: {slots} is not a positive number")
    with Path(path).open("xb") as file:
        file.write(bytes(SLOT_BYTES * slots))


def read(path: str | os.PathLike[str]) -> dict[int, int]:
    """Count by pid of every slot ever claimed. Raises CounterError if the size is not whole slots."""
    data = Path(path).read_bytes()
    if len(data) % SLOT_BYTES:
        raise CounterError(f"{path}: {len(data)} bytes is not a number of {SLOT_BYTES}-byte slots")
    return _by_pid(memoryview(data).cast("Q"))


def cost(n: int = 100_000) -> float:
    """Seconds that one increment costs on this machine: the best of five batches of ``n / 5``.

    The loop around it is measured by itself and taken off. The best batch, because whatever else runs
    on the machine can only add time.
    """
    counter = Counter()
    counter.claim()
    batch = max(n // 5, 1)
    return (_best(counter.increment, batch) - _best(None, batch)) / batch


def _best(call: Callable[[], None] | None, batch: int) -> float:
    times = []
    for _ in range(5):
        start = time.perf_counter()
        if call:
            for _ in repeat(None, batch):
                call()
        else:
            for _ in repeat(None, batch):
                pass
        times.append(time.perf_counter() - start)
    return min(times)
