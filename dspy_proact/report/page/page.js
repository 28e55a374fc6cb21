// The list and the reading of cases. Every text becomes a text node: nothing that a model wrote is markup here.
"use strict";
(() => {
  const SHAPES = 1000; // of rows, whose heights are measured; further ones are as high as the highest
  const SPARE = 6; // rows drawn above and below what is seen
  const LONGEST = 20000; // characters of a text that are shown at once
  const BLOCK = 5000; // characters of a block of a longer text; one line of a megabyte takes a browser half a minute
  const EXCERPT = 200; // characters of the last message that a folded conversation shows
  const KEPT = 256; // chunks that stay open
  const BREATH = 40; // milliseconds after which a search lets the page be drawn
  const UNVERIFIED = 1, UNSCORED = 2, DIFFERENT = 4;
  const STATES = { "-1": "unscored", "-2": "pending", "-3": "not asked" };
  // Marks from the ninth on stand on those before them and would cover the lines above.
  const HIDDEN = /(?![\n\t\r\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]|(?<=[\p{M}\u200c\u200d]{8})\p{M}/gu;
  const JOINED = /[\p{M}\u200c\u200d\udc00-\udfff]/u; // no block begins with these: they belong to what is before
  const ELEMENTS = {
    blockquote: "blockquote", br: "br", code: "code", em: "em", heading: "div", hr: "hr", li: "li", link: "span",
    address: "span", mark: "mark", ol: "ol", p: "p", pre: "pre", s: "s", strong: "strong", table: "table",
    tbody: "tbody", td: "td", th: "th", thead: "thead", tr: "tr", ul: "ul",
  };
  const of = (id) => document.getElementById(id);
  const section = of("cases"), list = of("list"), rowsOf = of("rows"), shown = of("case"), passing = of("passing");
  const form = of("filters"), help = of("help");
  const noun = section.dataset.case, nouns = section.dataset.cases;
  const lines = of("data").textContent.split("\n");
  const opened = new Map();
  const drawn = new Map();
  const heights = new Map(); // pixels of a row, by its shape
  let tops = [0]; // where each row begins, and where the last ends
  const CHOSEN = ["stratum", "label", "text"], TICKED = ["unverified", "unscored", "disagree"];
  const READ = "read"; // what the history keeps of an address that was read
  let head, matches = [], position = -1, reading = 0, searching = 0, width = 0;
  const unfolded = new Set(); // titles of sections
  let state = {};
  let searched = { text: "", rows: null };

  // --- the block of data

  async function unpacked(line) {
    const bytes = Uint8Array.from(atob(line), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }

  function chunk(number) {
    let promise = opened.get(number);
    if (promise) {
      opened.delete(number);
    } else {
      promise = unpacked(lines[number + 1]).then((items) => ({ items, texts: items.flatMap((item) => item.texts) }));
      if (opened.size >= KEPT) opened.delete(opened.keys().next().value);
    }
    opened.set(number, promise);
    return promise;
  }

  // The position of the last of ascending numbers that is not above a number.
  function lastUpTo(numbers, most) {
    let low = 0, high = numbers.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (numbers[middle] <= most) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  const chunkOf = (text) => lastUpTo(head.firsts, text);

  function* textsOf(item) {
    for (const [, , items] of item.sections) for (const [, text] of items) yield text;
    for (const side of item.sides) {
      if (!side) continue;
      if (side.response !== undefined) yield side.response;
      for (const verdict of side.verdicts || []) {
        yield verdict.reasons;
        for (const [text] of verdict.quotes) yield text;
        for (const [name, text] of verdict.points) { yield name; yield text; }
      }
    }
  }

  async function readable(row) {
    const item = (await chunk(row[6])).items[row[7]];
    const unsearched = item.sides.flatMap((side) => [...((side && side.images) || []), ...((side && side.raw) || [])]);
    const numbers = [...new Set([...textsOf(item), ...unsearched.map(([, number]) => number).filter((number) => number !== null)])];
    const values = await Promise.all(numbers.map(async (number) => {
      const holder = chunkOf(number);
      return (await chunk(holder)).texts[number - head.firsts[holder]];
    }));
    return { item, texts: new Map(numbers.map((number, at) => [number, values[at]])) };
  }

  // --- elements

  function element(name, classes, ...children) {
    const made = document.createElement(name);
    if (classes) made.className = classes;
    made.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return made;
  }

  // A text with what would be hidden, or turn the line around, shown as its code.
  function letters(text) {
    const pieces = document.createDocumentFragment();
    let last = 0;
    for (const hit of text.matchAll(HIDDEN)) {
      const code = hit[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
      pieces.append(text.slice(last, hit.index), element("span", "code-point", `U+${code}`));
      last = hit.index + hit[0].length;
    }
    pieces.append(last ? text.slice(last) : text);
    return pieces;
  }

  function isolated(text) {
    return element("bdi", "", letters(text));
  }

  // The characters from one position to another, with what is marked among them.
  function marked(text, marks, from, to) {
    let last = from;
    const pieces = [];
    for (const [start, stop] of marks) {
      if (stop <= from) continue;
      if (start >= to) break;
      const begin = Math.max(start, from), end = Math.min(stop, to);
      pieces.push(letters(text.slice(last, begin)), element("mark", "", letters(text.slice(begin, end))));
      last = end;
    }
    return [...pieces, letters(text.slice(last, to))];
  }

  // Where a block ends: after a line or a word where one ends in its second half, and never within a character.
  function blockEnd(text, from) {
    let end = from + BLOCK;
    if (end >= text.length) return text.length;
    for (const blank of ["\n", " "]) {
      const at = text.lastIndexOf(blank, end - 1);
      if (at > from + BLOCK / 2) return at + 1;
    }
    for (let back = 0; back < 64 && JOINED.test(text.slice(end, end + 1)); back++) end--;
    return end;
  }

  // A long text is drawn in blocks, which the browser lays out only where they are seen.
  function blocks(text, marks) {
    const made = [];
    for (let from = 0, to; from < text.length; from = to) {
      to = blockEnd(text, from);
      made.push(element("div", "block", ...marked(text, marks, from, to)));
    }
    return made;
  }

  function written(text, marks = []) {
    const made = element("div", "text", ...marked(text, marks, 0, Math.min(text.length, LONGEST)));
    made.dir = "auto";
    if (text.length <= LONGEST) return made;
    const more = element("button", "more", `Show all ${text.length.toLocaleString("en")} characters`);
    more.type = "button";
    more.addEventListener("click", () => {
      made.replaceChildren(...blocks(text, marks));
      made.tabIndex = -1;
      made.focus({ preventScroll: true });
      more.remove();
    });
    return element("div", "", made, more);
  }

  function built(nodes) {
    return nodes.map((node) => {
      if (typeof node === "string") return letters(node);
      const [name, ...inner] = node;
      const made = element(ELEMENTS[name] || "span", ["heading", "link", "address"].includes(name) ? name : "", ...built(inner));
      return name === "table" ? element("div", "wide", made) : made;
    });
  }

  function badge(label) {
    const at = head.labels.indexOf(label);
    return element("span", `badge ${at < 0 ? "none" : head.tones[at]}`, letters(label));
  }

  // The colour and the letter of a run.
  function lettered(run) {
    return [element("span", `swatch ${head.looks[run]}`), element("span", "letter", head.letters[run]), " "];
  }

  function flag(text) {
    return element("span", "flag", text);
  }

  // --- filters

  const field = (name) => form.elements[name];

  function fragment(changes) {
    const all = { ...state, ...changes };
    const params = new URLSearchParams();
    for (const [name, value] of Object.entries(all)) if (value) params.set(name, value === true ? "1" : value);
    return `#${params}`;
  }

  const linkTo = ([key, epoch]) => fragment({ case: key, epoch: epoch === 1 ? "" : String(epoch) });

  // Where nothing is chosen, the address is that of the list.
  function remember(address) {
    history.replaceState(READ, "", address === "#" ? "#cases" : address);
  }

  function read() {
    const params = new URLSearchParams(location.hash.slice(1));
    const known = (name, among) => (among.includes(params.get(name)) ? params.get(name) : "");
    state = {
      stratum: known("stratum", head.strata),
      label: known("label", [...head.labels, ...Object.values(STATES)]),
      text: params.get("text") || "",
      ...Object.fromEntries(TICKED.map((name) => [name, params.get(name) === "1"])),
      case: params.get("case") || "",
      epoch: params.get("epoch") || "",
    };
  }

  function fill() {
    for (const name of CHOSEN) field(name).value = state[name];
    for (const name of TICKED) field(name).checked = state[name];
  }

  async function search(text) {
    const mine = ++searching, wanted = text.toLowerCase(), rows = new Set();
    if (!wanted) return null;
    const hits = new Set();
    let row = 0, since = performance.now();
    for (let number = 0; number < head.firsts.length; number++) {
      const { items, texts } = await chunk(number);
      if (performance.now() - since > BREATH) {
        await new Promise((resume) => { setTimeout(resume); });
        since = performance.now();
      }
      if (mine !== searching) return undefined;
      const first = head.firsts[number];
      texts.forEach((candidate, at) => { if (candidate.toLowerCase().includes(wanted)) hits.add(first + at); });
      for (const item of items) {
        const fields = [head.rows[row][0], item.group, ...item.meta.map(([, value]) => value)];
        if (fields.some((value) => value.toLowerCase().includes(wanted))) rows.add(row);
        else for (const numbered of textsOf(item)) if (hits.has(numbered)) { rows.add(row); break; }
        row++;
      }
    }
    return rows;
  }

  async function apply() {
    fill();
    if (searched.text !== state.text) {
      passing.textContent = "Searching …";
      const rows = await search(state.text);
      if (rows === undefined) return;
      searched = { text: state.text, rows };
    }
    const stratum = head.strata.indexOf(state.stratum);
    let label = head.labels.indexOf(state.label);
    if (label < 0 && state.label) label = Number(Object.keys(STATES).find((key) => STATES[key] === state.label));
    const flags = UNVERIFIED * state.unverified | UNSCORED * state.unscored | DIFFERENT * state.disagree;
    matches = [];
    head.rows.forEach((row, at) => {
      if (state.stratum && row[2] !== stratum) return;
      if (state.label && !row[3].includes(label)) return;
      if ((row[4] & flags) !== flags) return;
      if (searched.rows && !searched.rows.has(at)) return;
      matches.push(at);
    });
    passing.textContent = counted();
    position = placed();
    if (position < 0 && !state.case && matches.length) position = 0;
    redraw();
    await show(position < 0 ? head.rows.find(isNamed) : head.rows[matches[position]]);
  }

  // How many pass the filters, of cases and of control cases.
  function counted() {
    const control = head.strata.indexOf(head.control_stratum);
    const kinds = [[noun, nouns, (row) => row[2] !== control], [head.control, head.controls, (row) => row[2] === control]];
    return kinds.map(([one, several, isOf]) => {
      const all = head.rows.filter(isOf).length, passing = matches.filter((at) => isOf(head.rows[at])).length;
      return all || one === noun ? `${passing.toLocaleString("en")} of ${all.toLocaleString("en")} ${all === 1 ? one : several}` : "";
    }).filter(Boolean).join(", ");
  }

  function change() {
    const next = { case: "", epoch: "" };
    for (const name of CHOSEN) next[name] = field(name).value;
    for (const name of TICKED) next[name] = field(name).checked;
    if ([...CHOSEN, ...TICKED].every((name) => next[name] === state[name])) return;
    remember(fragment(next));
    read();
    list.scrollTop = 0;
    apply();
  }

  // --- the list

  // Whether a row is the one that the address names.
  function isNamed(row) {
    return row[0] === state.case && String(row[1]) === (state.epoch || "1");
  }

  function placed() {
    return matches.findIndex((at) => isNamed(head.rows[at]));
  }

  function reveal() {
    if (position < 0) return;
    const top = tops[position], end = tops[position + 1];
    if (top < list.scrollTop) list.scrollTop = top;
    else if (end > list.scrollTop + list.clientHeight) list.scrollTop = end - list.clientHeight;
  }

  function entry(row, at) {
    const [key, epoch, stratum, marks, flags, excerpt] = row;
    const link = element("a", "",
      element("span", "line",
        element("span", "stratum", named(stratum)),
        ...marks.map((label, run) => {
          const grade = label < 0 ? element("span", "badge none", STATES[label]) : badge(head.labels[label]);
          return marks.length > 1 ? element("span", "of-run", lettered(run), grade) : grade;
        }),
        head.epochs > 1 ? element("span", "quiet", `epoch ${epoch}`) : null,
        flags & UNVERIFIED ? flag("unverified") : null,
        flags & DIFFERENT && new Set(marks).size === 1 ? flag("differ") : null),
      element("span", "excerpt", isolated(excerpt || key)));
    link.href = linkTo(row);
    if (at === position) link.setAttribute("aria-current", "true");
    const made = element("li", "", link);
    made.setAttribute("aria-setsize", String(matches.length));
    made.setAttribute("aria-posinset", String(at + 1));
    return made;
  }

  // What the height of a row depends on.
  function shapeOf([, epoch, stratum, marks, flags]) {
    return [stratum, marks, flags, String(epoch).length].join();
  }

  function measure() {
    width = list.clientWidth;
    const shapes = new Map();
    for (const row of head.rows) {
      if (shapes.size < SHAPES && !shapes.has(shapeOf(row))) shapes.set(shapeOf(row), entry(row, -1));
    }
    rowsOf.append(...shapes.values());
    heights.clear();
    for (const [shape, made] of shapes) heights.set(shape, Math.ceil(made.getBoundingClientRect().height));
    for (const made of shapes.values()) made.remove();
  }

  function lay() {
    if (width !== list.clientWidth) measure();
    let highest = 0, end = 0;
    for (const height of heights.values()) highest = Math.max(highest, height);
    tops = [0, ...matches.map((at) => (end += heights.get(shapeOf(head.rows[at])) || highest))];
    rowsOf.style.height = `${end}px`;
  }

  function redraw() {
    const held = rowsOf.contains(document.activeElement);
    lay();
    for (const row of drawn.values()) row.remove();
    drawn.clear();
    reveal();
    draw();
    if (held) focusEntry();
  }

  function focusEntry() {
    (drawn.has(position) ? drawn.get(position).firstChild : list).focus({ preventScroll: true });
  }

  // A row that has the focus stays, wherever the list is scrolled to.
  function draw() {
    const first = Math.max(0, lastUpTo(tops, list.scrollTop) - SPARE);
    const last = Math.min(matches.length, lastUpTo(tops, list.scrollTop + list.clientHeight) + 1 + SPARE);
    for (const [at, row] of drawn) {
      if ((at < first || at >= last) && !row.contains(document.activeElement)) { row.remove(); drawn.delete(at); }
    }
    for (let at = first; at < last; at++) {
      if (drawn.has(at)) continue;
      const made = entry(head.rows[matches[at]], at), next = [...drawn.keys()].filter((other) => other > at).sort((a, b) => a - b)[0];
      made.style.top = `${tops[at]}px`;
      made.style.height = `${tops[at + 1] - tops[at]}px`;
      rowsOf.insertBefore(made, next === undefined ? null : drawn.get(next));
      drawn.set(at, made);
    }
  }

  function named(stratum) {
    const name = head.strata[stratum];
    return name === head.control_stratum ? head.control : name;
  }

  // --- the reading

  function chat(items, texts) {
    return element("div", "chat", ...items.map(([who, text]) =>
      element("div", `message ${who === items[items.length - 1][0] ? "" : "other"}`, element("span", "who", letters(who)), written(texts.get(text)))));
  }

  function terms(items, texts) {
    return element("dl", "terms", ...items.map(([name, text]) =>
      element("div", "", element("dt", "", letters(name)), element("dd", "", written(texts.get(text))))));
  }

  // What stood there before the answer, folded; what a reader unfolds stays so from case to case.
  function part([title, kind, items], texts) {
    const [, last] = items[items.length - 1] || [];
    const excerpt = kind === "chat" && last !== undefined ? isolated(texts.get(last).slice(0, EXCERPT)) : null;
    const made = element("details", "part",
      element("summary", "", letters(title), ` (${items.length})`, excerpt && element("span", "quiet", " … ", excerpt)),
      (kind === "chat" ? chat : terms)(items, texts));
    made.open = unfolded.has(title);
    // A click comes before the state changes; the event of the change comes later than a key that follows at once.
    made.querySelector("summary").addEventListener("click", () => unfolded[made.open ? "delete" : "add"](title));
    return made;
  }

  function response(side, texts) {
    const text = texts.get(side.response);
    const plain = written(text, side.marks || []);
    if (!side.rendered) return [plain];
    const rich = element("div", "text rendered", ...built(side.rendered));
    rich.dir = "auto";
    const turn = element("button", "turn", "as written");
    turn.type = "button";
    turn.setAttribute("aria-pressed", String(shown.classList.contains("written")));
    turn.addEventListener("click", () => {
      const pressed = String(shown.classList.toggle("written"));
      for (const button of shown.querySelectorAll(".turn")) button.setAttribute("aria-pressed", pressed);
    });
    return [turn, rich, plain];
  }

  function by(verdict) {
    return [" by ", verdict.judge ? isolated(verdict.judge) : "the benchmark"];
  }

  // The only verdict has its grade above the response.
  function verdict(one, only, several, texts) {
    const quotes = one.quotes.map(([text, stands, short]) => {
      const note = !stands ? "not found in the response" : short ? "too short to count as evidence" : null;
      return element("li", note ? "missing" : "", element("q", "", isolated(texts.get(text))), note ? flag(note) : null);
    });
    return element("div", "verdict",
      only ? null : element("p", "grades", badge(one.label), by(one), several ? ` (${one.epoch})` : "",
        one.verified === false ? flag("unverified") : null),
      texts.get(one.reasons) ? written(texts.get(one.reasons)) : null,
      quotes.length ? element("ul", "quotes", ...quotes) : null,
      one.points.length ? terms(one.points.map(([name, text]) => [texts.get(name), text]), texts) : null);
  }

  function side(answer, run, texts) {
    const alone = head.runs.length === 1;
    const top = alone ? null : element("h4", "", lettered(run), isolated(head.runs[run]));
    if (!answer) return element("div", "side", top, element("p", "quiet", `This run does not have this ${noun}.`));
    const verdicts = answer.verdicts || [], several = verdicts.some((one) => one.epoch > 1);
    const [only] = verdicts.length === 1 && verdicts[0].label === answer.label ? verdicts : [];
    const missing = answer.response === undefined;
    return element("div", "side", top,
      element("p", "grades", answer.label ? badge(answer.label) : element("span", "badge none", answer.state),
        only ? [...by(only), only.verified === false ? flag("unverified") : null] : null,
        answer.reason ? element("span", "quiet", letters(answer.cause ? `${answer.reason}: ${answer.cause}` : answer.reason)) : null,
        answer.truncated ? flag("cut at the token limit") : null,
        answer.rephrased ? flag("asked with other wording") : null,
        answer.awaited ? flag(`${answer.awaited} verdicts pending`) : null),
      missing ? element("p", "quiet", "No response.") : element("div", `response ${head.looks[run]}`, ...response(answer, texts)),
      answer.images ? element("div", "shots", ...answer.images.map((shot) => image(shot, texts))) : null,
      ...verdicts.map((one) => verdict(one, only, several, texts)),
      ...(answer.unread || []).map(([judge, why]) => element("p", "quiet", isolated(judge || "the benchmark"), `: no verdict, ${why}`)),
      answer.raw ? part(["raw replies", "terms", answer.raw], texts) : null);
  }

  function image([caption, number, why], texts) {
    const shot = element("img", "");
    if (number !== null) Object.assign(shot, { src: texts.get(number), alt: caption });
    return element("figure", "shot", number === null ? null : shot,
      element("figcaption", "quiet", letters(number === null ? `${caption}: ${why}` : caption)));
  }

  async function show(row) {
    const mine = ++reading;
    if (!row) {
      const why = state.case ? `There is no ${noun} of this name here.` : `No ${noun} matches these filters.`;
      shown.replaceChildren(element("p", "quiet", why));
      delete shown.dataset.key;
      return;
    }
    const { item, texts } = await readable(row);
    if (mine !== reading) return;
    const [key, epoch, stratum] = row;
    const link = element("button", "share", "Copy link");
    link.type = "button";
    link.setAttribute("aria-live", "polite");
    link.addEventListener("click", async () => {
      remember(linkTo(row));
      link.textContent = await navigator.clipboard.writeText(location.href).then(() => "Copied", () => "It is in the address bar");
    });
    const before = element("button", "step", "← Previous"), after = element("button", "step", "Next →");
    for (const [button, by] of [[before, -1], [after, 1]]) {
      button.type = "button";
      button.disabled = position + by < 0 || position + by >= matches.length;
      button.addEventListener("click", () => step(by));
    }
    const about = item.meta.filter(([, value]) => value !== key && value !== "");
    const holder = shown.contains(document.activeElement) ? document.activeElement : null;
    const used = [...shown.querySelectorAll(".steps > *")].indexOf(holder);
    shown.replaceChildren(
      element("div", "steps", before, after, link),
      element("h3", "", named(stratum), " ", element("span", "key", isolated(key)),
        head.epochs > 1 ? element("span", "quiet", ` epoch ${epoch}`) : null),
      element("div", `sides ${head.runs.length > 1 ? "several" : ""}`, ...item.sides.map((answer, run) => side(answer, run, texts))),
      ...item.sections.map((section) => part(section, texts)),
      element("details", "part", element("summary", "", "details"),
        element("dl", "terms", ...about.map(([name, value]) =>
          element("div", "", element("dt", "", letters(name.replaceAll("_", " "))), element("dd", "", isolated(value)))))));
    shown.dataset.key = key;
    shown.scrollTop = 0;
    if (holder) ([[before, after], [after, before], [link]][used] || []).concat(shown).find((holder) => !holder.disabled).focus({ preventScroll: true });
  }

  // Brings the case that was opened into the window, with its list where that stands beside it.
  function bring() {
    const { top } = shown.getBoundingClientRect(), above = list.getBoundingClientRect();
    const unseen = top < 0 || top > innerHeight * 0.75;
    if (unseen) (top < above.bottom ? section : shown).scrollIntoView();
  }

  async function step(by) {
    const at = position + by;
    if (at < 0 || at >= matches.length) return;
    remember(linkTo(head.rows[matches[at]]));
    const within = list.contains(document.activeElement);
    await update();
    if (!within) bring();
  }

  // The address is another: a link was followed, or the way back.
  async function go() {
    const followed = history.state !== READ;
    if (followed && location.hash.length > 1 && !location.hash.includes("=")) {
      // A part of the page: what is chosen stays so, and stays in the address.
      history.replaceState(READ, "", fragment({}) === "#" ? location.hash : fragment({}));
      return;
    }
    if (followed) history.replaceState(READ, "");
    await update();
    if (followed && state.case) bring();
  }

  // Where the filters are as they were, only the position in the list changes.
  async function update() {
    const before = state, old = position;
    read();
    const same = [...CHOSEN, ...TICKED].every((name) => before[name] === state[name]);
    position = same ? placed() : -1;
    if (position < 0) { await apply(); return; }
    if (drawn.has(old)) drawn.get(old).firstChild.removeAttribute("aria-current");
    if (drawn.has(position)) drawn.get(position).firstChild.setAttribute("aria-current", "true");
    reveal();
    draw();
    if (rowsOf.contains(document.activeElement)) focusEntry();
    await show(head.rows[matches[position]]);
  }

  function pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    const typing = event.target.matches("input[type=search], select, textarea");
    if (event.key === "Escape" && typing) { event.preventDefault(); event.target.blur(); return; }
    if (typing) return;
    const within = list.contains(event.target);
    const by = { j: 1, ArrowRight: 1, k: -1, ArrowLeft: -1, ...(within ? { ArrowDown: 1, ArrowUp: -1 } : {}) }[event.key];
    const scrolls = event.key.startsWith("Arrow") && event.target.matches("[tabindex='0']") && !within;
    if (by && !scrolls) { event.preventDefault(); step(by); }
    else if (event.key === "/") { event.preventDefault(); field("text").focus(); field("text").select(); }
    else if (event.key === "?") { event.preventDefault(); help.showModal(); }
  }

  function options(name, values) {
    for (const [value, text] of values) {
      const option = element("option", "", text);
      option.value = value;
      field(name).append(option);
    }
  }

  async function begin() {
    head = await unpacked(lines[0]);
    options("stratum", head.strata.map((name, at) => [name, named(at)]));
    options("label", [...head.labels, ...Object.values(STATES).slice(0, head.runs.length > 1 ? 3 : 2)].map((label) => [label, label]));
    of("browser").hidden = false;
    read();
    history.replaceState(READ, "");
    await apply();
    if (state.case) bring();
    else if (location.hash.includes("=")) section.scrollIntoView();
    let timer = 0, frame = 0;
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("change", change);
    field("text").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(change, 200); });
    list.addEventListener("scroll", () => { cancelAnimationFrame(frame); frame = requestAnimationFrame(draw); });
    addEventListener("resize", () => (width === list.clientWidth ? draw() : redraw()));
    addEventListener("hashchange", go);
    document.addEventListener("keydown", pressed);
    of("help-open").addEventListener("click", () => help.showModal());
    document.documentElement.dataset.ready = "yes";
  }

  addEventListener("beforeprint", () => { for (const breakdown of document.querySelectorAll("details.breakdown")) breakdown.open = true; });
  begin();
})();
