"""Starts one process tree, and makes sure that all of it is gone afterwards.

Run as a program of its own (``python -I -S guardian.py``), with nothing but the standard library, so
that it starts in milliseconds. It is the *child subreaper* of the tree: a worker whose parent was killed
becomes a child of the guardian instead of escaping to init, and when the runner dies, by whatever
signal, the pipe to it closes and the guardian kills everything before it ends itself.

Standard input: one line of JSON (argv, cwd, env, cpus, stdout, stderr), then ``stop SECONDS`` or end of
file. Standard output, one JSON object a line: ``started`` (pid) or ``error`` (message), ``exited`` (status
of the first process), ``stopped`` (status, seconds, killed pids, CPU seconds, peak memory).
"""

# pathlib would take longer to import than all the rest.
# ruff: noqa: PTH123, PTH208
from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import time

TYPE_CHECKING = False  # importing typing would take longer than all the rest
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def say(**event: object) -> None:
    # The runner may be gone; the tree must be stopped all the same.
    with contextlib.suppress(OSError):
        os.write(1, json.dumps(event).encode() + b"\n")


def descendants(pid: int) -> list[int]:
    """All living processes below ``pid``, zombies left out."""
    found: list[int] = []
    waiting = [pid]
    while waiting:
        parent = waiting.pop()
        try:
            tasks = os.listdir(f"/proc/{parent}/task")
        except OSError:
            continue
        for task in tasks:
            try:
                with open(f"/proc/{parent}/task/{task}/children") as file:
                    children = [int(child) for child in file.read().split()]
            except OSError:
                continue
            waiting += children
            found += [child for child in children if alive(child)]
    return found


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def start(spec: dict[str, Any], prctl: Callable[[int, int], int]) -> int:
    """Fork and exec the first process in a session of its own; raises OSError where that fails."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            if spec["cpus"]:
                os.sched_setaffinity(0, spec["cpus"])
            os.chdir(spec["cwd"])
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(os.open(spec["stdout"], flags, 0o644), 1)
            os.dup2(os.open(spec["stderr"], flags, 0o644), 2)
            os.execvpe(spec["argv"][0], spec["argv"], spec["env"])
        except OSError as error:
            os.write(writer, f"{spec['argv'][0]}: {error.strerror or error}".encode())
        finally:
            os._exit(127)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        message = file.read().decode(errors="replace")
    if message:
        os.waitpid(pid, 0)
        raise OSError(message)
    return pid


def least(commands: bytes) -> float:
    """The shortest grace that these ``stop SECONDS`` lines ask for."""
    return min(float(line.split()[1]) for line in commands.split(b"\n") if line)


class Guardian:
    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.status: int | None = None

    def reap(self) -> bool:
        """Take the status of all that ended. False once nothing of the tree is left, zombies included.

        Only the kernel can tell that without a race: a reading of /proc taken while a parent dies can show
        its children neither as its own any more nor as the guardian's yet.
        """
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.pid:
                self.status = os.waitstatus_to_exitcode(status)
                say(event="exited", status=self.status)

    def stop(self, limit: float) -> None:
        """SIGTERM to the process group, ``limit`` seconds of grace, then SIGKILL to all that is left.

        The grace ends early if the runner asks for less, or dies.
        """
        begin = time.monotonic()
        listening = limit > 0
        if limit > 0:
            with contextlib.suppress(OSError):
                os.killpg(self.pid, signal.SIGTERM)
        killed: set[int] = set()
        pause = 0.002
        while self.reap():
            if time.monotonic() - begin >= limit:
                left = descendants(os.getpid())
                for pid in left:
                    with contextlib.suppress(OSError):
                        os.kill(pid, signal.SIGKILL)
                killed.update(left)
            if select.select([0] if listening else [], [], [], pause)[0]:
                data = os.read(0, 65536)
                limit = min(limit, least(data)) if data else 0.0
                listening = limit > 0
            pause = min(pause * 1.5, 0.05)
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        say(
            event="stopped",
            status=self.status,
            seconds=time.monotonic() - begin,
            killed=sorted(killed),
            cpu_seconds=usage.ru_utime + usage.ru_stime,
            peak_bytes=usage.ru_maxrss * 1024,
        )


def main() -> None:
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    wake_reader, wake_writer = os.pipe()
    os.set_blocking(wake_reader, False)
    os.set_blocking(wake_writer, False)
    signal.set_wakeup_fd(wake_writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)

    buffer = b""
    while b"\n" not in buffer:
        data = os.read(0, 65536)
        if not data:
            return
        buffer += data
    line, _, buffer = buffer.partition(b"\n")
    try:
        guardian = Guardian(start(json.loads(line), prctl))
    except OSError as error:
        say(event="error", message=str(error))
        return
    say(event="started", pid=guardian.pid)
    while True:
        guardian.reap()
        if b"\n" in buffer:
            guardian.stop(least(buffer))
            return
        ready, _, _ = select.select([0, wake_reader], [], [])
        if wake_reader in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(wake_reader, 4096)
        if 0 in ready:
            data = os.read(0, 65536)
            if not data:
                guardian.stop(0)
                return
            buffer += data


if __name__ == "__main__":
    main()
