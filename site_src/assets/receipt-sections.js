/* What a receipt says of a figure, section by section. */
(function () {
  "use strict";

  const { lapsheet } = window;
  const { el, table } = lapsheet;
  const { show, percent } = lapsheet.format;
  const { count, moment, name, round } = lapsheet.words;
  const PUBLISHED = "published by others, not measured here"; // runner.model.PUBLISHED

  const between = (items, mark) => items.flatMap((item, at) => (at ? [mark, item] : [item]));

  function label(context, dimension, value) {
    return context.manifest.labels?.[dimension]?.[value] || String(value);
  }

  function coordinates(context) {
    return Object.entries(context.case.dimensions).map(function ([dimension, value]) {
      const text = name(label(context, dimension, value));
      return dimension === "server" || typeof value === "string" ? text : [dimension + " ", text];
    });
  }

  function title(context) {
    const { role } = context.case;
    return [
      el("span", { class: "ls-receipt-kind" }, context.kind.label),
      ...between(coordinates(context), " · ").flat(),
      { case: "", twin: " (A/A twin)", control: " (control)" }[role ?? "case"],
    ];
  }

  /* As hooks.cells.floor_sign: a saturated generator makes a throughput a lower bound and a latency an upper
     one; latencies that leave out requests never sent are lower bounds; with both, nothing bounds them. */
  function bound({ row, kind, metric, accepted }) {
    const short = (sample) => sample.flags?.some((flag) => flag.code === "rate-not-reached");
    const limiter = metric.startsWith("probe_") ? "the probe" : "the load generator or the upstream";
    if (metric.startsWith("open_") && accepted.some(short)) {
      return row.floor
        ? ["", `Requests that were due were never sent, and ${limiter} was at its limit: the figure is no bound.`]
        : ["≥ ", "≥: requests that were due were never sent, and the figure leaves them out."];
    }
    const sign = kind.better === "higher" ? "≥" : "≤";
    return row.floor
      ? [sign + " ", `${sign}: ${limiter} was at its limit, so the server may be better.`]
      : ["", ""];
  }

  /* As runner.metrics.Metric.too_small. */
  function small({ row, kind, metric }) {
    const by = metric.startsWith("probe_") ? "the probe" : "the measurement";
    const least = Number((kind.resolution * kind.scale).toPrecision(6));
    return row.n && row.median < kind.resolution ? `below what ${by} resolves (${least} ${kind.display_unit})` : "";
  }

  function range({ row, kind }) {
    const [low, high] = [show(kind, row.low), show(kind, row.high)];
    return low === high ? low : low + "–" + high;
  }

  function figure(context) {
    const { row, kind } = context;
    const [sign, why] = bound(context);
    const unit = kind.display_unit || kind.unit;
    const shown = row.n ? [el("strong", {}, sign + show(kind, row.median)), " " + unit] : [el("strong", {}, "–")];
    const words = [];
    if (row.untiered === PUBLISHED) {
      words.push(PUBLISHED);
    } else if (!row.n) {
      words.push("no accepted sample of " + row.wanted);
    } else {
      words.push(row.n === 1 ? "the one accepted sample" : "median of " + row.n + " accepted samples");
      words.push("range " + range(context));
    }
    words.push(small(context));
    if (row.untiered !== PUBLISHED) {
      words.push(row.tier === null ? "no tier: " + (row.untiered || "no reason recorded") : "tier " + row.tier);
      words.push(row.band === null ? "noise band unknown" : "noise band " + percent(row.band));
    }
    return el(
      "div",
      { class: "ls-receipt-figure" },
      el("p", {}, shown),
      el("p", {}, words.filter(Boolean).join(" · ")),
      why && el("p", {}, why),
      context.manifest.state !== "complete" &&
        el("p", { class: "ls-receipt-warn" }, "This run is " + context.manifest.state + ": samples are missing.")
    );
  }

  /* What became of an attempt, for the figure. */
  function fate(context, sample) {
    if (sample.status === "accepted") {
      return context.metric in (sample.metrics ?? {}) ? "counted" : "counted, but has no such figure";
    }
    if (sample.status === "failed") {
      return "the server's own failure: kept, not repeated";
    }
    const next = context.attempts.find(
      (item) => item.repeat === sample.repeat && (item.attempt ?? 1) > (sample.attempt ?? 1)
    );
    return next ? "disturbed from outside: repeated as attempt " + next.attempt : "disturbed from outside: not repeated";
  }

  function attempts(context) {
    const rows = context.attempts.map(function (sample) {
      const value = sample.metrics?.[context.metric];
      const notes = [...(sample.reasons ?? []), ...(sample.flags ?? [])];
      return [
        round(sample),
        value === undefined ? "–" : el("span", { class: "ls-value" }, show(context.kind, value)),
        [
          el("span", { class: "ls-receipt-" + sample.status }, sample.status),
          ": " + fate(context, sample),
          notes.map((note) => el("span", { class: "ls-spread" }, name(note.code + ": " + note.message))),
        ],
        moment(sample.started),
        count(sample.order),
      ];
    });
    const unit = context.kind.display_unit || context.kind.unit;
    return [
      el("h3", {}, "Every attempt"),
      table(
        "Attempts at this case, in the order of rounds",
        ["Round", unit, "Outcome", "Started", "Order in run"],
        rows,
        "ls-receipt-attempts"
      ),
    ];
  }

  /* Everything below the title. */
  function all(context) {
    return [figure(context), attempts(context), lapsheet.verify(context), lapsheet.details(context)].flat();
  }

  lapsheet.sections = { title, all };
})();
