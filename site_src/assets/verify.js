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

  const exact = (context, value) =>
    typeof value !== "number"
      ? (value ?? "–")
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

  const said = (kind, words) => el("p", { class: "ls-verify-verdict ls-verify-" + kind }, words);

  /* The verdict: its kind ("yes", "part" where something is not vouched for, "no"), and its words. */
  function verdict({ row }, report) {
    const yes = plural(report.count, "file") + " have the recorded SHA-256";
    // A tier comes from all rows of its group, and a band from a pair of them.
    const open = row.tier === null && row.band === null ? "" : " Not checked: tier and noise band.";
    if (report.ok && !report.vouched) {
      const told = "Agrees with the files shown here, but nothing vouches for them yet: the run goes on, and no ";
      return ["part", told + "SHA-256 of samples.jsonl is recorded." + open];
    }
    if (report.ok && report.how === "recomputed") {
      return ["yes", `Verified: ${yes}, and the figure recomputed from the raw bytes is the one shown.${open}`];
    }
    if (report.ok && report.how) {
      const told = `Verified as far as it can be: ${yes}, and the figure re-read from the raw files is the one shown.`;
      return ["yes", told + open];
    }
    if (report.ok) {
      return ["yes", `The bytes match: ${yes}. The figure is the stored one, and was not computed again.${open}`];
    }
    const values = report.each.filter((one) => one.problem).length;
    const sums = report.sums.filter((sum) => !sum.ok).length;
    const told = [
      report.strangers.length && `${plural(report.strangers.length, "picked file")} not of this figure, or altered`,
      report.bad.length && `${plural(report.bad.length, "file")} of ${report.count} not as recorded`,
      values + sums && plural(values + sums, "value") + " not as stored",
    ].filter(Boolean);
    return ["no", "Not verified: " + (told.join("; ") || "no sample has the figure") + "."];
  }

  const bad = (words) => el("span", { class: "ls-remark" }, words);

  function result(context, report) {
    const fine = report.how ? "value agrees" : "bytes match";
    const rows = [
      ...report.strangers.map(({ name, sha256 }) => [
        name,
        bad("unknown"),
        bad("no file of this figure, or altered: its SHA-256 is " + sha256),
        "",
        "",
      ]),
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
        sum.name,
        sum.ok ? sum.fine : bad("value differs"),
        "",
        exact(context, sum.shown),
        exact(context, sum.value),
      ]),
    ];
    const found = report.how ? report.how[0].toUpperCase() + report.how.slice(1) : "Computed";
    return [
      said(...verdict(context, report)),
      table("What was checked", ["Of", "Outcome", "Files", "Shown or stored", found], rows, "ls-verify-table"),
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

    /* `start` resolves to the source of the files. */
    async function run(start) {
      const mine = ++last;
      // An older verdict is not one of these files.
      status.textContent = "Reading the files …";
      outcome.replaceChildren();
      const progress = function (at, all) {
        if (mine === last) {
          status.textContent = `Checking sample ${at} of ${all} …`;
        }
      };
      const told = await start()
        .then((source) => lapsheet.proof.prove(context, source, progress))
        .then((report) => result(context, report), (error) => [said("no", "Not verified: " + error.message)]);
      if (mine === last) {
        status.replaceChildren(told[0]);
        outcome.replaceChildren(...told.slice(1));
      }
    }

    const some = context.row.n > 0;
    const none = "No accepted sample has this figure: there is nothing to verify.";
    const offered = some ? offer(context, run) : el("p", {}, none);
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
    const fresh = async () => lapsheet.sources.download(lapsheet.root + context.run.files, context.closed);
    return [
      el("p", {}, what.join(", ") + ": downloaded from this site, and hashed in this browser. " + why),
      el("button", { type: "button", class: "ls-verify-run", click: () => run(fresh) }, "Verify"),
    ];
  }

  /* From a file no script may read another file: the reader picks them. */
  function pickers(context, run) {
    const files = needed(context);
    const source = lapsheet.sources.picked(files);
    const told = el("p", { class: "ls-note" });
    const input = function (label, take, folder) {
      const field = el("input", { type: "file", multiple: true, webkitdirectory: folder });
      field.addEventListener("change", function () {
        const picks = [...field.files];
        // The same files, picked again, may have changed.
        field.value = "";
        run(async function () {
          await take(picks);
          told.textContent = `${source.found()} of ${files.length} files are there.`;
          return source;
        });
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
        "), or single files, which are known by their SHA-256. Nothing leaves this computer."
      ),
      el("p", {}, input("The folder ", source.folder, true), " ", input("Files ", source.files, false)),
      told,
    ];
  }
})();
