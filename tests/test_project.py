"""The project's own files agree with each other: commands, locks, attributes, documents."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from runner import suite as suites

ROOT = Path(__file__).parent.parent
LOCKS = {"site": ["site"], "bench": ["site", "bench"], "dev": ["site", "bench", "dev"]}


def text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def fenced(document: str, language: str) -> list[str]:
    """The fenced code blocks of a Markdown file in that language, without their indentation."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^\1```$", text(document), re.MULTILINE | re.DOTALL)
    return [re.sub(rf"^{indent}", "", block, flags=re.MULTILINE) for indent, block in found]


def tracked() -> list[str]:
    """The files under version control, or those that would be; skips where this is no git checkout."""
    if not shutil.which("git") or not (ROOT / ".git").exists():
        pytest.skip("needs git and a git checkout")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]


# -- commands


def readme_commands() -> list[str]:
    return [
        line for block in fenced("README.md", "sh") for line in block.splitlines() if "pip install" in line
    ]


def test_readme_has_the_two_commands() -> None:
    quickstart, tests = readme_commands()
    assert quickstart.endswith("run --group bench lapsheet quickstart")
    assert tests.endswith("run --group bench --group dev pytest")


def test_ci_runs_the_readme_test_command() -> None:
    _, tests = readme_commands()
    lines = [line.strip() for line in text(".ci/run").splitlines()]
    assert lines.count(tests) == 1
    assert lines[lines.index(tests) - 1] == "run_tests() {"
    assert lines.count("run_tests") == 2  # on the default Python, and on 3.13
    # Nothing is left out on the first.
    assert "PYTEST_ADDOPTS" not in "".join(lines[: lines.index("run_tests") + 1])
    assert text(".ci/run").count("not once") == 1


def test_ci_script_is_executable_bash() -> None:
    path = ROOT / ".ci" / "run"
    assert os.access(path, os.X_OK)
    assert os.access(ROOT / "locks" / "compile", os.X_OK)
    subprocess.run(["bash", "-n", str(path)], check=True)
    assert "export LAPSHEET_NO_SKIP=1" in text(".ci/run")


@pytest.mark.parametrize(
    ("allowed", "code"),
    [
        pytest.param("0", 0, id="skips-pass-at-home"),
        pytest.param("1", 1, id="skips-fail-in-ci"),
    ],
)
def test_skip_fails_where_none_is_allowed(tmp_path: Path, allowed: str, code: int) -> None:
    for name in ("conftest.py", "browsing.py"):
        shutil.copy(ROOT / "tests" / name, tmp_path)
    (tmp_path / "test_one.py").write_text(
        "import pytest\n"
        "def test_good(): pass\n"
        "def test_gone(): pytest.skip('no oha here')\n"
        "@pytest.mark.xfail\n"
        "def test_known(): assert False\n"
    )
    (tmp_path / "test_module.py").write_text(
        "import pytest\npytest.skip('no chromium here', allow_module_level=True)\n"
    )
    environment = os.environ | {"LAPSHEET_NO_SKIP": allowed}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", str(tmp_path)]
    result = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == code, result.stdout
    assert ("test_one.py::test_gone: no oha here" in result.stdout) == bool(code)
    assert ("test_module.py: no chromium here" in result.stdout) == bool(code)
    assert "1 passed, 2 skipped, 1 xfailed" in result.stdout


def test_github_workflow_has_least_permissions_and_fixed_actions() -> None:
    workflow = yaml.safe_load(text(".github/workflows/ci.yml"))
    assert workflow["permissions"] == {"contents": "read"}
    (job,) = workflow["jobs"].values()
    assert job["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13", "3.14"]
    used = [step["uses"] for step in job["steps"] if "uses" in step]
    assert used
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action) for action in used)
    assert job["steps"][-1]["run"] == "bash .ci/run"


def test_pre_commit_fetches_nothing() -> None:
    config = yaml.safe_load(text(".pre-commit-config.yaml"))
    assert [repository["repo"] for repository in config["repos"]] == ["local"]
    assert {hook["language"] for hook in config["repos"][0]["hooks"]} == {"system"}


# -- locks


def pins(*groups: str) -> dict[str, str]:
    """Distribution → version of the project's dependencies and those groups."""
    project = tomllib.loads(text("pyproject.toml"))
    listed = list(project["project"]["dependencies"])
    for group in groups:
        listed += project["dependency-groups"][group]
    for requirement in listed:
        assert requirement.count("==") == 1, f"not pinned exactly: {requirement}"
    return dict(requirement.split("==") for requirement in listed)


def locked(name: str) -> dict[str, set[str]]:
    """Distribution → the versions a lock has for it (several where they differ by platform)."""
    found: dict[str, set[str]] = {}
    for line in text(f"locks/{name}.txt").splitlines():
        if match := re.match(r"([a-z0-9][a-z0-9.-]*)==([^ ]+)", line):
            found.setdefault(match[1], set()).add(match[2])
    return found


