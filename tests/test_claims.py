"""Calls in prose: figures, claims and findings say what the data says, or the build fails."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from evidence import case, failed, measured, sample, saturated, stored
from sites import EVIL, Builder, BuildFailed, pin, tree

from benchmarks.synthetic import flawed, write_run
from hooks import loading
from hooks.attempts import attempts_of
from hooks.calls import Calls
from hooks.catalogue import Catalogue, Entry
from hooks.claims import claim
from hooks.context import PageContext
from hooks.findings import findings_block
from hooks.placeholders import Placeholders
from hooks.template import PageError, resolve
from hooks.view import View
from runner.analysis import summary
from runner.errors import AnalysisError
from runner.model import Run, Sample
from runner.store import StoredRun


def view_of(run: StoredRun) -> View:
    """A run in memory as pages see it."""
    columns = loading._parts(summary([run]))["run"]
    return View("run", "key", "0" * 64, 0, Path("run"), run.run, attempts_of(run.run, run.samples), columns)


def text(markup: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", markup))


def steps(middle: float, spread: float = 0.01) -> list[float]:
    """Five values around a median."""
    return [middle * (1 + spread * step) for step in (-1, 0.5, 0, -0.5, 1)]


ROWS = {"fast": steps(1000), "even": steps(1004), "slow": steps(500), "last": steps(250)}


@pytest.fixture(scope="module")
def plain() -> View:
    return view_of(measured(ROWS, twin={"fast": steps(1010)}, labels={"server": {"fast": "Fast & <b>"}}))


def run_with(*, missing: bool = False, floor: bool = False, single: bool = False) -> View:
    """``a`` beats ``b`` twofold, but there is something about ``a``."""
    a, b = case("a"), case("b")
    repeats = 1 if single else 5
    samples = [sample(b, i, value) for i, value in enumerate(steps(500)[:repeats], 1)]
    fields = {"witness": saturated("generator")} if floor else {}
    samples += [sample(a, i, value, **fields) for i, value in enumerate(steps(1000)[:repeats], 1)]
    if missing:
        samples[-1] = failed(a, 5)
    return view_of(stored([a, b], samples, repeats))


# --- claims -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "arguments", "sentence"),
    [
        (
            "faster",
            {"server": "fast", "than": "slow"},
            "Fast & <b> has a higher throughput than slow on get: 1,000 against 500.0 requests/s, 2.00×.",
        ),
        (
            "slower",
            {"server": "last", "than": "slow", "workload": "get"},
            "last has a lower throughput than slow on get: 250.0 against 500.0 requests/s, 0.50×.",
        ),
        (
            "indistinguishable",
            {"server": "even", "than": "fast"},
            "even and Fast & <b> cannot be told apart by throughput on get: "
            "1,004 and 1,000 requests/s, the ranges overlap.",
        ),
        (
            "top_tier",
            {"servers": ["even", "fast"]},
            "By throughput, the first tier on get is even (1,004) and Fast & <b> (1,000); "
            "slow (500.0) leads the second (requests/s).",
        ),
        (
            "within",
            {"of": {"server": "fast"}, "to": {"server": "last"}, "low": 3.5, "high": 4.1},
            "Fast & <b> over last is within 3.5–4.1× in throughput on get: 4.0×.",
        ),
    ],
)
def test_true_claim_is_its_sentence(
    plain: View, kind: str, arguments: dict[str, object], sentence: str
) -> None:
    found = claim(plain, kind, arguments)
    assert text(found) == sentence
    assert "<b>" not in found


@pytest.mark.parametrize(
    ("kind", "arguments", "told"),
    [
        (
            "faster",
            {"server": "even", "than": "fast"},
            r"false claim: even/get/w1 faster against fast/get/w1 by rps; the data says indistinguishable "
            r"\(the ranges overlap\): 1,004 \(994\.0–1,014\) against 1,000 \(990\.0–1,010\)",
        ),
        ("faster", {"server": "slow", "than": "fast"}, "the data says slower"),
        ("slower", {"server": "fast", "than": "slow"}, "the data says faster"),
        ("indistinguishable", {"server": "fast", "than": "slow"}, "the data says faster"),
        ("top_tier", {"servers": ["fast"]}, "claimed fast; the data says even, fast"),
        (
            "within",
            {"of": {"server": "fast"}, "to": {"server": "last"}, "low": 1.2, "high": 3.9},
            r"false claim: within 1\.2–3\.9: the data says 4\.0 for fast/get/w1 over last/get/w1",
        ),
    ],
)
def test_false_claim_says_what_the_data_says(
    plain: View, kind: str, arguments: dict[str, object], told: str
) -> None:
    with pytest.raises(AnalysisError, match=told):
        claim(plain, kind, arguments)


def test_difference_inside_the_noise_makes_faster_false() -> None:
    """Separate ranges are not enough where the same configuration differs from itself by more."""
    rows = {"a": steps(1030, 0.001), "b": steps(1000, 0.001)}
    quiet = view_of(measured(rows, twin={"b": steps(1001, 0.001)}))
    noisy = view_of(measured(rows, twin={"b": steps(1050, 0.001)}))
    assert "higher throughput" in claim(quiet, "faster", {"server": "a", "than": "b"})
    with pytest.raises(AnalysisError, match=r"within the noise band of 4\.9 %"):
        claim(noisy, "faster", {"server": "a", "than": "b"})


def test_latency_is_faster_where_it_is_lower() -> None:
    view = view_of(measured({"a": steps(0.002), "b": steps(0.004)}, metric="p99"))
    sentence = text(claim(view, "faster", {"server": "a", "than": "b", "metric": "p99"}))
    assert sentence == "a has a lower p99 latency than b on get: 2.00 against 4.00 ms, 0.50×."


def test_claim_holds_in_every_case_left_open() -> None:
    values = {("a", "get"): 200.0, ("b", "get"): 100.0, ("a", "post"): 300.0, ("b", "post"): 100.0}

    def view(changed: dict[tuple[str, str], float]) -> View:
        cases = {key: case(key[0], workload=key[1]) for key in values}
        samples = [
            sample(cases[key], i, value)
            for key, middle in (values | changed).items()
            for i, value in enumerate(steps(middle), 1)
        ]
        return view_of(stored(list(cases.values()), samples))

    sentence = text(claim(view({}), "faster", {"server": "a", "than": "b"}))
    assert "in all 2 cases, on get: 200.0 against 100.0 requests/s, 2.00×; on post: 300.0" in sentence
    with pytest.raises(AnalysisError, match="tiers hold within one group, and workload varies"):
        claim(view({}), "top_tier", {})
    with pytest.raises(AnalysisError, match="a/post/w1 faster against b/post/w1"):
        claim(view({("a", "post"): 50.0}), "faster", {"server": "a", "than": "b"})


@pytest.mark.parametrize(
    ("flaw", "reason"),
    [
        ({"missing": True}, "1 of 5 samples failed"),
        ({"floor": True}, "limited by the load generator"),
        ({"single": True}, "one sample only"),
    ],
)
@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("faster", {"server": "a", "than": "b"}),
        ("top_tier", {}),
        ("within", {"of": {"server": "a"}, "to": {"server": "b"}, "low": 1, "high": 3}),
    ],
)
def test_no_claim_uses_a_row_without_a_tier(
    flaw: dict[str, bool], reason: str, kind: str, arguments: dict[str, object]
) -> None:
    with pytest.raises(AnalysisError, match=reason):
        claim(run_with(**flaw), kind, arguments)


@pytest.mark.parametrize(
    ("kind", "arguments", "told"),
    [
        ("quicker", {}, r"no kind of claim 'quicker'\n  .*faster"),
        (
            "faster",
            {"server": "fast"},
            r"missing a required argument: 'than'\n  It takes server, than, metric",
        ),
        ("faster", {"server": "fats", "than": "slow"}, r"no server 'fats'\n  Did you mean 'fast'"),
        (
            "faster",
            {"server": "fast", "than": "slow", "metric": "rsp"},
            r"no metric 'rsp'\n  Did you mean 'rps'",
        ),
        (
            "faster",
            {"server": "fast", "than": "slow", "workload": "got"},
            r"no workload 'got'\n  Did you mean 'get'",
        ),
        ("faster", {"server": "fast", "than": "slow", "work": "get"}, "no dimension 'work'"),
        (
            "within",
            {"of": {"server": "fast"}, "to": {"workers": 1}, "low": 1, "high": 2},
            "the same dimensions on both sides",
        ),
    ],
)
def test_wrong_claim_names_the_near_matches(
    plain: View, kind: str, arguments: dict[str, object], told: str
) -> None:
    with pytest.raises(AnalysisError) as caught:
        claim(plain, kind, arguments)
    assert re.search(told, str(caught.value)), str(caught.value)


# --- findings ---------------------------------------------------------------------------------------


def findings(view: View) -> str:
    return text(findings_block(view).replace("<li>", "\n"))


def test_findings_name_leader_tier_factor_and_noise(plain: View) -> None:
    found = findings(plain)
    assert (
        "get, throughput: even leads with 1,004 (994.0–1,014) requests/s; this run cannot tell Fast" in found
    )
    assert (
        "Last of 3 tiers comes last with 250.0 requests/s: a factor of 4.02 (samples allow 3.94–4.10×)"
        in found
    )
    assert "run twice in each round, differed from itself by 1.0 % in throughput" in found
    assert "25 samples taken: 25 accepted, 0 rejected" in found


def test_findings_call_nobody_alone_whom_a_lower_tier_reaches() -> None:
    """c belongs to b's tier, and its widest sample reaches a, which b does not."""
    run = measured({"a": [100, 101, 104], "b": [90, 91, 92], "c": [80, 85, 101]}, repeats=3)
    view = view_of(run)
    tiers = {row["case"]: row["tier"] for row in view.rows("rps")}
    assert list(tiers.values()) == [1, 2, 2]
    found = findings(view)
    assert "a leads with 101.0 (100.0–104.0) requests/s; this run cannot tell c (85.00) from it." in found
    assert "Last of" not in found


