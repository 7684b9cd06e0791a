/* Proving one figure: the SHA-256 of every file behind it, each sample's value from its raw bytes, and what
   the page says of the figure from the samples. Nothing here is shown; see verify.js. */
(function () {
  "use strict";

  const { lapsheet } = window;
  const TOLERANCE = 1e-9; // runner.verify.RELATIVE_TOLERANCE
  // What a client wrote about one sample: no two samples have the same bytes of it.
  const OUTPUTS = ["oha.json", "k9-summary.json", "probe.jsonl.gz"];

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

  /* A file: {entry, bytes, problem}. */
  async function check(entry, source) {
    const { bytes, problem } = await source.get(entry);
    // The samples of a run that goes on have no hash yet.
    return { entry, bytes, problem: problem ?? (entry.sha256 ? await differs(entry, bytes) : "") };
  }

  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

  async function manifestFile(context, source) {
    const { manifest, about, run } = context;
    const file = await check(about.manifest, source);
    if (!file.problem && !same(JSON.parse(new TextDecoder().decode(file.bytes)), manifest)) {
      file.problem = "not the manifest this receipt was made of";
    } else if (!file.problem && manifest.id !== run.id) {
      file.problem = "the manifest of another run, " + manifest.id;
    } else if (!file.problem && run.manifest !== about.manifest.sha256) {
      file.problem = "this page was made of another manifest, of SHA-256 " + run.manifest;
    }
    return file;
  }

  const entryOfSamples = (context) =>
    context.manifest.files?.find((entry) => entry.path === "samples.jsonl") ?? { path: "samples.jsonl" };

  /* Whether the manifest must list every file: that of a run that goes on lists none. */
  const lists = ({ manifest }) => manifest.state !== "running" || manifest.files?.length > 0;

  async function samplesFile(context, source) {
    const entry = entryOfSamples(context);
    const file = await check(entry, source);
    if (!file.problem && lists(context) && !entry.sha256) {
      file.problem = "the manifest does not list it";
    }
    file.problem ||= otherLines(context, file.bytes) || lapsheet.series.wrong(context);
    return file;
  }

  /* What of the file's lines is not what the receipt shows; empty if nothing is. */
  function otherLines(context, bytes) {
    const lines = new TextDecoder().decode(bytes).split(/\r?\n/).filter(Boolean);
    const other = context.samples.findIndex(function (sample, at) {
      try {
        return !same(JSON.parse(lines[at]), sample);
      } catch {
        return true;
      }
    });
    if (other >= 0) {
      return `line ${other + 1} is not the sample this receipt shows`;
    }
    // A capture that goes on may have written more since.
    return lists(context) && lines.length !== context.samples.length
      ? `${lines.length} lines, this receipt was made of ${context.samples.length}`
      : "";
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

  /* The sample's value again: {value, problem}; no value where the raw files give none. */
  async function again({ manifest, metric }, sample, files) {
    const folder = `raw/${String(sample.order).padStart(4, "0")}/`;
    const named = new Map(
      files
        .filter((file) => file.bytes && file.entry.path.startsWith(folder))
        .map((file) => [file.entry.path.slice(folder.length), file.bytes])
    );
    try {
      if (metric.startsWith("probe_")) {
        const unprobed = sample.metrics?.[metric] === undefined && !named.has("probe.jsonl.gz");
        return { value: unprobed ? undefined : (await lapsheet.recompute.probe(named))[metric], problem: "" };
      }
      const { ok, others, metrics } = lapsheet.recompute.generator(manifest.generator.name, named);
      const stored = sample.counts?.ok;
      const problem = ok === stored ? "" : `2xx answers: stored ${stored}, the raw files say ${ok}`;
      return { value: metrics[metric], problem: problem || (others && `accepted, with ${others} answers without 2xx`) };
    } catch (error) {
      return { problem: error.message };
    }
  }

  /* One sample: {sample, files, stored, value, problem}; `problem` is about the value, that of files is with
     them. `seen` are the outputs of the samples before. */
  async function sampleProof(context, sample, source, how, seen) {
    const listed = new Map((context.manifest.files ?? []).map((entry) => [entry.path, entry]));
    const found = async function (entry) {
      const file = await check(entry, source);
      const other = listed.get(entry.path);
      if (!file.problem && lists(context) && other?.sha256 !== entry.sha256) {
        file.problem = `run.json lists ${other ? "another SHA-256, " + other.sha256 : "no such file"}`;
      }
      return file;
    };
    const files = await Promise.all((sample.raw ?? []).map(found));
    const failed = (sample.checks ?? []).filter((one) => one.status === "failed").map((one) => one.name);
    const stored = sample.metrics?.[context.metric];
    const made = how ? await again(context, sample, files) : { problem: "" };
    const copied = how && copyOf(files, seen, sample);
    if (!files.length) {
      made.problem = "no raw file is recorded";
    } else if (failed.length) {
      made.problem = "accepted, but these checks failed: " + failed.join(", ");
    } else if (copied) {
      made.problem = copied;
    } else if (how && !made.problem && made.value !== stored) {
      made.problem =
        made.value === undefined
          ? "the raw files have no such figure"
          : stored === undefined
            ? "the raw files have a figure, none is stored"
            : agree(made.value, stored)
              ? ""
              : "value differs";
    }
    return { sample, files, stored, ...made };
  }

  function copyOf(files, seen, { repeat }) {
    for (const { path, sha256: hash } of files.map((file) => file.entry)) {
      const name = path.split("/").at(-1);
      if (OUTPUTS.includes(name)) {
        if (seen.has(hash)) {
          return `its ${name} is a copy of that of round ${seen.get(hash)}`;
        }
        seen.set(hash, repeat);
      }
    }
    return "";
  }

  /* The proof of a receipt's figure from its accepted samples: of each sample its value, where `how` it can be
     had again, and as `sums` what is shown of them all. `progress(k, n)` is told before each sample. */
  async function prove(context, source, progress) {
    const { how } = way(context);
    const evidence = [await manifestFile(context, source), await samplesFile(context, source)];
    const each = [];
    const seen = new Map();
    for (const sample of context.accepted) {
      progress(each.length + 1, context.accepted.length);
      each.push(await sampleProof(context, sample, source, how, seen));
    }
    const values = each.filter((one) => one.stored !== undefined).map((one) => (how ? one.value : one.stored));
    const sums = lapsheet.series.shown(context, values.includes(undefined) ? [] : values, agree);
    const files = [...evidence, ...each.flatMap((one) => one.files)];
    const sound = (one) => !one.problem && one.files.every((file) => !file.problem);
    return {
      how,
      evidence,
      each: each.map((one) => ({ ...one, ok: sound(one) })),
      sums,
      strangers: source.strangers,
      vouched: Boolean(evidence[1].entry.sha256),
      count: files.filter((file) => file.entry.sha256).length,
      bad: files.filter((file) => file.problem),
      ok:
        files.every((file) => !file.problem) &&
        each.every(sound) &&
        sums.every((sum) => sum.ok) &&
        values.length > 0 &&
        !values.includes(undefined) &&
        !source.strangers.length,
    };
  }

  lapsheet.proof = { prove, way, sha256, entryOfSamples };
})();
