/* What a receipt says of a figure, section by section. */
(function () {
  "use strict";

  const { lapsheet } = window;
  const { el, table } = lapsheet;
  const { show, percent, range } = lapsheet.format;
  const { count, moment, name, round } = lapsheet.words;

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

  /* Why a figure is a bound, or none; as lapsheet.format.bound has it. */
  function bound({ row, kind, metric }) {
    const limiter = metric.startsWith("probe_") ? "the probe" : "the load generator or the upstream";
    const sign = lapsheet.format.bound(kind, row);
    if (row.unsent) {
      return row.floor
        ? `Requests that were due were never sent, and ${limiter} was at its limit: the figure is no bound.`
        : `${sign}: requests that were due were never sent, and the figure leaves them out.`;
    }
    return sign && `${sign}: ${limiter} was at its limit, so the server may be better.`;
  }

  /* Where the table showed a ratio: of what, and the way to the other figure's receipt. */
  function ratio({ base, run, metric, row, from }) {
    if (!base) {
      return "";
    }
    const open = () => lapsheet.receipt({ run: run.id, case: base.case.id, metric, from });
    const figure = `${base.text} ${base.kind.display_unit || base.kind.unit}`;
    const found = lapsheet.format.factor({ value: row.median / base.row.median, bound: "" });
    return [
      el(
        "p",
        { class: "ls-receipt-base" },
        [base.ratio, " of ", ...between(coordinates(base), " · ").flat(), " "],
        el("button", { type: "button", click: open }, figure)
      ),
      !base.ratio.endsWith(found) &&
        el("p", { class: "ls-receipt-warn" }, `The table shows ${base.ratio}, but these two figures give ${found}.`),
    ];
  }

  function figure(context) {
    const { row, kind, text, manifest } = context;
    const published = manifest.origin === "published";
    const unit = kind.display_unit || kind.unit;
    const words = [];
    if (published) {
      words.push(lapsheet.format.PUBLISHED);
    } else if (!row.n) {
      words.push("no accepted sample of " + row.wanted);
    } else {
      words.push(row.n === 1 ? "the one accepted sample" : "median of " + row.n + " accepted samples");
      words.push("range " + range(kind, row));
    }
    words.push(row.n && row.median < kind.resolution && kind.small);
    if (!published) {
      words.push(row.tier === null ? "no tier: " + (row.untiered || "no reason recorded") : "tier " + row.tier);
      words.push(row.band === null ? "noise band unknown" : "noise band " + percent(row.band));
    }
    const why = row.n && bound(context);
    const other = lapsheet.series.beside(context).find((one) => !one.ok);
    return el(
      "div",
      { class: "ls-receipt-figure" },
      el("p", {}, el("strong", {}, text), row.n ? " " + unit : ""),
      el("p", {}, words.filter(Boolean).join(" · ")),
      ratio(context),
      why && el("p", {}, why),
      other &&
        el("p", { class: "ls-receipt-warn" }, `The table shows ${other.shown}, but this receipt has ${other.value}.`),
      manifest.state !== "complete" &&
        el("p", { class: "ls-receipt-warn" }, "This run is " + manifest.state + ": samples are missing.")
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
