/* What is said of a table as it stands: how much of it is seen, in which order, and what its signs mean. */
(function () {
  "use strict";

  const { lapsheet } = window;

  function order(model, chosen, shown) {
    const way = shown.down ? "downwards" : "upwards";
    return chosen.sort ? `Sorted by ${lapsheet.view.named(model, chosen.sort)}, ${way}.` : "";
  }

  function limits(shown) {
    const told = [];
    if (shown.base) {
      told.push(`Medians over those of ${shown.base.labels.join(" · ")}, with the furthest that samples allow.`);
    }
    const hidden = shown.all.length - shown.columns.length;
    if (hidden) {
      told.push(`${hidden} ${hidden === 1 ? "column is" : "columns are"} hidden.`);
    }
    return told;
  }

  /* The noise band of each metric and column, in the words of hooks/notes.py. */
  function bands(model, metrics) {
    const words = model.frame.notes;
    let known = false;
    const listed = metrics.map(function (key) {
      const told = model.columns.map(function ({ at, label }) {
        const rows = model.rows.map((row) => model.row(row.cells[at], key));
        const found = rows.find((row) => row && row.band !== null);
        known ||= Boolean(found);
        return (found ? lapsheet.format.percent(found.band) : "unknown") + (label ? " on " + label : "");
      });
      return model.frame.metrics[key].label + " " + told.join(", ");
    });
    return known ? `${words.band}${listed.join("; ")}.` : words[model.table.tiers ? "noBandTiers" : "noBand"];
  }

  /* What hooks.notes.notes says of a table of these metrics. */
  function signs(model, metrics) {
    const all = metrics.flatMap((key) => model.rows.flatMap(({ cells }) => cells.map((at) => [key, model.row(at, key)])));
    const found = all.filter(([, row]) => row);
    const some = (test) => found.some(([key, row]) => test(row, key));
    const probe = (key) => key.startsWith("probe_");
    const called = {
      floor: some((row, key) => row.n && row.floor && !row.unsent && !probe(key)),
      probeFloor: some((row, key) => row.n && row.floor && !row.unsent && probe(key)),
      unsent: some((row) => row.n && row.unsent && !row.floor),
      rejected: some((row) => row.rejected),
      failed: some((row) => row.failed),
      percentile: metrics.some((key) => /^(open_)?p/.test(key)),
    };
    const words = Object.keys(called).filter((name) => called[name]);
    return [bands(model, metrics), ...words.map((name) => model.frame.notes[name])].join(" ");
  }

  /* What the address holds in vain, which may be of any length. */
  function lost(unknown) {
    const short = unknown.slice(0, 5).map((text) => (text.length > 60 ? text.slice(0, 60) + "…" : text));
    const more = unknown.length > 5 ? ` and ${unknown.length - 5} more` : "";
    return unknown.length ? `Not in this table, so left out: ${short.join(", ")}${more}.` : "";
  }

  /* The title and notes of a block, which in print are the build's, as the table is: `update` fits them to the
     view, and returns the line that tells of it. */
  lapsheet.notes = function (block, model) {
    const given = block.querySelector(":scope > .ls-note");
    const own = lapsheet.el("p", { class: "ls-note ls-own-note", hidden: true });
    given.after(own);
    const printed = block.querySelector(".ls-title");
    const title = lapsheet.el("p", { class: "ls-title ls-own-note", hidden: true });
    printed.after(title);
    return {
      update: function (chosen, shown, unknown) {
        const changed = chosen.metric.join() !== model.table.metrics.join();
        for (const [theirs, ours] of [[given, own], [printed, title]]) {
          theirs.classList.toggle("ls-print-only", changed);
          ours.hidden = !changed;
        }
        own.textContent = changed ? signs(model, chosen.metric) : "";
        title.textContent = shown.title;
        const [some, all] = [shown.rows.length, model.rows.length];
        const count = some === all ? `${all} row${all === 1 ? "" : "s"}.` : `${some} of ${all} rows.`;
        const tiered = all > 1 && shown.columns.some((column) => column.cells.some((cell) => cell.tier));
        const tiers = tiered ? "Rows within a tier are in no order." : "";
        const told = [count, order(model, chosen, shown), ...limits(shown), tiers, lost(unknown)];
        return told.filter(Boolean).join(" ");
      },
    };
  };
})();
