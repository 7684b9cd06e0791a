/* Figures as text, exactly as Python's runner.metrics and hooks.cells show them. */
(function () {
  "use strict";

  /* Python rounds a tie to even, toFixed away from zero. A number of at most `places` + 1 binary places is a
     tie if its last decimal is 5, and toFixed tells all of its decimals. */
  function rounded(value, places) {
    if (Number.isInteger(value * 2 ** (places + 1))) {
      const exact = value.toFixed(places + 1);
      const down = exact.slice(0, -1).replace(/\.$/, "");
      if (exact.endsWith("5") && "02468".includes(down.at(-1))) {
        return down;
      }
    }
    return value.toFixed(places);
  }

  /* `1,234.50`: rounded half to even, thousands grouped. */
  function fixed(value, places) {
    const [whole, part] = rounded(value, places).split(".");
    const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
    return part ? grouped + "." + part : grouped;
  }

  /* The shown number of a value in base units, without its unit. */
  function show(metric, value) {
    const shown = value * metric.scale;
    if (shown === 0) {
      return "0";
    }
    const size = Math.abs(shown);
    const magnitude = size >= 1 ? String(Math.trunc(size)).length : 0;
    return fixed(shown, Math.max(0, metric.digits - magnitude));
  }

  function percent(share) {
    return fixed(share * 100, 1) + " %";
  }

  /* What a row's figure bounds: "≥", "≤", "?" where nothing bounds it. As runner.bounds.bound. */
  function bound(metric, row) {
    if (row.unsent) {
      return row.floor ? "?" : "≥";
    }
    return !row.floor ? "" : metric.better === "higher" ? "≥" : "≤";
  }

  /* `≥ ` or `≤ ` before a figure that is a bound; `row` has floor and, of open-loop latencies, unsent. */
  function sign(metric, row) {
    const found = bound(metric, row);
    return found && found !== "?" ? found + " " : "";
  }

  /* `36,900–39,100`; one number where all samples show alike */
  function range(metric, row) {
    const [low, high] = [show(metric, row.low), show(metric, row.high)];
    return low === high ? low : low + "–" + high;
  }

  /* `Throughput, requests/s` */
  function heading(metric) {
    return metric.unit ? metric.label + ", " + metric.unit : metric.label;
  }

  /* A factor with two decimals from 0.1 to 10, else three significant digits; as hooks.factors.plain. */
  function plain(value) {
    let places = value >= 100 ? 0 : value >= 10 ? 1 : 2;
    if (value < 0.1) {
      for (let left = value; left > 0 && left < 1; left *= 10) {
        places += 1;
      }
    }
    return fixed(value, places);
  }

  /* `≥ 3.52×` of a ratio {value, low, high, bound} */
  function factor(ratio) {
    return (ratio.bound + " " + plain(ratio.value) + "×").trim();
  }

  /* `3.10–3.92×`, the furthest apart that samples allow; of a bound only the end that it bounds */
  function span(ratio) {
    const [low, high] = [plain(ratio.low), plain(ratio.high)];
    if (ratio.bound) {
      return ratio.bound + " " + (ratio.bound === "≥" ? low : high) + "×";
    }
    return (low === high ? high : low + "–" + high) + "×";
  }

  const PUBLISHED = "published by others, not measured here"; // runner.model.PUBLISHED

  window.lapsheet.format = { fixed, show, percent, bound, sign, range, heading, factor, span, PUBLISHED };
})();
