// What the pages say to the server. Every write has the page's CSRF value, and a key by which it counts once.
"use strict";
(() => {
  const of = (id) => document.getElementById(id);
  const { begin, token, kept, draftName } = rating;

  async function post(path, fields, key = token()) {
    const body = new URLSearchParams({ ...fields, key, csrf: document.body.dataset.csrf || "" });
    let response, answer;
    try {
      response = await fetch(path, { method: "POST", body, redirect: "error" });
      answer = await response.json();
    } catch {
      throw new Error("The server does not answer. What you wrote stays in this page; try again in a moment.");
    }
    if (!response.ok) throw new Error(answer.problem);
    return answer;
  }

  const go = ({ to }) => location.replace(to);

  // Does what a button asks for, and says below it why that failed.
  function attempt(does) {
    const problem = document.querySelector(".problem");
    problem.textContent = "";
    return does().catch((error) => { problem.textContent = error.message; });
  }

  async function undo() {
    const answer = await post("/undo", {}), { draft } = answer;
    if (draft) kept(draftName(document.body.dataset.study, draft.item, draft.repeated), { ...draft, key: token() });
    go(answer);
  }

  // Practice: the right grade and why, above the criteria.
  function explain({ correct, grade, why: reason, passed, again }) {
    const box = of("explained"), title = document.createElement("h2"), why = document.createElement("p");
    const next = document.createElement("a"), more = document.createElement("p");
    title.textContent = correct ? `Right: ${grade}` : `The right grade is ${grade}`;
    why.textContent = reason;
    more.textContent = passed ? "Practice is over. Next come the responses to rate."
      : passed === false ? "In both rounds your grades differed from the criteria. Read these closely before you go on."
        : again ? "You graded two or more of the three differently. Read the criteria once more, and try three others." : "";
    Object.assign(next, { href: "/rate", className: "save", textContent: "Next" });
    box.replaceChildren(title, why, more, next);
    box.hidden = false;
    const form = document.querySelector(".rating");
    for (const input of form.elements) input.disabled = true;
    form.querySelector(`input[value="${CSS.escape(grade)}"]`)?.closest("label").classList.add("right");
    form.prepend(box);
    form.scrollTop = 0;
    next.focus();
  }

  function rate(article) {
    const practice = "practice" in article.dataset;
    begin(article, async ({ key, spans, ...fields }) => {
      const answer = await post(practice ? "/practice" : "/rate", { ...fields, spans: JSON.stringify(spans || []) }, key);
      if (practice) explain(answer);
      else go(answer);
    }, undo);
    of("leave")?.addEventListener("click", () => of("leaving").showModal());
    of("leaving").addEventListener("close", () => {
      if (of("leaving").returnValue === "leave") attempt(async () => go(await post("/leave", {})));
    });
  }

  // The door: the token of the link opens a page, or a new rater chooses a pseudonym.
  function enter() {
    const form = of("join"), key = token(), fragment = location.hash.slice(1);
    if (!fragment) return;
    of("door-state").textContent = "";
    attempt(async () => {
      const answer = await post("/enter", { token: fragment });
      if (!answer.join) { go(answer); return; }
      form.hidden = false;
      form.elements.name.focus();
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      attempt(async () => go(await post("/join", { token: fragment, name: form.elements.name.value }, key)));
    });
  }

  const article = document.querySelector("article.item");
  if (article) rate(article);
  if (of("join")) {
    enter();
    addEventListener("hashchange", () => location.reload()); // another link in this tab differs in the fragment alone
  }
  of("undo-last")?.addEventListener("click", () => attempt(undo));
  of("link")?.addEventListener("click", () => attempt(async () => {
    of("own-link").textContent = `Only for you: ${(await post("/link", {})).link}`;
  }));
  document.documentElement.dataset.ready = "yes";
})();
