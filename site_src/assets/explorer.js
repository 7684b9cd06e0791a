/* An interactive table: its controls, the figure they change, and the HTML table that moves below it.

   Every choice is in the page's address (view.js, state.js). Nothing is ranked here: tiers come from the
   build, and hold whatever the order of rows. */
(function () {
  "use strict";

  const { lapsheet } = window;
  const FILES = ["dom", "format", "state", "rows", "view", "plottable", "cursor", "panel", "htmltable", "notes"];
  const CONFIG = { staticPlot: true, responsive: true, displayModeBar: false, typesetMath: false };

  const begun = new WeakMap();

  /* Turn a block of the page (.ls-block[data-table]) into an interactive table; resolves when it is drawn. What
     did not load is asked for again by the next call. */
  lapsheet.explore = async function (block) {
    await Promise.all(FILES.map((name) => lapsheet.part(name + ".js")));
    const page = await lapsheet.page();
    if (!begun.has(block)) {
      begun.set(block, explorer(block, lapsheet.view.model(page, block.dataset.table)));
    }
    await begun.get(block)();
  };

  async function receipt(model, place, key, from, base) {
    const { metric, median, low, high, n, tier, ...row } = model.row(place, key);
    const text = n ? lapsheet.format.sign(metric, row) + lapsheet.format.show(metric, median) : "–";
    const shown = { median, low, high, n, tier, text };
    await lapsheet.part("receipt.js");
    lapsheet.receipt({ run: model.run.id, case: model.frame.cases.id[place], metric: key, from, shown, base });
  }

  /* The values of the HTML table lead to receipts too, in whatever order its rows are. */
  function htmlTable(block, model) {
    const scroll = block.querySelector(".ls-stage > .ls-scroll");
    const order = new Map([...scroll.querySelectorAll("tbody tr")].map((row, at) => [row, at]));
    const { rows, metrics } = model.table;
    scroll.addEventListener("click", function (event) {
      const button = event.target.closest(".ls-open");
      if (button) {
        const at = button.closest("td").cellIndex - rows.length;
        const place = model.rows[order.get(button.closest("tr"))].cells[Math.floor(at / metrics.length)];
        receipt(model, place, metrics[at % metrics.length], button);
      }
    });
    lapsheet.clicked.get(block)?.click();
    return scroll;
  }

  /* Begins at once; what it returns draws the figure, and finishes when that is done. */
  function explorer(block, model) {
    const { el, state, view } = lapsheet;
    const prefix = "t" + block.dataset.table.replace(/\D/g, "");
    const stage = block.querySelector(".ls-stage");
    const scroll = htmlTable(block, model);
    const box = el("div", { class: "ls-plotly" });
    const frame = el("div", { class: "ls-figure-scroll" }, box);
    // As in explorer.css.
    const narrow = matchMedia("(max-width: 44.984375em)");
    const says = block.querySelector(".ls-says");
    const only = el("button", { type: "button", class: "ls-chip", hidden: true }, "");
    const reset = el("button", { type: "button", class: "ls-chip", hidden: true }, "Reset");
    says.append(el("span", {}), only, reset);
    const status = says.firstElementChild;
    const search = block.querySelector(".ls-search");
    const panel = lapsheet.panel(block, model, change);
    const notes = lapsheet.notes(block, model);
    let { chosen, unknown } = view.restore(model, prefix);
    let shown, queued, cursor;

    function change(part, typing) {
      chosen = { ...chosen, ...part };
      unknown = [];
      if (!chosen.rows.length) {
        chosen.only = false;
      }
      state.write(prefix, view.parameters(model, chosen), typing);
      update();
    }

    function toggled(list, value, order) {
      const rest = list.includes(value) ? list.filter((other) => other !== value) : [...list, value];
      return order ? order.filter((one) => rest.includes(one)) : rest;
    }

    function press(set, value) {
      if (set === "stat") {
        change({ stat: value });
      } else if (set === "metric") {
        const metric = toggled(chosen.metric, value, model.metrics);
        change(metric.length ? { metric } : {});
      } else {
        const name = set.slice(1);
        change({ pick: { ...chosen.pick, [name]: toggled(chosen.pick[name], value) } });
      }
    }

    function sortBy(column) {
      const id = [...shown.names, ...shown.columns][column].id;
      change({ sort: id, dir: id === chosen.sort ? (shown.down ? "asc" : "desc") : "" });
    }

    function select(row) {
      change({ rows: toggled(chosen.rows, shown.rows[row].id) });
    }

    function open(row, column) {
      const { at, key } = shown.columns[column - shown.names.length];
      const place = shown.rows[row].cells[at];
      const other = shown.base?.cells[at] ?? null;
      const text = shown.columns[column - shown.names.length].cells[row].value;
      const over = other !== null && other !== place && text !== "–";
      if (model.row(place, key)) {
        receipt(model, place, key, box, over ? { case: model.frame.cases.id[other], text } : undefined);
      }
    }

    /* A cell in words, for those who hear it. */
    function tell(row, column) {
      const names = shown.names.length;
      const head = [...shown.names, ...shown.columns][column];
      const title = [head.label, head.title].filter(Boolean).join(", ");
      if (row < 0) {
        return title + ", column head; Enter sorts";
      }
      const name = shown.rows[row].labels.join(", ") + (shown.selected[row] ? ", selected" : "");
      if (column < names) {
        return name + ", row " + (row + 1) + " of " + shown.rows.length;
      }
      const cell = head.cells[row];
      const value = cell.each ? cell.each.join(", ") : cell.value;
      const short = shown.base ? cell.short : "";
      const told = [value, cell.tier, cell.spread, short, ...cell.remarks].filter(Boolean).join(", ");
      return name + ", " + title + ": " + told;
    }

    function update() {
      shown = view.shown(model, chosen);
      for (const chip of block.querySelectorAll("[data-set] .ls-chip")) {
        const { set } = chip.parentNode.dataset;
        const list = set === "stat" ? [chosen.stat] : set === "metric" ? chosen.metric : chosen.pick[set.slice(1)];
        chip.setAttribute("aria-pressed", String(list.includes(chip.value)));
        chip.disabled = set === "stat" && Boolean(chosen.base);
      }
      if (search.value !== chosen.q && document.activeElement !== search) {
        search.value = chosen.q;
      }
      panel.update(chosen, shown);
      status.textContent = notes.update(chosen, shown, unknown);
      const keys = "Arrow keys move, Enter opens a figure's receipt, Space selects a row.";
      box.setAttribute("aria-label", `${shown.title}. ${keys}`);
      block.querySelector(".ls-controls").setAttribute("aria-label", "View of: " + shown.title);
      only.hidden = !chosen.rows.length;
      only.setAttribute("aria-pressed", String(chosen.only));
      const count = chosen.rows.length;
      only.textContent = count === 1 ? "Only the selected row" : `Only the ${count} selected rows`;
      reset.hidden = !Object.keys(view.parameters(model, chosen)).length && !unknown.length;
      queued ??= requestAnimationFrame(function () {
        queued = undefined;
        draw().catch(console.error);
      });
    }

    async function draw() {
      const Plotly = await lapsheet.plotly();
      const { trace, layout, height, minWidth } = lapsheet.plottable.figure(shown, narrow.matches);
      stage.style.setProperty(narrow.matches ? "--ls-narrow" : "--ls-wide", height + "px");
      box.style.minWidth = minWidth + "px";
      await Plotly.react(box, lapsheet.painted([trace]), lapsheet.painted(layout), CONFIG);
      cursor?.sync();
    }

    function listen() {
      block.addEventListener("click", function (event) {
        const chip = event.target.closest("[data-set] .ls-chip");
        if (chip) {
          press(chip.parentNode.dataset.set, chip.value);
        }
      });
      only.addEventListener("click", function () {
        change({ only: !chosen.only });
      });
      reset.addEventListener("click", function () {
        search.value = "";
        search.focus();
        change(view.defaults(model));
      });
      search.addEventListener("input", function () {
        change({ q: search.value.trim() }, true);
      });
      state.onMove(function () {
        ({ chosen, unknown } = view.restore(model, prefix));
        search.value = chosen.q;
        update();
      });
    }

    function bindBox() {
      const size = () => ({
        rows: shown.rows.length,
        names: shown.names.length,
        columns: shown.columns.length,
        dots: shown.colours ? 1 : 0,
      });
      box.tabIndex = 0;
      box.setAttribute("role", "application");
      box.setAttribute("aria-roledescription", "interactive table");
      cursor = lapsheet.cursor(box, { size, sort: sortBy, select, open, tell });
      box.on("plotly_afterplot", cursor.sync);
      lapsheet.pin(frame, box, () => size().dots + size().names);
      lapsheet.onScheme(draw);
      narrow.addEventListener("change", update);
    }

    // What a reader chooses before Plotly is there counts too.
    says.firstChild.remove();
    listen();
    update();
    stage.append(frame);
    return async function () {
      await lapsheet.plotly();
      block.classList.remove("ls-plain");
      await draw();
      const focused = scroll.contains(document.activeElement);
      block.querySelector("details.ls-data > summary").after(scroll);
      block.classList.add("ls-explored");
      lapsheet.enhance(scroll.parentNode);
      bindBox();
      if (focused) {
        box.focus({ preventScroll: true });
      }
    };
  }
})();
