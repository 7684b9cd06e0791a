/* The Verify part of a receipt: fetches the files, or asks the reader for them, and tells what was proved. */
(function () {
  "use strict";

  const { lapsheet } = window;
  const { el, table, copyable } = lapsheet;

  const { count, plural } = lapsheet.words;

  /* The files over which a proof goes: manifest, samples, and the raw files of the accepted samples. */
  function needed(context) {
    const raw = context.accepted.flatMap((sample) => sample.raw ?? []);
    return [context.about.manifest, lapsheet.proof.entryOfSamples(context), ...raw];
  }

  function download(context) {
    const seen = new Map();
    const get = async function (entry) {
      try {
        const address = lapsheet.root + context.run.files + entry.path;
        const answer = await fetch(address, { cache: "no-store", signal: context.closed });
        if (!answer.ok) {
          return { problem: answer.status === 404 ? "missing (404)" : "not to be had (" + answer.status + ")" };
        }
        const coding = answer.headers.get("content-encoding");
        if (coding && entry.path.endsWith(".gz")) {
          const told = `sent with Content-Encoding ${coding}: the browser unpacked it`;
          return { problem: told + ", and its bytes cannot be compared" };
        }
        return { bytes: new Uint8Array(await answer.arrayBuffer()) };
      } catch {
        return { problem: "could not be downloaded" };
      }
    };
    // What was published has one file for many samples.
    return function (entry) {
      if (!seen.has(entry.path)) {
        seen.set(entry.path, get(entry));
      }
      return seen.get(entry.path);
    };
  }

  /* The files that the reader picked, known by their SHA-256; what has none of a known file is told by name. */
  function picked(context) {
    const bytes = new Map();
    const strangers = [];
    const known = new Set(needed(context).map((entry) => entry.sha256));
    return {
      add: async function (files) {
        const names = new Set(needed(context).map((entry) => entry.path.split("/").at(-1)));
        for (const file of [...files].filter((one) => names.has(one.name))) {
          const content = new Uint8Array(await file.arrayBuffer());
          const sha256 = await lapsheet.proof.sha256(content);
          if (known.has(sha256)) {
            bytes.set(sha256, content);
          } else {
            strangers.push({ path: file.webkitRelativePath || file.name, content });
          }
        }
      },
      found: () => needed(context).filter((entry) => bytes.has(entry.sha256)).length,
      source: async function (entry) {
        if (bytes.has(entry.sha256)) {
          return { bytes: bytes.get(entry.sha256) };
        }
        const placed = strangers.findLast((one) => one.path.endsWith("/" + entry.path) || one.path === entry.path);
        if (placed) {
          return { bytes: placed.content };
        }
        const alike = strangers.some((one) => one.path === entry.path.split("/").at(-1));
        return { problem: alike ? "not among the picked files: one of its name has another SHA-256" : "not picked" };
      },
    };
  }

  const exact = (context, value) =>
    value === undefined
      ? "–"
      : [
          el("span", { class: "ls-value" }, lapsheet.format.show(context.kind, value)),
          el("span", { class: "ls-spread" }, value + " " + context.kind.unit),
        ];

  function fileWords(files) {
    if (files.some((file) => !file.entry.sha256 && !file.problem)) {
      return "no SHA-256 is recorded yet";
    }
    const wrong = files.filter((file) => file.problem);
    return wrong.length
      ? wrong.map((file) => bad(file.entry.path + ": " + file.problem))
      : plural(files.length, "file") + ": bytes match";
  }

  const said = (ok, words) =>
    el("p", { class: "ls-verify-verdict " + (ok ? "ls-verify-yes" : "ls-verify-no") }, words);

  function verdict(report) {
    const yes = plural(report.count, "file") + " have the recorded SHA-256";
    if (report.ok && report.how === "recomputed") {
      return `Verified: ${yes}, and the figure recomputed from the raw bytes is the one shown.`;
    }
    if (report.ok && report.how) {
      return `Verified as far as it can be: ${yes}, and the figure re-read from the raw files is the one shown.`;
    }
    if (report.ok) {
      return `The bytes match: ${yes}. The figure was not computed again.`;
    }
    const values = report.each.filter((one) => one.problem).length + report.sums.filter((sum) => !sum.ok).length;
    const told = [
      report.bad.length && `${plural(report.bad.length, "file")} of ${report.count} not as recorded`,
      values && plural(values, "value") + " not as stored",
    ].filter(Boolean);
    return "Not verified: " + (told.join("; ") || "the samples are not those of the figure") + ".";
  }

  const bad = (words) => el("span", { class: "ls-remark" }, words);

  function result(context, report) {
    const fine = report.how ? "value agrees" : "bytes match";
    const rows = [
      ...report.evidence.map((file) => {
        const good = file.entry.sha256 ? "as recorded" : "as shown here";
        return [file.entry.path, file.problem ? bad("differs") : good, fileWords([file]), "", ""];
      }),
      ...report.each.map((one) => [
        "Round " + one.sample.repeat,
        one.ok ? fine : bad(one.problem || "bytes differ"),
        fileWords(one.files),
        exact(context, one.stored),
        exact(context, one.value),
      ]),
      ...report.sums.map((sum) => [
        { median: "Median", low: "Lowest", high: "Highest" }[sum.name],
        sum.ok ? "value agrees" : bad("value differs"),
        "",
        exact(context, sum.shown),
        exact(context, sum.value),
      ]),
    ];
    const found = report.how ? report.how[0].toUpperCase() + report.how.slice(1) : "Computed";
    return [
      said(report.ok, verdict(report)),
      table("What was checked", ["Of", "Outcome", "Files", "Stored", found], rows, "ls-verify-table"),
      el(
        "p",
        { class: "ls-note" },
        "All of it hangs on the manifest's SHA-256, ",
        el("code", {}, context.about.manifest.sha256),
        ": for a published run it is in artifacts/pins.toml of the repository."
      ),
    ];
  }

  function commands(context) {
    const lines = needed(context)
      .filter((entry) => entry.sha256)
      .map((entry) => entry.sha256 + "  " + entry.path);
    return el(
      "details",
      { class: "ls-data" },
      el("summary", {}, el("strong", {}, "By hand"), " ", el("span", {}, "sha256sum, lapsheet verify")),
      el("p", {}, "In a copy of the repository, which proves the whole run:"),
      copyable("lapsheet verify " + context.run.id, "the command that verifies the run"),
      el("p", {}, "In the folder of the run's files (", el("code", {}, context.run.files), " of this site):"),
      copyable("sha256sum --check <<'END'\n" + [...new Set(lines)].join("\n") + "\nEND", "the check of the hashes")
    );
  }

  /* The section of a receipt. */
  lapsheet.verify = function (context) {
    const status = el("div", { role: "status" });
    const outcome = el("div", {});
    let last = 0;

    async function run(source) {
      const mine = ++last;
      const told = await lapsheet.proof
        .prove(context, source, function (at, all) {
          if (mine === last) {
            status.textContent = `Checking sample ${at} of ${all} …`;
          }
        })
        .then((report) => result(context, report), (error) => [said(false, "Not verified: " + error.message)]);
      if (mine === last) {
        status.replaceChildren(told[0]);
        outcome.replaceChildren(...told.slice(1));
      }
    }

    const some = context.accepted.length > 0;
    const offered = some ? offer(context, run) : el("p", {}, "No accepted sample: there is nothing to verify.");
    return el(
      "section",
      { class: "ls-verify" },
      el("h3", {}, "Verify"),
      [offered, status, outcome, some && commands(context)]
    );
  };

  function offer(context, run) {
    const { why } = lapsheet.proof.way(context);
    if (!window.crypto?.subtle) {
      const words = "This page came over an insecure connection, where a browser computes no SHA-256. ";
      return el("p", {}, words + "Open it over https, or check by hand.");
    }
    if (location.protocol === "file:") {
      return [pickers(context, run), el("p", {}, why)];
    }
    const files = needed(context);
    const size = files.reduce((sum, entry) => sum + (entry.size ?? 0), 0);
    const what = [plural(context.accepted.length, "sample"), plural(files.length, "file"), count(size) + " bytes"];
    return [
      el("p", {}, what.join(", ") + ": downloaded from this site, and hashed in this browser. " + why),
      el("button", { type: "button", class: "ls-verify-run", click: () => run(download(context)) }, "Verify"),
    ];
  }

  /* From a file no script may read another file: the reader picks them. */
  function pickers(context, run) {
    const files = picked(context);
    const told = el("p", { class: "ls-note" });
    const input = function (label, folder) {
      const field = el("input", { type: "file", multiple: true, webkitdirectory: folder });
      field.addEventListener("change", async function () {
        await files.add(field.files);
        told.textContent = `${files.found()} of ${needed(context).length} files are there.`;
        await run(files.source);
      });
      return el("label", { class: "ls-verify-pick" }, label, field);
    };
    return [
      el(
        "p",
        {},
        "This page was opened from a file, and from there a browser reads no other by itself. Pick the folder of " +
          "the run's files (",
        el("code", {}, context.run.files),
        "), or the files one by one: they are known by their SHA-256, and do not leave this computer."
      ),
      el("p", {}, input("The folder ", true), " ", input("Files ", false)),
      told,
    ];
  }
})();
