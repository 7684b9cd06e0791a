/* The figures of a sample from the bytes of its raw files, as `lapsheet verify` computes them: throughput and
   body rate as in runner/generators, the probe's percentiles as in runner/probing.py.

   `files` maps a raw file's name to its bytes. What is wrong in one is thrown as an Error naming the file. */
(function () {
  "use strict";

  const MOST = 1e15;
  const ROUNDING = 1.001;
  const LONGEST_LINE = 4096;
  const TIMES = ["headers", "first_body", "gap", "total"];
  const PERCENTILES = [50, 95, 99];
  const OHA = { p50: "p50", p75: "p75", p90: "p90", p95: "p95", p99: "p99", p999: "p99.9" };
  const K9 = { mean: "avg", p50: "med", p75: "p(75)", p90: "p(90)", p95: "p(95)", p99: "p(99)" };
  Object.assign(K9, { p999: "p(99.9)", max: "max" });
  // Of the codes that k9 is asked to count, those of success.
  const K9_OK = [200, 201, 202, 203, 204, 205, 206, 207, 208, 226];

  function text(files, name) {
    if (!files.has(name)) {
      throw new Error(name + ": missing");
    }
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(files.get(name));
    } catch {
      throw new Error(name + ": not UTF-8 text");
    }
  }

  /* JSON as Python reads it: with NaN and Infinity, which no reader below takes for a number. */
  function parse(source) {
    try {
      return JSON.parse(source);
    } catch {
      const strict = source.replace(/"(?:[^"\\]|\\.)*"|-?(?:NaN|Infinity)/g, (found) =>
        found.startsWith('"') ? found : "null"
      );
      return JSON.parse(strict);
    }
  }

  const isTable = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

  /* A JSON file, with readers that trust nothing in it; a place is a list of keys. */
  function reader(files, name) {
    let data;
    const source = text(files, name);
    try {
      data = parse(source);
    } catch (error) {
      throw new Error(name + ": not JSON (" + error.message + ")");
    }
    if (!isTable(data)) {
      throw new Error(name + ": not a JSON object");
    }
    const fail = function (keys, what) {
      throw new Error(name + ": " + keys.join(".") + ": " + what);
    };
    const own = (here, key) => (Object.hasOwn(here, key) ? here[key] : undefined);
    const table = function (...keys) {
      return keys.reduce(function (here, key, depth) {
        const next = own(here, key);
        return isTable(next) ? next : fail(keys.slice(0, depth + 1), "missing or not an object");
      }, data);
    };
    const number = function (...keys) {
      const value = own(table(...keys.slice(0, -1)), keys.at(-1)) ?? null;
      if (value === null) {
        return null;
      }
      if (typeof value !== "number") {
        fail(keys, "not a number");
      }
      if (!Number.isFinite(value)) {
        return null;
      }
      return value >= 0 && value <= MOST ? value : fail(keys, "negative or too large to be true");
    };
    const positive = (...keys) => number(...keys) || fail(keys, "missing or zero");
    const count = function (...keys) {
      const value = number(...keys);
      return Number.isInteger(value) ? value : fail(keys, "not a whole number");
    };
    return { name, data, fail, table, number, positive, count };
  }

  function asked(files) {
    const file = reader(files, "load.json");
    return {
      duration: file.positive("duration"),
      rate: (file.data.rate ?? null) === null ? null : file.positive("rate"),
      payload: (file.data.payload ?? null) === null ? null : file.count("payload"),
    };
  }

  function oha(files) {
    const file = reader(files, "oha.json");
    const window = file.positive("summary", "total");
    let [ok, responses] = [0, 0];
    for (const code of Object.keys(file.table("statusCodeDistribution"))) {
      if (!/^[1-9]\d\d$/.test(code)) {
        file.fail(["statusCodeDistribution"], code.slice(0, 40) + " is not a status code");
      }
      const answers = file.count("statusCodeDistribution", code);
      responses += answers;
      ok += code.startsWith("2") ? answers : 0;
    }
    const times = [];
    if (responses) {
      times.push(["mean", file.number("summary", "average")]);
      for (const [key, name] of Object.entries(OHA)) {
        times.push([key, file.number("latencyPercentiles", name)]);
      }
      times.push(["max", file.number("summary", "slowest")]);
    }
    return { file, window, ok, others: responses - ok, times };
  }

  function k9(files, duration) {
    const file = reader(files, "k9-summary.json");
    const metrics = file.table("metrics");
    const counter = (code) => "http_reqs{status:" + code + "}";
    const lost = file.count("metrics", counter(0), "count");
    const ok = K9_OK.filter((code) => Object.hasOwn(metrics, counter(code)))
      .map((code) => file.count("metrics", counter(code), "count"))
      .reduce((sum, answers) => sum + answers, 0);
    const total = Object.hasOwn(metrics, "http_reqs") ? file.count("metrics", "http_reqs", "count") : 0;
    const window = total ? total / file.positive("metrics", "http_reqs", "rate") : duration;
    const times = [];
    if (total - lost) {
      for (const [key, name] of Object.entries(K9)) {
        const value = file.number("metrics", "http_req_duration", name);
        times.push([key, value === null ? null : value / 1000]);
      }
    }
    return { file, window, ok, others: total - lost - ok, times };
  }

  const GENERATORS = { oha, k9 };

  /* {ok, others, metrics} of a load generator's files: answers with 2xx and without, and the figures in base
     units by their key. */
  function generator(name, files) {
    const { duration, rate, payload } = asked(files);
    const { file, window, ok, others, times } = GENERATORS[name](files, duration);
    const found = times.filter(([, value]) => value !== null);
    const rising = found.filter(([key]) => key !== "mean");
    rising.forEach(function ([key, value], at) {
      if (at && rising[at - 1][1] > value * ROUNDING) {
        throw new Error(file.name + ": " + key + " is below " + rising[at - 1][0]);
      }
    });
    const throughput = ok / window;
    const metrics = {};
    if (throughput) {
      metrics.rps = throughput;
      found.forEach(([key, value]) => (metrics[rate === null ? key : "open_" + key] = value));
      if (payload) {
        metrics.body_rate = throughput * payload;
      }
    }
    return { ok, others, metrics };
  }

  async function unpacked(bytes) {
    if (typeof DecompressionStream === "undefined") {
      throw new Error("probe.jsonl.gz: this browser cannot unpack gzip (it has no DecompressionStream)");
    }
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    try {
      return new Uint8Array(await new Response(stream).arrayBuffer());
    } catch {
      throw new Error("probe.jsonl.gz: not whole gzip");
    }
  }

  function times(row, wrong) {
    const found = TIMES.map(function (name) {
      const value = row[name];
      return Number.isFinite(value) && value >= 0 ? value : wrong(name + ": missing or not a time");
    });
    const [headers, first, gap, total] = found;
    if (first < headers || total < first || Math.abs(first - headers - gap) > 2e-9) {
      wrong("its times contradict each other");
    }
    return found;
  }

  /* The figures of the probe's files, by key: the nearest-rank percentiles (rank ⌈p·n/100⌉) over the
     requests that were answered with a 2xx and the expected body. */
  async function probe(files) {
    const about = reader(files, "probe.json");
    const requests = about.count("requests");
    if (!files.has("probe.jsonl.gz")) {
      throw new Error("probe.jsonl.gz: missing");
    }
    const bytes = await unpacked(files.get("probe.jsonl.gz"));
    const lines = text(new Map([["probe.jsonl.gz", bytes]]), "probe.jsonl.gz").split("\n");
    if (lines.pop() !== "") {
      throw new Error("probe.jsonl.gz: its last line is cut short");
    }
    if (lines.length !== requests) {
      throw new Error(`probe.jsonl.gz: ${lines.length} rows, the probe sent ${requests} requests`);
    }
    const good = TIMES.map(() => []);
    lines.forEach(function (line, at) {
      const wrong = function (what) {
        throw new Error(`probe.jsonl.gz, line ${at + 1}: ${what}`);
      };
      let row;
      try {
        row = line.length < LONGEST_LINE && JSON.parse(line);
      } catch {
        wrong("not JSON");
      }
      if (!isTable(row) || row.n !== at + 1) {
        wrong("not row " + (at + 1));
      }
      if (row.error !== undefined) {
        return;
      }
      if (!Number.isInteger(row.status)) {
        wrong("status: missing");
      }
      const found = times(row, wrong);
      if (!row.altered && row.status >= 200 && row.status < 300) {
        found.forEach((value, which) => good[which].push(value));
      }
    });
    const metrics = {};
    good.forEach(function (values, which) {
      values.sort((a, b) => a - b);
      for (const percent of values.length ? PERCENTILES : []) {
        const rank = Math.ceil((percent * values.length) / 100);
        metrics[`probe_${TIMES[which]}_p${percent}`] = values[rank - 1];
      }
    });
    return metrics;
  }

  /* Whether there is a reader for that generator's files. */
  const knows = (name) => Object.hasOwn(GENERATORS, name);

  window.lapsheet.recompute = { generator, probe, knows };
})();
