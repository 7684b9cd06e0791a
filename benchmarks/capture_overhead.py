"""What capturing costs a run: wall time around the measured time, and processor time inside it.

Both are read from a stored run, by default the one pinned as ``rest``, because a full run takes a while;
``python -m benchmarks.capture_overhead RUN`` reads another in artifacts/.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.figure import Figure
from runner import store
from runner.errors import AnalysisError, LapsheetError
from runner.model import Sample

ARTIFACTS = Path(__file__).parent.parent / "artifacts"
PIN = "rest"
LEAST_MEASURED = 0.75
MOST_OWN_CPU = 0.01
CPU = "runner_cpu"


def wall_cost(run_id: str | None = None, artifacts: Path = ARTIFACTS) -> Figure:
    """Wall time of a whole run per second of measured time, at most 1 / `LEAST_MEASURED`.

    Measured are the seconds of warm-up and sample that were asked for, of the attempts that gave a
    result: a rejected one, and what a generator takes to start and to end, are overhead. The wall time
    goes from the manifest's ``created`` to ``finished``, so a run that was interrupted and resumed is no
    measure of this. Raises AnalysisError where the run lacks the times.
    """
    stored = _stored(run_id, artifacts)
    run, kept = stored.run, [sample for sample in stored.samples if sample.status != "rejected"]
    if run.state != "complete" or run.finished is None:
        raise AnalysisError(f"run {run.id!r} is not complete", "Complete it: `lapsheet run … --resume`.")
    wall = (run.finished - run.created).total_seconds()
    asked = {"warmup": run.parameters.warmup, "measured": run.parameters.duration}
    spent = {step: _seconds(kept, step) for step in sorted({step for s in kept for step in s.timing} - {CPU})}
    measured = sum(min(sample.timing.get(step, 0.0), asked[step]) for sample in kept for step in asked)
    if not measured:
        raise AnalysisError(f"run {run.id!r} has no measured time", "Its samples need `timing`.")
    print(f"{run.id}: {measured:.0f} s measured of {wall:.0f} s, share {measured / wall:.3f}")
    for step, seconds in spent.items():
        print(f"  {step}: {seconds:.0f} s in {len(kept)} attempts")
    rejected = [sample for sample in stored.samples if sample.status == "rejected"]
    print(f"  rejected: {sum(_seconds(rejected, step) for step in spent):.0f} s in {len(rejected)} attempts")
    return Figure("capture-wall", wall / measured, 1 / LEAST_MEASURED)


def runner_cpu(run_id: str | None = None, artifacts: Path = ARTIFACTS) -> Figure:
    """The runner's own processor time while it measured, over 1 % of one core for as long; all attempts.

    Raises AnalysisError where the run's samples lack the times.
    """
    stored = _stored(run_id, artifacts)
    timed = [sample.timing for sample in stored.samples if sample.timing.keys() >= {"measured", CPU}]
    if not timed:
        raise AnalysisError(f"run {stored.run.id!r} lacks the runner's times", "Capture it anew.")
    share = sum(timing[CPU] for timing in timed) / sum(timing["measured"] for timing in timed)
    largest = max(timing[CPU] / timing["measured"] for timing in timed)
    print(f"{stored.run.id}: the runner's share of one core: {share:.3%}, in a sample at most {largest:.3%}")
    return Figure("capture-cpu", share / MOST_OWN_CPU, 1.0)


def _seconds(samples: list[Sample], step: str) -> float:
    return sum(sample.timing.get(step, 0.0) for sample in samples)


def _stored(run_id: str | None, artifacts: Path) -> store.StoredRun:
    if run_id is None:
        pins = store.read_pins(artifacts)
        if PIN not in pins:
            raise LapsheetError(
                f"no run is pinned as {PIN!r}", "Name one: `… benchmarks.capture_overhead RUN`."
            )
        run_id = pins[PIN].run
    return store.read(store.run_folder(artifacts, run_id))


if __name__ == "__main__":
    run_id = sys.argv[1] if len(sys.argv) > 1 else None
    figures = [measure(run_id) for measure in (wall_cost, runner_cpu)]
    for figure in figures:
        print(figure.line())
    sys.exit(not all(figure.kept for figure in figures))
