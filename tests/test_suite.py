"""Suite files: what is refused and how it is said, the cases, and the order of rounds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import pytest

from runner import suite as suites
from runner.cases import capacity_of, cases_of, round_order, stages
from runner.errors import SuiteError
from runner.model import Case, Parameters
from runner.suite import Suite, parse
from runner.tables import Payload

GOOD = """
name = "mine"
title = "Mine"
app = "shop:app"

[twin]
server = "one"

[[server]]
name = "one"
command = ["serve", "{app}", "--bind", "{host}:{port}", "-w", "{workers}"]

[[server]]
name = "two"
command = ["{python}", "-m", "serve"]
lifespan = false

[[workload]]
name = "get"
path = "/items/42"

[[workload]]
name = "proxy"
method = "POST"
path = "/proxy"
requires_lifespan = true

[[series]]
name = "single"

[[series]]
name = "scaling"
servers = ["one"]
workloads = ["get"]
workers = 4
"""


def refusal(text: str) -> str:
    with pytest.raises(SuiteError) as caught:
        parse(text, "mine.toml")
    return str(caught.value)


def replaced(old: str, new: str) -> str:
    assert GOOD.count(old) == 1, old
    return GOOD.replace(old, new)


def parameters(suite: Suite, repeats: int = 5, **changes: object) -> Parameters:
    defaults: dict[str, object] = {
        "servers": suites.select(suite, "server", []),
        "workloads": suites.select(suite, "workload", []),
        "workers": [],
        "connections": 100,
        "duration": 5,
        "warmup": 1,
        "repeats": repeats,
        "seed": 42,
    }
    return Parameters.model_validate(defaults | changes)


def ids(cases: Iterable[Case]) -> list[str]:
    return [case.id for case in cases]


# Bad input


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('app = "shop:app"', 'ap = "shop:app"', ["mine.toml: ap: unknown key"]),
        ("lifespan = false", "lifespam = false", ["mine.toml: [[server]] 'two': lifespam: unknown key"]),
        (
            'path = "/items/42"',
            'pth = "/items/42"',
            ["[[workload]] 'get': pth: unknown key", "path: missing"],
        ),
        ("workers = 4", "worker = 4", ["mine.toml: [[series]] 'scaling': worker: unknown key"]),
        ('server = "one"', 'name = "one"', ["mine.toml: twin: server: missing", "twin: name: unknown key"]),
    ],
)
def test_a_wrong_key_is_named_with_file_and_table(old: str, new: str, said: list[str]) -> None:
    message = refusal(replaced(old, new))
    for part in said:
        assert part in message


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("lifespan = false", 'lifespan = "never"', "mine.toml: [[server]] 'two': lifespan: "),
        ('command = ["{python}", "-m", "serve"]', 'command = "serve"', "[[server]] 'two': command: "),
        ('command = ["{python}", "-m", "serve"]', "command = []", "[[server]] 'two': command: "),
        ("workers = 4", 'workers = "four"', "mine.toml: [[series]] 'scaling': workers: "),
        ("workers = 4", "workers = 0", "(found 0)"),
        ('title = "Mine"', "title = 3", "mine.toml: title: "),
        ('method = "POST"', 'method = "STEAL"', "[[workload]] 'proxy': method: "),
        ('path = "/items/42"', 'path = "items/42"', "[[workload]] 'get': path: "),
    ],
)
def test_a_wrong_type_or_value_is_named_with_file_table_and_key(old: str, new: str, said: str) -> None:
    message = refusal(replaced(old, new))
    assert message.startswith("mine.toml: ")
    assert said in message


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "lifespan = false",
            'lifespan = "no"',
            "[[server]] 'two': lifespan: must be true or false (found 'no')",
        ),
        ("lifespan = false", "lifespan = 0", "[[server]] 'two': lifespan: must be true or false (found 0)"),
        (
            "workers = 4",
            "workers = true",
            "[[series]] 'scaling': workers: must be a whole number, or \"cpus\" (found true)",
        ),
        (
            "workers = 4",
            'workers = "4"',
            "[[series]] 'scaling': workers: must be a whole number, or \"cpus\" (found '4')",
        ),
        (
            "workers = 4",
            "workers = 4.0",
            "[[series]] 'scaling': workers: must be a whole number, or \"cpus\" (found 4.0)",
        ),
        (
            "[twin]",
            '[defaults]\nduration = "0.3"\n[twin]',
            "defaults: duration: must be a number (found '0.3')",
        ),
        ("[twin]", "[defaults]\nwarmup = true\n[twin]", "defaults: warmup: must be a number (found true)"),
        ("[twin]", "[defaults]\nwarmup = [1]\n[twin]", "defaults: warmup: must be a number (found a list)"),
        (
            "[twin]",
            '[defaults]\nrepeats = "1"\n[twin]',
            "defaults: repeats: must be a whole number (found '1')",
        ),
        ("[twin]", "[defaults]\nduration = inf\n[twin]", "defaults: duration: "),
        ("[twin]", "[defaults]\nduration = nan\n[twin]", "defaults: duration: "),
        ("[twin]", "[defaults]\nforeign_limit = nan\n[twin]", "defaults: foreign_limit: "),
        ('title = "Mine"', "title = 2026-01-01", "title: must be text, in quotes (found 2026-01-01)"),
        ('title = "Mine"', 'title = "Mine"\nidentity = "/"', "identity: "),
        (
            'servers = ["one"]',
            'servers = "one"',
            "[[series]] 'scaling': servers: must be a list (found 'one')",
        ),
        (
            "lifespan = false",
            "env = { A = 1 }",
            "[[server]] 'two': env: A: must be text, in quotes (found 1)",
        ),
        ("lifespan = false", 'env = "A=1"', "[[server]] 'two': env: must be a table (found 'A=1')"),
    ],
)
def test_no_type_is_taken_for_another(old: str, new: str, said: str) -> None:
    assert refusal(replaced(old, new)).startswith(f"mine.toml: {said}")


def test_a_whole_number_is_a_number() -> None:
    suite = parse(replaced("[twin]", "[defaults]\nduration = 2\nwarmup = 0\n[twin]"), "mine.toml")
    assert (suite.defaults.duration, suite.defaults.warmup) == (2.0, 0.0)


SERVER, PROXY = "lifespan = false", 'path = "/proxy"'


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (SERVER, 'requires = ["a", ""]', "[[server]] 'two': requires[1]: is not the name of a distribution"),
        (SERVER, 'requires = ["uvicorn[standard]"]', "[[server]] 'two': requires[0]: is not the name"),
        (SERVER, 'requires = ["uvicorn>=0.3"]', "[[server]] 'two': requires[0]: is not the name"),
        (SERVER, 'requires = ["a\\n"]', "[[server]] 'two': requires[0]: is not the name"),
        (SERVER, 'env = { "" = "1" }', "[[server]] 'two': env: '': a variable's name must not be empty"),
        (SERVER, 'env = { "A=B" = "1" }', "[[server]] 'two': env: A=B: a variable's name must not"),
        (SERVER, 'env = { A = "\\u0000" }', "[[server]] 'two': env: A: has a NUL character"),
        ('"-m", "serve"]', '"-m", "\\u0000"]', "[[server]] 'two': command[2]: has a NUL character"),
        ('["{python}", "-m", "serve"]', '[""]', "[[server]] 'two': command: the first item is the program"),
        ('app = "shop:app"', 'app = "\\u0000"', "app: has a NUL character"),
        ('app = "shop:app"', 'directory = "\\u0000"', "directory: has a NUL character"),
        (PROXY, 'path = "proxy"', "[[workload]] 'proxy': path: must begin with '/' (found 'proxy')"),
        (PROXY, 'path = ""', "[[workload]] 'proxy': path: must begin with '/'"),
        (PROXY, 'path = "/größe"', "[[workload]] 'proxy': path: 'ö' cannot be in a path: percent-encode it"),
        (PROXY, 'path = "/a b"', "[[workload]] 'proxy': path: ' ' cannot be in a path"),
        (PROXY, 'path = "/a\\n"', "[[workload]] 'proxy': path: '\\n' cannot be in a path"),
        (PROXY, 'path = "/a#b"', "[[workload]] 'proxy': path: '#' cannot be in a path"),
        ("[twin]", '[identity]\npath = "/ "\n[twin]', "identity: path: ' ' cannot be in a path"),
        (PROXY, f'{PROXY}\nbody = "\\u0000"', "[[workload]] 'proxy': body: has a NUL character"),
        (
            PROXY,
            f'{PROXY}\nheaders = {{ a = "x\\r\\ny" }}',
            "[[workload]] 'proxy': headers: a: '\\r' cannot be",
        ),
        (PROXY, f'{PROXY}\nheaders = {{ a = "∑" }}', "[[workload]] 'proxy': headers: a: '∑' cannot be"),
        (
            PROXY,
            f'{PROXY}\nheaders = {{ "a b" = "" }}',
            "[[workload]] 'proxy': headers: a b: is not a header's",
        ),
        (
            PROXY,
            f'{PROXY}\nheaders = {{ "a:" = "" }}',
            "[[workload]] 'proxy': headers: a:: is not a header's",
        ),
        (PROXY, f'{PROXY}\nheaders = {{ "é" = "" }}', "[[workload]] 'proxy': headers: é: is not a header's"),
        (PROXY, f'{PROXY}\nheaders = {{ "" = "" }}', "[[workload]] 'proxy': headers: '': is not a header's"),
        (PROXY, f"{PROXY}\nexpect.status = 404", "[[workload]] 'proxy': expect: status: must be 2xx"),
        (PROXY, f"{PROXY}\nexpect.status = 199", "[[workload]] 'proxy': expect: status: must be 2xx"),
        (PROXY, f"{PROXY}\nexpect.size = -1", "[[workload]] 'proxy': expect: size: "),
        (
            PROXY,
            f"{PROXY}\nexpect.json.a = [1, {{ b = 2026-01-01T00:00:00Z }}]",
            "[[workload]] 'proxy': expect: json: a[1].b: JSON has no dates and times: put 2026-01-01",
        ),
        (PROXY, f"{PROXY}\nexpect.json = 07:30:00", "[[workload]] 'proxy': expect: json: JSON has no dates"),
        (PROXY, f"{PROXY}\nexpect.json.x = nan", "[[workload]] 'proxy': expect: json: x: JSON has no nan"),
    ],
)
def test_what_no_request_or_process_can_be_given_is_refused(old: str, new: str, said: str) -> None:
    assert refusal(replaced(old, new)).startswith(f"mine.toml: {said}")


def test_what_a_request_can_be_given_is_taken() -> None:
    headers = '{ "Content-Type" = "text/plain; charset=utf-8", "x-empty" = "", "x!~" = "a\\tb" }'
    more = f"{PROXY.replace('/proxy', '/a/%20~/?q=[1]&b=x+y;(z)')}\nheaders = {headers}\nbody = 'größe {{{{'"
    workload = parse(replaced(PROXY, f"{more}\nexpect.status = 201"), "mine.toml").workload[1]
    assert workload.headers["x!~"] == "a\tb"
    assert workload.body == "größe {{"
    assert workload.expect.status == 201


def test_every_mistake_is_told_at_once() -> None:
    message = refusal(replaced("lifespan = false", 'lifespam = false\nenv = "none"'))
    assert "[[server]] 'two': lifespam: unknown key" in message
    assert "[[server]] 'two': env: " in message


@pytest.mark.parametrize(
    ("old", "new", "table", "name"),
    [
        ('name = "two"', 'name = "one"', "server", "one"),
        ('name = "proxy"', 'name = "get"', "workload", "get"),
        ('name = "scaling"', 'name = "single"', "series", "single"),
    ],
)
def test_two_tables_of_one_name_are_refused(old: str, new: str, table: str, name: str) -> None:
    assert refusal(replaced(old, new)) == f"mine.toml: two [[{table}]] tables are named {name!r}"


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("{prot}", "unknown placeholder {prot}"),
        ("{}", "unknown placeholder {}"),
        ("{0}", "unknown placeholder {0}"),
        ("{port.x}", "unknown placeholder {port.x}"),
        ("{port[0]}", "unknown placeholder {port[0]}"),
        ("{port", "(found '{port')"),
        ("{port:zz}", "a placeholder is its name alone, without ':' and '!': {port} (found '{port:zz}')"),
        ("{port:>{workers}}", "a placeholder is its name alone"),
        ("{port!r}", "a placeholder is its name alone"),
    ],
)
def test_an_unknown_placeholder_is_named_with_the_known_ones(argument: str, said: str) -> None:
    message = refusal(replaced('"{host}:{port}"', f'"{argument}"'))
    assert message.startswith("mine.toml: [[server]] 'one': command[3]: ")
    assert said in message
    if "unknown" in said:
        assert "{app}, {host}, {port}, {python}, {workers}" in message


def test_doubled_braces_are_no_placeholder() -> None:
    suite = parse(replaced('"{host}:{port}"', '"{{host}}"'), "mine.toml")
    assert suite.server[0].argv(app="a", host="h", port=1, workers=2, python="p")[3] == "{host}"


@pytest.mark.parametrize(
    "name",
    ["Two", "two words", "-two", ".two", "../two", "tw/o", "", "t" * 65, "zwei²", "two\\n", "two\\n\\n"],
)
def test_a_name_outside_the_form_of_an_id_is_refused(name: str) -> None:
    message = refusal(replaced('name = "two"', f'name = "{name}"'))
    assert "mine.toml: " in message
    assert "name: " in message
    assert "is not an id: lower-case letters" in message


@pytest.mark.parametrize("name", ["2", "a.b_c-d", "t" * 64])
def test_a_name_in_the_form_of_an_id_is_taken(name: str) -> None:
    assert parse(replaced('name = "two"', f'name = "{name}"'), "mine.toml").server[1].name == name


def test_labels_are_free_text() -> None:
    label = "<b>\"q\" 's' ../..\n=1+1 ∑"
    text = replaced("lifespan = false", f'lifespan = false\nlabel = """{label}"""')
    assert parse(text, "mine.toml").server[1].label == label


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('servers = ["one"]', 'servers = ["three"]', "series 'scaling': servers names unknown 'three'"),
        ('workloads = ["get"]', 'workloads = ["put"]', "series 'scaling': workloads names unknown 'put'"),
        ('server = "one"', 'server = "three"', "twin.server names unknown 'three'"),
    ],
)
def test_unknown_names_in_series_and_twin_are_refused(old: str, new: str, said: str) -> None:
    assert refusal(replaced(old, new)) == f"mine.toml: {said}"


@pytest.mark.parametrize("table", ["server", "workload", "series"])
def test_a_suite_needs_its_tables(table: str) -> None:
    tables = GOOD.split("\n[[")
    text = "\n[[".join(part for part in tables if not part.startswith(f"{table}]]"))
    assert f"mine.toml: {table}: missing" in refusal(text)


def test_broken_toml_is_told_with_its_line() -> None:
    message = refusal(GOOD + "\nname = \n")
    assert message.startswith("mine.toml: not valid TOML: ")
    assert "line" in message


def test_a_file_that_is_not_there_or_not_text(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="no suite 'nonsense'"):
        suites.load("nonsense")
    with pytest.raises(SuiteError, match="no suite"):
        suites.load(str(tmp_path / "none.toml"))
    path = tmp_path / "latin.toml"
    path.write_bytes(GOOD.replace("Mine", "Größe").encode("latin-1"))
    with pytest.raises(SuiteError, match=r"latin\.toml: not UTF-8 at byte \d+"):
        suites.load(str(path))


@pytest.mark.parametrize("directory", ["none", "mine.toml", "loop"])
def test_a_directory_that_is_none_is_told_with_key_and_folder(tmp_path: Path, directory: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(replaced('app = "shop:app"', f'directory = "{directory}"'), "utf-8")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(SuiteError) as caught:
        suites.load(str(path))
    assert caught.value.message == f"{path}: directory: no folder {tmp_path / directory}"


def test_a_directory_is_relative_to_the_suite_file(tmp_path: Path) -> None:
    path = tmp_path / "suites" / "mine.toml"
    path.parent.mkdir()
    (tmp_path / "apps").mkdir()
    path.write_text(replaced('app = "shop:app"', 'directory = "../apps"'), "utf-8")
    assert suites.load(str(path)).directory == tmp_path / "apps"


def test_a_file_is_kept_as_it_was_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD, "utf-8")
    loaded = suites.load(str(path))
    assert loaded.suite == parse(GOOD, "mine.toml")
    assert (loaded.file.name, loaded.file.text) == ("mine.toml", GOOD)


# Selection and cases


def test_selection_keeps_file_order_and_names_what_is_unknown() -> None:
    suite = parse(GOOD, "mine.toml")
    assert suites.select(suite, "server", []) == ["one", "two"]
    assert suites.select(suite, "server", ["two", "one"]) == ["one", "two"]
    with pytest.raises(SuiteError, match="suite 'mine' has no server 'three'") as caught:
        suites.select(suite, "server", ["three"])
    assert caught.value.hint == "It has: one, two."
    with pytest.raises(SuiteError, match=r"workload '\.\./x' is not an id"):
        suites.select(suite, "workload", ["../x"])


def test_cases_follow_series_and_lifespan_and_end_with_twins() -> None:
    suite = parse(GOOD, "mine.toml")
    cases = cases_of(suite, parameters(suite))
    assert ids(cases) == [
        "one/get/w1/c100",
        "one/proxy/w1/c100",
        "two/get/w1/c100",
        "one/get/w4/c100",
        "one/get/w1/c100/twin",
        "one/proxy/w1/c100/twin",
        "one/get/w4/c100/twin",
    ]
    assert [case.role for case in cases] == ["case"] * 4 + ["twin"] * 3
    assert cases[4].twin_of == "one/get/w1/c100"
    assert cases[4].dimensions == cases[0].dimensions


def test_workers_of_the_command_line_replace_those_of_the_series_once() -> None:
    suite = parse(GOOD, "mine.toml")
    cases = cases_of(suite, parameters(suite, workers=[2], twin=False))
    assert ids(cases) == ["one/get/w2/c100", "one/proxy/w2/c100", "two/get/w2/c100"]


def test_a_series_may_have_a_worker_for_each_cpu_of_the_server() -> None:
    text = GOOD.replace("workers = 4", 'workers = "cpus"')
    assert text != GOOD
    suite = parse(text, "mine.toml")
    assert "one/get/w3/c100" in ids(cases_of(suite, parameters(suite, twin=False), cpus=3))
    with pytest.raises(SuiteError, match="workers"):
        parse(GOOD.replace("workers = 4", 'workers = "many"'), "mine.toml")


UPSTREAM = """
[upstream]
command = ["echo", "{port}"]