def test_findings_name_nobody_first_above_a_floor() -> None:
    found = findings(run_with(floor=True))
    assert "b is the best of the ranked with 500.0" in found
    assert "Not ranked: a (limited by the load generator)" in found
    assert "leads" not in found
    assert "alone in the first tier" not in found
    assert "In 1 of 2 cases the load generator was at its limit" in found


def test_findings_name_nobody_first_beside_a_rival_with_samples_missing() -> None:
    found = findings(run_with(missing=True))
    assert "b is the best of the ranked with 500.0" in found
    assert "Not ranked: a (1 of 5 samples failed)" in found


def test_findings_claim_nothing_without_tiers() -> None:
    found = findings(run_with(single=True))
    assert "medians from 990.0 (a) to 495.0 (b) requests/s; no order is claimed (one sample only)" in found
    a = case("a")
    nothing = findings(view_of(stored([a], [failed(a, i) for i in range(1, 6)])))
    assert "no accepted sample, so nothing can be said" in nothing
    assert "Noise: unknown" in nothing


# --- calls ------------------------------------------------------------------------------------------


def calls_of(view: View) -> Calls:
    return Calls(PageContext(Catalogue("artifacts", {"rest": Entry(view, ("rest",))}), "page/"))


def rendered(view: View, markdown: str) -> str:
    calls = calls_of(view)
    return text(calls.places.fill(resolve(markdown, calls.functions(), "page.md"), "page.md"))


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        ('value("rest", server="fast")', "1,000 requests/s"),
        ('value("rest", server="fast", stat="low")', "990.0 requests/s"),
        ('value("rest", server="fast", stat="n")', "5"),
        ('ratio("rest", of={"server": "fast"}, to={"server": "slow"})', "2.00×"),
        ('param("rest", "duration")', "5 s"),
        ('param("rest", "connections")', "100"),
        ('param("rest", "generator")', "oha 1.16.0"),
        ('param("rest", "server")', "Fast & <b>, even, slow, last"),
        ('claim("rest", "faster", server="fast", than="slow")', "500.0 requests/s, 2.00×."),
    ],
)
def test_inline_call_is_text_in_its_sentence(plain: View, call: str, shown: str) -> None:
    found = rendered(plain, f"Here *it* is: {{{{ {call} }}}}, you see.")
    assert found.startswith("Here *it* is: ")
    assert found.endswith(f"{shown}, you see.")


