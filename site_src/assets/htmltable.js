/* HTML tables that a reader can sort by their heads and copy. */
(function () {
  "use strict";

  const { lapsheet } = window;
  const compare = new Intl.Collator("en", { numeric: true }).compare;
  // A figure, a range or a list of samples: the first number is what they sort by.
  const NUMBER = /^[≥≤]?\s*([-+−]?[\d,]*\.?\d+)/;

  function text(node) {
    return node.textContent.replace(/\s+/g, " ").trim();
  }

  /* A head's rows as a grid of columns: which head stands over which column, in each row. */
  function grid(head) {
    const found = [...head.rows].map(() => []);
    [...head.rows].forEach(function (row, y) {
      let x = 0;
      for (const cell of row.cells) {
        while (found[y][x]) {
          x += 1;
        }
        for (let down = 0; down < cell.rowSpan; down += 1) {
          for (let across = 0; across < cell.colSpan; across += 1) {
            found[y + down][x + across] = cell;
          }
        }
        x += cell.colSpan;
      }
    });
    return found;
  }

  /* What a cell sorts by: its figure or text; null where it has none. */
  function key(cell) {
    const said = text(cell?.querySelector(".ls-value") ?? cell ?? document.createElement("td"));
    return said === "" || said === "–" ? null : said;
  }

  function sort(table, first, head, column) {
    const down = head.ariaSort ? head.ariaSort === "ascending" : false;
    table.querySelectorAll("thead [aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const keys = new Map(first.map((row) => [row, key(row.cells[column])]));
    const said = [...keys.values()].filter((value) => value !== null);
    const numeric = said.every((value) => NUMBER.test(value));
    const number = (value) => Number(NUMBER.exec(value)[1].replace(/,/g, "").replace("−", "-"));
    const order = (a, b) => (numeric && number(a) - number(b)) || compare(a, b);
    const rows = [...first].sort(function (a, b) {
      const [one, other] = [keys.get(a), keys.get(b)];
      if (one === null || other === null) {
        return (one === null) - (other === null);
      }
      return (down ? -1 : 1) * order(one, other);
    });
    table.tBodies[0].append(...rows);
  }

  /* The table as it stands, as tab-separated text. */
  function tabbed(table) {
    const heads = table.tHead ? grid(table.tHead).map((row) => row.map(text)) : [];
    const body = [...table.tBodies].flatMap((part) => [...part.rows]).map((row) => [...row.cells].map(text));
    return [...heads, ...body].map((row) => row.join("\t")).join("\n") + "\n";
  }

  function copyButton(table) {
    const said = lapsheet.el("span", { role: "status" });
    const button = lapsheet.el("button", { type: "button", class: "ls-chip ls-copy-table" }, "Copy the table");
    button.addEventListener("click", async function () {
      said.textContent = (await lapsheet.copy(tabbed(table))) ? " Copied" : " It could not be copied";
      button.focus();
      setTimeout(() => (said.textContent = ""), 3000);
    });
    return lapsheet.el("p", { class: "ls-note ls-copying" }, button, said);
  }

  function enhance(table) {
    table.dataset.enhanced = "";
    (table.closest(".ls-scroll") ?? table).after(copyButton(table));
    const first = [...table.tBodies[0].rows];
    const merged = table.tBodies.length > 1 || table.tBodies[0].querySelector("[rowspan], [colspan]");
    if (merged || first.length < 2) {
      return;
    }
    grid(table.tHead).at(-1).forEach(function (head, column) {
      if (!head || head.colSpan > 1 || !text(head)) {
        return;
      }
      const button = lapsheet.el("button", { type: "button", class: "ls-sort" }, [...head.childNodes]);
      button.addEventListener("click", () => sort(table, first, head, column));
      head.replaceChildren(button);
    });
  }

  /* Make the tables with a head below a node sortable, and let them be copied. */
  lapsheet.enhance = function (node) {
    node.querySelectorAll("table.ls-table:not([data-enhanced])").forEach(function (table) {
      if (table.tHead) {
        enhance(table);
      }
    });
  };
})();