[[control]]
name = "direct"
path = "/"
covers = ["get"]
"""


def test_controls_come_last_at_the_most_connections_of_what_they_cover() -> None:
    suite = parse(GOOD + UPSTREAM, "mine.toml")
    cases = cases_of(suite, parameters(suite), upstreams=2)
    control = cases[-1]
    assert (control.id, control.role, control.series) == ("upstream/direct/w2/c100", "control", "control")
    assert control.covers == ["get"]
    chosen = parameters(suite, twin=False, workloads=["proxy"])
    assert all(case.role == "case" for case in cases_of(suite, chosen))


def test_stages_put_capacities_first_and_controls_around_the_rounds() -> None:
    suite = parse(GOOD + UPSTREAM, "mine.toml")
    asked = parameters(suite, repeats=2, twin=False)
    order = [(repeat, case.role) for repeat, stage in stages(cases_of(suite, asked), asked) for case in stage]
    assert order == [(1, "control")] + [(1, "case")] * 4 + [(2, "control")] + [(2, "case")] * 4 + [
        (3, "control")
    ]
    ladder = parameters(suite, repeats=2, twin=False, servers=["two"], workloads=["get"], ladder=[0.2, 0.9])
    found = cases_of(suite, ladder)
    loads = [
        case.dimensions["load"]
        for _, stage in stages(found, ladder)
        for case in stage
        if "load" in case.dimensions
    ]
    assert loads[:2] == ["capacity", "capacity"]
    assert sorted(map(str, loads[2:])) == ["20", "20", "90", "90"]
    assert capacity_of(found[1], found) is found[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (UPSTREAM.replace('["get"]', '["none"]'), "covers names unknown 'none'"),
        (UPSTREAM.replace('name = "direct"', 'name = "get"'), "has the name of a workload"),
        (UPSTREAM.replace('["get"]', "[]"), "covers: must not be empty"),
        (UPSTREAM.replace('["get"]', '["get", "get"]'), "'get' is covered twice, by direct"),
        (UPSTREAM + 'body = "four"\n', "sends a body of 4 bytes, and 'get', which it covers, one of 0"),
        (UPSTREAM[UPSTREAM.index("[[control]]") :], r"there is no \[upstream\]"),
        (UPSTREAM + "slow = 0\n", "slow"),
        (UPSTREAM + "expect = { echo = true }\n", "no body that could come back"),
        (UPSTREAM + 'body = "x"\npayload = { size = 3 }\n', "body and payload"),
        (
            UPSTREAM + "payload = { size = 3 }\nexpect = { echo = true, size = 4 }\n",
            "the body that comes back has 3",
        ),
        ("[probe]\nrequests = 0\n", "probe: requests"),
    ],
)
def test_mistakes_in_an_upstream_a_control_or_a_probe_are_named(text: str, message: str) -> None:
    with pytest.raises(SuiteError, match=message):
        parse(GOOD + text, "mine.toml")


def test_a_payload_is_the_same_everywhere_and_exactly_as_long_as_it_says() -> None:
    payload = Payload(before='{"data": "', size=1024, after='"}', seed=1)
    assert len(payload.text) == 1036
    assert (payload.text[:10], payload.text[-2:]) == ('{"data": "', '"}')
    digest = hashlib.sha256(payload.text.encode()).hexdigest()
    assert digest == "90ff608417d8c4b8726750b9634eb890d7405f9988490fe244527c2d12ec11e6"
    assert Payload(size=64, seed=2).text != Payload(size=64, seed=3).text


# Order


def many() -> list[Case]:
    suite = parse(GOOD, "mine.toml")
    cases = cases_of(suite, parameters(suite))
    return [*cases, *[case.model_copy(update={"id": f"{case.id}/{i}"}) for case in cases for i in range(3)]]


def test_a_round_holds_every_case_once() -> None:
    cases = many()
    for repeat in range(1, 11):
        order = ids(round_order(cases, 42, repeat))
        assert sorted(order) == sorted(ids(cases))
        assert len(set(order)) == len(cases)


def test_each_round_has_a_permutation_of_its_own_and_so_has_each_seed() -> None:
    cases = many()
    orders = {tuple(ids(round_order(cases, seed, r))) for seed in (42, 43) for r in range(1, 6)}
    assert len(orders) == 10
    assert tuple(ids(cases)) not in orders


def test_the_same_seed_gives_the_same_order_for_ever() -> None:
    cases = [case.model_copy(update={"id": name}) for case, name in zip(many(), "abcdefgh", strict=False)]
    assert "".join(ids(round_order(cases, 42, 1))) == "eahbcgdf"
    assert "".join(ids(round_order(cases, 42, 2))) == "cgbfeahd"


def test_ordering_leaves_the_cases_as_they_were() -> None:
    cases = many()
    before = ids(cases)
    round_order(cases, 42, 1)
    assert ids(cases) == before


# The bundled suites


@pytest.mark.parametrize("path", suites.bundled(), ids=lambda path: path.stem)
def test_every_bundled_suite_is_valid_and_named_as_its_file(path: Path) -> None:
    suite = suites.load(path.stem).suite
    assert suite.name == path.stem
    assert cases_of(suite, parameters(suite))
