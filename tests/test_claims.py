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
from runner.model import Layout, Run, Sample
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
            "Fast & <b> has a higher throughput than slow: 1,000 (990.0–1,010) against 500.0 (495.0–505.0) "
            "requests/s, 2.00×.",
        ),
        (
            "slower",
            {"server": "last", "than": "slow", "workload": "get"},
            "last has a lower throughput than slow on get: 250.0 (247.5–252.5) against 500.0 (495.0–505.0) "
            "requests/s, 0.50×.",
        ),
        (
            "indistinguishable",
            {"server": "even", "than": "fast"},
            "even and Fast & <b> cannot be told apart by throughput: 1,004 (994.0–1,014) and "
            "1,000 (990.0–1,010) requests/s (the ranges overlap).",
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
            "Fast & <b> has 3.5–4.1× the throughput of last: 4.00× (3.92–4.08).",
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
            r"unsupported claim: even has a higher throughput than Fast & <b>\. The data says: "
            r"1,004 \(994\.0–1,014\) against 1,000 \(990\.0–1,010\) requests/s, 1\.00× "
            r"\(cannot be said: the ranges overlap\)",
        ),
        (
            "faster",
            {"server": "slow", "than": "fast"},
            r"false claim: slow has a higher throughput than Fast & <b>\. The data says: 500\.0 "
            r"\(495\.0–505\.0\) against 1,000 .* requests/s, 0\.50× \(does not hold\)\n  Claim what",
        ),
        ("slower", {"server": "fast", "than": "slow"}, "false claim: .* lower throughput .*does not hold"),
        (
            "indistinguishable",
            {"server": "fast", "than": "slow"},
            r"false claim: .*1,000 \(990\.0–1,010\) and 500\.0 .*\(does not hold\)",
        ),
        (
            "top_tier",
            {"servers": ["fast"]},
            r"false claim: the first tier by rps is fast\. The data says: even 1,004, fast 1,000",
        ),
        (
            "within",
            {"of": {"server": "fast"}, "to": {"server": "last"}, "low": 1.2, "high": 3.9},
            r"unsupported claim: Fast & <b> has 1\.2–3\.9× the throughput of last\. The data says: 4\.00× "
            r"\(3\.92–4\.08\) \(cannot be said: its samples and the noise band of 1\.0 % allow 3\.92–4\.08×",
        ),
        (
            "within",
            {"of": {"server": "fast"}, "to": {"server": "last"}, "low": 1.2, "high": 3.8},
            r"false claim: .*4\.00× \(3\.92–4\.08\) \(does not hold\)",
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
    assert sentence == (
        "a has a lower p99 latency than b: 2.00 (1.98–2.02) against 4.00 (3.96–4.04) ms, 0.50×."
    )


def grid(
    changed: dict[tuple[str, str, int], float] | None = None,
    spread: float = 0.001,
    flaw: str = "",
    cpus: int = 4,
) -> View:
    """Two servers on two workloads with one worker and with four, and the upstream's own capacity.

    ``flaw`` is ``single`` of all cases, ``missing`` or ``floor`` of a/get/w4.
    """
    repeats = 1 if flaw == "single" else 5
    values = {
        ("a", "get", 1): 300.0,
        ("b", "get", 1): 200.0,
        ("a", "post", 1): 140.0,
        ("b", "post", 1): 150.0,
        ("a", "get", 4): 1000.0,
        ("b", "get", 4): 780.0,
        ("a", "post", 4): 500.0,
        ("b", "post", 4): 365.0,
        ("upstream", "direct", 4): 5000.0,
    } | (changed or {})
    cases = {
        key: case(key[0], workload=key[1], workers=key[2])
        if key[0] != "upstream"
        else case(key[0], "control", workload=key[1], workers=key[2]).model_copy(update={"covers": ["get"]})
        for key in values
    }
    samples = []
    for key, middle in values.items():
        flawed = flaw if key == ("a", "get", 4) else ""
        fields = {"witness": saturated("generator")} if flawed == "floor" else {}
        figures = steps(middle, spread)[:repeats]
        made = [sample(cases[key], i, value, **fields) for i, value in enumerate(figures, 1)]
        samples += [*made[:-1], failed(cases[key], 5)] if flawed == "missing" else made
        if cases[key].role == "control":
            samples.append(sample(cases[key], repeats + 1, middle))
    layout = Layout(roles={"server": list(range(cpus)), "generator": [9]})
    return view_of(stored(list(cases.values()), samples, repeats, layout=layout))


def test_claim_holds_in_every_case_left_open() -> None:
    sentence = text(claim(grid(), "faster", {"server": "a", "than": "b", "workers": 4}))
    assert sentence == (
        "a has a higher throughput than b with 4 workers, in both cases: "
        "get: 1,000 (999.0–1,001) against 780.0 (779.2–780.8) requests/s, 1.28×; "
        "post: 500.0 (499.5–500.5) against 365.0 (364.6–365.4) requests/s, 1.37×."
    )
    with pytest.raises(AnalysisError, match="tiers hold within one group, and workload varies"):
        claim(grid(), "top_tier", {"workers": 4})
    told = r"false claim: a .* in all 4 cases\. The data says: post · 1 worker: 140\.0 .*does not hold\)$"
    with pytest.raises(AnalysisError) as caught:
        claim(grid(), "faster", {"server": "a", "than": "b"})
    assert re.search(told, caught.value.message), caught.value.message


def test_claim_in_any_case_says_in_which() -> None:
    sentence = text(claim(grid(), "faster", {"server": "b", "than": "a", "workers": 1, "in_any": True}))
    assert sentence == (
        "b has a higher throughput than a with 1 worker, in 1 of 2 cases: "
        "post: 150.0 (149.8–150.1) against 140.0 (139.9–140.1) requests/s, 1.07×; not in the other: "
        "get: 200.0 (199.8–200.2) against 300.0 (299.7–300.3) requests/s, 0.67× (does not hold)."
    )
    with pytest.raises(
        AnalysisError, match=r"false claim: .* in any of 2 cases\. The data says: get: .*; post: "
    ):
        claim(grid(), "faster", {"server": "b", "than": "a", "workers": 4, "in_any": True})
    chosen = {"server": "b", "than": "a", "workers": 1, "workload": ["get", "post"], "in_any": True}
    assert text(claim(grid(), "faster", chosen)) == sentence


def test_of_many_cases_the_extremes_are_told() -> None:
    names = [f"w{i}" for i in range(8)]
    cases = {(server, name): case(server, workload=name) for server in "ab" for name in names}
    samples = [
        sample(found, i, value)
        for (server, name), found in cases.items()
        for i, value in enumerate(steps(100.0 if server == "b" else 200.0 + 10 * int(name[1:])), 1)
    ]
    sentence = text(
        claim(view_of(stored(list(cases.values()), samples)), "faster", {"server": "a", "than": "b"})
    )
    assert "in all 8 cases: from w0: 200.0 (198.0–202.0) against 100.0 " in sentence
    assert sentence.endswith("to w7: 270.0 (267.3–272.7) against 100.0 (99.00–101.0) requests/s, 2.70×.")


FOUR = {"of": {"workers": 4}, "to": {"workers": 1}}
SHARE = {"of": {"server": "b"}, "to": {"server": "a"}, "share": {"get": 0.78, "post": 0.73}, "workers": 4}
ORDER = {"first": {"get": "a", "post": "b"}, "unlike": {"workers": 4}, "workers": 1}
KINDS = [
    ("faster", {**FOUR}, "4 workers have a higher throughput than 1 worker, in all 4 cases: a · get: 1,000"),
    (
        "slower",
        {"of": {"workers": 1}, "to": {"workers": 4}},
        "1 worker has a lower throughput than 4 workers, in all 4 cases: a · get: 300.0",
    ),
    (
        "within",
        {**FOUR, "low": 2.4, "high": 3.9},
        "4 workers have 2.4–3.9× the throughput of 1 worker, in all",
    ),
    (
        "larger",
        {"of": {"workload": "get"}, "to": {"workload": "post"}, "than": "server", "workers": 4},
        "In throughput, get over post is a larger factor for each of a and b than lies between these on the "
        "same workload with 4 workers: the smallest 2.00× (2.00–2.00) (a), the largest of the other 1.37×",
    ),
    (
        "order",
        ORDER,
        "Of a and b with 1 worker, a has the highest throughput on get and b on post; with 4 workers their "
        "order is different: get · 1 worker: a 300.0, b 200.0; get · 4 workers: b 1,000, a 780.0; post",
    ),
    (
        "share",
        SHARE,
        "b has 78 % of the throughput of a on get and 73 % on post, with 4 workers: get: 0.78× (0.78–0.78)",
    ),
    (
        "headroom",
        {"times": {"direct": 5}, "workers": 4},
        "The upstream by itself has 5 times (direct) the throughput of the best row that it bounds, with "
        "4 workers: 5.00× (4.99–5.01): 5,000 over 1,000 (a).",
    ),
]


@pytest.mark.parametrize(("kind", "arguments", "sentence"), KINDS)
def test_every_kind_says_what_holds(kind: str, arguments: dict[str, object], sentence: str) -> None:
    # With four workers the order is another on both workloads only if b leads on the one.
    view = grid({("a", "get", 4): 780.0, ("b", "get", 4): 1000.0}) if kind == "order" else grid()
    assert text(claim(view, kind, arguments)).startswith(sentence)


def test_no_factor_is_claimed_of_workers_that_take_turns() -> None:
    """It would tell of the scheduler, and the tables of scaling refuse it as well."""
    with pytest.raises(AnalysisError, match=r"^unsupported claim: .*\(?not scaling: 4 workers share 2 CPUs"):
        claim(grid(cpus=2), "within", {**FOUR, "low": 2.4, "high": 3.9})
    where = {"server": ["a"], "workload": "get"}
    assert text(claim(grid(cpus=2), "faster", {**FOUR, **where})).endswith("(299.7–300.3) requests/s.")
    assert text(claim(grid(cpus=4), "faster", {**FOUR, **where})).endswith("requests/s, 3.33×.")


ALIKE = {"server": "a", "than": "b", "workers": 4, "workload": "get"}


@pytest.mark.parametrize(("kind", "arguments"), [(kind, arguments) for kind, arguments, _ in KINDS])
def test_no_kind_holds_where_the_samples_allow_another_answer(
    kind: str, arguments: dict[str, object]
) -> None:
    """What is true of the medians is claimed of none of these, whose samples scatter by 90 %."""
    changed = {("a", "get", 4): 780.0, ("b", "get", 4): 1000.0} if kind == "order" else {}
    with pytest.raises(AnalysisError, match=r"^unsupported claim: .*The data says: .*cannot be said: "):
        claim(grid(changed, spread=0.9), kind, arguments)


@pytest.mark.parametrize(
    ("flaw", "reason"),
    [
        ("missing", "1 of 5 samples (failed|missing)"),
        ("floor", "limited by the load generator"),
        ("single", "one sample only"),
    ],
)
@pytest.mark.parametrize(
    ("kind", "arguments"),
    [*((kind, arguments) for kind, arguments, _ in KINDS), ("indistinguishable", ALIKE)],
)
def test_no_kind_rests_on_a_row_without_a_tier(
    kind: str, arguments: dict[str, object], flaw: str, reason: str
) -> None:
    with pytest.raises(AnalysisError) as caught:
        claim(grid(flaw=flaw), kind, arguments)
    assert re.search(rf"claim: .*The data says: .*{reason}", caught.value.message), caught.value.message


@pytest.mark.parametrize(
    ("kind", "arguments", "changed", "told"),
    [
        ("faster", FOUR, {("a", "get", 4): 200.0}, r"false claim: .*: a · get: 200\.0 .*does not hold"),
        ("faster", FOUR, {("a", "get", 4): 300.1}, r"unsupported claim: .*the ranges overlap"),
        ("within", {**FOUR, "low": 2.4, "high": 3.9}, {("b", "post", 4): 900.0}, "b · post: 6.00×.*does not"),
        (
            "larger",
            {"of": {"workload": "get"}, "to": {"workload": "post"}, "than": "server", "workers": 4},
            {("a", "post", 4): 990.0},
            r"false claim: .*the smallest 1\.01× .*does not hold",
        ),
        (
            "order",
            ORDER,
            {},
            r"false claim: .*get · 4 workers: a 1,000, b 780\.0 \(does not hold: the same order",
        ),
        ("share", SHARE, {("b", "get", 4): 900.0}, r"get: 0\.90× \(0\.90–0\.90\) \(does not hold\)"),
        ("headroom", {"times": {"direct": 4}, "workers": 4}, {}, r"false claim: .*5\.00× .*does not hold"),
    ],
)
def test_every_kind_fails_on_other_figures(
    kind: str, arguments: dict[str, object], changed: dict[tuple[str, str, int], float], told: str
) -> None:
    with pytest.raises(AnalysisError) as caught:
        claim(grid(changed), kind, arguments)
    assert re.search(told, str(caught.value)), str(caught.value)


@pytest.mark.parametrize(
    ("flaw", "reason"),
    [
        ({"missing": True}, "1 of 5 samples (failed|missing)"),
        ({"floor": True}, "limited by the load generator"),
        ({"single": True}, "one sample only"),
    ],
)
@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("faster", {"server": "a", "than": "b"}),
        ("slower", {"server": "b", "than": "a"}),
        ("faster", {"server": "a", "than": "b", "in_any": True}),
        ("indistinguishable", {"server": "a", "than": "b"}),
        ("top_tier", {}),
        ("within", {"of": {"server": "a"}, "to": {"server": "b"}, "low": 1, "high": 3}),
        ("share", {"of": {"server": "a"}, "to": {"server": "b"}, "share": 2, "workload": "get"}),
        ("order", {"first": "a", "workload": "get"}),
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
            "this claim needs either server and than, or of and to",
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
        (
            "faster",
            {"server": "fast", "than": "slow", "work": "get"},
            r"takes no 'work', .*\n  Did you mean 'workers' or 'workload'",
        ),
        (
            "faster",
            {"server": "fast", "than": "slow", "metrc": "rps"},
            "no 'metrc', .*\n  Did you mean 'metric'",
        ),
        (
            "within",
            {"of": {"server": "fast"}, "to": {"server": "slow"}, "low": 1},
            "required argument: 'high'",
        ),
        (
            "within",
            {"of": {"server": "fast"}, "to": {"server": "slow"}, "low": "1", "high": 2},
            r"low cannot be '1'\n  It takes a number, as in 3.5",
        ),
        ("within", {"of": {"server": "fast"}, "to": {"server": "slow"}, "low": 2, "high": 1}, "low is above"),
        ("within", {"of": [{"server": "fast"}], "to": [], "low": 1, "high": 2}, "Give as many `to` as `of`"),
        ("top_tier", {"servers": ["fats"]}, r"no server 'fats'\n  Did you mean 'fast'"),
        ("order", {"first": "fats", "workload": "get"}, r"leader 'fats' .*\n  Did you mean 'fast'"),
        ("order", {"first": "fast"}, r"of which workload is it true\?\n  Add workload=…"),
        ("order", {"first": {"got": "fast"}}, r"no workload 'got'\n  Did you mean 'get'"),
        ("order", {"first": "fast", "workload": "get", "values": ["fats"]}, r"no server 'fats'"),
        ("order", {"first": "fast", "workload": "get", "dimension": "sever"}, "no dimension 'sever'"),
        ("order", {"first": "fast", "workload": "get", "unlike": {"wrkers": 4}}, "Did you mean 'workers'"),
        ("order", {"first": "fast", "workload": "get", "unlike": {"workers": 1}}, "Add workers=…"),
        (
            "share",
            {"of": {"server": "fats"}, "to": {"server": "slow"}, "share": 1, "workload": "get"},
            "'fast'",
        ),
        ("share", {"of": {"server": "fast"}, "to": {"server": "slow"}, "share": {"got": 1}}, "'get'"),
        (
            "share",
            {"of": {"server": "fast"}, "to": {"server": "slow"}, "share": {"get": 1}, "by": "work"},
            "'workload'",
        ),
        ("larger", {"of": {"server": "fast"}, "to": {"server": "slow"}, "than": "workloa"}, "'workload'"),
        (
            "larger",
            {"of": {"server": "fast"}, "to": {"server": "slow"}, "than": "server"},
            "of one dimension",
        ),
        ("headroom", {"times": {"direct": 5}}, "no control 'direct'\n  There is none"),
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
        "get, throughput: even leads with 1,004 (994.0–1,014) requests/s; of the same tier, this run cannot "
        "tell Fast" in found
    )
    assert (
        "Last of 3 tiers comes last with 250.0 requests/s: a factor of 4.02 (samples allow 3.94–4.10×)"
        in found
    )
    assert "run twice in each round, differed from itself by 1.0 % in throughput" in found
    assert "25 samples taken: 25 accepted, 0 rejected" in found


