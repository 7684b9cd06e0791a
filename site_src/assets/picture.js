/* A chart as an SVG file fit for an article: light on white, with its title on top, and below it the run, the
   date of its capture and what is drawn. */
(function () {
  "use strict";

  const lapsheet = window.lapsheet;
  const WIDTH = 960;
  const LINE = 18;

  /* Colours of the light palette, whatever the page shows now. */
  function light(value) {
    const probe = document.createElement("div");
    probe.dataset.mdColorScheme = "default";
    document.body.append(probe);
    const found = lapsheet.painted(value, getComputedStyle(probe));
    probe.remove();
    return found;
  }

  /* Text as Plotly wants it, in lines of at most `width` columns. */
  function lines(text, width) {
    return lapsheet.plottable.lines(text, width).map(lapsheet.plottable.escaped);
  }

  function spec(figure, run) {
    const copy = light({ data: figure.data, layout: figure.layout });
    const layout = copy.layout;
    const named = copy.data.filter(function (trace) {
      return trace.name && trace.showlegend !== false;
    }).length;
    const legend = named + (layout.shapes || []).length;
    const heads = lines(figure.about.title, 90);
    const feet = lines(
      `Run ${run.id}, captured ${run.created}: ${figure.about.drawn}. Lapsheet`,
      130
    );
    const above = 20 + 22 * heads.length + (legend ? 10 + 22 * Math.ceil(legend / 4) : 0);
    const below = 14 + LINE * feet.length;
    const margin = layout.margin;
    const corner = {
      showarrow: false,
      align: "left",
      xref: "paper",
      yref: "paper",
      x: 0,
      xanchor: "left",
      xshift: 6 - margin.l,
    };
    Object.assign(layout, {
      width: WIDTH,
      height: layout.height + above + below,
      paper_bgcolor: "#ffffff",
      plot_bgcolor: "#ffffff",
      margin: { ...margin, t: margin.t + above, b: margin.b + below, l: margin.l + 10, r: margin.r + 10 },
      showlegend: legend > 0,
      legend: { orientation: "h", x: 0, xanchor: "left", y: 1, yanchor: "bottom", font: { size: 12 } },
      annotations: [
        {
          ...corner,
          text: heads.join("<br>"),
          y: 1,
          yanchor: "top",
          yshift: margin.t + above - 10,
          font: { size: 17 },
        },
        {
          ...corner,
          text: feet.join("<br>"),
          y: 0,
          yanchor: "bottom",
          yshift: 8 - margin.b - below,
          font: { size: 12, color: light("var(--ls-muted)") },
        },
      ],
    });
    return copy;
  }

  lapsheet.picture = async function (name) {
    const needed = [lapsheet.plotly(), lapsheet.page(), lapsheet.part("plottable.js")];
    const [Plotly, page] = await Promise.all(needed);
    const figure = page.figures[name];
    const drawn = spec(figure, page.runs[figure.about.run]);
    const url = await Plotly.toImage(drawn, {
      format: "svg",
      width: WIDTH,
      height: drawn.layout.height,
    });
    const text = decodeURIComponent(url.slice(url.indexOf(",") + 1));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    link.download = figure.about.file + ".svg";
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(function () {
      URL.revokeObjectURL(link.href);
    }, 10000);
  };
})();
