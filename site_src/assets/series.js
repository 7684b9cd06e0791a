/* Whether the samples of a run are whole and in order, and whether what the page shows of a figure follows
   from its samples. */
(function () {
  "use strict";

  const { lapsheet } = window;

  /* What is wrong with the order of all samples, as runner.verify tells it; empty if nothing is. */
  function wrong({ manifest, samples, case: own }) {
    const cases = new Map(manifest.cases.map((one) => [one.id, one.dimensions]));
    const made = new Set();
    const accepted = new Set();
    for (const [at, sample] of samples.entries()) {
      const place = `line ${at + 1}: `;
      const round = JSON.stringify([sample.case, sample.repeat]);
      if (sample.order !== at + 1) {
        return `${place}order is ${sample.order}: a line is missing or moved`;
      }
      if (!cases.has(sample.case)) {
        return `${place}case ${sample.case} is not in the manifest`;
      }
      if (!alike(sample.dimensions ?? {}, cases.get(sample.case))) {
        return `${place}dimensions are not those of case ${sample.case}`;
      }
      if (sample.status === "accepted" && accepted.has(round)) {
        return `${place}a second accepted attempt at ${sample.case}, round ${sample.repeat}`;
      }
      if (sample.status === "accepted" && sample.reasons?.length) {
        return `${place}accepted, and yet rejected: ${sample.reasons.map((note) => note.code).join(", ")}`;
      }
      made.add(round);
      if (sample.status === "accepted") {
        accepted.add(round);
      }
    }
    // What was published has one line a case.
    if (manifest.state !== "complete" || manifest.origin === "published") {
      return "";
    }
    const missing = lapsheet.standing.rounds(manifest, own).find((round) => !made.has(JSON.stringify([own.id, round])));
    return missing ? `no attempt at ${own.id}, round ${missing}, in a run called complete` : "";
  }

  /* Whether a sample repeats its case's dimensions, or leaves them out. */
  function alike(told, wanted) {
    const names = Object.keys(told);
    return !names.length || (names.length === Object.keys(wanted).length && names.every((name) => told[name] === wanted[name]));
  }

  function middle(values) {
    const sorted = [...values].sort((a, b) => a - b);
    const half = sorted.length / 2;
    return (sorted[Math.ceil(half) - 1] + sorted[Math.floor(half)]) / 2;
  }

  /* What is shown against what the samples give: [{name, shown, value, ok, fine}], figures in base units or
     words; `fine` is said where it is ok. */
  function shown(context, values, agree) {
    const { row } = context;
    const found = lapsheet.standing.of(context);
    const sums = values.length
      ? [
          { name: "Median", shown: row.median, value: middle(values) },
          { name: "Lowest", shown: row.low, value: Math.min(...values) },
          { name: "Highest", shown: row.high, value: Math.max(...values) },
        ].map((sum) => ({ ...sum, ok: agree(sum.shown, sum.value), fine: "value agrees" }))
      : [];
    const tier = row.tier === null ? "none" : "tier " + row.tier;
    return [
      ...sums,
      words("Samples", `${row.n} of ${row.wanted}`, `${found.n} of ${found.wanted}`),
      words("Limited", row.floor ? "yes" : "no", found.floor ? "yes" : "no"),
      {
        ...words("Tier", tier, found.ranked ? "may have one" : "none"),
        ok: found.ranked === (row.tier !== null),
        fine: found.ranked ? "not contradicted" : "value agrees",
      },
      ...beside(context),
    ];
  }

  const words = (name, shown, value) => ({ name, shown, value, ok: shown === value, fine: "value agrees" });

  /* What the page's table shows, against the row of this receipt. */
  function beside({ shown, row, text }) {
    if (!shown) {
      return [];
    }
    const told = ({ median, low, high, n, tier }) => JSON.stringify(n ? [median, low, high, n, tier || null] : [n]);
    const alike = told(shown) === told(row) && shown.text === text;
    // Figures that differ may look alike.
    const exact = (one) => ` (${one.median}, ${one.low} to ${one.high}, n = ${one.n}, tier ${one.tier || "none"})`;
    const [there, here] = alike ? ["", ""] : [exact(shown), exact(row)];
    return [{ name: "In the table", shown: shown.text + there, value: text + here, ok: alike, fine: "value agrees" }];
  }

  lapsheet.series = { wrong, shown, beside };
})();
