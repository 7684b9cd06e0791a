/* A drawn table under mouse, finger and keys: which cell is meant, and a cursor that the arrow keys move.

   Plotly's table tells of neither. A cell is found by the data that Plotly leaves at its elements. */
(function () {
  "use strict";

  const { lapsheet } = window;
  const MOVES = {
    ArrowUp: [-1, 0],
    ArrowDown: [1, 0],
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1],
    Home: [0, -Infinity],
    End: [0, Infinity],
    PageUp: [-Infinity, 0],
    PageDown: [Infinity, 0],
  };
  // A finger that moves further than this many pixels scrolls.
  const STILL = 4;

  /* Bind a box to `on`: {size() → {rows, names, columns, dots}, sort(column), select(row), open(row, column),
     tell(row, column) → text}. Row -1 is the head; columns count names first, then figures. */
  lapsheet.cursor = function (box, on) {
    const spoken = lapsheet.el("p", { class: "ls-spoken", "aria-live": "polite" });
    box.after(spoken);
    let at = { row: 0, column: null };
    let down = null;

    function place(target) {
      const cell = target.closest?.(".column-cell");
      const block = cell?.closest(".column-block").__data__;
      if (!block) {
        return null;
      }
      const { dots } = on.size();
      const column = Math.max(0, block.specIndex - dots);
      return { row: block.type === "header" ? -1 : cell.__data__.rowNumber, column };
    }

    function element({ row, column }) {
      const { dots } = on.size();
      for (const cell of box.querySelectorAll(".column-cell")) {
        const block = cell.closest(".column-block").__data__;
        const header = block.type === "header";
        const right = header ? row < 0 && cell.__data__.rowNumber === block.values.length - 1 : true;
        if (block.specIndex - dots === column && right && (header || cell.__data__.rowNumber === row)) {
          return cell;
        }
      }
      return null;
    }

    /* Put the cursor where it belongs, also after the table was drawn anew. */
    function sync() {
      const { rows, names, columns } = on.size();
      at.column = Math.min(at.column ?? names, names + columns - 1);
      at.row = Math.min(at.row, rows - 1);
      box.querySelectorAll(".ls-cursor").forEach((cell) => cell.classList.remove("ls-cursor"));
      element(at)?.classList.add("ls-cursor");
    }

    function move(row, column) {
      const { rows, names, columns } = on.size();
      const within = (value, low, high) => Math.max(low, Math.min(high, value));
      at = { row: within(at.row + row, -1, rows - 1), column: within(at.column + column, 0, names + columns - 1) };
      sync();
      element(at)?.scrollIntoView({ block: "nearest", inline: "nearest" });
      spoken.textContent = on.tell(at.row, at.column);
    }

    function act({ row, column }) {
      if (row < 0) {
        on.sort(column);
      } else if (column < on.size().names) {
        on.select(row);
      } else {
        on.open(row, column);
      }
    }

    box.addEventListener("pointerdown", function (event) {
      down = event.button === 0 ? { x: event.clientX, y: event.clientY } : null;
    });
    box.addEventListener("pointercancel", function () {
      down = null;
    });
    box.addEventListener("pointerup", function (event) {
      const found = down && Math.hypot(event.clientX - down.x, event.clientY - down.y) <= STILL;
      const cell = found ? place(event.target) : null;
      down = null;
      if (cell) {
        at = cell;
        sync();
        act(cell);
      }
    });
    box.addEventListener("keydown", function (event) {
      if (event.ctrlKey || event.metaKey || event.altKey) {
        return;
      }
      if (MOVES[event.key]) {
        move(...MOVES[event.key]);
      } else if (event.key === "Enter") {
        act(at);
      } else if (event.key === " ") {
        (at.row < 0 ? on.sort : on.select)(at.row < 0 ? at.column : at.row);
      } else {
        return;
      }
      event.preventDefault();
    });
    box.addEventListener("focus", function () {
      sync();
      spoken.textContent = on.tell(at.row, at.column);
    });
    return { sync };
  };

  /* Keep the first `count()` columns of a drawn table in sight while the others scroll under them. */
  lapsheet.pin = function (frame, box, count) {
    function pin() {
      for (const column of box.querySelectorAll(".y-column")) {
        const { specIndex, x } = column.__data__;
        if (specIndex < count()) {
          column.setAttribute("transform", `translate(${x + frame.scrollLeft},0)`);
          column.parentNode.append(column);
        }
      }
    }
    frame.addEventListener("scroll", pin, { passive: true });
    box.on("plotly_afterplot", () => frame.scrollLeft && pin());
  };
})();
