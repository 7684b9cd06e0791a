/* Builds dist/plotly.min.js: Plotly with only the traces that the site draws.

   hooks/publish.py reads the version in its first line, and lets no other on the site than the one that
   the Python package has. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const TRACES = ["bar", "box", "heatmap", "table"]; // scatter is a part of the core

const here = fileURLToPath(new URL(".", import.meta.url));
const { version } = createRequire(import.meta.url)("plotly.js/package.json");
const traces = TRACES.map((name) => `require("plotly.js/lib/${name}")`);

/* Plotly carries its reference manual, a text for each attribute: a tenth of what would be sent. What is
   more than literals is left, which costs little. */
const STRING = String.raw`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`;
const MANUAL = new RegExp(String.raw`\bdescription:\s*(?:${STRING}|\[(?:${STRING}|[\s,])*\]\.join\((?:${STRING})\))(?=\s*[,}])`, "g");
const withoutManual = {
  name: "without-manual",
  setup({ onLoad }) {
    onLoad({ filter: /[/\\]plotly\.js[/\\]src[/\\].*\.js$/ }, async ({ path }) => {
      return { contents: (await readFile(path, "utf8")).replace(MANUAL, 'description: ""') };
    });
  },
};

await build({
  stdin: {
    contents: `const core = require("plotly.js/lib/core");
      core.register([${traces}]);
      module.exports = core;`,
    resolveDir: here,
  },
  outfile: `${here}dist/plotly.min.js`,
  bundle: true,
  minify: true,
  format: "iife",
  globalName: "Plotly",
  target: "es2020",
  define: { global: "window" },
  loader: { ".css": "empty" }, // that of the maps, which are not in it
  plugins: [withoutManual],
  banner: { js: `/* plotly.js v${version} (scatter, ${TRACES.join(", ")}) */` },
  legalComments: "eof",
  logLevel: "warning",
});
