"""A corpus of logs: what is said first of it, its page, its rows, and how it is read by other commands."""

import json
import re
import shlex
from pathlib import Path

import pytest
from builders.logged_chats import CHAT, LISBON, LogScript, aftermath, findings, need, rows, written_log
from builders.scripted_making import library_brief
from support.provider import FAULTS, SimulatedProvider, refusal

from dspy_proact import Gate, Generation, Limits, ModelSpec
from dspy_proact.audit.audit import Audit
from dspy_proact.benchmarks.proactbench.corpus.dialogues import load_corpus
from dspy_proact.benchmarks.proactbench.generation.brief import brief_text, read_brief
from dspy_proact.benchmarks.proactbench.logs.summary import REVIEW, LogCorpus, LogSummary
from dspy_proact.benchmarks.proactbench.reviewing import reviewing
from dspy_proact.errors import LimitReached, ProviderDown, RunError, UsageError
from dspy_proact.evaluation.registry import benchmark_named
from dspy_proact.publish.publication import publish
from dspy_proact.runs import CONTROL

CRUTCHES = "My uncle walks on crutches today"
QUIET = ("My uncle walks on crutches today. Which novels are in?", "None.", "I see.", "Bye.")
"""Nobody comes back to it."""
GRADES = {LISBON: "PARTIAL", CRUTCHES: "FAIL"}


def find(shown):
    """The need of the first message, surer of the one that nobody comes back to."""
    first = shown["conversation"][0]["user"]
    if len(shown["conversation"]) > 1:
        return findings()
    return findings(need() if LISBON in first else need(CRUTCHES, certainty=1.0))


def after(shown):
    return (
        aftermath("confirmed", "Why did nobody renew it?", 3)
        if LISBON in shown["after"][0]["user"]
        else aftermath("open")
    )


class GradedByFact(LogScript):
    """A judge that grades by the fact in the conversation."""

    def __call__(self, received):
        text = received.body["messages"][-1]["content"]
        grade = next((grade for fact, grade in GRADES.items() if fact in text), "PASS")
        self.answers["grade"] = lambda _: grade
        return super().__call__(received)


def made(tmp_path, script=None, *chats, **options):
    script = script or GradedByFact(findings=find, aftermath=after)
    log = written_log(tmp_path / "log.jsonl", *(chats or (QUIET, CHAT)))
    return script.made(tmp_path / "out", log, gate=Gate(concurrency=1), **options)


def summary_of(tmp_path, generated, proof="full"):
    with SimulatedProvider(LogScript()) as provider:
        maker = LogScript().making(provider, tmp_path / "log.jsonl", proof).maker
    return LogSummary(LogCorpus(library_brief(), maker.log, generated.made, proof, {}))


# What is said first


def test_the_headline_says_who_graded_and_what_came_after_and_that_nobody_checked_it(tmp_path):
    lead = summary_of(tmp_path, made(tmp_path)).headline
    assert lead.text == (
        "2 needs that users hinted at and did not ask about were found in 2 conversations; by judge openai/any, the "
        "logged responses took up 0 of them."
    )
    assert len(lead.text.split()) <= 30
    assert lead.caveats[:2] == (
        "Not taken up, by the judge (1 only in part): 2. The user came back to 1 of them later, as the auditor says "
        "with a quote; the other is open.",
        REVIEW,
    )


def test_nothing_is_called_overlooked_before_it_is_graded(tmp_path):
    generated = made(tmp_path, proof="none")
    lead = summary_of(tmp_path, generated, "none").headline
    assert lead.text.endswith("were found in 2 conversations; the logged responses are not graded.")
    page = (tmp_path / "out/overlooked.html").read_text()
    assert '<h2 id="ungraded-title">Not graded</h2>' in page
    assert "overlooked-title" not in page
    assert "judge" not in summary_of(tmp_path, generated, "none").corpus.models


