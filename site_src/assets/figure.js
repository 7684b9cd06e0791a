/* A chart drawn by Plotly over its static picture, which stays for print and for screen readers. */
(function () {
  "use strict";

  const lapsheet = window.lapsheet;

  lapsheet.draw = async function (box) {
    const [Plotly, page] = await Promise.all([lapsheet.plotly(), lapsheet.page()]);
    const spec = whole(page.figures[box.dataset.figure]);
    const plot = document.createElement("div");
    plot.className = "ls-plot";
    plot.setAttribute("aria-hidden", "true");
    box.append(plot);
    const paint = function () {
      return Plotly.react(plot, lapsheet.painted(spec.data), lapsheet.painted(spec.layout), spec.config);
    };
    try {
      await paint();
    } catch (error) {
      plot.remove();
      throw error;
    }
    box.classList.add("ls-drawn");
    lapsheet.onScheme(paint);
    plot.on("plotly_click", function (event) {
      open(box, spec, event.points[0].customdata);
    });
    walk(Plotly, box, plot, spec);
  };

  /* The figure with the words of each point put together, and the id of its case; see hooks/hover.py. */
  function whole(figure) {
    const told = function (place, words) {
      const [, head, rest] = figure.places[place];
      return [head, words, rest].filter(Boolean).join("<br>");
    };
    const each = function (value, words, make) {
      return Array.isArray(value)
        ? value.map(function (item, at) {
            return each(item, words[at], make);
          })
        : make(value, words);
    };
    const data = figure.data.map(function (trace) {
      if (!trace.customdata) {
        return trace;
      }
      return {
        ...trace,
        hovertext: each(trace.customdata, trace.hovertext, function (place, words) {
          return place === null ? "" : told(place, words);
        }),
        customdata: each(trace.customdata, trace.hovertext, function (place) {
          return place === null ? null : figure.places[place][0];
        }),
      };
    });
    return { ...figure, data };
  }

  async function open(box, spec, id) {
    if (!id) {
      return;
    }
    await lapsheet.part("receipt.js");
    lapsheet.receipt({ run: spec.about.run, case: id, metric: spec.about.metric, from: box });
  }

  /* The points a reader can walk over with the arrow keys, trace by trace, each as Plotly finds it there. */
  function points(spec) {
    return spec.data.flatMap(function (trace, curveNumber) {
      if (!trace.customdata) {
        return [];
      }
      if (trace.type !== "heatmap") {
        return trace.customdata.map(function (id, pointNumber) {
          return { id, at: { curveNumber, pointNumber } };
        });
      }
      return trace.customdata.flatMap(function (row, y) {
        return row.flatMap(function (id, x) {
          return id ? [{ id, at: { curveNumber, xval: trace.x[x], yval: trace.y[y] } }] : [];
        });
      });
    });
  }

  function walk(Plotly, box, plot, spec) {
    const all = points(spec);
    let now = -1;
    box.addEventListener("keydown", function (event) {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step && all.length) {
        event.preventDefault();
        now = now < 0 ? (step > 0 ? 0 : all.length - 1) : (now + step + all.length) % all.length;
        Plotly.Fx.hover(plot, [all[now].at]);
      } else if (event.key === "Enter" && now >= 0) {
        open(box, spec, all[now].id);
      }
    });
    box.addEventListener("blur", function () {
      now = -1;
      Plotly.Fx.unhover(plot);
    });
  }
})();
