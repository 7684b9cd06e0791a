/* The rows of a run's summary from its samples, and one row over another: the rules of runner.analysis,
   runner.verdicts and hooks.cells. */
(function () {
  "use strict";

  const { lapsheet } = window;
  const SCATTERED = 3;
  const PUBLISHED = "published by others, not measured here";

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

  function sign(row) {
    if (row.unsent) {
      return row.floor ? "" : "≥ ";
    }
    return !row.floor ? "" : row.metric.better === "higher" ? "≥ " : "≤ ";
  }

  function unresolved(row) {
    return row.n && row.median < row.metric.resolution ? row.metric.small : "";
  }

  /* Why there is no ratio of row a over row b, as words; empty where there is one. */
  function refusal(a, b) {
    for (const one of [a, b]) {
      if (!one.n) {
        return one.untiered || "no accepted sample";
      }
      const small = one.low <= 0 ? "nought" : unresolved(one);
      if (small) {
        return "no ratio with what is " + small;
      }
    }
    return a.floor && b.floor ? "both sides are bounds, so nothing bounds their ratio" : "";
  }

  /* Median over median, with the furthest that samples allow; only where nothing refuses it. */
  function ratio(a, b) {
    const bound = !a.floor && !b.floor ? "" : a.floor === (a.metric.better === "higher") ? "≥" : "≤";
    return { value: a.median / b.median, low: a.low / b.high, high: a.high / b.low, bound };
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

  /* A cell: {value, tier, spread, short, remarks, order}; `order` is what it sorts by, null without a figure. */
  function words(row, stat, tiers) {
    if (!row) {
      return { value: "–", tier: "", spread: "not in this run", short: "", remarks: [], order: null };
    }
    if (row.untiered === PUBLISHED) {
      const value = row.n ? sign(row) + lapsheet.format.show(row.metric, row.median) : "–";
      return { value, tier: "", spread: PUBLISHED, short: "", remarks: [], order: row.n ? row.median : null };
    }
    const short = [...counts(row), row.untiered ? "no tier" : "", apart(row)].filter(Boolean).join(" · ");
    const told = { tier: "", short, remarks: remarks(row) };
    if (!row.n) {
      return { ...told, value: "–", spread: "n = 0 of " + row.wanted, order: null };
    }
    const [low, high] = [lapsheet.format.show(row.metric, row.low), lapsheet.format.show(row.metric, row.high)];
    const range = (low === high ? low : low + "–" + high) + " · n = " + row.n;
    told.tier = tiers && row.tier ? "tier " + row.tier : "";
    if (stat === "each") {
      const each = row.samples.map(function (value) {
        return lapsheet.format.show(row.metric, value);
      });
      const median = sign(row) + lapsheet.format.show(row.metric, row.median);
      return { ...told, value: "", each, spread: "median " + median + " · n = " + row.n, order: row.median };
    }
    const order = stat === "min" ? row.low : stat === "max" ? row.high : row.median;
    return { ...told, value: sign(row) + lapsheet.format.show(row.metric, order), spread: range, order };
  }

  /* A cell of row a over row b, where b is the reader's baseline. */
  function against(a, b) {
    if (!a || !b) {
      return { ...words(null), spread: a ? "the baseline has none" : "not in this run" };
    }
    const why = refusal(a, b);
    const told = { tier: "", short: counts(a).join(" · "), remarks: remarks(a) };
    if (a === b && (!why || a.floor)) {
      return { ...told, value: "1×", spread: "the baseline", order: 1 };
    }
    if (why) {
      return { ...told, value: "–", spread: why, order: null };
    }
    const found = ratio(a, b);
    const alike = a.untiered || b.untiered ? "no claim" : distinct(a, b) ? "" : "not told apart";
    const short = [told.short, alike].filter(Boolean).join(" · ");
    return { ...told, short, value: lapsheet.format.factor(found), spread: lapsheet.format.span(found), order: found.value };
  }

  lapsheet.rows = { row, ratio, refusal, words, against };
})();
