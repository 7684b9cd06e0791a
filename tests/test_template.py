"""Every call a page may make: its example in PAGES.md works, and a slip in any argument is told."""

from __future__ import annotations

import inspect
import re

import pytest
from real_pages import Pages, pages_of_this_repository
from sites import ROOT

from hooks.calls import CHARTS, Calls
from hooks.catalogue import Catalogue
from hooks.claims_kinds import KINDS
from hooks.context import PageContext
from hooks.rules import RULES
from hooks.template import PageError, resolve

TEXT = (ROOT / "PAGES.md").read_text("utf-8")
EXAMPLES = [
    line for block in re.findall(r"^```jinja\n(.*?)^```$", TEXT, re.M | re.S) for line in block.splitlines()
]
METHODS = {
    name: getattr(Calls, f"_{name}")
    for name in Calls(PageContext(Catalogue("artifacts"), "page/")).functions()
}


@pytest.fixture(scope="module")
def real() -> Pages:
    return pages_of_this_repository()


@pytest.mark.parametrize("line", EXAMPLES)
def test_example_works_on_the_pinned_runs(real: Pages, line: str) -> None:
    made = real.resolve(line)
    assert made
    # Nothing local is shown here, so there is no newest of it.
    assert all(made) or "newest_local" in line


def test_every_call_kind_and_argument_has_an_example() -> None:
    text = "\n".join(EXAMPLES)
    for name, method in METHODS.items():
        uses = re.findall(rf"\b{name}\((.*?)\) [}}%]", text)
        assert uses, f"no example of {name}"
        for place, (argument, found) in enumerate(list(inspect.signature(method).parameters.items())[1:]):
            if found.kind is not inspect.Parameter.VAR_KEYWORD:
                positional = any(len(re.findall(r'(?:^|, )"', use)) > place for use in uses)
                assert positional or any(f"{argument}=" in use for use in uses), f"{name}: {argument}"
        assert f"`{name}`" in TEXT or f"`{name}(" in TEXT, f"{name} is not described"
    for kind in [*KINDS, "top_tier"]:
        assert f'"{kind}"' in text
        assert f"`{kind}`" in TEXT
    for kind in CHARTS:
        assert f'kind="{kind}"' in text


