"""Redaction: nothing of the person or the machine stays, nothing else changes."""

from __future__ import annotations

import getpass
import json
import random
import socket
import sys
import tempfile
from pathlib import Path

import pytest

from runner.redact import Redactor

ALICE = Redactor(
    {"/home/alice/bench": "<project>", "/home/alice/bench/.venv": "<env>", "/tmp": "<tmp>"},
    host="boxy.lan",
    user="alice",
    home="/home/alice",
)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("/home/alice/bench/.venv/bin/python", "<env>/bin/python"),
        ("/home/alice/bench", "<project>"),
        ("/home/alice/bench/", "<project>/"),
        ("cwd=/home/alice/bench:/home/alice/.cargo/bin", "cwd=<project>:<home>/.cargo/bin"),
        ('File "/home/alice/bench/app.py", line 3', 'File "<project>/app.py", line 3'),
        ("file:///home/alice/bench/x", "file://<project>/x"),
        ("see /home/alice.", "see <home>."),
        ("<b>/home/alice/bench</b>", "<b><project></b>"),
        ("/tmp/pytest-of-alice/x", "<tmp>/pytest-of-<user>/x"),
        ("alice@boxy.lan:22 and boxy and BOXY.", "<user>@<host>:22 and <host> and <host>."),
        ("%2Fhome%2Falice%2Fx", "%2Fhome%2F<user>%2Fx"),
        (r'{"log": "one\n/home/alice/bench/x\nalice\tboxy"}', r'{"log": "one\n<project>/x\n<user>\t<host>"}'),
        # Not these: other names that merely contain one of ours, other folders that merely begin like one.
        ("alice2 malice alice_b boxyard", "alice2 malice alice_b boxyard"),
        ("/home/alice-b/x", "/home/<user>-b/x"),
        ("/home/alicebench /tmpfs /tmp.old /tmp-1", "/home/alicebench /tmpfs /tmp.old /tmp-1"),
        ("/mnt/tmp/x srv/tmp", "/mnt/tmp/x srv/tmp"),
    ],
)
def test_what_is_replaced_and_what_stays(before: str, after: str) -> None:
    assert ALICE.text(before) == after
    assert ALICE.bytes(before.encode()) == after.encode()
    assert ALICE.text(after) == after


def test_bytes_that_are_no_text_stay_as_they_are() -> None:
    data = bytes(range(256)) + b"/home/alice/bench/" + bytes(range(255, -1, -1))
    assert ALICE.bytes(data) == bytes(range(256)) + b"<project>/" + bytes(range(255, -1, -1))


def test_names_beyond_ascii() -> None:
    redactor = Redactor({}, user="Élodie", home="/home/Élodie")
    assert redactor.text("Élodie: /home/Élodie/x") == "<user>: <home>/x"


def test_a_name_in_one_line_of_many() -> None:
    lines = [b'{"n": 1}\r\n'] * 3 + [b"alice\n", b"\n", b"no newline at the end, alice"]
    assert ALICE.bytes(b"".join(lines)) == b"".join(lines).replace(b"alice", b"<user>")


def test_structures_are_copied_with_every_string_replaced() -> None:
    value = {"/tmp/x": ["alice", 1, 2.5, None, True, {"deep": "/home/alice/y"}], "n": ("boxy",)}
    assert ALICE.value(value) == {
        "<tmp>/x": ["<user>", 1, 2.5, None, True, {"deep": "<home>/y"}],
        "n": ["<host>"],
    }
    assert value["n"] == ("boxy",)


def test_any_text_without_an_original_is_left_alone_and_twice_is_as_once() -> None:
    pieces = ["/home", "/", "alice", "bench", "tmp", "boxy", ".lan", "\\n", "<user>", "é", " ", "-", "1", "."]
    choose = random.Random(7)
    changed = 0
    for _ in range(5000):
        text = "".join(choose.choices(pieces, k=8))
        once = ALICE.text(text)
        assert ALICE.text(once) == once, text
        if not any(word in text for word in ("alice", "boxy", "/tmp")):
            assert once == text
        changed += once != text
    assert changed > 1000


@pytest.mark.parametrize("generic", ["root", "ubuntu", "runner", "vm", "x", ""])
def test_a_generic_name_stays_but_its_home_goes(generic: str) -> None:
    redactor = Redactor({}, host=generic, user=generic, home="/srv/people/x9")
    text = f"the {generic} of the tree, {generic}: 3"
    assert redactor.text(text) == text
    assert redactor.text("/srv/people/x9/.cargo") == "<home>/.cargo"


def test_a_name_that_is_a_word_of_the_data_goes_only_where_a_person_is_meant() -> None:
    redactor = Redactor({}, user="max", home="/home/max")
    summary = json.dumps({"max": 0.25, "p99": 0.2, "note": "max of 3"})
    assert redactor.text(summary) == summary
    assert (
        redactor.text("/home/max/x max@h /tmp/pytest-of-max/") == "<home>/x <user>@h /tmp/pytest-of-<user>/"
    )


def test_a_host_that_is_a_short_number_leaves_figures_alone() -> None:
    assert Redactor({}, host="10").text("10 of 10") == "10 of 10"


def test_no_home_at_the_root_of_everything() -> None:
    assert Redactor({"/": "<project>"}, home="/").text("/usr/bin /") == "/usr/bin /"


def test_this_machine_leaves_no_trace(tmp_path: Path) -> None:
    project = tmp_path / "my project (1)"
    project.mkdir()
    link = tmp_path / "link"
    link.symlink_to(project)
    redactor = Redactor.of_this_machine(link, suite=project / "suites")
    told = f"{link}/a {project}/b {project}/suites/c {sys.prefix}/bin {Path.home()}/d {tempfile.gettempdir()}"
    clean = redactor.text(told)
    assert clean.startswith("<project>/a <project>/b <suite>/c <env>/bin <home>/d <tmp>")
    for secret in (str(tmp_path), str(Path.home()) + "/", sys.prefix):
        assert secret not in clean
    me, host = getpass.getuser(), socket.gethostname()
    for name in (me, host):
        shown = redactor.text(f"({name})")
        assert shown in (f"({name})", "(<user>)", "(<host>)")
    rebuilt = Redactor({}, user="zyx-person", host="zyx-host").text("zyx-person on zyx-host")
    assert rebuilt == "<user> on <host>"
