/* Receipts: a panel with everything behind one figure of a run.

   lapsheet.receipt({run, case, metric, from, shown, base}) opens it; `from` gets the focus back. A table hands
   over what it `shown`: {median, low, high, n, tier, text}, and where its cell was a ratio the `base`: {case,
   text}. The evidence of a run arrives by its own script, once, when the first of its receipts is opened. An
   open receipt is in the page's address, so that a link leads to it, and "back" closes it. */
(function () {
  "use strict";

  const { lapsheet } = window;
  const assets = document.currentScript.src.replace(/[^/]*$/, "");
  const PREFIX = "receipt";
  const evidence = {};
  let parts;
  let asked = 0;
  // Whether the open receipt is a step of its own in the history, and what waits for the step back from it.
  let stepped = false;
  let leaving;

  window.lapsheetReceipts = function (id, manifest, samples, about) {
    // What a literal inherits by __proto__ every reader sees, and no comparison of texts does.
    evidence[id] = JSON.parse(JSON.stringify({ manifest, samples, about }));
  };

  function styles(name) {
    return new Promise(function (resolve) {
      const link = document.createElement("link");
      link.rel = "stylesheet";
      link.href = assets + name;
      // Without its styles a receipt is still readable.
      link.onload = link.onerror = resolve;
      document.head.append(link);
    });
  }

  async function scripts() {
    await Promise.all(["format", "dom", "state"].map((name) => lapsheet.part(name + ".js")));
    lapsheet.state.onMove(restore);
    await lapsheet.part("standing.js");
    const others = ["recompute", "series", "proof", "sources", "verify", "receipt-details", "receipt-sections"];
    await Promise.all(others.map((name) => lapsheet.part(name + ".js")));
  }

  function ready() {
    parts ??= Promise.all([styles("receipt.css"), scripts()]).catch(function (error) {
      parts = undefined;
      throw error;
    });
    return parts;
  }

  /* The row of the summary that a run has of a case and metric; undefined without one. */
  function rowOf({ rows }, caseId, metric) {
    const at = rows.case.findIndex((id, i) => id === caseId && rows.metric[i] === metric);
    return at < 0 ? undefined : Object.fromEntries(Object.entries(rows).map(([name, values]) => [name, values[at]]));
  }

  /* What the sections of a receipt need: the run, its case, the attempts at it in the order of rounds, the row
     of the summary, and its figure as text. Undefined where the run has no such figure. */
  function gather(run, caseId, metric) {
    const { manifest, samples, about } = evidence[run.id];
    const found = manifest.cases.find((item) => item.id === caseId);
    const row = rowOf(about, caseId, metric);
    if (!found || !row) {
      return undefined;
    }
    const kind = about.metrics[metric];
    const attempts = samples
      .filter((sample) => sample.case === caseId)
      .sort((a, b) => a.repeat - b.repeat || (a.attempt ?? 1) - (b.attempt ?? 1));
    const accepted = attempts.filter((sample) => sample.status === "accepted");
    const context = { run, manifest, samples, about, metric, kind, attempts, accepted, case: found };
    row.unsent = lapsheet.standing.of(context).unsent;
    const text = row.n ? lapsheet.format.sign(kind, row) + lapsheet.format.show(kind, row.median) : "–";
    return { ...context, row, text };
  }

  function panel() {
    const { el } = lapsheet;
    const title = el("h2", { id: "ls-receipt-title", tabindex: -1 }, "Receipt");
    const close = el("button", { type: "button", class: "ls-receipt-close", "aria-label": "Close" }, "×");
    const body = el("div", { class: "ls-receipt-body" }, el("p", {}, "Loading the samples of this run …"));
    const dialog = el(
      "dialog",
      { class: "ls-receipt md-typeset", "aria-labelledby": title.id },
      el("div", { class: "ls-receipt-head" }, title, close),
      body
    );
    let pressed;
    close.addEventListener("click", () => dialog.close());
    dialog.addEventListener("pointerdown", function (event) {
      pressed = event.target;
    });
    dialog.addEventListener("click", function (event) {
      // The dialog itself is hit only outside of its content; a selection drawn out of it is no click there.
      if (event.target === dialog && pressed === dialog) {
        dialog.close();
      }
    });
    // The theme has one-letter keys of its own, which go to another page.
    dialog.addEventListener("keydown", (event) => event.stopPropagation());
    return { dialog, title, body };
  }

  /* A panel for when the scripts of receipts did not load: made without them. */
  function broken(error, from) {
    const dialog = document.createElement("dialog");
    dialog.className = "ls-receipt ls-receipt-failed";
    dialog.textContent = "This receipt could not be loaded: " + error.message + ". Press Escape to close.";
    dialog.addEventListener("close", function () {
      dialog.remove();
      from?.focus?.({ preventScroll: true });
    });
    document.body.append(dialog);
    dialog.showModal();
  }

  /* The receipt that the address is of; one that was closed a moment ago may still be it. */
  const current = () => document.querySelector("dialog.ls-receipt:not([data-left])");

  /* Close it, because the address is of another already or will be. */
  function leave() {
    const dialog = current();
    if (dialog) {
      dialog.dataset.left = "";
      dialog.close();
    }
    return Boolean(dialog);
  }

  /* Take the closed receipt out of the address. */
  function forget() {
    if (!stepped) {
      lapsheet.state.write(PREFIX, {}, true);
      return;
    }
    leaving = new Promise(function (resolve) {
      window.addEventListener("popstate", resolve, { once: true });
      // A browser that refuses the step must not keep the next receipt from opening.
      setTimeout(resolve, 1000);
    }).then(function () {
      leaving = undefined;
    });
    history.back();
  }

  /* `linked` tells that the address has it already. */
  async function show({ run: id, case: caseId, metric, from, shown, base }, linked) {
    const mine = ++asked;
    let page;
    try {
      [page] = await Promise.all([lapsheet.page(), ready(), leaving]);
    } catch (error) {
      broken(error, from);
      return;
    }
    if (mine !== asked) {
      return;
    }
    const another = leave();
    if (!linked) {
      lapsheet.state.write(PREFIX, { run: [id], case: [caseId], metric: [metric] }, another);
    }
    stepped = another ? stepped : !linked;
    const { dialog, title, body } = panel();
    const closed = new AbortController();
    dialog.addEventListener("close", function () {
      closed.abort();
      dialog.remove();
      if (!("left" in dialog.dataset)) {
        forget();
      }
      from?.focus?.({ preventScroll: true });
    });
    document.body.append(dialog);
    dialog.showModal();
    title.focus();
    try {
      if (!Object.hasOwn(page.runs, id)) {
        throw new Error("this page has no run " + id);
      }
      const run = page.runs[id];
      await lapsheet.load(lapsheet.root + run.receipts);
      const context = gather(run, caseId, metric);
      if (!context) {
        throw new Error("run " + id + " has no such figure");
      }
      const other = base && { ...gather(run, base.case, metric), ratio: base.text };
      title.replaceChildren(...lapsheet.sections.title(context));
      body.replaceChildren(...lapsheet.sections.all({ ...context, shown, base: other, from, closed: closed.signal }));
      if (document.activeElement === title) {
        // Those who hear the page heard the title of an empty panel.
        title.blur();
        title.focus();
      }
    } catch (error) {
      body.textContent = "The samples behind this figure could not be shown: " + error.message + ".";
      body.classList.add("ls-receipt-failed");
    }
  }

  /* Open or close what the address says. */
  function restore() {
    if (leaving) {
      return;
    }
    const { run, case: id, metric } = lapsheet.state.read(PREFIX);
    if (!run || !id || !metric) {
      asked += 1;
      leave();
    } else if (!current()) {
      show({ run: run[0], case: id[0], metric: metric[0] }, true);
    }
  }

  lapsheet.receipt = (wanted) => show(wanted, false);

  /* For a page that was opened with a receipt in its address. */
  lapsheet.receiptOfAddress = async function () {
    await lapsheet.part("state.js");
    restore();
  };
})();
