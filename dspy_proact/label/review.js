// The form of an item under review, in place of that by which responses are rated: texts that can be changed where they
// stand, a verdict, two questions. What pages.js asks of a form it does alike.
"use strict";
rating.begin = (article, send, undo) => {
  const { kept, draftName, timed, token, oneByOne, whySkipped, pressing } = rating, form = article.querySelector("form");
  const { item, repeated, study } = article.dataset, name = draftName(study, item, repeated);
  const draft = { key: token(), grade: "", happens: "", reads_like_test: "", reason: "", edits: {}, seconds: 0, ...kept(name) };
  const ending = new AbortController(), bound = { signal: ending.signal };
  const on = (target, type, does, more = {}) => target.addEventListener(type, does, { ...bound, ...more });
  const part = (selector) => form.querySelector(selector);
  const QUESTIONS = ["grade", "happens", "reads_like_test"];
  const MISSING = { grade: "Choose whether it can be used.", happens: "Say whether this could happen.", reads_like_test: "Say whether it reads like a test." };
  const boxes = [...article.querySelectorAll("textarea[data-field]")];

  // --- texts

  const changed = (box) => box.value !== box.defaultValue;
  const around = (box, selector) => box.closest(".field-of-item").querySelector(selector);

  function fit(box) {
    box.style.height = "auto";
    box.style.height = `${box.scrollHeight + 2}px`;
  }

  function open(box, shown = true) {
    box.hidden = !shown;
    around(box, ".shown").hidden = shown;
    const keeps = around(box, ".keeps");
    if (keeps) keeps.hidden = !shown;
    if (shown) fit(box);
    mark(box);
  }

  function mark(box) {
    box.closest(".field-of-item").classList.toggle("changed", changed(box));
    around(box, ".change").textContent = changed(box) ? "Restore" : box.hidden ? "Edit" : "Close";
  }

  // An edit chooses its verdict; without one left, the verdict is open again.
  function edited(box) {
    const any = boxes.some(changed), edit = part("input[value=edit]");
    if (any && !part("input[value=reject]").checked) edit.checked = true;
    if (!any && edit.checked) edit.checked = false;
    mark(box);
    keep();
  }

  function change(box) {
    if (changed(box)) { box.value = box.defaultValue; open(box, false); edited(box); around(box, ".change").focus(); }
    else { open(box, box.hidden); if (!box.hidden) box.focus(); }
  }

  // --- the draft

  const chosen = (field) => part(`input[name=${field}]:checked`)?.value || "";

  function keep() {
    for (const field of QUESTIONS) draft[field] = chosen(field);
    draft.reason = part("textarea[name=reason]").value;
    draft.edits = Object.fromEntries(boxes.filter(changed).map((box) => [box.dataset.field, box.value]));
    kept(name, draft);
    form.dataset.asks = QUESTIONS.find((field) => !draft[field]) || QUESTIONS[QUESTIONS.length - 1];
    const count = Object.keys(draft.edits).length;
    part(".changes").textContent = count ? `${count} changed.` : "";
  }

  const wrong = (problem) => { part(".problem").textContent = problem; };

  // --- saving

  function give(fields) {
    return doing("Saving …", async () => {
      await send({ key: draft.key, item, repeated, seconds: draft.seconds, ...fields });
      kept(name, null);
    });
  }

  function save() {
    keep();
    const { grade, happens, reads_like_test, reason, edits } = draft, missing = QUESTIONS.find((field) => !draft[field]);
    const box = part("textarea[name=reason]"), many = Object.keys(edits).length;
    if (missing) { wrong(MISSING[missing]); part(`input[name=${missing}]`).focus(); return; }
    if (grade === "reject" && !reason.trim()) { wrong("Say why it cannot be used."); box.focus(); return; }
    if (grade === "edit" && !many) { wrong("Nothing is changed. Edit a text, or choose another answer."); return; }
    if (grade === "accept" && many) { wrong("Something is changed. Choose Edit, or restore it."); return; }
    give({ grade, happens, reads_like_test, reason, edits: JSON.stringify(grade === "edit" ? edits : {}) });
  }

  async function skip() {
    const why = await whySkipped(draft.reason);
    if (why) await give({ grade: "", reason: why });
  }

  // --- keys

  function nextText() {
    const box = boxes.find((one) => one.hidden && around(one, ".change").getBoundingClientRect().top > 60) || boxes.find((one) => one.hidden);
    if (box) { open(box); box.focus(); box.scrollIntoView({ block: "center" }); }
  }

  const does = {
    g: () => { form.dataset.asks = "grade"; (part("input[name=grade]:checked") || part("input")).focus(); },
    e: nextText,
    r: () => part("textarea[name=reason]").focus(),
    s: skip,
  };

  for (const box of boxes) {
    if (box.dataset.field in draft.edits) box.value = draft.edits[box.dataset.field];
    open(box, changed(box));
    on(box, "input", () => { fit(box); edited(box); });
    on(around(box, ".change"), "click", () => change(box));
  }
  for (const field of QUESTIONS) for (const input of form.querySelectorAll(`input[name=${field}]`)) input.checked = input.value === draft[field];
  part("textarea[name=reason]").value = draft.reason;
  keep();
  const doing = oneByOne(form, timed(draft, on, keep), () => ending.abort());
  on(form, "submit", (event) => { event.preventDefault(); save(); });
  on(form, "change", keep);
  on(part("textarea[name=reason]"), "input", keep);
  on(part(".skip-item"), "click", skip);
  on(part(".undo"), "click", () => doing("Undoing …", undo));
  on(part(".keys"), "click", () => document.getElementById("key-list").showModal());
  on(document, "keydown", pressing(form, does, save, keep));
  on(window, "resize", () => { for (const box of boxes) if (!box.hidden) fit(box); });
  return () => ending.abort();
};