@pytest.mark.parametrize(
    ("grades", "confirmed", "headline", "caveat"),
    [
        ("P", "", "1 need that a user hinted at and did not ask about was found in 1 conversation; by judge J, the "
         "logged response took it up.", None),
        ("F", "1", "1 need that a user hinted at and did not ask about was found in 1 conversation; by judge J, the "
         "logged response did not take it up.", "1. The user came back to it later, as the auditor says with a quote."),
        ("F", "", None, "1. By the auditor, no user came back to it later."),
        ("FF", "", None, "2. By the auditor, no user came back to any of them later."),
        ("FF", "11", None, "2. The user came back to both of them later, as the auditor says with quotes."),
        ("FFF", "111", None, "3. The user came back to all of them later, as the auditor says with quotes."),
        ("FFFP", "1", "4 needs that users hinted at and did not ask about were found in 4 conversations; by judge J, "
         "the logged responses took up 1 of them.",
         "3. The user came back to 1 of them later, as the auditor says with a quote; the others are open."),
    ],
)  # fmt: skip
def test_what_is_said_first_is_a_sentence_in_every_number(tmp_path, grades, confirmed, headline, caveat):
    """By conversation: the grade of its one response, P or F, and whether the user came back."""
    facts = [f"My uncle number {number} walks on crutches today" for number in range(len(grades))]

    def number(text):
        return next(at for at, fact in enumerate(facts) if fact in text)

    def later(shown):
        raised = confirmed[number(shown["after"][0]["user"]) :][:1] == "1"
        return aftermath("confirmed", "Why did nobody renew it?", 2) if raised else aftermath("open")

    class Judge(LogScript):
        def __call__(self, received):
            text = received.body["messages"][-1]["content"]
            if received.role == "judge":
                self.answers["grade"] = lambda _: {"P": "PASS", "F": "FAIL"}[grades[number(text)]]
            return super().__call__(received)

    def finder(shown):
        first = shown["conversation"][0]["user"]
        return findings(*([need(facts[number(first)])] if len(shown["conversation"]) == 1 else []))

    chats = [(f"{fact}. Which novels are in?", "None.", "Why did nobody renew it?", "Sorry.") for fact in facts]
    generated = made(tmp_path, Judge(findings=finder, aftermath=later), *chats)
    lead = summary_of(tmp_path, generated).headline
    assert headline is None or lead.text == headline.replace("judge J", "judge openai/any")
    assert lead.caveats[0] == (REVIEW if caveat is None else f"Not taken up, by the judge: {caveat}")


def test_logs_without_a_need_are_followed_by_a_command_that_works_and_their_eval_says_what_they_are(proact, tmp_path):
    log = written_log(tmp_path / "log.jsonl", QUIET)
    (tmp_path / "brief.toml").write_text(brief_text(library_brief()), encoding="utf-8")
    with SimulatedProvider(LogScript(findings=lambda _: findings())) as provider:
        status, _, err = proact(
            *("generate", "--logs", log, "--brief", tmp_path / "brief.toml", "--out", "corpus"),
            *("--model", "openai/any", "--model-api-base", provider.base("any"), "--role", "finder=openai/other"),
            *("--role-api-base", f"finder={provider.base('any')}"),
        )
        assert (status, "There is nothing to evaluate" in err) == (0, True), err
        (step,) = re.findall(r"Next: dspy-proact (.*)", err)
        assert step.endswith("--seed 1 --dry-run")
        assert proact(*shlex.split(step))[0] == 0
    status, _, err = proact("eval", "--corpus", "corpus", "--answers", "logged", "--judge", "embedded")
    assert (status, "no need was found in these logs, so that there is nothing to measure" in err) == (2, True), err


def test_a_log_without_a_need_says_so_and_is_no_corpus(tmp_path):
    generated = made(tmp_path, LogScript(findings=lambda _: findings()))
    lead = summary_of(tmp_path, generated).headline
    assert lead.text == "No need that a user hinted at and did not ask about was found in 2 conversations."
    assert (tmp_path / "out/final_dialogues.jsonl").read_text() == ""


