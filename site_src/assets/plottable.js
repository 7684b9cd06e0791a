/* A table as a Plotly figure, its full height: no cell is cut off and nothing scrolls inside.

   Plotly breaks a cell that is too wide at its spaces, also at those inside a tag, and tells nobody how high
   it became. So all lines are broken here and hold no space, and the height is counted as hooks/tables.py
   counts it. */
(function () {
  "use strict";

  const [LINE, PADDING, REST] = [17, 18, 8];
  const CHARACTER = 7.4;
  const [WRAP, NARROW] = [30, 18];
  const NBSP = "\u00a0";
  const CONTROL = /[\0-\x1f\x7f\x85\u2028\u2029]/g;
  const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;

  /* Text that Plotly does not read as markup. */
  function escaped(text) {
    return text.replace(CONTROL, " ").replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  }

  /* Such text in which Plotly sees no place for a new line either. */
  function solid(text) {
    return escaped(text).replace(/ /g, NBSP);
  }

  /* Columns that a text takes: wide characters take two. */
  function width(text) {
    let columns = 0;
    for (const character of text) {
      columns += WIDE.test(character) ? 2 : 1;
    }
    return columns;
  }

  /* The text in lines of at most `most` columns, broken at spaces where it can be. */
  function lines(text, most) {
    const found = [];
    let [line, used] = ["", 0];
    const add = function (piece, columns, gap) {
      if (line && used + gap + columns > most) {
        found.push(line);
        [line, used] = [piece, columns];
      } else {
        line += (line && gap ? " " : "") + piece;
        used += columns + (used ? gap : 0);
      }
    };
    for (const word of text.replace(CONTROL, " ").split(/\s+/).filter(Boolean)) {
      let [piece, columns, gap] = ["", 0, 1];
      for (const character of word) {
        const more = width(character);
        if (piece && columns + more > most) {
          add(piece, columns, gap);
          [piece, columns, gap] = ["", 0, 0];
        }
        piece += character;
        columns += more;
      }
      add(piece, columns, gap);
    }
    return [...found, line];
  }

  function joined(list) {
    return list.map(solid).join("<br>");
  }

  /* The samples of a cell, three a line. */
  function each(cell) {
    const found = [];
    for (let start = 0; start < cell.each.length; start += 3) {
      found.push(cell.each.slice(start, start + 3).join(" · "));
    }
    return found;
  }

  /* The lines of a figure's cell: its value first. */
  function parts(cell) {
    const head = cell.each ? each(cell) : [cell.value];
    return [...head, ...lines(cell.spread, WRAP), ...(cell.short ? lines(cell.short, WRAP) : [])];
  }

  function figureText(cell, list) {
    const values = cell.each ? Math.ceil(cell.each.length / 3) : 1;
    const tier = cell.tier ? NBSP + NBSP + "<i>" + solid(cell.tier) + "</i>" : "";
    const told = list.map(function (line, at) {
      // Plotly places a line by its own font size, so what is smaller is an element within it.
      return at < values ? "<b>" + solid(line) + "</b>" + (at ? "" : tier) : "<span>" + solid(line) + "</span>";
    });
    return told.join("<br>");
  }

  function nameColumn(name, most) {
    const list = name.labels.map((label) => lines(label, most));
    const columns = Math.max(width(name.title) + 2, ...list.flat().map(width)) + 3;
    const heights = list.map((one) => one.length * LINE);
    return { label: "", title: name.title + name.mark, heights, texts: list.map((one) => `<span>${joined(one)}</span>`), columns };
  }

  function figureColumn(column) {
    const list = column.cells.map(parts);
    const widths = list.flat().map(width);
    column.cells.forEach(function (cell) {
      widths.push(cell.value.length + cell.tier.length + 2);
    });
    const columns = Math.max(Math.min(WRAP, width(column.label)), column.title.length + 2, ...widths) + 3;
    const texts = column.cells.map(function (cell, at) {
      return figureText(cell, list[at]);
    });
    const heights = list.map((one) => one.length * LINE);
    return { label: column.label, title: column.title + column.mark, heights, texts, columns };
  }

  /* {trace, layout, height, minWidth} of {names, columns, colours, selected}: `names` and `columns` have title,
     mark, and labels or cells; `colours` of dots (null without) and `selected` are a row each. On a `narrow`
     screen names are broken earlier. */
  function figure(shown, narrow) {
    const count = shown.selected.length;
    const names = shown.names.map((name) => nameColumn(name, narrow ? NARROW : WRAP));
    const all = [...names, ...shown.columns.map(figureColumn)];
    const labelled = shown.columns.some(function (column) {
      return column.label;
    });
    const heads = labelled
      ? all.map(function (column) {
          return lines(column.label, WRAP);
        })
      : [];
    const heights = Array.from({ length: count }, function (_, row) {
      return Math.max(...all.map((column) => column.heights[row]));
    });
    if (shown.colours) {
      const dots = Array.from({ length: count }, (_, row) => (shown.selected[row] ? "◉" : "●"));
      all.unshift({ title: "", texts: dots, columns: 3 });
      heads.unshift([""]);
    }
    heights.push(LINE, ...(labelled ? [Math.max(...heads.map((list) => list.length)) * LINE] : []));
    const height = heights.reduce((sum, one) => sum + one + PADDING, REST);
    const fills = shown.selected.map(function (on, row) {
      return on ? "var(--ls-chosen)" : row % 2 ? "var(--ls-wash)" : "var(--ls-paper)";
    });
    // Lines of the cells' own colour close the hairlines that else stay between columns.
    const quiet = (colour) => ({
      height: LINE + PADDING,
      align: "left",
      fill: { color: colour },
      line: { width: 1, color: colour },
    });
    const dotted = shown.colours ? [shown.colours] : [];
    const trace = {
      type: "table",
      columnwidth: all.map((column) => column.columns),
      header: {
        ...quiet("var(--ls-paper)"),
        values: all.map(function (column, at) {
          const title = column.title ? "<b>" + solid(column.title) + "</b>" : "";
          return labelled ? [joined(heads[at]), title] : [title];
        }),
        font: { color: "var(--ls-muted)", size: 13 },
      },
      cells: {
        ...quiet([fills]),
        values: all.map((column) => column.texts),
        font: {
          color: [...dotted, ...all.slice(dotted.length).map(() => "var(--ls-ink)")],
          size: [...dotted.map(() => 17), ...all.slice(dotted.length).map(() => 13)],
        },
      },
    };
    const layout = {
      height,
      margin: { l: 0, r: 0, t: 0, b: 0 },
      paper_bgcolor: "rgba(0,0,0,0)",
      font: { color: "var(--ls-ink)", size: 13, family: "system-ui, -apple-system, sans-serif" },
    };
    const columns = all.reduce((sum, column) => sum + column.columns, 0);
    return { trace, layout, height, minWidth: Math.round(columns * CHARACTER) };
  }

  window.lapsheet.plottable = { figure, lines, escaped };
})();