# Each call with a slip in each of its arguments, and what is told; the near match where there is one.
SLIPS = [
    ('valeu("rest")', "'valeu' is undefined\n  Did you mean 'value'"),
    ("value(rest)", "'rest' is undefined\n .* Text stands in quotes."),
    ('value("rset")', "no pin 'rset' .*\n  Did you mean 'rest'"),
    ('value("rest", metrc="rps")', "no argument and no dimension 'metrc'\n  Did you mean 'metric'"),
    ('value("rest", metric="rsp")', "no metric 'rsp'\n  Did you mean 'rps'"),
    ('value("rest", stat="medina")', "no statistic 'medina'\n  Did you mean 'median'"),
    ('value("rest", sever="granian")', "no dimension 'sever'\n  Did you mean 'server'"),
    ('value("rest", server="granain")', "no server 'granain'\n  Did you mean 'granian'"),
    ('value("rest", server="granian")', "2 cases .*\n  Say which: workload = get_item, create_order"),
    ('value("rest", "rps", "low", "more")', "too many positional arguments\n  It takes pin, metric, stat"),
    ('value(["rest"])', r"pin cannot be \['rest'\]\n  It takes text in quotes"),
    ('ratio("rest", of={"server": "granain"}, to={"server": "daphne"})', "Did you mean 'granian'"),
    ('ratio("rest", of={"sever": "granian"}, to={"sever": "daphne"})', "Did you mean 'server'"),
    ('ratio("rest", of={"server": "granian"}, to={"workload": "get_item"})', "the same dimensions on both"),
    ('ratio("rest", of="granian", to="daphne")', "of cannot be 'granian'\n  It takes dimensions"),
    ('ratio("rest", of={"server": "granian"})', "missing a required argument: 'to'\n  It takes pin, of, to"),
    ('ratio("rest", fo={"server": "granian"}, to={})', "missing a required argument: 'of'"),
    ('ratio("rest", of={"server": "granian"}, to={"server": "daphne"}, metric="rsp")', "Did you mean 'rps'"),
    ('ratio("rest", of={"server": "granian"}, to={"server": "daphne"}, wrkload="x")', "mean 'workload'"),
    ('published("rest", server="granian")', "was captured, not published"),
    ('published("publishd")', "Did you mean 'published'"),
    ('published("published", metric="rsp")', "Did you mean 'rps'"),
    ('published("published", server="granain")', "Did you mean 'granian'"),
    ('published("published", wrkers=4)', "Did you mean 'workers'"),
    ('param("rset", "connections")', "Did you mean 'rest'"),
    ('param("rest", "conections")', "no parameter 'conections'\n  Did you mean 'connections'"),
    ('param("rest", "workers", unit="yes")', "unit cannot be 'yes'\n  It takes true or false"),
    ('param("rest", "duration", unit=true)', "'duration' has no unit\n  There are: workers, connections"),
    ('param("rest", name="seed", unt=true)', "no argument 'unt'\n  Did you mean 'unit'"),
    ('count("rest", "sever")', "Did you mean 'server'"),
    ('count("rest", "server", workload="get_itm")', "Did you mean 'get_item'"),
    ('count("rset", "server")', "Did you mean 'rest'"),
    ('count("rest", dimensoin="server")', "missing a required argument: 'dimension'"),
    ('rule("saturatd")', "no rule 'saturatd'\n  Did you mean 'saturated'"),
    ('rule(nme="saturated")', "no argument 'nme'\n  Did you mean 'name'"),
    ('claim("rset", "faster")', "Did you mean 'rest'"),
    ('claim("rest", "fastr")', "no kind of claim 'fastr'\n  Did you mean 'faster'"),
    ('claim("rest", "faster", server="granain", than="daphne")', "Did you mean 'granian'"),
    ('claim("rest", "faster", server="granian", than="dafne")', "Did you mean 'daphne'"),
    ('claim("rest", "faster", server="granian", then="daphne")', "no 'then'.*\n  Did you mean 'than'"),
    ('claim("rest", "faster", server="granian", than="daphne", in_ayn=true)', "Did you mean 'in_any'"),
    ('claim("proxy", "headroom", times=5)', "times cannot be 5\n  It takes a table of numbers"),
    ('claim("rest", "share", of={}, to={}, share="78 %")', "share cannot be '78 %'\n  It takes a number"),
    ('claim("rest", "order", first=5)', "first cannot be 5\n  It takes text in quotes, or a table by case"),
    ('claim("rest", "order", first="granian", values="granian")', "values cannot be 'granian'"),
    ('claim("rest", "within", of="a", to="b", low=1, high=2)', "of cannot be 'a'\n  It takes dimensions"),
    ('claim("rest", "top_tier", servers="granian")', "servers cannot be 'granian'\n  It takes a list"),
    ('findings("rset")', "Did you mean 'rest'"),
    ('findings("rest", metrics=["rsp"])', "Did you mean 'rps'"),
    ('findings("rest", metric="rps")', "no argument and no dimension 'metric'\n  Did you mean 'metrics'"),
    ('findings("rest", metrics=5)', "metrics cannot be 5\n  It takes text in quotes, or a list"),
    (
        'compare("nagle", of={"server": "uvicorn-h12"}, to={"server": "uvicorn-h11"})',
        "Did you mean 'uvicorn-h11'",
    ),
    ('compare("nagle", of={"server": "uvicorn-h11"}, to={"workers": 1})', "the same dimensions"),
    ('compare("nagle", of={"workers": 2}, to={"workers": 1}, metric=["rsp"])', "Did you mean 'rps'"),
    ('compare("nagle", of={"workers": 2}, to={"workers": 1}, sever="x")', "Did you mean 'server'"),
    ('compare("nagel", of={"workers": 2}, to={"workers": 1})', "Did you mean 'nagle'"),
    ('steps("pool", dimension="conections")', "Did you mean 'connections'"),
    ('steps("pool", dimension="workload")', "no steps of workload"),
    ('steps("pool", dimension="connections", metric="p98")', "Did you mean 'p9"),
    ('steps("pool", dimension="connections", workload="htpx-1k")', "Did you mean 'httpx-1k'"),
    ('steps("pol", dimension="connections")', "Did you mean 'pool'"),
    ('table("rset")', "Did you mean 'rest'"),
    ('table("rest", rows="sever")', "Did you mean 'server'"),
    ('table("rest", columns="workloda")', "Did you mean 'workload'"),
    ('table("rest", metrics=["rsp"])', "Did you mean 'rps'"),
    ('table("rest", tiers="no")', "tiers cannot be 'no'\n  It takes true or false"),
    ('table("rest", colums="workload")', "no argument and no dimension 'colums'\n  Did you mean 'columns'"),
    ('table("rest", workload="get_itm")', "Did you mean 'get_item'"),
    ('chart("rset")', "Did you mean 'rest'"),
    ('chart("rest", kind="rnage")', "no kind of chart 'rnage'\n  Did you mean 'range'"),
    ('chart("rest", metric="rsp")', "Did you mean 'rps'"),
    ('chart("rest", rows="sever")', "Did you mean 'server'"),
    ('chart("rest", columns="workloda")', "Did you mean 'workload'"),
    (
        'chart("pool", kind="against", x="conections", rows="workload", columns=none)',
        "Did you mean 'connections'",
    ),
    ('chart("rest", workload="get_itm")', "Did you mean 'get_item'"),
    ('chart("rest", knd="range")', "no argument and no dimension 'knd'\n  Did you mean 'kind'"),
    (
        'ratios("proxy", of={"workload": "aiohtp-1k"}, to={"workload": "httpx-1k"})',
        "Did you mean 'aiohttp-1k'",
    ),
    ('ratios("proxy", of={"workload": "aiohttp-1k"}, to=[])', "as many"),
    (
        'ratios("proxy", of={"workload": "aiohttp-1k"}, to={"workload": "httpx-1k"}, rows="sever")',
        "mean 'server'",
    ),
    (
        'ratios("proxy", of={"workload": "aiohttp-1k"}, to={"workload": "httpx-1k"}, metric="rsp")',
        "mean 'rps'",
    ),
    (
        'ratios("proxy", of={"workload": "aiohttp-1k"}, to={"workload": "httpx-1k"}, row="server")',
        "mean 'rows'",
    ),
    ('ratios("proxi", of={}, to={})', "Did you mean 'proxy'"),
    ('scaling("worker")', "Did you mean 'workers'"),
    ('scaling("workers", metric="rsp")', "Did you mean 'rps'"),
    ('scaling("workers", workload="get_itm")', "Did you mean 'get_item'"),
    ('scaling("workers", metrics="rps")', "Did you mean 'metric'"),
    ('headroom("proxi")', "Did you mean 'proxy'"),
    ('headroom("proxy", rows="sever")', "Did you mean 'server'"),
    ('headroom("proxy", workload="htpx-1k")', "Did you mean 'httpx-1k'"),
    ('headroom("proxy", row="server")', "Did you mean 'rows'"),
    ('ladder("laddr")', "Did you mean 'ladder'"),
    ('ladder("ladder", metric="p99")', "no argument 'metric'\n  There are: pin"),
    ('ladder("rest")', "has no load ladder"),
    ('beside("rset", "published", baseline={})', "Did you mean 'rest'"),
    ('beside("rest", "publishd", baseline={})', "Did you mean 'published'"),
    ('beside("rest", "published", baseline={"sever": "x"})', "Did you mean 'server'"),
    ('beside("rest", "published", baseline={"server": "granain"})', "Did you mean 'granian'"),
    ('beside("rest", "published", baseline={}, metric="rsp")', "Did you mean 'rps'"),
    ('beside("rest", "published", baseline={}, rows="sever")', "Did you mean 'server'"),
    ('beside("rest", "published", baseline={}, columns="workloda")', "Did you mean 'workload'"),
    ('beside("rest", "published", baseline={}, here={"wrkers": 1})', "Did you mean 'workers'"),
    ('beside("rest", "published", baseline={}, there={"wrkers": 1})', "Did you mean 'workers'"),
    ('beside("rest", "published", baseline={}, common="no")', "common cannot be 'no'"),
    ('beside("rest", "published", baseline={}, comon=true)', "Did you mean 'common'"),
    ('beside("rest", "published", baseline={}, workload="get_itm")', "Did you mean 'get_item'"),
    ('beside("rest", "published")', "missing a required argument: 'baseline'"),
    ('controls_beside("proxi", "published")', "Did you mean 'proxy'"),
    ('controls_beside("proxy", "publishd")', "Did you mean 'published'"),
    ('controls_beside("proxy", publishd="published")', "no argument 'publishd'\n  Did you mean 'published'"),
    ('statements("publishd", "rest")', "Did you mean 'published'"),
    ('statements("published", "rset")', "Did you mean 'rest'"),
    ('statements("published", "rest", run="rset")', "Did you mean 'rest'"),
    ('statements("published", "rest", run="rest", here={"wrkers": 1})', "Did you mean 'workers'"),
    ('statements("published", "rest", runn="rest")', "no argument 'runn'\n  Did you mean 'run'"),
    ('statements("rest", "rest")', "was captured, not published"),
    ('differences("rset", "published")', "Did you mean 'rest'"),
    ('differences("rest", "publishd")', "Did you mean 'published'"),
    ('differences("rest", publishe="published")', "Did you mean 'published'"),
    ('summary("rset")', "Did you mean 'rest'"),
    ('summary(pn="rest")', "no argument 'pn'\n  Did you mean 'pin'"),
    ('overview("rset")', "Did you mean 'rest'"),
    ('overview("rest", metric="rsp")', "Did you mean 'rps'"),
    ('overview("rest", metrics="rps")', "no argument 'metrics'\n  Did you mean 'metric'"),
    ('methodology("rset")', "Did you mean 'rest'"),
    ('methodology("rest", level=9)', "level cannot be 9\n  It takes the level of a heading, from 1 to 6"),
    ('methodology("rest", levl=2)', "no argument 'levl'\n  Did you mean 'level'"),
    ('environment("rset")', "Did you mean 'rest'"),
    ('environment("rest", 2)', "too many positional arguments\n  It takes pin."),
    ('downloads("rset")', "Did you mean 'rest'"),
    ('downloads("rest", level=2)', "no argument 'level'"),
    ('probe_limits("rest")', "too many positional arguments\n  It takes nothing."),
    ('publications(level="2")', "level cannot be '2'"),
    ("publications(levl=2)", "Did you mean 'level'"),
    ("runs(newest=0)", "newest cannot be 0\n  It takes a number from 1"),
    ("runs(newst=5)", "Did you mean 'newest'"),
    ('newest_local("rest")', "It takes nothing"),
    ('pinned("rset")', "Did you mean 'rest'"),
    ('pinned(pn="rest")', "Did you mean 'pin'"),
    ('value("rest", server="granian") | upper_case', "No filter named 'upper_case'"),
    ('value("rest"', r"unexpected .*\n  A call is written as \{\{ name"),
]


