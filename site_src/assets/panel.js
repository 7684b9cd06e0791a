/* What stands behind "More": order, baseline, columns, and the chips that are not at hand at once. */
(function () {
  "use strict";

  const { lapsheet } = window;

  function chips(title, set, labels) {
    const group = lapsheet.el("div", { role: "group", "aria-label": title, "data-set": set });
    for (const [value, label] of labels) {
      group.append(lapsheet.el("button", { type: "button", class: "ls-chip", value, "aria-pressed": "false" }, label));
    }
    return lapsheet.el("div", { class: "ls-field" }, lapsheet.el("span", {}, title), group);
  }

  function options(select, list, value) {
    const html = list.map(([id, label]) => id + "\n" + label).join("\n");
    if (select.dataset.options !== html) {
      select.dataset.options = html;
      select.replaceChildren(...list.map(([id, label]) => new Option(label, id)));
    }
    select.value = value;
  }

  function field(label, ...nodes) {
    return lapsheet.el("label", { class: "ls-field" }, lapsheet.el("span", {}, label), ...nodes);
  }

  /* Which metrics of the table's cases are not among the chips above it, by kind. */
  function others(model, block) {
    const there = new Set([...block.querySelectorAll('[data-set="metric"] button')].map((chip) => chip.value));
    const kinds = { "More metrics": [], "Open loop": [], "Probe": [] };
    for (const key of model.metrics) {
      if (!there.has(key)) {
        const metric = model.frame.metrics[key];
        const kind = key.startsWith("open_") ? "Open loop" : key.startsWith("probe_") ? "Probe" : "More metrics";
        kinds[kind].push([key, metric.label.replace(/^Probe: /, "")]);
      }
    }
    return Object.entries(kinds).filter(([, list]) => list.length);
  }

  /* The panel of a block; `change` takes the choices that its controls make. Returns {update(chosen, shown)}. */
  lapsheet.panel = function (block, model, change) {
    const { el } = lapsheet;
    const sort = el("select", { change: () => change({ sort: sort.value, dir: "" }) });
    const direction = el("button", { type: "button", class: "ls-chip ls-direction" });
    const base = el("select", { change: () => change({ base: base.value }) });
    const boxes = el("div", { class: "ls-boxes" });
    const columns = el("details", {}, el("summary", {}, "Columns"), boxes);
    const panel = el(
      "div",
      { class: "ls-panel", hidden: true },
      el("div", { class: "ls-selects" }, field("Sort by", sort), direction, field("Baseline", base), columns)
    );
    for (const [title, list] of others(model, block)) {
      panel.append(chips(title, "metric", list));
    }
    for (const name of model.table.rows) {
      if (model.dimensions[name]) {
        panel.append(chips(name[0].toUpperCase() + name.slice(1), "=" + name, model.dimensions[name]));
      }
    }
    const more = block.querySelector(".ls-more");
    more.after(panel);
    more.addEventListener("click", function () {
      panel.hidden = !panel.hidden;
      more.setAttribute("aria-expanded", String(!panel.hidden));
    });
    let seen;
    direction.addEventListener("click", () => change({ dir: seen.down ? "asc" : "desc" }));

    function column(chosen, { id, label, title }) {
      const box = el("input", { type: "checkbox", value: id });
      box.checked = !chosen.hide.includes(id);
      box.addEventListener("change", function () {
        const rest = chosen.hide.filter((other) => other !== id);
        change({ hide: box.checked ? rest : [...rest, id] });
      });
      return el("label", {}, box, " " + [label, title].filter(Boolean).join(" · "));
    }

    /* How many choices stand behind the button, which else nobody would see. */
    function count(chosen) {
      const pressed = panel.querySelectorAll('.ls-chip[aria-pressed="true"]').length;
      return pressed + chosen.hide.length + Number(Boolean(chosen.sort)) + Number(Boolean(chosen.base));
    }

    return {
      update: function (chosen, shown) {
        seen = shown;
        more.textContent = count(chosen) ? "More (" + count(chosen) + ")" : "More";
        const names = shown.names.map(({ id, title }) => [id, title]);
        const figures = shown.all.map(({ id, label, title }) => [id, [label, title].filter(Boolean).join(" · ")]);
        const gone = chosen.sort && ![...names, ...figures].some(([id]) => id === chosen.sort);
        const hidden = gone ? [[chosen.sort, lapsheet.view.named(model, chosen.sort) + " (not shown)"]] : [];
        options(sort, [["", "as at first"], ...names, ...figures, ...hidden], chosen.sort);
        options(base, [["", "none"], ...model.rows.map((row) => [row.id, row.labels.join(" · ")])], chosen.base);
        direction.disabled = !chosen.sort;
        direction.textContent = chosen.sort && shown.down ? "▼ downwards" : "▲ upwards";
        const focused = boxes.contains(document.activeElement) ? document.activeElement.value : null;
        boxes.replaceChildren(...shown.all.map((one) => column(chosen, one)));
        if (focused !== null) {
          [...boxes.querySelectorAll("input")].find((box) => box.value === focused)?.focus();
        }
      },
    };
  };
})();
