/* What every script of a page shares, and its figures: drawn when they come near the viewport.

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

  window.lapsheet = {
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
    /* Call `repaint` whenever the reader switches between light and dark. */
    onScheme: function (repaint) {
      repainters.add(repaint);
    },
  };

  async function draw(box) {
    try {
      const [Plotly, page] = await Promise.all([window.lapsheet.plotly(), window.lapsheet.page()]);
      const spec = page.figures[box.dataset.figure];
      const paint = function () {
        return Plotly.react(box, painted(spec.data), painted(spec.layout), spec.config);
      };
      await paint();
      window.lapsheet.onScheme(paint);
      box.classList.add("ls-drawn");
    } catch (error) {
      box.classList.add("ls-failed");
      box.textContent = "This figure could not be drawn; its numbers are in the table below.";
      console.error(error);
    }
  }

  const observer = new IntersectionObserver(
    function (entries) {
      for (const entry of entries) {
        if (entry.isIntersecting) {
          observer.unobserve(entry.target);
          draw(entry.target);
        }
      }
    },
    { rootMargin: "600px 0px" }
  );
  document.querySelectorAll(".ls-figure[data-figure]").forEach(function (box) {
    observer.observe(box);
  });
  new MutationObserver(function () {
    repainters.forEach(function (repaint) {
      repaint();
    });
  }).observe(document.body, { attributes: true, attributeFilter: ["data-md-color-scheme"] });
})();