def test_a_verdict_that_is_missing_is_counted_and_makes_the_denominator_smaller_by_name(tmp_path):
    class Unreadable(GradedByFact):
        def __call__(self, received):
            refused = received.role == "judge" and CRUTCHES in str(received.body)
            return refusal(400) if refused else super().__call__(received)

    generated = made(tmp_path, Unreadable(findings=find, aftermath=after))
    lead = summary_of(tmp_path, generated).headline
    assert "took up 0 of 1 graded." in lead.text
    assert "1 logged response could not be graded." in lead.caveats


def test_the_surest_come_first_what_users_came_back_to_before_what_models_are_surer_of(tmp_path):
    summary = summary_of(tmp_path, made(tmp_path))
    assert [one.trigger.need.facts[0].quote for one in summary.triggers] == [LISBON, CRUTCHES]
    assert [one.kept.slot for one in summary.triggers] == [2, 1]
    assert summary.triggers[1].trigger.need.certainty > summary.triggers[0].trigger.need.certainty


@pytest.mark.parametrize(
    ("days", "period"),
    [
        (["2026-11-16"], "16 November 2026"),
        (["2026-11-22", "2026-11-16", None], "16 to 22 November 2026"),
        (["2026-10-30", "2026-11-02"], "30 October to 2 November 2026"),
        (["2025-12-30", "2026-01-02"], "30 December 2025 to 2 January 2026"),
        ([None], ""),
    ],
)
def test_the_title_has_the_days_of_the_conversations(tmp_path, days, period):
    generated = made(tmp_path, LogScript(findings=lambda _: findings()), QUIET)
    (kept,) = generated.made.kept
    items = [
        type(kept)(
            1, 1, kept.item.model_copy(update={"dialogue": kept.item.dialogue.model_copy(update={"day": day})}), ()
        )
        for day in days
    ]
    summary = summary_of(tmp_path, generated)
    object.__setattr__(summary.corpus.made, "kept", items)
    assert summary.title == f"What our assistant overlooked{', ' if period else ''}{period}"


# The page


def test_the_page_shows_both_sides_with_the_facts_marked_and_what_came_after(tmp_path):
    made(tmp_path)
    page = (tmp_path / "out/overlooked.html").read_text()
    assert page.index("taken up in part</h2>".capitalize()) > page.index(">Overlooked</h2>")
    assert f"<mark>{LISBON}</mark>" in page
    assert "Ishiguro is in." in page
    assert "Later, at turn 3, the user wrote:" in page
    assert "Why did nobody renew it?" in page
    assert "What our assistant overlooked, 16 to 17 November 2026" in page


# Rows, and other commands


def test_the_rows_are_those_of_any_corpus_and_a_closing_before_which_nobody_found_a_need_is_a_control(tmp_path):
    thanks = ("How many books may I take?", "Ten.", "Thanks, that was all.", "Bye.")

    def closing(shown):
        return findings(closes=True) if "that was all" in shown["conversation"][-1]["user"] else findings()

    script = GradedByFact(findings=lambda shown: closing(shown) if "How many" in str(shown) else find(shown))
    made(tmp_path, script, QUIET, CHAT, thanks)
    corpus = load_corpus(str(tmp_path / "out"))
    assert [len(dialogue.triggers) for dialogue in corpus.dialogues] == [1, 1]
    assert corpus.ignored_fields == {}
    declared = benchmark_named(None)
    cases = declared.read(str(tmp_path / "out"), declared.settings_type())
    assert [case.stratum for case in cases.cases] == ["EMERGENT", "EMERGENT", CONTROL]
    assert [one["key"] for one in rows(tmp_path / "out", "logged.jsonl")] == list(corpus.triggers)
    assert not [check for check in Audit(str(tmp_path / "out")).checks if check.state == "failed"]
    assert len(reviewing().items(tmp_path / "out")) == 2
    assert read_brief(tmp_path / "out/brief.toml") == library_brief()


