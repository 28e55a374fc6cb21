// The form of an item: keys, marked words, the draft and the time. Nothing here knows whether there is a server.
"use strict";
const rating = (() => {
  const PAUSE = 30000; // milliseconds without a sign of the rater, after which time does not count
  const LINE = 4; // pixels by which words of one line may differ in height
  const SIGNS = ["keydown", "pointermove", "pointerdown", "scroll", "touchstart"];
  const of = (id) => document.getElementById(id);

  function token() {
    return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  // What a rater has begun is kept in the browser until it is saved; without storage it is kept while the page is open.
  function kept(name, value) {
    try {
      if (value === undefined) return JSON.parse(localStorage.getItem(name) || "{}");
      if (value === null) localStorage.removeItem(name);
      else localStorage.setItem(name, JSON.stringify(value));
    } catch { /* private windows have no storage */ }
    return {};
  }

  const draftName = (study, item, repeated) => `rating ${study} ${item} ${Number(repeated)}`;

  // Counts the time of a draft while the rater gives signs, and keeps the draft when the page is left. Returns what counts
  // up to now.
  function timed(draft, on, keep) {
    let sign = performance.now();
    const count = () => {
      const now = performance.now(), gone = now - sign;
      if (!document.hidden && gone < PAUSE) draft.seconds += gone / 1000;
      sign = now;
    };
    for (const type of SIGNS) on(document, type, count, { passive: true, capture: true });
    on(document, "visibilitychange", () => { sign = performance.now(); keep(); });
    on(window, "pagehide", () => { count(); keep(); });
    return count;
  }

  // Runs one thing at a time, after `count`, says what it is doing in the form, and in the end `done` or the problem.
  function oneByOne(form, count, done) {
    const say = (message, problem = "") => {
      form.querySelector(".state").textContent = message;
      form.querySelector(".problem").textContent = problem;
    };
    let busy = false;
    return async (what, does) => {
      if (busy) return;
      busy = true;
      count();
      say(what);
      try {
        await does();
        say("");
        done();
      } catch (error) {
        say("", error.message);
      } finally {
        busy = false;
      }
    };
  }

  // Why an item is skipped, as the dialog says that asks; empty where it is not.
  async function whySkipped(reason) {
    const dialog = of("skipping"), why = dialog.querySelector("input");
    why.value = reason;
    dialog.returnValue = "";
    dialog.showModal();
    await new Promise((closed) => { dialog.addEventListener("close", closed, { once: true }); });
    return dialog.returnValue === "skip" ? why.value.trim() : "";
  }

  // What keys do outside of a text: `does` by the key, a digit chooses of what the form asks, and Ctrl and Enter save.
  function pressing(form, does, save, keep, walk = () => false) {
    const all = { u: () => form.querySelector(".undo")?.click(), t: () => scrollTo({ top: 0 }), "?": () => of("key-list").showModal(), Enter: save, ...does };
    return (event) => {
      if (event.altKey || document.querySelector("dialog[open]")) return;
      if (event.ctrlKey || event.metaKey) {
        if (event.key === "Enter") { event.preventDefault(); save(); }
        return;
      }
      if (event.target.matches("textarea, input:not([type=radio]), select")) {
        if (event.key === "Escape") event.target.blur();
        return;
      }
      if (walk(event)) return;
      const digit = /^[1-9]$/.test(event.key) && form.querySelectorAll(`input[name=${form.dataset.asks}]`)[event.key - 1];
      const act = all[event.key];
      if (digit) {
        event.preventDefault();
        digit.checked = true;
        digit.focus({ preventScroll: true });
        keep();
        form.querySelector(`.${form.dataset.asks}`).scrollIntoView({ block: "nearest" });
      } else if (act && !(event.key === "Enter" && event.target.matches("button, a, summary"))) {
        event.preventDefault();
        act();
      }
    };
  }

  // Binds an item. `send(rating)` keeps a rating, or a skip whose grade is "", and resolves when that is on disk; it
  // rejects with an Error that says why it is not. `undo()` likewise. `drafts` keeps
  // drafts as `kept` does. Returns a function that unbinds.
  function begin(article, send, undo, drafts = kept) {
    const form = article.querySelector("form"), text = article.querySelector("[data-marked]");
    const { item, repeated, study } = article.dataset, practice = "practice" in article.dataset;
    const name = draftName(study, item, repeated);
    const draft = { key: token(), grade: "", confidence: "", reason: "", spans: [], seconds: 0, ...drafts(name) };
    const words = text ? [...text.querySelectorAll(".w")] : [];
    const froms = words.map((word) => Number(word.dataset.from)), tos = words.map((word) => Number(word.dataset.to));
    const ending = new AbortController(), bound = { signal: ending.signal };
    const on = (target, type, does, more = {}) => target && target.addEventListener(type, does, { ...bound, ...more });
    const part = (selector) => form.querySelector(selector);
    const chosen = (field) => part(`input[name=${field}]:checked`);
    let at = -1, anchor = -1;

    // --- the draft

    function keep() {
      draft.grade = chosen("grade")?.value || "";
      draft.confidence = chosen("confidence")?.value || "";
      draft.reason = part("textarea")?.value || "";
      if (!practice) drafts(name, draft);
      form.dataset.asks = draft.grade && part(".confidence") ? "confidence" : "grade";
    }

    // --- marked words

    function draw() {
      const inside = froms.map((from, n) => draft.spans.findIndex(([start, end]) => start <= from && tos[n] <= end));
      const low = Math.min(at, anchor), high = Math.max(at, anchor);
      words.forEach((word, n) => {
        word.classList.toggle("on", inside[n] >= 0);
        word.classList.toggle("joined", inside[n] >= 0 && inside[n] === inside[n + 1]);
        word.classList.toggle("at", n === at);
        word.classList.toggle("going", anchor >= 0 && n >= low && n <= high);
      });
      part(".marked ul")?.replaceChildren(...draft.spans.map((span, n) => {
        const range = document.createRange();
        range.setStartBefore(words[inside.indexOf(n)]);
        range.setEndAfter(words[inside.lastIndexOf(n)]);
        const marked = range.toString();
        const entry = document.createElement("li"), quote = document.createElement("q"), drop = document.createElement("button");
        quote.textContent = marked;
        Object.assign(drop, { type: "button", textContent: "×", ariaLabel: `Remove the mark: ${marked}` });
        drop.addEventListener("click", () => { unmark(span); part(".mark").focus(); });
        entry.append(quote, drop);
        return entry;
      }));
    }

    // Marks from one word to another, together with the marks that this touches.
    function mark(one, other) {
      let start = froms[Math.min(one, other)], end = tos[Math.max(one, other)];
      const others = draft.spans.filter(([from, to]) => to < start || from > end);
      for (const [from, to] of draft.spans) if (!others.some((span) => span[0] === from)) { start = Math.min(start, from); end = Math.max(end, to); }
      draft.spans = [...others, [start, end]].sort((a, b) => a[0] - b[0]);
      keep();
      draw();
    }

    function unmark(span) {
      draft.spans = draft.spans.filter((other) => other[0] !== span[0]);
      keep();
      draw();
    }

    const spanOf = (word) => draft.spans.find(([start, end]) => start <= froms[word] && tos[word] <= end);

    function selected() {
      const selection = getSelection();
      if (!selection.rangeCount || selection.isCollapsed || !text.contains(selection.getRangeAt(0).commonAncestorContainer)) return [];
      const range = selection.getRangeAt(0);
      return words.map((_, n) => n).filter((n) => {
        const inner = document.createRange();
        inner.selectNodeContents(words[n]);
        return range.compareBoundaryPoints(Range.START_TO_END, inner) > 0 && range.compareBoundaryPoints(Range.END_TO_START, inner) < 0;
      });
    }

    function markSelected() {
      const hit = selected();
      if (!hit.length) return false;
      mark(hit[0], hit[hit.length - 1]);
      getSelection().removeAllRanges();
      return true;
    }

    // The word of the next line, or of the one before, that stands nearest to this one.
    function across(by) {
      const { top, left } = words[at].getBoundingClientRect();
      let line = null, best = at;
      for (let n = at + by; n >= 0 && n < words.length; n += by) {
        const box = words[n].getBoundingClientRect();
        if ((box.top - top) * by <= LINE) continue;
        if (line === null) line = box.top;
        if (Math.abs(box.top - line) > LINE) break;
        if (best === at || Math.abs(box.left - left) < Math.abs(words[best].getBoundingClientRect().left - left)) best = n;
      }
      return best;
    }

    function say(message) {
      part(".state").textContent = message;
    }

    function leave() {
      at = anchor = -1;
      draw();
      say("");
    }

    function walk(event) {
      if (at < 0) return false;
      step(event);
      return true;
    }

    function step(event) {
      const to = {
        ArrowRight: () => at + 1, ArrowLeft: () => at - 1, ArrowDown: () => across(1), ArrowUp: () => across(-1),
        Home: () => 0, End: () => words.length - 1,
      }[event.key];
      if (event.key === "Tab") { leave(); return; }
      event.preventDefault();
      if (to) {
        if (event.shiftKey && anchor < 0) anchor = at;
        at = Math.min(words.length - 1, Math.max(0, to()));
      } else if (event.key === " " || (event.key === "Enter" && anchor >= 0)) {
        const there = spanOf(at);
        if (anchor >= 0) { mark(anchor, at); anchor = -1; say("Marked."); draw(); return; }
        if (there) { unmark(there); say("Mark removed."); return; }
        anchor = at;
      } else if (["Escape", "Enter", "m"].includes(event.key)) { leave(); return; }
      draw();
      words[at].scrollIntoView({ block: "nearest" });
      say(`${anchor >= 0 ? "Marking to" : "At"}: ${words[at].textContent}`);
    }

    function beginMarking() {
      if (markSelected() || !words.length) return;
      text.focus({ preventScroll: true });
      const seen = words.findIndex((word) => { const box = word.getBoundingClientRect(); return box.top >= 0 && box.bottom <= innerHeight; });
      at = Math.max(0, seen);
      draw();
      words[at].scrollIntoView({ block: "nearest" });
      say(`At: ${words[at].textContent}. Arrows move, Space begins a mark, Escape leaves; or tap the first and the last word.`);
    }

    // --- saving

    function give(grade, reason) {
      const { key, confidence, spans, seconds } = draft, skipped = grade === "";
      return doing("Saving …", async () => {
        await send({ key, item, repeated, grade, confidence: skipped ? "" : confidence, reason, spans: skipped ? [] : spans, seconds });
        drafts(name, null);
      });
    }

    function save() {
      keep();
      const missing = !draft.grade ? "grade" : !practice && !draft.confidence ? "confidence" : null;
      if (missing) {
        part(".problem").textContent = missing === "grade" ? "Choose a grade first." : "Say how sure you are.";
        part(`input[name=${missing}]`).focus();
      } else give(draft.grade, draft.reason);
    }

    async function skip() {
      const why = await whySkipped(draft.reason);
      if (why) await give("", why);
    }

    const does = {
      g: () => { form.dataset.asks = "grade"; (chosen("grade") || part("input")).focus(); },
      r: () => part("textarea")?.focus(),
      m: () => part(".mark") && beginMarking(),
      s: () => part(".skip-item")?.click(),
      v: () => article.querySelector(".response").scrollIntoView({ block: "start" }),
    };

    for (const field of ["grade", "confidence"]) for (const input of form.querySelectorAll(`input[name=${field}]`)) input.checked = input.value === String(draft[field]);
    if (part("textarea")) part("textarea").value = draft.reason;
    keep();
    draw();
    on(form, "submit", (event) => { event.preventDefault(); save(); });
    on(form, "change", keep);
    on(part("textarea"), "input", keep);
    on(part(".mark"), "click", beginMarking);
    on(part(".skip-item"), "click", skip);
    on(part(".undo"), "click", () => doing("Undoing …", undo));
    on(part(".keys"), "click", () => of("key-list").showModal());
    on(text, "click", (event) => {
      const word = words.indexOf(event.target.closest(".w"));
      if (word >= 0 && at >= 0) { // for fingers: the first word, and then the last
        if (anchor >= 0) { mark(anchor, word); leave(); } else { at = anchor = word; draw(); }
      } else if (word >= 0 && getSelection().isCollapsed && spanOf(word)) unmark(spanOf(word));
    });
    on(text, "pointerup", (event) => { if (event.pointerType === "mouse") setTimeout(markSelected); });
    on(document, "keydown", pressing(form, does, save, keep, walk));
    on(document, "selectionchange", () => part(".mark")?.classList.toggle("ready", selected().length > 0));
    const doing = oneByOne(form, timed(draft, on, keep), () => ending.abort());
    return () => ending.abort();
  }

  return { begin, timed, token, kept, draftName, oneByOne, whySkipped, pressing };
})();
