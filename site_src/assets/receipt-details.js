/* The parts of a receipt that are folded at first: commands, CPU sets, checks, files, and the run. */
(function () {
  "use strict";

  const { lapsheet } = window;
  const { el, table, copyable } = lapsheet;
  const { percent } = lapsheet.format;
  const { count, moment, name, round } = lapsheet.words;
  const LIMITERS = ["generator", "upstream"];

  const quote = (word) =>
    /^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\"'\"'") + "'";

  /* The arguments that each attempt had of its own, as the port; undefined where the commands differ more. */
  function own(commands) {
    const [first, ...others] = commands;
    if (others.some((argv) => argv.length !== first.length)) {
      return undefined;
    }
    return first.filter((word, at) => others.some((argv) => argv[at] !== word));
  }

  /* Role → [[sample, what it has of that role], …], for the field of samples that is by role. */
  function byRole(context, field) {
    const roles = new Map();
    for (const sample of context.attempts) {
      for (const [role, value] of Object.entries(sample[field] ?? {})) {
        roles.set(role, [...(roles.get(role) ?? []), [sample, value]]);
      }
    }
    return roles;
  }

  function commands(context) {
    const roles = byRole(context, "commands");
    if (context.manifest.upstream?.command?.length) {
      roles.set("upstream", [[undefined, context.manifest.upstream.command]]);
    }
    const parts = [...roles].map(function ([role, found]) {
      const those = found.map(([, argv]) => argv);
      const different = own(those);
      const shown = different ? [those[0]] : those;
      return [
        el("h4", {}, role),
        shown.map((argv) => copyable(argv.map(quote).join(" "), "the command of the " + role)),
        different?.length > 0 &&
          el("p", { class: "ls-note" }, "Each attempt had its own: ", name(different.join(", "))),
      ];
    });
    return fold("Commands", [...roles.keys()].join(", ") || "none recorded", parts);
  }

  function cpus(context) {
    const bound = context.row.floor && !context.metric.startsWith("probe_");
    const limit = (value) => (lapsheet.standing.limit(value) ? el("strong", {}, percent(value)) : percent(value));
    const rows = [];
    const saturated = new Set();
    for (const [role, those] of byRole(context, "witness")) {
      rows.push({ head: [name(role), ": CPU " + those[0][1].cpus.join(", ")] });
      for (const [sample, seen] of those) {
        const full = lapsheet.standing.full(seen);
        if (full) {
          saturated.add(role);
        }
        rows.push([
          round(sample),
          limit(seen.busy),
          limit(seen.busiest_cpu),
          limit(seen.busiest_thread),
          percent(seen.foreign ?? 0),
          percent(seen.steal ?? 0),
          full ? "at its limit" + (bound && LIMITERS.includes(role) ? ": the figure is a bound" : "") : "",
        ]);
      }
    }
    const layout = context.manifest.layout;
    const sets = Object.entries(layout.roles).map(([role, those]) => role + " " + those.join(", "));
    return fold(
      "CPU sets",
      sets.join("; ") + (saturated.size ? "; at its limit: " + [...saturated].join(", ") : ""),
      [
        layout.note && el("p", {}, name(layout.note), "."),
        rows.length
          ? table(
              "What each CPU set did while the sample was measured",
              ["Round", "Busy", "Busiest CPU", "Busiest thread", "Foreign", "Steal", "Limit"],
              rows
            )
          : el("p", {}, "No utilisation was recorded."),
      ]
    );
  }

  function checks(context) {
    const groups = new Map();
    let made = 0;
    const bad = new Set();
    for (const sample of context.attempts) {
      for (const check of sample.checks ?? []) {
        const key = JSON.stringify([check.name, check.status, check.detail ?? ""]);
        groups.set(key, { check, rounds: [...(groups.get(key)?.rounds ?? []), sample] });
        made += check.status !== "not checked";
        if (check.status !== "ok") {
          bad.add(check.name + " " + check.status);
        }
      }
    }
    const all = context.attempts.length;
    const order = [...new Set([...groups.values()].map((group) => group.check.name))];
    const sorted = [...groups.values()].sort((a, b) => order.indexOf(a.check.name) - order.indexOf(b.check.name));
    const rows = sorted.map(function ({ check, rounds }) {
      const where = rounds.length === all ? "every round" : rounds.map(round).join("; ");
      return [name(check.name), check.status, name(check.detail ?? ""), where];
    });
    const outcome = bad.size ? [...bad].join(", ") : made ? "all ok" : "none";
    return fold("Checks", count(made) + " made, " + outcome, [
      rows.length
        ? table("Checks of each attempt", ["Check", "Outcome", "Found", "Round"], rows, "ls-receipt-checks")
        : el("p", {}, "No check was recorded."),
    ]);
  }

  function files(context) {
    const root = lapsheet.root + context.run.files;
    const rows = context.attempts.flatMap((sample) =>
      (sample.raw ?? []).map((entry) => [
        el("a", { href: root + entry.path, download: true }, entry.path),
        round(sample),
        count(entry.size),
        el("code", {}, entry.sha256),
      ])
    );
    return fold("Raw files", count(rows.length), [
      rows.length
        ? table("Raw files of these attempts", ["File", "Round", "Bytes", "SHA-256"], rows, "ls-files")
        : el("p", {}, "No raw file is recorded."),
    ]);
  }

  function loop({ rate, ladder }) {
    if (ladder?.length) {
      return "closed loop for the capacity, then open loop at shares of it";
    }
    return rate ? `open loop at ${count(rate)} requests/s` : "closed loop";
  }

  function about(context) {
    const { manifest, run } = context;
    const { parameters, generator, source, lock } = manifest;
    const { path, sha256 } = context.about.manifest;
    const rows = [
      ["Run", [el("a", { href: lapsheet.root + run.url }, name(run.id)), " (", name(manifest.title), ")"]],
      ["Captured", moment(manifest.created) + (manifest.finished ? " to " + moment(manifest.finished) : "")],
      ["Origin", manifest.origin + ", " + manifest.state],
    ];
    if (manifest.origin !== "published") {
      rows.push(
        ["Seed", String(parameters.seed)],
        ["Sample", `${parameters.duration} s after ${parameters.warmup} s of warm-up`],
        ["Rounds", String(parameters.repeats)],
        ["Generator", name(generator.name + " " + generator.version)],
        ["Loop", loop(parameters)],
        ["Foreign load", "rejects a sample from " + percent(parameters.foreign_limit ?? 0.1) + " on"],
        ["Command line", name((manifest.command_line ?? []).map(quote).join(" "))]
      );
      if (manifest.probe) {
        rows.push(["Probe", [count(manifest.probe.requests) + " requests, ", name(manifest.probe.client)]]);
      }
      if (source.revision) {
        rows.push(["Revision", source.revision + (source.dirty ? ", with changes" : "")]);
      }
      if (lock) {
        rows.push(["Lock", [name(lock.path), lock.matches ? ", as installed" : ", not as installed"]]);
      }
    }
    const link = el("a", { href: lapsheet.root + run.files + path, download: true }, path);
    rows.push(["Manifest", [link, ", SHA-256 ", el("code", {}, sha256)]]);
    return fold("Run", run.id + ", " + run.created, [
      table("The run this figure is of", ["What", "Value"], rows, "ls-facts"),
    ]);
  }

  function fold(heading, gist, children) {
    return el(
      "details",
      { class: "ls-data" },
      el("summary", {}, el("strong", {}, heading), " ", el("span", {}, name(gist))),
      children
    );
  }

  lapsheet.details = (context) => [commands, cpus, checks, files, about].map((part) => part(context));
})();