def test_its_card_says_that_people_wrote_it_and_that_whoever_publishes_answers_for_their_consent(tmp_path):
    made(tmp_path)
    public = publish(tmp_path / "out", tmp_path / "public").path
    card, sheet = (public / "README.md").read_text(), (public / "datasheet.md").read_text()
    assert "People wrote the user messages; models chose the triggers and wrote the rubrics." in card
    assert 'language_creators: ["found"]' in card
    assert "synthetic" not in card
    assert "from personas" not in card + sheet + (public / "croissant.json").read_text()
    assert "Whoever publishes it answers for their consent." in sheet


# Its making


def test_a_model_needs_the_brief_of_the_product(tmp_path):
    log = written_log(tmp_path / "log.jsonl", CHAT)
    with pytest.raises(UsageError, match=r"`brief`: name that of your product, by which needs are found"):
        Generation(None, ModelSpec(name="openai/any", api_base="http://localhost:1/v1"), logs=log)
    assert Generation(None, ModelSpec(name="openai/any"), logs="sample").items == 9  # the bundled ones have theirs


def test_the_stand_in_refuses_logs_that_are_not_the_bundled_ones(tmp_path, refused):
    log = written_log(tmp_path / "log.jsonl", CHAT)
    for more in ((), ("--brief", tmp_path / "brief.toml")):
        (tmp_path / "brief.toml").write_text(brief_text(library_brief()), encoding="utf-8")
        problem = " ".join(refused("generate", "--logs", log, *more).split())
        assert "the stand-in knows the bundled logs alone, --logs sample, and would find nothing in these" in problem
        assert "name a --model, and the --brief of your product" in problem


def test_more_conversations_keep_those_that_were_read_and_no_more_than_there_are_are_wanted(tmp_path):
    script, log = GradedByFact(findings=find, aftermath=after), written_log(tmp_path / "log.jsonl", QUIET, CHAT)
    with SimulatedProvider(script) as provider:
        first = script.making(provider, log, items=1).run(tmp_path / "out")
        assert "1 conversation of the log was not read" in (tmp_path / "out/datasheet.md").read_text()
        every = script.making(provider, log, items=99)
        assert every.items == 2
        second = every.run(tmp_path / "out")
        assert script.making(provider, log).run(tmp_path / "out").paid == 0
        with pytest.raises(RunError, match="holds 2 conversations"):
            script.making(provider, log, items=1).run(tmp_path / "out")
        other = written_log(tmp_path / "other.jsonl", CHAT)
        with pytest.raises(RunError, match=r"brief\.logs"):
            script.making(provider, other).run(tmp_path / "out")
    assert first.made.kept[0] == second.made.kept[0]


def test_a_limit_or_a_provider_that_is_down_stops_it_and_the_same_call_goes_on_without_paying_twice(tmp_path):
    script, log = GradedByFact(findings=find, aftermath=after), written_log(tmp_path / "log.jsonl", QUIET, CHAT)
    with SimulatedProvider(script) as provider:
        with pytest.raises(LimitReached):
            script.making(provider, log, gate=Gate(concurrency=1, limits=Limits(calls=5))).run(tmp_path / "out")
        provider.script = lambda received: refusal(500) if received.role == "planner" else script(received)
        with pytest.raises(ProviderDown):
            script.making(provider, log, gate=Gate(concurrency=8, retries=0)).run(tmp_path / "out")
        before = sum(map(len, script.sent.values()))
        provider.script = script
        generated = script.making(provider, log).run(tmp_path / "out")
        smooth = script.making(provider, log).run(tmp_path / "smooth")
    assert before + generated.paid == smooth.paid
    for name in ("final_dialogues.jsonl", "audits.jsonl", "logged.jsonl", "redacted.jsonl", "items.jsonl"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "smooth" / name).read_bytes()


