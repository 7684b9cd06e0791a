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

  /* `Throughput, requests/s` */
  function heading(metric) {
    return metric.unit ? metric.label + ", " + metric.unit : metric.label;
  }

  /* Decimals of a factor: about three significant digits, and never none. */
  function places(value) {
    if (value > 0 && value < 0.01) {
      return 1 - Math.floor(Math.log10(value));
    }
    return value >= 100 ? 0 : value >= 10 ? 1 : 2;
  }

  /* `≥ 3.52×` of a ratio {value, low, high, bound} */
  function factor(ratio) {
    return (ratio.bound + " " + fixed(ratio.value, places(ratio.value)) + "×").trim();
  }

  /* `3.10–3.92×`, the furthest apart that samples allow */
  function span(ratio) {
    const digits = places(ratio.high);
    const [low, high] = [fixed(ratio.low, digits), fixed(ratio.high, digits)];
    return (low === high ? high : low + "–" + high) + "×";
  }

  window.lapsheet.format = { fixed, show, percent, heading, factor, span };
})();
