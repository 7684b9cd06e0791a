/* A table as its reader chose to see it: the choices, their way into the address and back, and the rows and
   columns that follow from them. */
(function () {
  "use strict";

  const { lapsheet } = window;
  const STATISTICS = ["median", "min", "max", "each"];
  const OWN = ["q", "metric", "stat", "sort", "dir", "base", "rows", "only", "hide"];
  const compare = new Intl.Collator("en", { numeric: true }).compare;

  /* The rows, columns and choices of a table of the page's data. */
  function model(page, name) {
    const table = page.tables[name];
    const run = page.runs[table.run];
    const { frame } = run;
    const told = function (dimension, place) {
      const { values, labels, at } = frame.dimensions[dimension];
      const value = at[place];
      return value === null ? ["", ""] : [String(values[value]), labels[value] ?? String(values[value])];
    };
    const rows = table.cells.map(function (cells) {
      const first = cells.find((place) => place !== null);
      const names = table.rows.map((dimension) => told(dimension, first));
      const ids = names.map(([id]) => id);
      const hues = frame.dimensions.server?.hues;
      return {
        id: ids.join("~"),
        ids,
        labels: names.map(([, label]) => label),
        text: names.flat().join(" ").normalize("NFKC").toLowerCase(),
        hue: hues && table.rows.includes("server") ? hues[frame.dimensions.server.at[first]] : null,
        cells,
      };
    });
    const columns = table.cells[0].map(function (_, at) {
      const first = table.cells.map((cells) => cells[at]).find((place) => place !== null);
      const [id, label] = table.columns ? told(table.columns, first) : ["", ""];
      return { id, label, at };
    });
    const kept = new Map();
    const row = function (place, key) {
      const id = place + " " + key;
      if (!kept.has(id)) {
        kept.set(id, lapsheet.rows.row(frame, place, key));
      }
      return kept.get(id);
    };
    // What no case of this table has a figure of would be a column of nothing.
    const has = (key) => rows.some(({ cells }) => cells.some((place) => row(place, key)));
    const metrics = Object.keys(frame.metrics).filter((key) => table.metrics.includes(key) || has(key));
    return { table, run, frame, metrics, rows, columns, row, dimensions: dimensions(table, rows, columns) };
  }

  /* The dimensions whose values a reader may choose from: name → value → label. */
  function dimensions(table, rows, columns) {
    const found = {};
    table.rows.forEach(function (name, at) {
      found[name] = new Map(rows.map((row) => [row.ids[at], row.labels[at]]));
    });
    if (table.columns) {
      found[table.columns] = new Map(columns.map((column) => [column.id, column.label]));
    }
    return Object.fromEntries(Object.entries(found).filter(([, values]) => values.size > 1));
  }

  function defaults(model) {
    const pick = Object.fromEntries(Object.keys(model.dimensions).map((name) => [name, []]));
    const metric = model.table.metrics;
    return { q: "", metric, stat: "median", sort: "", dir: "", base: "", rows: [], only: false, hide: [], pick };
  }

  function columnId(column, key) {
    return column.id ? column.id + "~" + key : key;
  }

  /* Every column of figures that there may be: its id, where its cells are, and what it is called. */
  function figureIds(model) {
    return model.columns.flatMap(({ id, label, at }) =>
      model.metrics.map(function (key) {
        const name = [label, model.frame.metrics[key].label].filter(Boolean).join(", ");
        return { id: columnId({ id }, key), at, key, name };
      })
    );
  }

  /* A column in words, whether it is seen or not. */
  function named(model, id) {
    return figureIds(model).find((column) => column.id === id)?.name ?? id[0].toUpperCase() + id.slice(1);
  }

  /* A dimension's name in the address, where it may not be taken for one of ours. */
  function parameter(dimension) {
    return OWN.includes(dimension) ? "dimension." + dimension : dimension;
  }

  /* The choices that the address holds, and what it holds that this table does not know. */
  function restore(model, prefix) {
    const chosen = defaults(model);
    const unknown = [];
    const keys = model.metrics;
    const ids = figureIds(model).map(({ id }) => id);
    const rows = model.rows.map((row) => row.id);
    const known = {
      metric: keys,
      stat: STATISTICS,
      sort: [...model.table.rows, ...ids],
      dir: ["asc", "desc"],
      base: rows,
      rows,
      only: ["1"],
      hide: ids,
    };
    const picks = Object.fromEntries(Object.keys(chosen.pick).map((name) => [parameter(name), name]));
    for (const [name, values] of Object.entries(lapsheet.state.read(prefix))) {
      const pick = Object.hasOwn(picks, name) ? picks[name] : undefined;
      const allowed = pick ? [...model.dimensions[pick].keys()] : Object.hasOwn(known, name) ? known[name] : [];
      const good = name === "q" ? values : allowed.filter((value) => values.includes(value));
      unknown.push(...values.filter((value) => !good.includes(value)).map((value) => name + "=" + value));
      if (!good.length) {
        continue;
      }
      if (pick) {
        chosen.pick[pick] = good;
      } else if (Array.isArray(chosen[name])) {
        chosen[name] = good;
      } else {
        chosen[name] = name === "only" ? true : good[0];
      }
    }
    if (chosen.only && !chosen.rows.length) {
      chosen.only = false;
      unknown.push("only=1");
    }
    return { chosen, unknown };
  }

  /* The choices as the address holds them: those that are not the defaults. */
  function parameters(model, chosen) {
    const found = {};
    const first = defaults(model);
    for (const name of OWN) {
      if (String(chosen[name]) !== String(first[name])) {
        found[name] = name === "only" ? ["1"] : [chosen[name]].flat();
      }
    }
    for (const [name, values] of Object.entries(chosen.pick)) {
      if (values.length) {
        found[parameter(name)] = values;
      }
    }
    return found;
  }

  /* Whether a column is sorted downwards where the reader did not say: the best first, names upwards. */
  function downwards(model, id) {
    return !model.table.rows.includes(id) && model.frame.metrics[id.split("~").at(-1)]?.better === "higher";
  }

  function figureColumns(model, chosen) {
    const wanted = chosen.pick[model.table.columns] ?? [];
    return model.columns
      .filter((column) => !wanted.length || wanted.includes(column.id))
      .flatMap(function (column) {
        return chosen.metric.map(function (key) {
          const metric = model.frame.metrics[key];
          const stat = chosen.base ? "ratio" : chosen.stat === "median" ? "" : chosen.stat;
          const head = chosen.base ? metric.label : lapsheet.format.heading(metric);
          const title = head + (stat ? ", " + (stat === "each" ? "each sample" : stat) : "");
          return { id: columnId(column, key), at: column.at, key, label: column.label, title };
        });
      });
  }

  function visibleRows(model, chosen) {
    const words = chosen.q.normalize("NFKC").toLowerCase().split(/\s+/);
    return model.rows.filter(function (row) {
      const picked = model.table.rows.every(function (name, at) {
        const wanted = chosen.pick[name] ?? [];
        return !wanted.length || wanted.includes(row.ids[at]);
      });
      const found = words.every((word) => row.text.includes(word));
      return picked && found && (!chosen.only || chosen.rows.includes(row.id));
    });
  }

  /* As hooks.tables.caption. */
  function title(model, metrics) {
    const labels = metrics.map((key) => model.frame.metrics[key].label);
    return labels.join(labels.length < 3 ? " and " : ", ") + " " + model.table.by;
  }

  /* What is to be seen: its title; rows in order, each with the cells of the columns; the columns with title and mark. */
  function shown(model, chosen) {
    const base = model.rows.find((row) => row.id === chosen.base);
    const { against, empty, words } = lapsheet.rows;
    const cell = function (row, { at, key }) {
      const figures = model.row(row.cells[at], key);
      if (!figures) {
        return empty(row.cells[at] === null ? "not in this run" : "not measured for this case");
      }
      if (!base) {
        return words(figures, chosen.stat, model.table.tiers);
      }
      const other = model.row(base.cells[at], key);
      return other ? against(figures, other) : empty("the baseline has none");
    };
    const all = figureColumns(model, chosen);
    const columns = all.filter((column) => !chosen.hide.includes(column.id));
    const rows = visibleRows(model, chosen);
    const down = chosen.dir ? chosen.dir === "desc" : downwards(model, chosen.sort);
    if (chosen.sort) {
      sort(model, rows, chosen.sort, down, cell);
    }
    const mark = (id) => (id === chosen.sort ? (down ? " ▼" : " ▲") : "");
    return {
      all,
      base,
      title: title(model, chosen.metric),
      down,
      rows,
      names: model.table.rows.map((name, at) => ({
        id: name,
        title: name[0].toUpperCase() + name.slice(1),
        mark: mark(name),
        labels: rows.map((row) => row.labels[at]),
      })),
      columns: columns.map((column) => ({
        ...column,
        mark: mark(column.id),
        cells: rows.map((row) => cell(row, column)),
      })),
      colours: rows.some((row) => row.hue !== null) ? rows.map((row) => `var(--ls-hue-${row.hue})`) : null,
      selected: rows.map((row) => chosen.rows.includes(row.id)),
    };
  }

  /* Ties stay in the first order, and what has no figure goes last either way. */
  function sort(model, rows, id, down, cell) {
    const at = model.table.rows.indexOf(id);
    const column = figureIds(model).find((one) => one.id === id);
    const order = new Map(rows.map((row) => [row, at < 0 ? cell(row, column).order : row.labels[at]]));
    rows.sort(function (a, b) {
      const [one, other] = [order.get(a), order.get(b)];
      if (one === null || other === null) {
        return (one === null) - (other === null);
      }
      return (down ? -1 : 1) * (at < 0 ? one - other : compare(one, other));
    });
  }

  lapsheet.view = { model, defaults, restore, parameters, named, shown };
})();