@pytest.mark.parametrize(
    "fault", ["null content", "empty content", "cut at the limit", "content filter", "half a surrogate pair"]
)
def test_what_a_model_fails_to_answer_once_is_asked_again_and_changes_no_row(tmp_path, fault):
    """The first answer of every role but the judge, whose verdict is asked for once more by itself."""
    script, log = GradedByFact(findings=find, aftermath=after), written_log(tmp_path / "log.jsonl", QUIET, CHAT)
    failed = set[str]()

    def faulty(received):
        first = received.role not in failed and received.role != "judge"
        failed.add(received.role)
        return FAULTS[fault] if first else script(received)

    with SimulatedProvider(script) as provider:
        script.making(provider, log).run(tmp_path / "smooth")
        provider.script = faulty
        script.making(provider, log).run(tmp_path / "out")
    assert failed == {"redactor", "finder", "planner", "auditor", "judge"}
    for name in ("final_dialogues.jsonl", "audits.jsonl", "logged.jsonl", "redacted.jsonl"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "smooth" / name).read_bytes()


# On the command line


def test_offline_the_bundled_logs_show_how_it_works(proact, done):
    out, err = done("generate", "--logs", "sample", "--out", "corpus")
    text = " ".join(out.split())
    assert "Demonstration with the embedded stand-in, no real model: 6 needs that users hinted at" in text
    assert "were found in 9 conversations; this measures nothing." in text
    assert "1 conversation: only the user speaks in it" in text
    assert "1 conversation of 9 holds orders to whoever reads or grades" in text
    assert "Look at corpus/overlooked.html first." in err
    (step,) = re.findall(r"Next: dspy-proact (.*)", err)
    assert step == "eval --corpus corpus --answers logged --judge embedded"
    out = done(*shlex.split(step), "--out", "graded")[0]
    assert "on 6 triggers of the corpus corpus, judged by embedded." in " ".join(out.split())
    triggers = [one["key"] for one in rows(Path("corpus"), "logged.jsonl")]
    assert len(triggers) == 6
    kinds = {
        point["evaluation_rubric"]["type"]
        for row in rows(Path("corpus"), "final_dialogues.jsonl")
        for point in row["trigger_points"]
    }
    assert kinds == {"EMERGENT", "CRITICAL", "RECOVERY"}
    _, out, _ = proact("eval", "--corpus", "corpus", "--controls", "--out", "run")
    assert "1 of 1 control turns end conversations that took place" in " ".join(out.split())
    status, _, err = proact("generate", "--logs", "sample", "--out", "corpus")
    assert (status, "no calls were made" in err) == (0, True)
    _, _, err = proact("generate", "publish", "corpus", "--out", "public")
    lines = {
        name: len(Path(f"public/{name}.jsonl").read_text().splitlines()) for name in ("final_dialogues", "controls")
    }
    assert lines["controls"] == 1
    count = sum(lines.values())
    assert f"It holds {count} conversations that people had, 1 of them for control turns. Read all of it first" in err


def test_a_forecast_names_the_roles_and_sends_nothing(proact):
    status, out, _ = proact("generate", "--logs", "sample", "--dry-run", "--json")
    stages = {stage["stage"]: (stage["role"], stage["calls"]) for stage in json.loads(out)["stages"]}
    assert status == 0
    assert stages["redaction"] == ("redactor", 9)
    assert {role for role, _ in stages.values()} == {"redactor", "finder", "auditor", "planner", "judge"}


def test_what_makes_no_sense_with_logs_is_refused(refused):
    assert "with --logs use --items" in refused("generate", "--logs", "sample", "--dialogues", "3")
    assert "no corpora can be made of --logs" in refused("generate", "--benchmark", "probe", "--logs", "sample")
    assert "missing.jsonl" in refused("generate", "--logs", "missing.jsonl")
