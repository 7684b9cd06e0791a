/* Figures: drawn when they come near the viewport, in the page's own colours.

   Figure data and Plotly itself arrive by script tags, which also work from file://. */
(function () {
  "use strict";

  const boxes = document.querySelectorAll(".ls-figure");
  const source = document.querySelector(".ls-figures");
  if (!boxes.length || !source) {
    return;
  }
  const loading = {};
  const drawn = new Map();
  let specs = {};

  window.lapsheetFigures = function (figures) {
    specs = figures;
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
  function painted(value, style) {
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

  function paint(box, spec) {
    const style = getComputedStyle(document.body);
    return window.Plotly.react(box, painted(spec.data, style), painted(spec.layout, style), spec.config);
  }

  async function draw(box) {
    try {
      await Promise.all([load(source.dataset.plotly), load(source.dataset.figures)]);
      const spec = specs[box.dataset.figure];
      await paint(box, spec);
      drawn.set(box, spec);
      box.classList.add("ls-drawn");
    } catch (error) {
      box.classList.add("ls-failed");
      box.textContent = "This figure could not be drawn; its numbers are in the table below.";
      console.error(error);
    }
  }

  function repaint() {
    for (const [box, spec] of drawn) {
      paint(box, spec);
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
  boxes.forEach(function (box) {
    observer.observe(box);
  });
  new MutationObserver(repaint).observe(document.body, {
    attributes: true,
    attributeFilter: ["data-md-color-scheme"],
  });
})();