@pytest.mark.parametrize(("call", "told"), SLIPS, ids=[call for call, _ in SLIPS])
def test_slip_is_told_with_page_line_and_near_matches(real: Pages, call: str, told: str) -> None:
    with pytest.raises(PageError) as caught:
        real.resolve(f"# Title\n\nSome text.\n\n{{{{ {call} }}}}\n", "folder/page.md")
    assert str(caught.value).startswith("folder/page.md, line 5: "), str(caught.value)
    assert re.search(told, str(caught.value)), str(caught.value)
    name = call.partition("(")[0]
    if name in METHODS and "undefined" not in told and "filter" not in told and "unexpected" not in told:
        assert f"line 5: {name}(" in str(caught.value)


def slips() -> list[tuple[str, str]]:
    """Every example with one of its arguments, keys or values mistyped, and what was meant."""
    found = []
    for line in EXAMPLES:
        names = re.finditer(r"(?<=[(, ])([a-z_]+)(?==)", line)
        for match in [*names, *re.finditer(r'"([^"]+)"', line)]:
            word = match[1]
            typo = f"{word[: len(word) // 2]}{word[len(word) // 2 + 1 :]}q"
            found.append((f"{line[: match.start(1)]}{typo}{line[match.end(1) :]}", word))
    return found


@pytest.mark.parametrize(("line", "meant"), slips())
def test_any_argument_or_name_mistyped_is_told_with_what_was_meant(
    real: Pages, line: str, meant: str
) -> None:
    with pytest.raises(PageError) as caught:
        real.resolve(line)
    text = str(caught.value)
    assert re.match(r"page\.md, line 1: \w+\(", text), text
    # A required argument is missing where it was mistyped; the hint then lists them.
    near = (
        f"Did you mean .*'{re.escape(meant)}'|There are: .*\\b{re.escape(meant)}\\b|It takes .*\\b{meant}\\b"
    )
    assert re.search(near, text), text


def test_error_names_the_line_of_a_call_that_spans_several(real: Pages) -> None:
    with pytest.raises(PageError, match=r"^page\.md, line 4: value\(\"rest\"\): "):
        real.resolve('# A\n\n{{ rule("climb") }}\n{{ value("rest",\n server="x") }}')


def test_rules_are_figures() -> None:
    assert set(RULES) >= {"saturated", "foreign", "climb", "proxy pool"}
    for rule in RULES.values():
        assert re.fullmatch(r"\d+(\.\d+)?( %|×| s| µs| ms)?", rule()), rule()


def test_without_any_run_a_call_says_so_or_gives_nothing() -> None:
    calls = Calls(PageContext(Catalogue("artifacts"), "page/"))
    for line in EXAMPLES:
        resolve(line, calls.functions(), "page.md")
