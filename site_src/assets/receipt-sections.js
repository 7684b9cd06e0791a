/* What a receipt says of a figure, section by section. */
(function () {
  "use strict";

  const { lapsheet } = window;
  const { el, table, copyable } = lapsheet;
  const SATURATED = 0.95; // runner.model.SATURATED
  const LIMITERS = ["generator", "upstream"];
  const PUBLISHED = "published by others, not measured here"; // runner.model.PUBLISHED

  const count = (number) => number.toLocaleString("en");
  const share = (number) => (number * 100).toFixed(1) + " %";
  const name = (text) => el("bdi", {}, String(text));
  const between = (items, mark) => items.flatMap((item, at) => (at ? [mark, item] : [item]));
  const moment = (iso) => iso.replace("T", " ").replace(/(\.\d+)?Z$/, " UTC");
  const round = (sample) =>
    sample.repeat + ((sample.attempt ?? 1) > 1 ? ", attempt " + sample.attempt : "");
  const accepted = (context) =>
    context.attempts.filter((item) => item.status === "accepted" && context.metric in (item.metrics ?? {}));

  function label(context, dimension, value) {
    return context.manifest.labels?.[dimension]?.[value] || String(value);
  }

  function coordinates(context) {
    return Object.entries(context.case.dimensions).map(function ([dimension, value]) {
      const text = name(label(context, dimension, value));
      return dimension === "server" || typeof value === "string" ? text : [dimension + " ", text];
    });
  }

  function title(context) {
    const twin = context.case.role === "twin" ? [" (A/A twin)"] : [];
    return [el("span", { class: "ls-receipt-kind" }, context.kind.label), ...between(coordinates(context), " · ").flat(), ...twin];
  }

  /* As hooks.cells.floor_sign: a saturated generator makes a throughput a lower bound and a latency an upper
     one; latencies that leave out requests never sent are lower bounds; with both, nothing bounds them. */
  function bound(context) {
    const { row, kind, metric } = context;
    const open = metric.startsWith("open_");
    const unsent =
      open && accepted(context).some((item) => item.flags?.some((flag) => flag.code === "rate-not-reached"));
    if (unsent) {
      return row.floor
        ? ["", "Requests that were due were never sent, and the generator was at its limit: no bound."]
        : ["≥ ", "≥: requests that were due were never sent, and the percentiles leave them out."];
    }
    if (!row.floor) {
      return ["", ""];
    }
    const sign = kind.better === "higher" ? "≥" : "≤";
    const told = sign + ": what sent or answered behind the server was at its limit; the server may be better.";
    return [sign + " ", told];
  }

  function figure(context) {
    const { row, kind, metric } = context;
    const show = (value) => lapsheet.format.show(metric, value);
    const [sign, why] = bound(context);
    const unit = kind.display_unit || kind.unit;
    const shown = row.n ? [el("strong", {}, sign + show(row.median)), " " + unit] : [el("strong", {}, "–")];
    const words = [];
    if (row.untiered === PUBLISHED) {
      words.push(PUBLISHED);
    } else if (!row.n) {
      words.push("no accepted sample of " + row.wanted);
    } else {
      words.push(row.n === 1 ? "the one accepted sample" : "median of " + row.n + " accepted samples");
      words.push("range " + (row.low === row.high ? show(row.low) : show(row.low) + "–" + show(row.high)));
    }
    if (row.untiered !== PUBLISHED) {
      words.push(row.tier === null ? "no tier: " + (row.untiered || "no reason recorded") : "tier " + row.tier);
      words.push(row.band === null ? "noise band unknown" : "noise band " + share(row.band));
    }
    return el(
      "div",
      { class: "ls-receipt-figure" },
      el("p", {}, shown),
      el("p", {}, words.join(" · ")),
      why && el("p", {}, why),
      context.manifest.state !== "complete" &&
        el("p", { class: "ls-receipt-warn" }, "This run is " + context.manifest.state + ": samples are missing.")
    );
  }

  /* What became of an attempt, for the figure. */
  function fate(context, sample) {
    if (sample.status === "accepted") {
      return context.metric in (sample.metrics ?? {}) ? "counted" : "counted, but has no such figure";
    }
    if (sample.status === "failed") {
      return "the server's own failure: kept, not repeated";
    }
    const next = context.attempts.find(
      (item) => item.repeat === sample.repeat && (item.attempt ?? 1) > (sample.attempt ?? 1)
    );
    return next ? "disturbed from outside: repeated as attempt " + next.attempt : "disturbed from outside";
  }

  function attempts(context) {
    const rows = context.attempts.map(function (sample) {
      const value = sample.metrics?.[context.metric];
      const notes = [...(sample.reasons ?? []), ...(sample.flags ?? [])];
      return [
        round(sample),
        value === undefined ? "–" : el("span", { class: "ls-value" }, lapsheet.format.show(context.metric, value)),
        [
          el("span", { class: "ls-receipt-" + sample.status }, sample.status),
          ": " + fate(context, sample),
          notes.map((note) => el("span", { class: "ls-spread" }, name(note.code + ": " + note.message))),
        ],
        moment(sample.started),
        count(sample.order),
      ];
    });
    const unit = context.kind.display_unit || context.kind.unit;
    return [
      el("h3", {}, "Every attempt"),
      table(
        "Attempts at this case, in the order of rounds",
        ["Round", unit, "Outcome", "Started", "Order in run"],
        rows,
        "ls-receipt-attempts"
      ),
    ];
  }

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

  function commands(context) {
    const roles = new Map();
    for (const sample of context.attempts) {
      for (const [role, argv] of Object.entries(sample.commands ?? {})) {
        roles.set(role, [...(roles.get(role) ?? []), argv]);
      }
    }
    if (context.manifest.upstream?.command?.length) {
      roles.set("upstream", [context.manifest.upstream.command]);
    }
    const parts = [...roles].map(function ([role, those]) {
      const different = own(those);
      const shown = different ? [those[0]] : those;
      return [
        el("h4", {}, role),
        shown.map((argv) => copyable(argv.map(quote).join(" "), "the command of the " + role)),
        different?.length > 0 && el("p", { class: "ls-note" }, "Each attempt had its own: ", name(different.join(", "))),
      ];
    });
    return fold("Commands", [...roles.keys()].join(", ") || "none recorded", parts);
  }

  function cpus(context) {
    const roles = new Map();
    for (const sample of context.attempts) {
      for (const [role, witness] of Object.entries(sample.witness ?? {})) {
        roles.set(role, [...(roles.get(role) ?? []), [sample, witness]]);
      }
    }
    const limit = (value) => (value >= SATURATED ? el("strong", {}, share(value)) : share(value));
    const rows = [];
    const saturated = new Set();
    for (const [role, those] of roles) {
      rows.push({ head: [name(role), ": CPU " + those[0][1].cpus.join(", ")] });
      for (const [sample, seen] of those) {
        const full = Math.max(seen.busiest_cpu, seen.busiest_thread) >= SATURATED;
        full && saturated.add(role);
        rows.push([
          round(sample),
          limit(seen.busy),
          limit(seen.busiest_cpu),
          limit(seen.busiest_thread),
          share(seen.foreign ?? 0),
          share(seen.steal ?? 0),
          full ? "at its limit" + (LIMITERS.includes(role) ? ": the figure is a bound" : "") : "",
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
        check.status === "ok" || bad.add(check.name + " " + check.status);
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
    let total = 0;
    const rows = context.attempts.flatMap((sample) =>
      (sample.raw ?? []).map(function (entry) {
        total += 1;
        return [
          el("a", { href: root + entry.path, download: true }, entry.path),
          round(sample),
          count(entry.size),
          el("code", {}, entry.sha256),
        ];
      })
    );
    return fold("Raw files", count(total), [
      table("Raw files of these attempts", ["File", "Round", "Bytes", "SHA-256"], rows, "ls-files"),
    ]);
  }

  function about(context) {
    const { manifest, run } = context;
    const { parameters, generator, source, lock } = manifest;
    const manifestFile = context.about.manifest;
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
        ["Load", [name(generator.name + " " + generator.version), parameters.rate ? `, ${parameters.rate} requests/s` : ""]],
        ["Command line", name((manifest.command_line ?? []).map(quote).join(" "))]
      );
      manifest.probe && rows.push(["Probe", [count(manifest.probe.requests) + " requests, ", name(manifest.probe.client)]]);
      source.revision && rows.push(["Revision", source.revision + (source.dirty ? ", with changes" : "")]);
      lock && rows.push(["Lock", [name(lock.path), lock.matches ? ", as installed" : ", not as installed"]]);
    }
    rows.push(["Manifest", [el("a", { href: lapsheet.root + run.files + manifestFile.path, download: true }, manifestFile.path), ", SHA-256 ", el("code", {}, manifestFile.sha256)]]);
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

  /* Everything below the title. */
  function all(context) {
    return [
      figure(context),
      attempts(context),
      lapsheet.verify?.(context),
      commands(context),
      cpus(context),
      checks(context),
      files(context),
      about(context),
    ].flat().filter(Boolean);
  }

  lapsheet.sections = { title, all };
})();
