/* Stands in for Material's search worker until somebody searches: only then are that worker and the search
   index loaded, which weigh more than a page.

   The address of the worker's file is in this one's query. Messages are Material's: {type, data}, where 2 is
   a query, 3 its results, 0 the index to use, and 1 that it is in use. */
(function () {
  "use strict";

  const INDEX = 0;
  const READY = 1;
  const QUERY = 2;
  const RESULT = 3;
  const assets = new URL(".", self.location);
  const worker = new URLSearchParams(self.location.search).get("worker");
  const post = self.postMessage.bind(self);
  let query = "";
  let starting = false;

  function hand(type, data) {
    self.dispatchEvent(new MessageEvent("message", { data: { type, data } }));
  }

  async function start() {
    const answer = await fetch(new URL("../search/search_index.json", assets));
    const { config, docs } = await answer.json();
    self.importScripts(new URL("javascripts/workers/" + worker, assets));
    self.removeEventListener("message", receive);
    self.postMessage = function (message) {
      if (message.type === READY) {
        self.postMessage = post;
        hand(QUERY, query);
      }
    };
    hand(INDEX, { config, docs, options: {} });
  }

  function receive({ data }) {
    if (data.type !== QUERY) {
      return;
    }
    query = data.data;
    if (!query) {
      post({ type: RESULT, data: { items: [] } });
    } else if (!starting) {
      starting = true;
      start().catch(function (error) {
        starting = false; // the next key tries again
        console.error(error);
        post({ type: RESULT, data: { items: [] } });
      });
    }
  }

  self.addEventListener("message", receive);
  post({ type: READY });
})();