def test_bounds_are_told() -> None:
    view = run_with(floor=True)
    assert rendered(view, '{{ value("rest", server="a") }}') == "≥ 1,000 requests/s"
    assert rendered(view, '{{ ratio("rest", of={"server": "a"}, to={"server": "b"}) }}') == "≥ 2.00×"
    assert rendered(view, '{{ ratio("rest", of={"server": "b"}, to={"server": "a"}) }}') == "≤ 0.50×"


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("tabel('rest')", r"'tabel' is undefined\n  Did you mean 'table'"),
        ("value('rset', server='fast')", r"no pin 'rset' in pins\.toml\n  Did you mean 'rest'"),
        (
            "value('rest')",
            r"4 cases of run run have these dimensions\n  Say which: server = fast, even, slow, last",
        ),
        ("value('rest', server='fast', stat='mode')", "no statistic 'mode'"),
        ("value('rest', server='fast', metric='p98')", "no metric 'p98'"),
        ("table('rest', rows='sever')", r"no dimension 'sever'\n  Did you mean 'server'"),
        ("table('rest', metrics=['rps', 'p98'])", "no metric 'p98'"),
        ("table('rest', metrics='rps', color='red')", "no dimension 'color'"),
        ("chart('rest', kind='pie')", "no kind of chart 'pie'"),
        ("param('rest', 'conections')", r"no parameter 'conections'\n  Did you mean 'connections'"),
        ("ratio('rest', of={'server': 'fast'}, to={'server': 'nobody'})", "no server 'nobody'"),
        ("claim('rest', 'faster', server='slow', than='fast')", "the data says slower"),
        ("nothing.at.all", "'nothing' is undefined"),
        ("''.__class__.__mro__", "unsafe"),
        ("value()", "missing 1 required positional argument"),
    ],
)
def test_wrong_call_names_page_line_and_near_matches(plain: View, call: str, told: str) -> None:
    calls = calls_of(plain)
    with pytest.raises(PageError) as caught:
        resolve(
            f"# Title\n\nText.\n\n{{{{ {call} }}}}\n\nMore.\n", calls.functions(), "page.md", first_line=4
        )
    assert str(caught.value).startswith("page.md, line 8: "), str(caught.value)
    assert re.search(told, str(caught.value)), str(caught.value)


