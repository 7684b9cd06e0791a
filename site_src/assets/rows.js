/* The rows of a run's summary from its samples, and one row over another: the rules of runner.analysis,
   runner.verdicts and hooks.cells. */
(function () {
  "use strict";

  const { lapsheet } = window;
  const SCATTERED = 3;

  /* The figures of one case and metric of a run's frame; null where the run has no such row. */
  function row(frame, place, key) {
    const metric = frame.metrics[key];
    const tier = metric && place !== null ? metric.tier[place] : null;
    if (tier === null) {
      return null;
    }
    const samples = metric.values[place];
    const sorted = Float64Array.from(samples).sort();
    const n = sorted.length;
    const middle = n >> 1;
    const cases = frame.cases;
    return {
      case: cases.id[place],
      metric,
      n,
      samples,
      median: n % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2,
      low: sorted[0],
      high: sorted[n - 1],
      floor: metric.floor.includes(place),
      band: metric.band[place],
      tier: typeof tier === "number" ? tier : 0,
      untiered: typeof tier === "string" ? tier : "",
      wanted: cases.wanted[place],
      failed: cases.failed[place],
      rejected: cases.rejected[place],
      reasons: cases.reasons[place],
      unsent: key.startsWith("open_") ? cases.unsent[place] : 0,
    };
  }

  function figure(row, value) {
    return lapsheet.format.sign(row.metric, row) + lapsheet.format.show(row.metric, value);
  }

  function unresolved(row) {
    return row.n && row.median < row.metric.resolution ? row.metric.small : "";
  }

  /* Why no ratio may have a row's figure on either side, as words; empty where one may. */
  function indivisible(row) {
    if (!row.n) {
      return row.untiered || "no accepted sample";
    }
    const small = row.low <= 0 ? "nought" : unresolved(row);
    return small && "no ratio with what is " + small;
  }

  /* What bounds b from below bounds a over b from above. */
  function ratioBound(a, b) {
    const over = lapsheet.format.bound(a.metric, a);
    const under = { "≥": "≤", "≤": "≥" }[lapsheet.format.bound(b.metric, b)] ?? lapsheet.format.bound(b.metric, b);
    return !over || !under ? over || under : over === under ? over : "?";
  }

  /* Why there is no ratio of row a over row b, as words; empty where there is one. */
  function refusal(a, b) {
    const why = indivisible(a) || indivisible(b);
    if (why || ratioBound(a, b) !== "?") {
      return why;
    }
    const none = [a, b].some((row) => lapsheet.format.bound(row.metric, row) === "?");
    return (none ? "a side is no bound at all" : "both sides are bounds") + ", so nothing bounds their ratio";
  }

  /* Median over median, with the furthest that samples allow; only where nothing refuses it. */
  function ratio(a, b) {
    return { value: a.median / b.median, low: a.low / b.high, high: a.high / b.low, bound: ratioBound(a, b) };
  }

  function distinct(a, b) {
    const apart = Math.abs(a.median - b.median);
    if (apart < a.metric.resolution) {
      return false;
    }
    const band = a.band === null ? b.band : b.band === null ? a.band : Math.max(a.band, b.band);
    const middle = (Math.abs(a.median) + Math.abs(b.median)) / 2;
    const separate = a.low > b.high || b.low > a.high;
    return separate && (band === null || (middle ? apart / middle : 0) > band);
  }

  function apart(row) {
    const least = Math.max(row.low, row.metric.resolution);
    if (row.n < 2 || least <= 0 || row.high / least < SCATTERED) {
      return "";
    }
    if (row.low <= 0 || row.low < row.metric.resolution) {
      return row.metric.small ? "samples far apart, some " + row.metric.small : "samples far apart";
    }
    return "samples " + lapsheet.format.fixed(row.high / row.low, 0) + "-fold apart";
  }

  /* What a reader must know of a row before using it. */
  function remarks(row) {
    const told = [];
    if (row.untiered) {
      told.push(row.untiered);
    }
    if (row.unsent) {
      told.push(
        "the rate was not reached in " + row.unsent + " of " + row.n + " samples, whose percentiles leave out " +
          "what was never sent" +
          (row.floor ? "; and the figure was limited as well, so that it is no bound" : "")
      );
    }
    const outs = counts(row).filter(function (text) {
      return !(text.includes("failed") && row.untiered.includes("failed"));
    });
    if (outs.length) {
      told.push(outs.join(", "));
    }
    if (row.reasons && told.length) {
      told[told.length - 1] += " (" + row.reasons + ")";
    }
    const far = apart(row);
    return far ? [...told, far] : told;
  }

  function counts(row) {
    return ["failed", "rejected"]
      .filter(function (status) {
        return row[status];
      })
      .map(function (status) {
        return row[status] + " " + status;
      });
  }

  /* A cell without a figure, and why. */
  function empty(spread) {
    return { value: "–", tier: "", spread, short: "", remarks: [], order: null };
  }

  /* A row's cell: {value, tier, spread, short, remarks, order}; `order` is what it sorts by, null without a
     figure. */
  function words(row, stat, tiers) {
    const { PUBLISHED } = lapsheet.format;
    if (row.untiered === PUBLISHED) {
      return row.n ? { ...empty(PUBLISHED), value: figure(row, row.median), order: row.median } : empty(PUBLISHED);
    }
    const short = [...counts(row), row.untiered ? "no tier" : "", apart(row)].filter(Boolean).join(" · ");
    const told = { tier: "", short, remarks: remarks(row) };
    if (!row.n) {
      return { ...told, value: "–", spread: "n = 0 of " + row.wanted, order: null };
    }
    const range = lapsheet.format.range(row.metric, row) + " · n = " + row.n;
    told.tier = tiers && row.tier ? "tier " + row.tier : "";
    if (stat === "each") {
      const each = row.samples.map(function (value) {
        return lapsheet.format.show(row.metric, value);
      });
      const spread = "median " + figure(row, row.median) + " · n = " + row.n;
      return { ...told, value: "", each, spread, order: row.median };
    }
    const order = stat === "min" ? row.low : stat === "max" ? row.high : row.median;
    return { ...told, value: figure(row, order), spread: range, order };
  }

  /* The cell of row a over row b, where b is the reader's baseline. */
  function against(a, b) {
    const told = { tier: "", short: counts(a).join(" · "), remarks: remarks(a) };
    if (a === b && !indivisible(a)) {
      return { ...told, value: "1×", spread: "the baseline", order: 1 };
    }
    const why = refusal(a, b);
    if (why) {
      return { ...told, value: "–", spread: why, order: null };
    }
    const found = ratio(a, b);
    const alike = a.untiered || b.untiered ? "no claim" : distinct(a, b) ? "" : "not told apart";
    const short = [told.short, alike].filter(Boolean).join(" · ");
    return { ...told, short, value: lapsheet.format.factor(found), spread: lapsheet.format.span(found), order: found.value };
  }

  lapsheet.rows = { row, words, against, empty };
})();
