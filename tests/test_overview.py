"""The front page's three answers: what was measured, on what, and what it shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from sites import EVIL, Builder, BuildFailed, Node, pin, tree
from suite_runs import write_others

from benchmarks.synthetic import flawed, write_run
from runner import analysis, store
from runner.metrics import METRICS
from runner.model import Run, Sample


@pytest.fixture
def builder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Builder:
    return Builder(tmp_path, monkeypatch)


def overview(builder: Builder, call: str = 'overview("rest")') -> Node:
    builder.build(pages={"index.md": f"# Home\n\n{{{{ {call} }}}}\n"})
    (found,) = tree(builder.text("index.html")).classed("ls-overview")
    return found


def answers(node: Node) -> dict[str, str]:
    names = [name.text for name in node.all("dt")]
    return dict(zip(names, [text.text for text in node.all("dd")], strict=True))


def test_it_names_the_leader_those_like_it_and_the_last(builder: Builder) -> None:
    folder = write_run(builder.artifacts, "ref-rest").folder
    pin(builder.artifacts, rest="ref-rest")
    told = answers(overview(builder))
    assert list(told) == ["Measured", "On", "It shows"]
    frame = analysis.summary([store.read(folder)])
    rows = frame[(frame["metric"] == "rps") & (frame["workload"] == "get_item") & (frame["role"] == "case")]
    rows = rows.sort_values("median", ascending=False)
    best, last = rows.iloc[0], rows.iloc[-1]
    show = METRICS["rps"].show
    labels = store.read(folder).run.labels["server"]
    assert f"{labels[best['server']]} leads with {show(best['median'])} requests/s" in told["It shows"]
    assert f"Last comes {labels[last['server']]} with {show(last['median'])}" in told["It shows"]
    assert f"a factor of {best['median'] / last['median']:.2f}" in told["It shows"]
    assert "5 samples" in told["Measured"]


def test_a_floor_at_the_top_leaves_nobody_in_the_lead(builder: Builder) -> None:
    write_run(builder.artifacts, "ref-rest", mutate=flawed)
    pin(builder.artifacts, rest="ref-rest")
    told = answers(overview(builder))["It shows"]
    assert "is the best of the ranked" in told
    assert "leads" not in told.split("create_order")[0]


def test_one_sample_claims_no_order(builder: Builder) -> None:
    def single(run: Run, samples: list[Sample]) -> tuple[Run, list[Sample]]:
        parameters = run.parameters.model_copy(update={"repeats": 1})
        return run.model_copy(update={"parameters": parameters}), [s for s in samples if s.repeat == 1]

    write_run(builder.artifacts, "ref-rest", mutate=single)
    pin(builder.artifacts, rest="ref-rest")
    told = answers(overview(builder))["It shows"]
    assert told.count("no order is claimed (one sample only") == 2
    assert "factor" not in told


def test_runs_of_other_shapes_have_an_overview(builder: Builder) -> None:
    pins = write_others(builder.artifacts)
    pin(builder.artifacts, **pins)
    for name in pins:
        if name != "published":
            assert answers(overview(builder, f'overview("{name}")'))["Measured"]


def test_hostile_labels_are_text(builder: Builder) -> None:
    def evil(run: Run, samples: list[Sample]) -> tuple[Run, list[Sample]]:
        labels = {kind: dict.fromkeys(names, EVIL) for kind, names in run.labels.items()}
        return run.model_copy(update={"title": EVIL, "labels": labels}), samples

    write_run(builder.artifacts, "ref-rest", mutate=evil)
    pin(builder.artifacts, rest="ref-rest")
    node = overview(builder)
    assert not node.all("script")
    assert "<script>window.pwned=1</script>" in node.text


def test_an_unknown_metric_names_the_near_ones(builder: Builder) -> None:
    write_run(builder.artifacts, "ref-rest")
    pin(builder.artifacts, rest="ref-rest")
    with pytest.raises(BuildFailed, match=r"index.md, line 3: .*no metric 'p98'"):
        overview(builder, 'overview("rest", metric="p98")')
