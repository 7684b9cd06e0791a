/* What every script of a page shares, and when its figures and tables become interactive: one at a time,
   near the viewport, while the page is idle; at once on a click.

   Figure data, Plotly and the other scripts arrive by script tags, which also work from file://. */
(function () {
  "use strict";

  const source = document.querySelector(".ls-figures");
  if (!source) {
    return;
  }
  const assets = document.currentScript.src.replace(/[^/]*$/, "");
  const loading = {};
  const repainters = new Set();
  let data;

  window.lapsheetPage = function (given) {
    data = given;
  };

  function load(src) {
    loading[src] ??= new Promise(function (resolve, reject) {
      const script = document.createElement("script");
      script.src = src;
      script.onload = resolve;
      script.onerror = function () {
        // A reader who tries again may be online again.
        delete loading[src];
        script.remove();
        reject(new Error("cannot load " + src));
      };
      document.head.append(script);
    });
    return loading[src];
  }

  /* A copy of a figure's description with every var(--ls-…) replaced by the colour it stands for now. */
  function painted(value, style = getComputedStyle(document.body)) {
    if (typeof value === "string") {
      return value.includes("var(--ls-")
        ? value.replace(/var\((--ls-[a-z0-9-]+)\)/g, function (_, name) {
            return style.getPropertyValue(name).trim();
          })
        : value;
    }
    if (Array.isArray(value)) {
      return value.map(function (item) {
        return painted(item, style);
      });
    }
    if (value && typeof value === "object") {
      return Object.fromEntries(
        Object.entries(value).map(function ([key, item]) {
          return [key, painted(item, style)];
        })
      );
    }
    return value;
  }

  const lapsheet = (window.lapsheet = {
    root: source.dataset.root,
    load,
    painted,
    /* A script of the site's own, by its file's name; resolves when it has run. */
    part: function (name) {
      return load(assets + name);
    },
    /* The page's data: {figures, tables, runs}. */
    page: async function () {
      await load(source.dataset.figures);
      return data;
    },
    plotly: async function () {
      await load(source.dataset.plotly);
      return window.Plotly;
    },
    /* Of a table that was clicked before it listened: the value. */
    clicked: new WeakMap(),
    /* Call `repaint` whenever the reader switches between light and dark. */
    onScheme: function (repaint) {
      repainters.add(repaint);
    },
  });

  /* Time in which the page has nothing better to do; not for ever, or a busy page would stay as it is. */
  function idle() {
    return new Promise(function (resolve) {
      if (window.requestIdleCallback) {
        window.requestIdleCallback(resolve, { timeout: 2000 });
      } else {
        setTimeout(resolve, 100);
      }
    });
  }

  function loaded() {
    return new Promise(function (resolve) {
      if (document.readyState === "complete") {
        resolve();
      } else {
        window.addEventListener("load", resolve, { once: true });
      }
    });
  }

  /* What turns a place of the page interactive: figures by figure.js, tables by explorer.js. */
  async function wake(place) {
    if (place.dataset.figure) {
      await lapsheet.part("figure.js");
      await lapsheet.draw(place);
    } else {
      await lapsheet.part("explorer.js");
      await lapsheet.explore(place);
    }
  }

  const waiting = new Set();
  let working = false;

  async function work() {
    if (working) {
      return;
    }
    working = true;
    await loaded();
    while (waiting.size) {
      await idle();
      const [place] = waiting;
      if (place) {
        await start(place);
      }
    }
    working = false;
  }

  /* Once a place; what failed stays as it was, and is tried again when the reader turns to it. */
  async function start(place) {
    waiting.delete(place);
    observer.unobserve(place);
    if (place.dataset.awake) {
      return;
    }
    place.dataset.awake = "true";
    try {
      await wake(place);
      tell(place);
    } catch (error) {
      console.error(error);
      delete place.dataset.awake;
      lapsheet.clicked.delete(place);
      if (place.dataset.figure) {
        tell(place, "The interactive chart could not be loaded; this is its picture.");
      } else {
        place.classList.add("ls-plain");
        tell(place, "The interactive table could not be loaded; this is the same as text.");
      }
    }
  }

  const notes = new Map();

  /* Say what failed at a place, and no more what was said there before. */
  function tell(place, text) {
    notes.get(place)?.remove();
    if (!text) {
      return;
    }
    const note = document.createElement("p");
    note.className = "ls-note";
    note.setAttribute("role", "status");
    note.textContent = text;
    notes.set(place, note);
    (place.querySelector(".ls-stage") ?? place.closest(".ls-chart").lastElementChild).after(note);
  }

  const observer = new IntersectionObserver(
    function (entries) {
      for (const entry of entries) {
        if (entry.isIntersecting) {
          waiting.add(entry.target);
        } else {
          waiting.delete(entry.target);
        }
      }
      work();
    },
    { rootMargin: "300px 0px" }
  );

  document.querySelectorAll(".ls-figure[data-figure], .ls-block[data-table]").forEach(function (place) {
    observer.observe(place);
    if (!place.dataset.figure) {
      for (const kind of ["pointerdown", "focusin"]) {
        place.addEventListener(kind, () => start(place));
      }
      place.addEventListener("click", function (event) {
        const value = event.target.closest(".ls-open");
        if (value) {
          lapsheet.clicked.set(place, value);
        }
      });
      return;
    }
    place.tabIndex = 0;
    // One stop is enough: arrow keys scroll to the point that they come to.
    place.parentElement.removeAttribute("tabindex");
    place.addEventListener("click", function () {
      start(place);
    });
    place.addEventListener("keydown", function (event) {
      if (event.key === "Enter") {
        start(place);
      }
    });
  });
  document.querySelectorAll(".ls-picture").forEach(function (button) {
    button.addEventListener("click", async function () {
      try {
        await lapsheet.part("picture.js");
        await lapsheet.picture(button.dataset.of);
        tell(button);
      } catch (error) {
        console.error(error);
        tell(button, "The picture could not be made: what it needs did not load.");
      }
    });
  });
  document.addEventListener(
    "toggle",
    async function (event) {
      if (event.target.matches("details.ls-data")) {
        await Promise.all([lapsheet.part("dom.js"), lapsheet.part("htmltable.js")]);
        lapsheet.enhance(event.target);
      }
    },
    true
  );
  if (/[?&]receipt\.run=/.test(location.search + location.hash)) {
    lapsheet.part("receipt.js").then(() => lapsheet.receiptOfAddress()).catch(console.error);
  }
  new MutationObserver(function () {
    repainters.forEach(function (repaint) {
      repaint();
    });
  }).observe(document.body, { attributes: true, attributeFilter: ["data-md-color-scheme"] });
})();
