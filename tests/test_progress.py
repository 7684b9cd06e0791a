"""What the line of a sample says while a run is captured."""

from __future__ import annotations

import pytest
from evidence import case, sample

from runner.ladder import NOT_REACHED
from runner.progress import describe


@pytest.mark.parametrize(
    ("codes", "text"),
    [
        ([], "900.0 requests/s, p99 2.00 ms"),
        (["saturated"], "≥ 900.0 requests/s, p99 ≤ 2.00 ms"),
        ([NOT_REACHED], "900.0 requests/s, p99 ≥ 2.00 ms"),
        (["saturated", NOT_REACHED], "≥ 900.0 requests/s, p99 2.00 ms"),
    ],
)
def test_a_sample_is_told_with_what_its_figures_bound(codes: list[str], text: str) -> None:
    flags = [{"code": code, "message": "why"} for code in codes]
    one = sample(case("a"), 1, None, metrics={"rps": 900.0, "open_p99": 0.002}, flags=flags)
    assert describe(one) == text
