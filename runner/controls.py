"""A sample of the upstream by itself: what the servers behind it could at most have got."""

from __future__ import annotations

from pathlib import Path

from runner.checks import judge_foreign, judge_outcome, judge_saturation, judge_size
from runner.driver import Driver
from runner.model import UPSTREAM
from runner.pending import Pending
from runner.plan import Plan
from runner.tables import Control
from runner.upstream import UpstreamProgram


def measure_control(
    plan: Plan, pending: Pending, upstream: UpstreamProgram, control: Control, folder: Path
) -> None:
    """Load the upstream directly. All that goes wrong with it is environmental. Raises RejectionError."""
    findings = pending.findings
    upstream.check(control)
    findings.ok("response", "exact answer before the load")
    driver = Driver(
        plan=plan,
        pending=pending,
        folder=folder,
        request=control,
        port=upstream.port,
        rate=None,
        watched={UPSTREAM: (plan.layout.roles[UPSTREAM], upstream.pids)},
        must_live=lambda: upstream.check(control),
        glance=lambda: None,
    )
    pending.lap("checks_before")
    driver.warm_up()
    pending.lap("warmup")
    outcome = driver.measure()
    upstream.check(control)
    judge_outcome(findings, outcome)
    judge_size(findings, outcome, control.expect.size)
    findings.rejections += findings.failures
    findings.failures.clear()
    witness = pending.fields["witness"]
    judge_foreign(findings, witness.get(UPSTREAM), plan.parameters.foreign_limit, UPSTREAM)
    judge_saturation(findings, witness, ("generator",))
    findings.ok("response", "exact answer after the load")
    pending.lap("checks_after")