def test_findings_name_the_row_of_a_lower_tier_that_reaches_the_leader() -> None:
    """c belongs to b's tier, and its widest sample reaches a, which b does not."""
    run = measured({"a": [100, 101, 104], "b": [90, 91, 92], "c": [80, 85, 101]}, repeats=3)
    view = view_of(run)
    tiers = {row["case"]: row["tier"] for row in view.rows("rps")}
    assert list(tiers.values()) == [1, 2, 2]
    found = findings(view)
    assert (
        "a is alone in the first tier with 101.0 (100.0–104.0) requests/s. c (85.00, tier 2) is of a lower "
        "tier, but cannot be told from a. Last of 2 tiers "
        "comes c with 85.00 requests/s; no factor, because this run cannot tell the two apart." in found
    )
    assert "a row is compared with its own tier's leader only" in found


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
        ('param("rest", "server")', "Fast & <b>, even, slow and last"),
        ('param("rest", "connections", unit=true)', "100 connections"),
        ('param("rest", "workers", unit=true)', "1 worker"),
        ('count("rest", "server")', "4"),
        ('count("rest", "server", workload="get")', "4"),
        ('rule("saturated")', "95 %"),
        ('claim("rest", "faster", server="fast", than="slow")', "(495.0–505.0) requests/s, 2.00×."),
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
        (
            "claim('rest', 'faster', server='slow', than='fast')",
            r'claim\("rest", "faster"\): false claim: slow has',
        ),
        ("nothing.at.all", "'nothing' is undefined"),
        ("''.__class__.__mro__", "unsafe"),
        ("value()", r"value\(\): missing a required argument: 'pin'\n  It takes pin, metric, stat\."),
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
    needing_more = {"value", "ratio", "param", "count", "rule", "claim", "ratios", "compare", "steps"}
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
            r"claim.*: false claim: daphne has .*\. The data says: 12,755 \(.* 0\.53× \(does not hold\)",
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
