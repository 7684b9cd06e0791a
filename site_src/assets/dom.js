/* Elements from data, whose text is never read as markup. */
(function () {
  "use strict";

  /* An element: attributes by name (a function listens to that event; false and undefined are left out),
     then children, elements or text, which may be nested in arrays. */
  function el(tag, given = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(given)) {
      if (typeof value === "function") {
        node.addEventListener(name, value);
      } else if (value !== undefined && value !== false) {
        node.setAttribute(name, value === true ? "" : value);
      }
    }
    node.append(...children.flat(Infinity).filter(Boolean));
    return node;
  }

  /* A table with caption and scopes, in a box that scrolls. The first cell of each row is its head; a cell
     is text, an element, an array of both, or {span, head} for a head over the whole row. */
  function table(caption, columns, rows, name = "") {
    const line = function (cells) {
      if (cells.head) {
        return el("tr", {}, el("th", { scope: "colgroup", colspan: columns.length }, cells.head));
      }
      return el("tr", {}, cells.map((cell, at) => el(at ? "td" : "th", at ? {} : { scope: "row" }, cell)));
    };
    return el(
      "div",
      { class: "ls-scroll", tabindex: 0, role: "region", "aria-label": caption },
      el(
        "table",
        { class: ("ls-table " + name).trim() },
        el("caption", {}, caption),
        el("thead", {}, el("tr", {}, columns.map((text) => el("th", { scope: "col" }, text)))),
        el("tbody", {}, rows.map(line))
      )
    );
  }

  /* Put text on the clipboard; resolves to whether that worked. */
  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // Not over https, or not allowed. Outside of an open dialog nothing can be selected.
      const area = el("textarea", { class: "ls-spoken", "aria-hidden": "true" });
      area.value = text;
      (document.querySelector("dialog[open]") ?? document.body).append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  }

  /* Text to copy, with its button. */
  function copyable(text, label) {
    const button = el("button", { type: "button", class: "ls-copy", "aria-label": "Copy " + label }, "Copy");
    const said = el("span", { class: "ls-spoken", role: "status" });
    button.addEventListener("click", async function () {
      const told = (await copy(text)) ? "Copied" : "Not copied";
      button.textContent = said.textContent = told;
      button.focus();
      setTimeout(function () {
        button.textContent = "Copy";
        said.textContent = "";
      }, 2000);
    });
    return el("div", { class: "ls-command" }, el("pre", { tabindex: 0 }, el("code", {}, text)), button, said);
  }

  const count = (number) => number.toLocaleString("en");

  const words = {
    count,
    plural: (number, word) => count(number) + " " + word + (number === 1 ? "" : "s"),
    /* Text of unknown direction, which must not reorder what follows. */
    name: (text) => el("bdi", {}, String(text)),
    moment: (iso) => iso.replace("T", " ").replace(/(\.\d+)?Z$/, " UTC"),
    /* `3, attempt 2` */
    round: (sample) => sample.repeat + ((sample.attempt ?? 1) > 1 ? ", attempt " + sample.attempt : ""),
  };

  Object.assign(window.lapsheet, { el, table, copy, copyable, words });
})();