@pytest.mark.parametrize("name", LOCKS)
def test_lock_has_every_pin(name: str) -> None:
    found = locked(name)
    for distribution, version in pins(*LOCKS[name]).items():
        assert found.get(distribution) == {version}, f"run locks/compile: {distribution}"


@pytest.mark.parametrize("name", LOCKS)
def test_lock_has_hashes_and_no_address(name: str) -> None:
    lines = text(f"locks/{name}.txt").splitlines()
    body = [line for line in lines if not line.startswith("#")]
    starts = [index for index, line in enumerate(body) if not line.startswith(" ")]
    assert len(starts) > 10
    for start in starts:
        assert re.match(r"[a-z0-9][a-z0-9.-]*==[^ ]+( ; .*)? \\$", body[start]), body[start]
        assert re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", body[start + 1])
    rest = [line for line in lines if "locks/compile" not in line]
    assert not [
        line for line in rest if "/" in line or "://" in line or "--index" in line or "--find" in line
    ]


def test_locks_agree_with_each_other() -> None:
    site, bench, dev = locked("site"), locked("bench"), locked("dev")
    assert site.items() <= bench.items() <= dev.items()
    assert "uvicorn" not in site
    assert "pytest" not in bench


def test_published_versions_are_pinned() -> None:
    published = {
        "fastapi": "0.162.0",
        "pydantic": "2.14.1",
        "aiohttp": "3.14.5",
        "httpx": "0.28.1",
        "uvloop": "0.23.0",
        "rloop": "0.5.0",
    }
    assert published.items() <= pins("bench").items()


def test_environment_is_the_lock() -> None:
    """What is installed here is what the lock says, so that the tests speak of the locked versions."""
    from importlib.metadata import version

    for distribution, pinned in pins("site", "bench", "dev").items():
        assert version(distribution) == pinned


# -- git


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("artifacts/rest-1/raw/a.json", {"filter": "lfs", "diff": "lfs", "merge": "lfs", "text": "unset"}),
        ("artifacts/rest-1/raw/0001/raw/p.gz", {"filter": "lfs", "text": "unset"}),
        ("artifacts/rest-1/run.json", {"filter": "unspecified", "text": "unset"}),
        ("artifacts/ref-rest/raw/0001/oha.json", {"filter": "unspecified", "diff": "unspecified"}),
        ("artifacts/ref-rest/raw/0001/raw/p.gz", {"filter": "unspecified", "text": "unset"}),
        ("artifacts/pins.toml", {"filter": "unspecified", "text": "unset"}),
        ("locks/bench.txt", {"filter": "unspecified", "text": "unset"}),
        ("README.md", {"filter": "unspecified", "text": "unspecified"}),
    ],
)
def test_attributes(tmp_path: Path, path: str, expected: dict[str, str]) -> None:
    git = git_in(tmp_path)
    shutil.copy(ROOT / ".gitattributes", tmp_path)
    fields = git("check-attr", "-z", "filter", "diff", "merge", "text", "--", path).split("\0")
    found = dict(zip(fields[1::3], fields[2::3], strict=False))
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("path", "ignored"),
    [
        ("artifacts/rest-20261130t101500z-1a2b3c/run.json", True),
        ("artifacts/ref-rest/run.json", False),
        ("artifacts/ref-rest/.lock", True),
        ("artifacts/pins.toml", False),
        ("uv.lock", True),
        ("site/index.html", True),
        ("bundle/dist/plotly.min.js", True),
        ("bundle/node_modules/esbuild/package.json", True),
        ("bundle/package-lock.json", False),
        ("locks/bench.txt", False),
        ("tests/data/uv.lock.txt", False),
    ],
)
def test_ignored(tmp_path: Path, path: str, ignored: bool) -> None:
    git = git_in(tmp_path)
    shutil.copy(ROOT / ".gitignore", tmp_path)
    assert (git("check-ignore", path, codes=(0, 1)).strip() == path) == ignored


