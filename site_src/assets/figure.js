/* A chart drawn by Plotly over its static picture, which stays for print and for screen readers. */
(function () {
  "use strict";

  const lapsheet = window.lapsheet;

  lapsheet.draw = async function (box) {
    const [Plotly, page] = await Promise.all([lapsheet.plotly(), lapsheet.page()]);
    const figure = whole(page.figures[box.dataset.figure]);
    const plot = document.createElement("div");
    plot.className = "ls-plot";
    plot.setAttribute("aria-hidden", "true");
    box.append(plot);
    let narrow = null;
    const paint = function () {
      narrow = isNarrow(box, figure);
      const layout = lapsheet.painted(narrow ? narrowed(figure) : figure.layout);
      return Plotly.react(plot, lapsheet.painted(figure.data), layout, figure.config);
    };
    try {
      await paint();
    } catch (error) {
      plot.remove();
      throw error;
    }
    box.classList.add("ls-drawn");
    lapsheet.onScheme(paint);
    new ResizeObserver(function () {
      if (narrow !== isNarrow(box, figure)) {
        paint();
      }
    }).observe(box);
    plot.on("plotly_click", function (event) {
      open(box, figure, event.points[0].customdata);
    });
    walk(Plotly, box, plot, figure);
  };

  // As in lapsheet.css, which does the same to the static picture.
  const NARROW = 640;
  const RISE = -14;

  function isNarrow(box, figure) {
    return Boolean(figure.narrow) && box.clientWidth < NARROW;
  }

  /* The layout with each name above its row, and as many labels below as there is room for. */
  function narrowed({ layout, narrow }) {
    const { margin, xaxis, yaxis, font } = layout;
    const ticktext = xaxis.ticktext.map((text, at) => (at % narrow.every ? "" : text));
    const names = { ticklabelposition: "inside", ticklabelshift: RISE, ticklabeloverflow: "allow" };
    // Plotly has a colour of its own for labels within.
    const tickfont = { size: 12, color: font.color };
    return {
      ...layout,
      margin: { ...margin, l: narrow.left },
      xaxis: { ...xaxis, ticktext },
      yaxis: { ...yaxis, ...names, ticklabelstandoff: 0, automargin: false, tickfont },
    };
  }

  /* The figure with the words of each point put together; see hooks/hover.py. */
  function whole(figure) {
    const told = function (place, words) {
      if (Array.isArray(place)) {
        return place.map(function (item, at) {
          return told(item, words[at]);
        });
      }
      if (place === null) {
        return "";
      }
      const [, , head, rest] = figure.places[place];
      return [head, words, rest].filter(Boolean).join("<br>");
    };
    const data = figure.data.map(function (trace) {
      return trace.customdata ? { ...trace, hovertext: told(trace.customdata, trace.hovertext) } : trace;
    });
    return { ...figure, data };
  }

  async function open(box, figure, place) {
    const [id, metric] = figure.places[place];
    if (!id) {
      return;
    }
    await lapsheet.part("receipt.js");
    lapsheet.receipt({ run: figure.about.run, case: id, metric, from: box });
  }

  /* The points a reader can walk over with the arrow keys, trace by trace, each as Plotly finds it there. */
  function points(figure) {
    return figure.data.flatMap(function (trace, curveNumber) {
      if (!trace.customdata) {
        return [];
      }
      if (trace.type !== "heatmap") {
        return trace.customdata.map(function (place, pointNumber) {
          return { place, at: { curveNumber, pointNumber } };
        });
      }
      return trace.customdata.flatMap(function (row, y) {
        return row.flatMap(function (place, x) {
          return place === null ? [] : [{ place, at: { curveNumber, xval: trace.x[x], yval: trace.y[y] } }];
        });
      });
    });
  }

  function walk(Plotly, box, plot, figure) {
    const all = points(figure);
    let now = -1;
    box.addEventListener("keydown", function (event) {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step && all.length) {
        event.preventDefault();
        now = now < 0 ? (step > 0 ? 0 : all.length - 1) : (now + step + all.length) % all.length;
        Plotly.Fx.hover(plot, [all[now].at]);
        plot.querySelector(".hovertext")?.scrollIntoView({ block: "nearest", inline: "nearest" });
      } else if (event.key === "Enter" && now >= 0) {
        open(box, figure, all[now].place);
      }
    });
    box.addEventListener("blur", function () {
      now = -1;
      Plotly.Fx.unhover(plot);
    });
  }
})();
