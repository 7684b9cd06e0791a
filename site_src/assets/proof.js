/* Proving one figure: the SHA-256 of every file behind it, each sample's value from its raw bytes, and median
   and range over the samples. Nothing here is shown; see verify.js. */
(function () {
  "use strict";

  const { lapsheet } = window;
  const TOLERANCE = 1e-9; // runner.verify.RELATIVE_TOLERANCE

  const { count } = lapsheet.words;

  async function sha256(bytes) {
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  function agree(a, b) {
    return Math.abs(a - b) <= TOLERANCE * Math.max(Math.abs(a), Math.abs(b));
  }

  function isPointer(bytes) {
    const start = new TextDecoder().decode(bytes.subarray(0, 50));
    return bytes.length < 1024 && start.startsWith("version https://git-lfs.github.com/spec/v1");
  }

  /* What is wrong with a file's bytes; empty if nothing is. */
  async function differs(entry, bytes) {
    if (isPointer(bytes)) {
      return "a Git LFS pointer in place of the file";
    }
    if (bytes.length !== entry.size) {
      return `${count(bytes.length)} bytes, ${count(entry.size)} are recorded`;
    }
    const found = await sha256(bytes);
    return found === entry.sha256 ? "" : `altered: its SHA-256 is ${found}, recorded is ${entry.sha256}`;
  }

  /* A file: {entry, bytes, problem}; `source` gives {bytes} or {problem} of an entry. */
  async function check(entry, source) {
    const { bytes, problem } = await source(entry);
    // The samples of a run that goes on have no hash yet.
    return { entry, bytes, problem: problem ?? (entry.sha256 ? await differs(entry, bytes) : "") };
  }

  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

  async function manifestFile(context, source) {
    const file = await check(context.about.manifest, source);
    if (!file.problem) {
      const text = new TextDecoder().decode(file.bytes);
      file.problem = same(JSON.parse(text), context.manifest) ? "" : "not the manifest this receipt was made of";
    }
    return file;
  }

  const entryOfSamples = (context) =>
    context.manifest.files?.find((entry) => entry.path === "samples.jsonl") ?? { path: "samples.jsonl" };

  async function samplesFile(context, source) {
    const entry = entryOfSamples(context);
    const complete = context.manifest.state === "complete";
    const file = await check(entry, source);
    if (!file.problem && complete && !entry.sha256) {
      file.problem = "the manifest does not list it";
    }
    if (file.problem) {
      return file;
    }
    const lines = new TextDecoder().decode(file.bytes).split(/\r?\n/).filter(Boolean);
    const other = context.samples.findIndex(function (sample, at) {
      try {
        return !same(JSON.parse(lines[at]), sample);
      } catch {
        return true;
      }
    });
    if (other >= 0) {
      file.problem = `line ${other + 1} is not the sample this receipt shows`;
    } else if (complete && lines.length !== context.samples.length) {
      file.problem = `${lines.length} lines, this receipt was made of ${context.samples.length}`;
    }
    return file;
  }

  /* How a figure can be had again: "recomputed" from the bytes, "re-read" (a generator's own), or "" where
     the browser cannot; `why` is for the reader. */
  function way({ manifest, metric, kind }) {
    const name = manifest.generator.name;
    if (manifest.origin !== "captured") {
      const why = "Nothing was measured here: the figure was transcribed, and `lapsheet verify` reads it again";
      return { how: "", why: why + " from the files whose bytes are checked." };
    }
    if (metric.startsWith("probe_")) {
      return {
        how: "recomputed",
        why: "The figure is computed again: the nearest-rank percentile over the probe's rows, one a request.",
      };
    }
    if (!lapsheet.recompute.knows(name)) {
      return { how: "", why: "This page has no reader for the output of " + name + "; `lapsheet verify` has." };
    }
    if (metric === "rps") {
      const why = "The figure is computed again: answers with 2xx, divided by the measured window.";
      return { how: "recomputed", why };
    }
    if (metric === "body_rate") {
      const why = "The figure is computed again: answers with 2xx a second, times the bytes of a body.";
      return { how: "recomputed", why };
    }
    const why =
      `This is ${name}'s own figure (${kind.label}): its output holds no single times, so that it can only be ` +
      "re-read from there, not recomputed.";
    return { how: "re-read", why };
  }

  /* The sample's value again: {value, problem}. */
  async function again({ manifest, metric }, sample, files) {
    const folder = `raw/${String(sample.order).padStart(4, "0")}/`;
    const named = new Map(
      files
        .filter((file) => file.bytes && file.entry.path.startsWith(folder))
        .map((file) => [file.entry.path.slice(folder.length), file.bytes])
    );
    try {
      if (metric.startsWith("probe_")) {
        return { value: (await lapsheet.recompute.probe(named))[metric], problem: "" };
      }
      const { ok, metrics } = lapsheet.recompute.generator(manifest.generator.name, named);
      const stored = sample.counts?.ok;
      const problem = ok === stored ? "" : `2xx answers: stored ${stored}, the raw files say ${ok}`;
      return { value: metrics[metric], problem };
    } catch (error) {
      return { problem: error.message };
    }
  }

  /* One sample: {sample, files, value, problem}; `problem` is about the value, that of files is with them. */
  async function sampleProof(context, sample, source, how) {
    const listed = new Map((context.manifest.files ?? []).map((entry) => [entry.path, entry]));
    const complete = context.manifest.state === "complete";
    const found = async function (entry) {
      const file = await check(entry, source);
      const other = listed.get(entry.path);
      if (!file.problem && complete && other?.sha256 !== entry.sha256) {
        file.problem = `run.json lists ${other ? "another SHA-256, " + other.sha256 : "no such file"}`;
      }
      return file;
    };
    const files = await Promise.all((sample.raw ?? []).map(found));
    const failed = (sample.checks ?? []).filter((one) => one.status === "failed").map((one) => one.name);
    const stored = sample.metrics[context.metric];
    const made = how ? await again(context, sample, files) : { problem: "" };
    if (!files.length) {
      made.problem = "no raw file is recorded";
    } else if (failed.length) {
      made.problem = "accepted, but these checks failed: " + failed.join(", ");
    } else if (how && !made.problem && !(made.value !== undefined && agree(made.value, stored))) {
      made.problem = made.value === undefined ? "the raw files have no such figure" : "value differs";
    }
    return { sample, files, stored, ...made };
  }

  /* What the page shows against what the samples give: [{name, shown, value, ok}]. */
  function sums(row, values) {
    const sorted = [...values].sort((a, b) => a - b);
    const middle = sorted.length / 2;
    const median = (sorted[Math.ceil(middle) - 1] + sorted[Math.floor(middle)]) / 2;
    const made = { median, low: sorted[0], high: sorted.at(-1) };
    return Object.entries(made).map(([name, value]) => ({
      name,
      shown: row[name],
      value,
      ok: agree(value, row[name]),
    }));
  }

  /* The proof of a receipt's figure from its accepted samples. `source(entry)` resolves to {bytes} or
     {problem}; `progress(k, n)` is told before each sample. */
  async function prove(context, source, progress) {
    const { how, why } = way(context);
    const evidence = [await manifestFile(context, source), await samplesFile(context, source)];
    const each = [];
    for (const sample of context.accepted) {
      progress(each.length + 1, context.accepted.length);
      each.push(await sampleProof(context, sample, source, how));
    }
    const values = each.map((one) => one.value);
    const whole = how && values.length && !values.includes(undefined);
    const made = whole ? sums(context.row, values) : [];
    const files = [...evidence, ...each.flatMap((one) => one.files)];
    const sound = (one) => !one.problem && one.files.every((file) => !file.problem);
    return {
      how,
      why,
      evidence,
      each: each.map((one) => ({ ...one, ok: sound(one) })),
      sums: made,
      count: files.filter((file) => file.entry.sha256).length,
      bad: files.filter((file) => file.problem),
      ok:
        files.every((file) => !file.problem) &&
        each.length === context.row.n &&
        each.every(sound) &&
        made.every((sum) => sum.ok) &&
        (!how || Boolean(whole)),
    };
  }

  lapsheet.proof = { prove, way, sha256, entryOfSamples };
})();
