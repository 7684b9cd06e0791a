"""The prose of the pages: no number in it was typed, and what it claims, the data bears out."""

from __future__ import annotations

import re

import pytest
from real_pages import Pages, pages_of_this_repository
from sites import ROOT

SOURCE = ROOT / "site_src"
PAGES = sorted(str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.md"))

# What is no prose, or no number in it.
_OTHER = re.compile(
    r"\A---\n.*?\n---\n"  # front matter
    r"|^```.*?^```$|`[^`\n]*`"  # code
    r"|\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}"  # calls
    r"|\{:?[ .#][^{}\n]*\}"  # attributes, also of headings
    r"|(?<=\])\([^)\s]*\)"  # targets of links
    r"|</?[a-z][^>]*>"
    r"|^\d+\.(?= )",  # numbers of a list
    re.DOTALL | re.MULTILINE,
)
# Digits that are no part of a name, as they are in p99, h11, SHA-256 and HTTP/1; with the word behind them.
_DIGITS = re.compile(r"(?<![\w/.])(?<![A-Za-z]-)\d[\d.,]*(?:\s?[%×]|[-–\s]?[A-Za-zµ/]+)?")
_MANY = (
    "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|twenty|thirty|"
    "forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|dozen|tens|hundreds|thousands|half a"
)
_UNITS = (
    "workers|connections|samples|requests|servers|loops|cases|rounds|cpus|cores|configurations|workloads|routes|"
    "bodies|nanoseconds|microseconds|milliseconds|seconds?|minutes?|bytes|times|fold|per cent|percent"
)
_WORDS = re.compile(
    rf"\b(?:{_MANY})(?: of)?[-\s](?:[a-z]+[-\s])?(?:{_UNITS})\b"
    r"|\bone (?:worker|connection|cpu|core|second|minute)\b"
    r"|(?<![\w-])[a-z]+-?fold\b|\b(?:twice|half|double|triple) (?:as|the)\b",
    re.IGNORECASE,
)

ALLOWED = {
    ("body-rate.md", "1 MiB"): "the definition of a unit",
    ("body-rate.md", "2"): "the definition of a unit",
    ("body-rate.md", "20"): "the definition of a unit",
    ("investigations/nagle.md", "40 ms"): "a constant of Linux, which no run of this site measures",
    ("investigations/nagle.md", "0"): "a protocol number",
    ("investigations/nagle.md", "0 on"): "a protocol number",
    ("investigations/nagle.md", "one worker"): "a condition of the mechanism, not of a run",
    ("proxy.md", "504 and"): "a status of HTTP",
    ("workers.md", "One worker"): "the heading of a call that has the number among its arguments",
}
"""Page and number → why it may be typed."""


def typed(text: str) -> list[tuple[int, str]]:
    """The numbers in a page's Markdown that no call gave: line and words."""
    prose = _OTHER.sub(lambda match: re.sub(r"[^\n]", "\0", match[0]), text)
    found = [(match.start(), match[0]) for kind in (_DIGITS, _WORDS) for match in kind.finditer(prose)]
    return [
        (prose.count("\n", 0, at) + 1, " ".join(words.split()).rstrip(".,")) for at, words in sorted(found)
    ]


@pytest.mark.parametrize("page", PAGES)
def test_no_number_was_typed(page: str) -> None:
    text = (SOURCE / page).read_text("utf-8")
    assert [
        f"{page}, line {line}: {words}" for line, words in typed(text) if (page, words) not in ALLOWED
    ] == []


def test_nothing_is_allowed_that_no_page_says() -> None:
    said = {(page, words) for page in PAGES for _, words in typed((SOURCE / page).read_text("utf-8"))}
    assert ALLOWED.keys() - said == set()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a gap of 40 ms, or 43.7 µs.", ["40 ms", "43.7 µs"]),
        ("it was 4× as fast, by 12 %, 13-fold, 3.5–4.1 times", ["4×", "12 %", "13-fold", "3.5", "4.1 times"]),
        ("at 5,000 or 1.25", ["5,000 or", "1.25"]),
        ("38,000 requests/s and 101.7 MiB/s", ["38,000 requests/s", "101.7 MiB/s"]),
        ("of 25\nconnections and 512 kB", ["25 connections", "512 kB"]),
        (
            "fourteen servers, Four busy workers; a hundred samples",
            ["fourteen servers", "Four busy workers", "hundred samples"],
        ),
        ("tens of milliseconds, three times, tenfold", ["tens of milliseconds", "three times", "tenfold"]),
        ("with one worker, twice as fast, half the latency", ["one worker", "twice as", "half the"]),
        ("## With 4 workers {: #w4 }", ["4 workers"]),
        ("TCP, h11, p99, p99.9, HTTP/1.1, SHA-256, UTF-8 and some of them", []),
        ("one application, one of the two, each once", []),
        ('---\ntitle: 5 s\n---\n{{ value("a", x=1.5) }} s and `7 ms` [a link](a-40ms.md#5) {: #p-50 }', []),
        ("```\n5 ms\n```\n<a href='5 ms'>x</a>\n{% if 5 > 4 %}\n1. first\n2. second", []),
        ("{{ table(\n  'a', x=5) }}\n7 ms", ["7 ms"]),
    ],
)
def test_typed_numbers_are_found(text: str, found: list[str]) -> None:
    assert [words for _, words in typed(text)] == found


def test_a_typed_number_is_told_with_its_line() -> None:
    assert typed("---\na: 1\n---\n\nText.\n\nIt took\n5 ms.") == [(8, "5 ms")]


@pytest.fixture(scope="module")
def real() -> Pages:
    return pages_of_this_repository()


@pytest.mark.parametrize("page", PAGES)
def test_calls_of_each_page_hold_on_the_pinned_runs(real: Pages, page: str) -> None:
    """Claims above all: each is true, or this says on which line it is not."""
    real.resolve((SOURCE / page).read_text("utf-8"), page)


def test_claims_stand_where_readers_want_the_takeaway() -> None:
    told = {page for page in PAGES if "claim(" in (SOURCE / page).read_text("utf-8")}
    assert told >= {
        *("rest.md", "proxy.md", "latency.md", "headers.md", "body-rate.md", "workers.md", "ladder.md"),
        *("investigations/nagle.md", "investigations/pool.md"),
    }


def test_a_claim_that_the_pinned_runs_contradict_fails_with_page_and_line(real: Pages) -> None:
    text = (SOURCE / "proxy.md").read_text("utf-8")
    line = next(i for i, words in enumerate(text.splitlines(), 1) if '{{ claim("proxy", "faster"' in words)
    with pytest.raises(
        Exception, match=rf'^proxy\.md, line {line}: claim\("proxy", "slower"\): false claim: '
    ):
        real.resolve(text.replace('claim("proxy", "faster"', 'claim("proxy", "slower"'), "proxy.md")
