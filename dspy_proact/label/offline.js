// A slate that works from disk: what is rated is kept in the browser, and saved as a file.
(async () => {
  const { begin, token, draftName } = rating;
  const of = (id) => document.getElementById(id);
  const slate = JSON.parse(of("slate").textContent);
  const slots = [...document.querySelectorAll("template.slot")].map(({ content }) => ({ content, ...content.querySelector(".item").dataset }));
  const nameOf = ({ item, repeated }) => `${item} ${Number(repeated)}`;
  let ratings = [], drafts = new Map(), database = null, unbind = () => {};

  // Not in localStorage: a browser that crashes loses what it kept there in the last seconds, Chromium at times all that a
  // page from disk kept there before a reload, and of two tabs one overwrites what the other kept. Without a database
  // ratings are kept while the page is open.
  function opened() {
    return new Promise((done, failed) => {
      const request = indexedDB.open(`slate ${slate.study} ${slate.rater}`);
      request.onupgradeneeded = () => ["ratings", "drafts"].forEach((name) => request.result.createObjectStore(name));
      request.onsuccess = () => done(request.result);
      request.onerror = () => failed(request.error);
    });
  }

  // The result of one request to the database; what it changed of the ratings is on disk then.
  function requested(name, mode, make) {
    return new Promise((done, failed) => {
      const transaction = database.transaction(name, mode, { durability: name === "ratings" ? "strict" : "relaxed" });
      const request = make(transaction.objectStore(name));
      transaction.oncomplete = () => done(request.result);
      transaction.onabort = () => failed(transaction.error);
      transaction.commit(); // now, so that leaving the page does not abort it
    });
  }

  function draftKept(name, draft) {
    if (draft === undefined) return drafts.get(name) || {};
    if (draft) drafts.set(name, draft);
    else drafts.delete(name);
    if (database) requested("drafts", "readwrite", (store) => (draft ? store.put({ name, draft }, name) : store.delete(name))).catch(() => {});
    return {};
  }

  async function refresh() {
    if (!database) return;
    const names = new Set(slots.map(nameOf)), all = await requested("ratings", "readonly", (store) => store.getAll());
    ratings = all.filter((one) => names.has(nameOf(one))).sort((a, b) => a.time - b.time);
  }

  function put(template) {
    unbind();
    unbind = () => {};
    of("here").replaceChildren(template.cloneNode(true));
    of("progress").value = ratings.length;
    of("count").textContent = `${ratings.length} of ${slots.length}`;
    scrollTo({ top: 0 });
  }

  function show() {
    const names = new Set(ratings.map(nameOf)), next = slots.find((slot) => !names.has(nameOf(slot)));
    put(next ? next.content : of("done").content);
    if (next) {
      unbind = begin(of("here").querySelector(".item"), send, undo, draftKept);
      return;
    }
    of("save-all").addEventListener("click", save);
    of("undo-last").addEventListener("click", undo);
    of("save-all").focus();
  }

  async function send(one) {
    const timed = { ...one, time: Date.now() / 1000 };
    if (!database) ratings.push(timed);
    else {
      try {
        await requested("ratings", "readwrite", (store) => store.add(timed, nameOf(one)));
      } catch (error) { // another tab of this page rated it first, which stays
        if (error.name !== "ConstraintError") throw new Error(`The browser could not keep this: ${error.message}`);
      }
    }
    await refresh();
    show();
  }

  async function undo() {
    await refresh();
    const last = ratings.pop();
    if (!last) throw new Error("There is nothing to undo.");
    draftKept(draftName(slots.find((slot) => nameOf(slot) === nameOf(last)).study, last.item, last.repeated), { ...last, key: token() });
    if (database) await requested("ratings", "readwrite", (store) => store.delete(nameOf(last)));
    await refresh();
    show();
  }

  async function save() {
    await refresh().catch(() => {}); // what is in the page is saved
    const text = JSON.stringify({ ...slate, ratings }, null, 1);
    const link = document.createElement("a");
    Object.assign(link, { href: URL.createObjectURL(new Blob([text], { type: "application/json" })), download: `ratings-${slate.number}.json` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }

  try {
    database = await opened();
    await refresh();
    drafts = new Map((await requested("drafts", "readonly", (store) => store.getAll())).map(({ name, draft }) => [name, draft]));
  } catch {
    database = null;
    of("unkept").hidden = false;
  }
  of("save").addEventListener("click", save);
  if (ratings.length) show();
  else {
    put(of("briefing").content);
    of("go").addEventListener("click", show);
  }
  document.documentElement.dataset.ready = "yes";
})();
