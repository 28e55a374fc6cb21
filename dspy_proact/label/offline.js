// A slate that works from disk: what is rated is kept in the browser, and saved as a file.
(() => {
  const { begin, token, kept, draftName } = rating;
  const of = (id) => document.getElementById(id);
  const slate = JSON.parse(of("slate").textContent), name = `slate ${slate.study} ${slate.rater}`;
  const places = [...document.querySelectorAll("template.place")].map(({ content }) => ({ content, ...content.querySelector(".item").dataset }));
  const is = (place) => (one) => one && one.item === place.item && one.repeated === place.repeated;
  let unbind = () => {};

  const before = kept(name).given;
  const given = Array.isArray(before) ? before.filter((one) => places.some((place) => is(place)(one))) : [];

  function keep() {
    kept(name, { given });
    of("unkept").hidden = kept(name).given?.length === given.length;
  }

  function put(template) {
    unbind();
    unbind = () => {};
    of("here").replaceChildren(template.cloneNode(true));
    of("progress").value = given.length;
    of("count").textContent = `${given.length} of ${places.length}`;
    scrollTo({ top: 0 });
  }

  function show() {
    const next = places.find((place) => !given.some(is(place)));
    put(next ? next.content : of("done").content);
    if (next) {
      unbind = begin(of("here").querySelector(".item"), send, undo);
      return;
    }
    of("save-all").addEventListener("click", save);
    of("undo-last").addEventListener("click", undo);
    of("save-all").focus();
  }

  async function send(one) {
    given.push({ ...one, time: Date.now() / 1000 });
    keep();
    show();
  }

  async function undo() {
    const last = given.pop();
    if (!last) throw new Error("There is nothing to undo.");
    kept(draftName(places.find((place) => is(place)(last)).study, last.item, last.repeated), { ...last, key: token() });
    keep();
    show();
  }

  function save() {
    const text = JSON.stringify({ ...slate, ratings: given }, null, 1);
    const link = document.createElement("a");
    Object.assign(link, { href: URL.createObjectURL(new Blob([text], { type: "application/json" })), download: `ratings-${slate.number}.json` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }

  of("save").addEventListener("click", save);
  if (given.length) show();
  else {
    put(of("briefing").content);
    of("go").addEventListener("click", show);
  }
  document.documentElement.dataset.ready = "yes";
})();
