/* Figures: drawn when they come near the viewport, in the page's own colours.

   Figure data and Plotly itself arrive by script tags, which also work from file://. */
(function () {
  "use strict";

  const specs = {};
  const loading = {};
  const drawn = new Map();
  let plotly = null;

  window.lapsheetFigure = function (name, spec) {
    specs[name] = spec;
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
    return plotly.react(box, painted(spec.data, style), painted(spec.layout, style), spec.config);
  }

  async function draw(box) {
    const src = box.dataset.figure;
    const name = src.replace(/^.*\//, "").replace(/\.js$/, "");
    try {
      await Promise.all([load(box.dataset.plotly), load(src)]);
      plotly = window.Plotly;
      await paint(box, specs[name]);
      drawn.set(box, specs[name]);
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

  const boxes = document.querySelectorAll(".ls-figure");
  if (!boxes.length) {
    return;
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
