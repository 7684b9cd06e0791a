/* What a figure's samples say of it beside its value, as runner.frames and runner.analysis do. */
(function () {
  "use strict";

  const { lapsheet } = window;
  const SATURATED = 0.95; // runner.model.SATURATED

  const limit = (share) => share >= SATURATED;

  /* Whether a CPU set was at its limit, by its witness. */
  const full = (seen) => limit(Math.max(seen.busiest_cpu, seen.busiest_thread));

  const flagged = (samples, code) => samples.filter((one) => one.flags?.some((flag) => flag.code === code)).length;

  /* The rounds, from 1, in which a case has a sample: a control has one more, after the last. */
  function rounds(manifest, { role }) {
    const all = manifest.parameters.repeats + (role === "control" ? 1 : 0);
    return Array.from({ length: all }, (_, at) => at + 1);
  }

  /* {n, wanted, floor, unsent, ranked}: accepted samples with the figure, of how many; whether something
     beside the server limited it; how many did not send all that was due; whether it may have a tier. */
  function standing({ manifest, case: one, metric, accepted }) {
    const published = manifest.origin === "published";
    // A control's server is the upstream, whose limit is what it measures.
    const roles = one.role === "control" ? ["generator"] : ["generator", "upstream"];
    const limited = accepted.some(({ witness }) => roles.some((role) => witness?.[role] && full(witness[role])));
    const probe = metric.startsWith("probe_");
    const overrun = flagged(accepted, "probe-saturated") > 0;
    const floor = probe ? overrun && !metric.startsWith("probe_gap") : limited;
    const unsent = metric.startsWith("open_") ? flagged(accepted, "rate-not-reached") : 0;
    const n = accepted.filter((sample) => sample.metrics?.[metric] !== undefined).length;
    const wanted = published ? 1 : rounds(manifest, one).length;
    const hindered = (probe ? overrun : limited) || unsent > 0;
    const ranked = !published && (one.role ?? "case") === "case" && n >= wanted && n > 1 && !hindered;
    return { n, wanted, floor, unsent, ranked };
  }

  lapsheet.standing = { of: standing, limit, full, rounds };
})();
