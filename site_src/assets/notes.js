/* What is said of a table as it stands: how much of it is seen, in which order, and what its signs mean. */
(function () {
  "use strict";

  const { lapsheet } = window;

  function named(column) {
    return [column.label, column.title].filter(Boolean).join(", ");
  }

  function order(chosen, shown) {
    const by = [...shown.names, ...shown.all].find((column) => column.id === chosen.sort);
    return chosen.sort ? `Sorted by ${by ? named(by) : chosen.sort}, ${shown.down ? "downwards" : "upwards"}.` : "";
  }

  function limits(chosen, shown) {
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

  /* The noise band of each metric and column that is seen. */
  function bands(model, shown) {
    const listed = new Map();
    for (const { at, key, label } of shown.all) {
      const rows = model.rows.map((row) => model.row(row.cells[at], key)).filter(Boolean);
      const known = rows.find((row) => row.band !== null);
      const band = (known ? lapsheet.format.percent(known.band) : "unknown") + (label ? " on " + label : "");
      const name = model.frame.metrics[key].label;
      listed.set(name, [...(listed.get(name) ?? []), band]);
    }
    const words = [...listed].map(([name, list]) => `${name} ${list.join(", ")}`).join("; ");
    return `Noise band (the same configuration, run twice): ${words}.`;
  }

  function signs(model, shown) {
    const told = [bands(model, shown)];
    const rows = model.rows.flatMap((row) => shown.all.map(({ at, key }) => model.row(row.cells[at], key)));
    const some = (test) => rows.some((row) => row && test(row));
    if (some((row) => row.floor && row.n)) {
      told.push("≥ (for latencies ≤): a limit lay outside the server, which may be better than the figure.");
    }
    if (some((row) => row.rejected)) {
      told.push("Rejected samples were disturbed from outside, and were repeated.");
    }
    if (some((row) => row.failed)) {
      told.push("Failed samples are the server's own doing, and were not repeated.");
    }
    if (shown.all.some(({ key }) => /^(open_|probe_.*_)?p\d/.test(key))) {
      told.push(
        "A percentile here is the median of the samples' percentiles, which is not the percentile of all " +
          "their requests merged."
      );
    }
    return told.join(" ");
  }

  /* The notes of a block: `update` returns the line that tells of the view, and changes the notes below. */
  lapsheet.notes = function (block, model) {
    const given = block.querySelector(":scope > .ls-note");
    const own = lapsheet.el("p", { class: "ls-note ls-own-note", hidden: true });
    given.after(own);
    return {
      update: function (chosen, shown, unknown) {
        const changed = chosen.metric.join() !== model.table.metrics.join();
        // In print the table is the one that the build made, and so are its notes.
        given.classList.toggle("ls-print-only", changed);
        own.hidden = !changed;
        own.textContent = changed ? signs(model, shown) : "";
        const [some, all] = [shown.rows.length, model.rows.length];
        const count = some === all ? `${all} row${all === 1 ? "" : "s"}.` : `${some} of ${all} rows.`;
        const tiered = all > 1 && shown.columns.some((column) => column.cells.some((cell) => cell.tier));
        const tiers = tiered ? "Rows within a tier are in no order." : "";
        const lost = unknown.length ? `Not in this table, so left out: ${unknown.join(", ")}.` : "";
        return [count, order(chosen, shown), ...limits(chosen, shown), tiers, lost].filter(Boolean).join(" ");
      },
    };
  };
})();