def test_syntax_error_names_page_and_line(plain: View) -> None:
    with pytest.raises(PageError, match=r"^page\.md, line 3: "):
        resolve("a\n\n{{ table( }}\n", calls_of(plain).functions(), "page.md")


def test_block_inside_a_line_is_an_error(plain: View) -> None:
    with pytest.raises(PageError, match="stands inside a line"):
        rendered(plain, 'Look: {{ findings("rest") }}')


def test_placeholders_are_filled_once() -> None:
    """What is filled in is not looked at again, whatever it holds."""
    places = Placeholders()
    first = places.inline("one")
    second = places.block(f"<div>{first}</div>")
    assert places.fill(f"<p>{first}</p><p>{second}</p>", "page.md") == f"<p>one</p><div>{first}</div>"


def test_every_block_call_works_with_a_pin_alone(plain: View) -> None:
    calls = calls_of(plain)
    needing_more = {"value", "ratio", "param", "claim", "ratios", "compare", "steps"}
    needing_another_run = {"published", "beside", "differences", "statements", "scaling", "ladder"}
    needing_another_run |= {"controls_beside"}
    without_pin = {"publications", "runs", "newest_local", "probe_limits"}
    for name, call in calls.functions().items():
        if name in without_pin:
            call()
        elif name not in needing_more | needing_another_run:
            assert call("rest", **({"metrics": ["rps"]} if name == "table" else {})), name


# --- in a build -------------------------------------------------------------------------------------


@pytest.fixture
def builder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Builder:
    return Builder(tmp_path, monkeypatch)


def test_free_text_is_not_read_as_markdown_or_jinja(builder: Builder) -> None:
    label = EVIL + " `code` **bold** [x](y)"

    def evil(run: Run, samples: list[Sample]) -> tuple[Run, list[Sample]]:
        return run.model_copy(update={"labels": {"server": {"granian": label}}}), samples

    write_run(builder.artifacts, "ref-run", servers=4, workloads=1, raw=False, mutate=evil)
    pin(builder.artifacts, rest="ref-run")
    call = '{{ claim("rest", "faster", server="granian", than="aiohttp-asgi-rloop") }}'
    builder.build(pages={"index.md": f"# Page\n\n{call}\n"})
    (content,) = tree(builder.text("index.html")).all("article")
    assert " ".join(label.split()) in content.text
    assert not content.all("strong")
    assert not content.all("img")


PAGE = """---
title: Page
hide:
  - navigation
---

# Page

Some words.

{call}
"""


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (
            '{{ claim("rest", "faster", server="daphne", than="granian", workload="create_order") }}',
            "the data says slower",
        ),
        (
            '{{ claim("rest", "faster", server="granian", than="anycorn", workload="get_item") }}',
            "limited by the load generator",
        ),
        ('{{ table("rset") }}', "no pin 'rset'"),
        ('{{ valeu("rest") }}', "'valeu' is undefined"),
    ],
)
def test_wrong_page_fails_the_build(builder: Builder, call: str, told: str) -> None:
    write_run(builder.artifacts, "ref-run", raw=False, mutate=flawed)
    pin(builder.artifacts, rest="ref-run")
    with pytest.raises(BuildFailed) as caught:
        builder.build(pages={"index.md": PAGE.format(call=call)})
    assert re.search(rf"index\.md, line 11: .*{told}", str(caught.value)), str(caught.value)


@pytest.mark.parametrize(
    ("markdown", "told"),
    [
        (
            '# The {{ value("rest", server="granian", workload="get_item") }} page\n',
            "a call stands in a heading",
        ),
        ("# Page\n\nA \ue000 b\n", "private-use characters"),
    ],
)
def test_page_that_cannot_be_filled_fails_the_build(builder: Builder, markdown: str, told: str) -> None:
    write_run(builder.artifacts, "ref-run", servers=2, raw=False)
    pin(builder.artifacts, rest="ref-run")
    with pytest.raises(BuildFailed, match=told):
        builder.build(pages={"index.md": markdown})
