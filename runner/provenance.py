"""Where a run came from: the revision, the lock, and what was really installed."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import re
import subprocess
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from packaging.requirements import InvalidRequirement, Requirement

from runner.errors import ArtifactError
from runner.model import Lock, Source

# Evidence and built pages are no source: a run that is being written must not make its own revision dirty.
_NOT_SOURCE = (":(top,exclude)artifacts", ":(top,exclude)site")


def source(directory: Path) -> Source:
    """The git revision of a directory, whether its tree differs from it, and the remote without credentials.

    Fields are None without git, outside a repository, and in a directory that its repository ignores.
    """
    revision = _git(directory, "rev-parse", "--verify", "HEAD")
    if revision is None or _git(directory, "check-ignore", "--quiet", ".") is not None:
        return Source()
    changes = _git(directory, "status", "--porcelain", "--", ":(top)", *_NOT_SOURCE)
    remote = _git(directory, "remote", "get-url", "origin")
    return Source(
        revision=revision,
        dirty=None if changes is None else bool(changes),
        remote=public_remote(remote) if remote else None,
    )


def public_remote(url: str) -> str | None:
    """A remote's URL without user, password and query; None for one that names a folder of this machine."""
    if re.match(r"[a-z][a-z0-9+.-]*://", url):
        parts = urlsplit(url)
        if parts.scheme == "file" or not parts.hostname:
            return None
        user, _, host = parts.netloc.rpartition("@")
        place = f"git@{host}" if user and parts.scheme == "ssh" else host
        return urlunsplit((parts.scheme, place, parts.path, "", ""))
    # The form of scp, user@host:path, in which a user other than git is a person.
    found = re.fullmatch(r"(?:[^@/:]+@)?([\w.-]+):(?!//)(.+)", url)
    return f"git@{found.group(1)}:{found.group(2)}" if found else None


def lock_state(lock_path: Path) -> Lock:
    """The lock file, by the last two parts of its path, and how the installed distributions differ from it.

    A distribution of the lock whose marker holds here must be installed in that version. What is installed
    beyond the lock is no drift; `distributions` names it.

    Raises ArtifactError if the lock is missing, or naming the line that is no pin.
    """
    try:
        data = lock_path.read_bytes()
    except OSError as error:
        raise ArtifactError(
            f"{lock_path}: cannot be read: {error.strerror}", "Write it with locks/compile."
        ) from None
    installed = distributions()
    drift = []
    for name, version in sorted(read_lock(data.decode("utf-8", "replace"), str(lock_path)).items()):
        found = installed.get(name)
        if found is None:
            drift.append(f"{name}: lock {version}, not installed")
        elif found != version:
            drift.append(f"{name}: lock {version}, installed {found}")
    return Lock(
        path="/".join(lock_path.parts[-2:]),
        sha256=hashlib.sha256(data).hexdigest(),
        matches=not drift,
        drift=drift,
    )


def read_lock(text: str, name: str) -> dict[str, str]:
    """Distribution → version of every pin of a hashed requirements file whose marker holds here.

    ``name`` is the file's name for messages. Raises ArtifactError naming the line that is no pin.
    """
    pins: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        entry = line.removesuffix("\\").partition(" #")[0].strip()
        # Hashes and options start with '-'; hashes stand on lines of their own.
        if not entry or entry.startswith(("#", "-")):
            continue
        try:
            requirement = Requirement(entry.partition(" --")[0])
        except InvalidRequirement as error:
            raise ArtifactError(
                f"{name}, line {number}: not a requirement: {error}", "Write it with locks/compile."
            ) from None
        exact = re.fullmatch(r"==([^*,]+)", str(requirement.specifier))
        if exact is None:
            raise ArtifactError(
                f"{name}, line {number}: {requirement.name} is not pinned to one version",
                "Write it with locks/compile.",
            )
        if requirement.marker is None or requirement.marker.evaluate():
            pins[normalised(requirement.name)] = exact.group(1)
    return pins


def distributions() -> dict[str, str]:
    """Every installed distribution, by normalised name, and its version, sorted by name."""
    found: dict[str, str] = {}
    for distribution in importlib.metadata.distributions():
        name = distribution.metadata["Name"]
        if name:
            # The first on the path is the one that is imported.
            found.setdefault(normalised(name), distribution.version)
    return dict(sorted(found.items()))


def normalised(name: str) -> str:
    """A distribution's name as PEP 503 normalises it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _git(directory: Path, *arguments: str) -> str | None:
    """What git prints, stripped, or None if it fails, hangs or is not there."""
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            ["git", "-C", str(directory), *arguments],
            capture_output=True,
            timeout=30,
            check=True,
            env=environment,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace").strip()