def git_in(folder: Path) -> Any:
    """A function that runs git in a new repository there, away from the user's own settings."""
    if not shutil.which("git"):
        pytest.skip("needs git")
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
    }

    def git(*arguments: str, codes: tuple[int, ...] = (0,)) -> str:
        result = subprocess.run(
            ["git", *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert result.returncode in codes, result.stderr
        return result.stdout

    git("init", "--quiet")
    return git


def test_no_file_names_a_home_or_a_registry() -> None:
    # In pieces, so that this file does not match itself.
    folders = rb"(?<![\w.}*-])/(?:root|work)/\w"
    hosts = rb"\bpypi\.or" + rb"g|files\.python" + rb"hosted|static\.crates\.i" + rb"o|registry\.npm" + rb"js"
    forbidden = re.compile(folders + rb"|" + hosts)
    for name in tracked():
        data = (ROOT / name).read_bytes()
        found = None if b"\0" in data else forbidden.search(data)
        assert not found, f"{name}: {data[max(0, found.start() - 40) : found.end() + 40]!r}"


def test_uv_lock_is_not_committed() -> None:
    assert "uv.lock" not in tracked()


# -- documents


def test_local_links_of_documents_exist() -> None:
    for document in ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", text(document)):
            assert (ROOT / target).exists(), f"{document}: {target}"


def test_contributing_server_is_valid_in_a_copy_of_rest() -> None:
    server, _, _ = fenced("CONTRIBUTING.md", "toml")
    rest = (suites.BUNDLED / "rest.toml").read_text("utf-8")
    suite = suites.parse(f"{rest}\n{server}", "mine.toml")
    added = suite.server[-1]
    assert added.name == "uvicorn-fast"
    argv = added.argv(app="app:app", host="127.0.0.1", port=8000, workers=1, python=sys.executable)
    subprocess.run([*argv[:3], "--version"], check=True, capture_output=True)
    help_text = subprocess.run([*argv[:3], "--help"], check=True, capture_output=True, text=True).stdout
    for option in [argument for argument in argv if argument.startswith("--")]:
        assert option in help_text
    assert set(added.requires) <= pins("bench").keys()
    loops = {server.loop for server in suite.server[:-1]}
    assert added.loop in loops


def test_contributing_suite_is_valid() -> None:
    _, own, _ = fenced("CONTRIBUTING.md", "toml")
    suite = suites.parse(own, "files.toml")
    assert suite.identity is None
    assert [server.name for server in suite.server] == ["http.server"]


def test_contributing_upstream_is_valid_in_that_suite() -> None:
    _, own, beside = fenced("CONTRIBUTING.md", "toml")
    suite = suites.parse(f"{own}\n{beside}", "files.toml")
    assert suite.upstream
    assert suite.probe
    assert [control.covers for control in suite.control] == [["forward"]]
    assert suite.control[0].content == suite.workload[-1].content


def test_readme_pin_is_valid() -> None:
    from runner.store import Pin

    (block,) = fenced("README.md", "toml")
    pin = tomllib.loads(block)["rest"]
    Pin.model_validate(pin | {"sha256": "0" * 64})


def test_paths_in_contributing_exist() -> None:
    table = re.findall(r"^\| (`.*?`) \|", text("CONTRIBUTING.md"), re.MULTILINE)
    named = [path for cell in table for path in re.findall(r"`([^`]+)`", cell)]
    assert len(named) > 8
    for path in named:
        assert list(ROOT.glob(path)), path


def test_changelog_has_an_unreleased_section() -> None:
    headings = re.findall(r"^## (.*)$", text("CHANGELOG.md"), re.MULTILINE)
    assert headings[0] == "[Unreleased]"
    version = tomllib.loads(text("pyproject.toml"))["project"]["version"]
    released = re.findall(r"^\[(.+?)\]", "\n".join(headings[1:]), re.MULTILINE)
    assert not released or released[0] == version


def test_citation_is_the_project() -> None:
    citation = yaml.safe_load(text("CITATION.cff"))
    project = tomllib.loads(text("pyproject.toml"))["project"]
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    assert citation["version"] == project["version"]
    assert citation["license"] == project["license"] == "MIT"
    assert text("LICENSE").startswith("MIT License\n\nCopyright (c) 2026 The Lapsheet authors")


# -- the command line


def commands() -> dict[str, Any]:
    """Name → click command of `lapsheet`."""
    import typer.main

    from runner import cli

    return dict(typer.main.get_command(cli.app).commands)  # type: ignore[attr-defined]


def test_every_command_and_option_has_help() -> None:
    found = commands()
    assert {"doctor", "suites", "plan", "run", "summarize", "verify", "quickstart"} <= found.keys()
    for name, command in found.items():
        assert command.help, name
        for parameter in command.params:
            assert getattr(parameter, "help", None), f"{name} {parameter.name}"


def options(command: Any) -> set[str]:
    """The long options of a click command."""
    names = [name for parameter in command.params for name in [*parameter.opts, *parameter.secondary_opts]]
    return {name for name in names if name.startswith("--")}


def test_readme_names_every_command_and_option() -> None:
    found, readme = commands(), text("README.md")
    for name in found:
        assert f"lapsheet {name}" in readme, name
    tour = readme[readme.index("### Capture") : readme.index("### Look")]
    named = set(re.findall(r"--[a-z][a-z-]+", tour))
    # `--serve` is the default, which only its opposite changes.
    assert named | {"--serve"} == set().union(*map(options, found.values()))


def test_readme_shared_options_are_shared() -> None:
    tour = text("README.md").split("| options of `plan` and `run` |")[1].split("| further options |")[0]
    listed = set(re.findall(r"--[a-z][a-z-]+", tour))
    found = commands()
    assert listed == options(found["plan"]) - {"--json"}
    assert listed <= options(found["run"])
