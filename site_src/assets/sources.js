/* Where Verify has a run's files from: this site, or what the reader picked. A source is {get, strangers}:
   `get(entry)` resolves to {bytes} or {problem}; `strangers` are picked files that are none of the figure's. */
(function () {
  "use strict";

  const { lapsheet } = window;
  const { count } = lapsheet.words;
  const MANIFEST = "run.json";

  /* From this site; `signal` ends what is under way. */
  function download(folder, signal) {
    const seen = new Map();
    const get = async function (entry) {
      try {
        const answer = await fetch(folder + entry.path, { cache: "no-store", signal });
        if (!answer.ok) {
          return { problem: answer.status === 404 ? "missing (404)" : "not to be had (" + answer.status + ")" };
        }
        const coding = answer.headers.get("content-encoding");
        if (coding && entry.path.endsWith(".gz")) {
          const told = `sent with Content-Encoding ${coding}: the browser unpacked it`;
          return { problem: told + ", and its bytes cannot be compared" };
        }
        return { bytes: new Uint8Array(await answer.arrayBuffer()) };
      } catch {
        return { problem: "could not be downloaded" };
      }
    };
    return {
      strangers: [],
      // What was published has one file for many samples.
      get: function (entry) {
        if (!seen.has(entry.path)) {
          seen.set(entry.path, get(entry));
        }
        return seen.get(entry.path);
      },
    };
  }

  const read = async (file) => new Uint8Array(await file.arrayBuffer());

  /* A picked folder: {files}, by their path in the run, or {problem}. The run is where its manifest lies. */
  function folderOf(picks) {
    const depth = (root) => root.split("/").length;
    const roots = picks
      .map((file) => file.webkitRelativePath)
      .filter((path) => path.endsWith("/" + MANIFEST))
      .map((path) => path.slice(0, -MANIFEST.length))
      .sort((a, b) => depth(a) - depth(b));
    const level = roots.filter((root) => depth(root) === depth(roots[0])).length;
    if (level > 1) {
      return { files: new Map(), problem: `the picked folder has ${count(level)} runs in it: pick the one of this run` };
    }
    const root = roots[0] ?? picks[0]?.webkitRelativePath.replace(/\/.*$/, "/") ?? "";
    const inside = picks.filter((file) => file.webkitRelativePath.startsWith(root));
    return { files: new Map(inside.map((file) => [file.webkitRelativePath.slice(root.length), file])) };
  }

  /* What the reader picks of the files that are `needed`. A folder says by each path which file is which, and
     stands in place of all that was picked before. A single file has no path, and is known by its SHA-256. */
  function picked(needed) {
    const known = new Set(needed.map((entry) => entry.sha256));
    const unhashed = needed.filter((entry) => !entry.sha256).map((entry) => entry.path);
    const loose = new Map();
    let folder = { files: new Map() };
    let last = 0;
    const source = { strangers: [], get, folder: pickFolder, files: pickFiles, found };

    async function pickFolder(picks) {
      last += 1;
      loose.clear();
      source.strangers = [];
      folder = folderOf(picks);
    }

    async function pickFiles(picks) {
      const mine = ++last;
      const hashed = async function (file) {
        const bytes = await read(file);
        return { name: file.name, bytes, sha256: await lapsheet.proof.sha256(bytes) };
      };
      const found = await Promise.all(picks.map(hashed));
      if (mine !== last) {
        return;
      }
      source.strangers = [];
      for (const file of found) {
        if (known.has(file.sha256)) {
          loose.set(file.sha256, file.bytes);
        } else if (unhashed.includes(file.name)) {
          loose.set(file.name, file.bytes);
        } else {
          source.strangers.push(file);
        }
      }
    }

    const key = (entry) => entry.sha256 ?? entry.path;

    function found() {
      return needed.filter((entry) => folder.files.has(entry.path) || loose.has(key(entry))).length;
    }

    async function get(entry) {
      if (folder.files.has(entry.path)) {
        return { bytes: await read(folder.files.get(entry.path)) };
      }
      return loose.has(key(entry)) ? { bytes: loose.get(key(entry)) } : { problem: folder.problem ?? "not picked" };
    }

    return source;
  }

  lapsheet.sources = { download, picked };
})();
