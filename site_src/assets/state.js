/* What a reader chose, kept in the page's address: query parameters `<prefix>.<name>`, one a value. */
(function () {
  "use strict";

  const readers = new Set();
  const FILE = location.protocol === "file:";
  let last = "";

  /* From a file the view is in the hash, which a link to a heading replaces: such a step of the history keeps
     the view with it. */
  function keep() {
    if (FILE && !location.hash.startsWith("#?")) {
      const view = history.state?.view ?? (location.hash ? last : "");
      history.replaceState({ ...history.state, view }, "");
    }
  }

  function params() {
    const hash = location.hash.startsWith("#?") ? location.hash.slice(2) : history.state?.view;
    last = hash || location.search;
    return new URLSearchParams(last);
  }

  /* The values of a prefix: name → list of texts. */
  function read(prefix) {
    // Its names are anybody's: without a prototype none of them is there already.
    const found = Object.create(null);
    for (const [name, value] of params()) {
      if (name.startsWith(prefix + ".")) {
        (found[name.slice(prefix.length + 1)] ??= []).push(value);
      }
    }
    return found;
  }

  /* Put the values of a prefix in place of what the address holds. A discrete change is a step that the
     reader can go back from; `typing` is not. From a file some browsers refuse a query, and take the hash. */
  function write(prefix, values, typing) {
    const kept = params();
    for (const name of [...kept.keys()]) {
      if (name.startsWith(prefix + ".")) {
        kept.delete(name);
      }
    }
    for (const [name, list] of Object.entries(values)) {
      for (const value of list) {
        kept.append(prefix + "." + name, value);
      }
    }
    const text = kept.toString();
    const change = typing ? "replaceState" : "pushState";
    const query = text ? "?" + text : "";
    const hash = location.hash.startsWith("#?") ? "" : location.hash;
    last = text;
    if (FILE) {
      history[change](null, "", text ? "#?" + text : "#");
    } else {
      history[change](null, "", location.pathname + query + hash);
    }
  }

  /* Call `restore` whenever the reader goes back or forward. */
  function onMove(restore) {
    readers.add(restore);
  }

  keep();
  window.addEventListener("popstate", function () {
    keep();
    readers.forEach(function (restore) {
      restore();
    });
  });

  window.lapsheet.state = { read, write, onMove };
})();
