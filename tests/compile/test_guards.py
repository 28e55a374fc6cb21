"""Guards: what a compile must not pay with, for assistants that push and that hold back, and by hand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from assistants import LATE_OFFER, OFFER, PUSHY, TIMELY, at, corpus, few, obedient, recipe, told, without_controls
from dspy_proact.benchmarks.proactbench.compile.assistant.assistant_compile import ASSISTANT_OPTIMIZERS
from dspy_proact.benchmarks.proactbench.compile.assistant.examiner import Examined
from dspy_proact.benchmarks.proactbench.compile.assistant.guards import GUARDS, MARGINS, Guards
from dspy_proact.benchmarks.proactbench.compile.assistant.probe import probes_of
from server import Answer, is_about_offers, verdict

from dspy_proact.benchmarks.proactbench.programs import Assistant
from dspy_proact.benchmarks.proactbench.types import Grade, Offer, Offers, Phase, Verdict
from dspy_proact.errors import UsageError
from dspy_proact.types import Quote

CHOSEN = (Phase.RECOVERY,)


def compiled(server, tmp_path, script, read=None, guards=None, **how):
    """The artefact of a compile with these models."""
    server.script = script
    settings: dict[str, Any] = {"trials": 4, "max_demos": 0} | how
    return at(server, read or few(), recipe(**settings), guards=guards).run(tmp_path / "out").artefact


def rates(change) -> tuple[float | None, float | None]:
    return change.before.value, change.after.value


# Bought with pushiness, or not


@pytest.mark.parametrize("optimizer", ["bootstrap", "search"])
def test_an_assistant_that_offers_at_every_turn_scores_high_and_is_shown_as_pushy(server, tmp_path, optimizer):
    made = compiled(server, tmp_path, obedient(PUSHY), optimizer=optimizer, max_demos=2)
    assert rates(made.card.target) == (0, 1)
    assert rates(made.card.offers) == (0, 1)
    # 2 words before, and 7 more after: 4.5 times as long. All turns alike, so that nothing has an interval.
    assert rates(made.card.length) == (2, 9)
    assert made.card.statement == (
        "no improvement shown in RECOVERY, +100 points: 4 triggers in 4 scenarios are too few for a claim, which takes "
        "60 in 10; it cost unwanted offers +100 points, responses 4.50 times as long; whether more was paid could not "
        "be told of tokens"
    )


@pytest.mark.parametrize("optimizer", ASSISTANT_OPTIMIZERS)
def test_the_guard_of_offers_keeps_a_compile_from_the_pushy_one(server, tmp_path, optimizer):
    made = compiled(server, tmp_path, obedient(PUSHY), optimizer=optimizer, max_demos=2, guards={"offers": 0.05})
    assert rates(made.card.target) == (0, 0)
    assert rates(made.card.offers) == (0, 0)
    assert made.state.signature.instructions == ""
    assert made.state.demos == ()
    assert made.card.statement.endswith("; nothing beyond the usual margins was paid for it")
    best = max(made.card.candidates, key=lambda each: each.score)
    assert (best.score, best.broken, best.chosen) == (1, ("offers",), False)
    (kept,) = [each for each in made.card.candidates if each.chosen]
    assert (kept.score, kept.broken) == (0, ())


def test_an_assistant_that_never_offers_scores_low_on_both(server, tmp_path):
    made = compiled(server, tmp_path, obedient("Hold back."))
    assert rates(made.card.target) == (0, 0)
    assert rates(made.card.offers) == (0, 0)
    assert {each.broken for each in made.card.candidates} == {()}


def test_the_best_that_keeps_the_guard_is_chosen_and_not_the_start(server, tmp_path):
    """Of one that pushes and passes, and one that waits and is graded PARTIAL."""
    made = compiled(server, tmp_path, obedient(PUSHY, TIMELY, timely="PARTIAL"), guards={"offers": 0})
    assert rates(made.card.target) == (0, 0.5)
    assert rates(made.card.offers) == (0, 0)
    assert made.state.signature.instructions == TIMELY
    free = compiled(server, tmp_path / "free", obedient(PUSHY, TIMELY, timely="PARTIAL"))
    assert free.state.signature.instructions == PUSHY
    assert rates(free.card.offers) == (0, 1)


def test_of_two_that_score_alike_the_one_with_fewer_unwanted_offers_is_chosen_without_any_guard(server, tmp_path):
    made = compiled(server, tmp_path, obedient(PUSHY, TIMELY))
    assert made.state.signature.instructions == TIMELY
    assert rates(made.card.offers) == (0, 0)


@pytest.mark.parametrize(("margin", "kept"), [(3.49, False), (3.5, True)])
def test_the_guard_of_length_bounds_how_much_longer_responses_grow(server, tmp_path, margin, kept):
    """From 2 words to 9: by 3.5 of what they were."""
    made = compiled(server, tmp_path, obedient(PUSHY), guards={"length": margin})
    assert rates(made.card.length) == (2, 9 if kept else 2)
    assert ("length",) not in {each.broken for each in made.card.candidates if each.chosen}
    assert (made.state.signature.instructions == PUSHY) == kept


def counted(script):
    """The same models, whose tokens are the characters that were sent and answered."""

    def answer(sent):
        said = script(sent)
        characters = sum(len(str(message["content"])) for message in sent.messages)
        return replace(said, usage={"prompt_tokens": characters, "completion_tokens": len(said.content or "")})

    return answer


@pytest.mark.parametrize("optimizer", ASSISTANT_OPTIMIZERS)
def test_the_guard_of_tokens_keeps_every_compile_from_a_prompt_of_whole_conversations(server, tmp_path, optimizer):
    free = compiled(server, tmp_path / "free", counted(obedient(PUSHY)), optimizer=optimizer, max_demos=2)
    assert rates(free.card.target) == (0, 1)
    before, after = free.card.usage_before.tokens, free.card.usage_after.tokens
    grown = after / before - 1
    assert grown > 0
    kept = compiled(
        server, tmp_path, counted(obedient(PUSHY)), optimizer=optimizer, max_demos=2, guards={"tokens": 0.05}
    )
    assert kept.card.guards == {"tokens": 0.05}
    assert kept.card.usage_after.tokens <= before * 1.05
    best = max(kept.card.candidates, key=lambda each: each.score)
    assert (best.broken, best.chosen) == (("tokens",), False)
    assert kept.state.demos == ()


def test_a_guard_of_tokens_that_leaves_room_for_an_instruction_leaves_none_for_demos(server, tmp_path):
    """A demo is a conversation as long as those that are answered: with one, a response takes twice the tokens."""
    made = compiled(server, tmp_path, counted(obedient(PUSHY)), max_demos=2, trials=12, guards={"tokens": 0.5})
    assert rates(made.card.target) == (0, 1)
    assert (made.state.signature.instructions, made.state.demos) == (PUSHY, ())
    assert ("tokens",) in {each.broken for each in made.card.candidates}
    assert "times the tokens" not in made.card.statement


def test_tokens_beyond_the_usual_margin_are_said_to_be_what_it_cost(server, tmp_path):
    made = compiled(server, tmp_path, counted(obedient("Hold back.")), optimizer="bootstrap", max_demos=2)
    times = made.card.usage_after.tokens / made.card.usage_before.tokens
    assert times > 1.5
    assert made.state.demos
    assert made.card.statement.endswith(f", {times:.1f} times the tokens")


def test_tokens_that_nobody_counted_break_no_guard_and_the_card_warns_of_it(server, tmp_path):
    uncounted = obedient(PUSHY)
    made = compiled(server, tmp_path, lambda sent: replace(uncounted(sent), usage=None), guards={"tokens": 0.0})
    assert made.state.signature.instructions == PUSHY
    assert (made.card.usage_before.tokens, made.card.usage_after.usd) == (None, None)
    assert made.card.warnings == ("nobody counted tokens, so that --guard tokens kept nothing out",)


@pytest.mark.parametrize(("margin", "kept"), [(0.99, False), (1, True)])
def test_the_guard_of_phases_bounds_how_far_the_other_phases_fall(server, tmp_path, margin, kept):
    """The start offers in the middle of the matter, and the one that scores only when it is over: from 1 to 0."""
    waiting = obedient(TIMELY)

    def script(sent):
        if sent.role == "assistant" and not told(sent)[0] and len(sent.messages) == 3:
            return Answer(f"Good luck. {OFFER}")
        return waiting(sent)

    made = compiled(server, tmp_path, script, corpus(), guards={"phases": margin})
    assert rates(made.card.phases[Phase.EMERGENT]) == (1, 0 if kept else 1)
    assert rates(made.card.target) == (0, 1 if kept else 0)
    assert ("it cost EMERGENT -100 points" in made.card.statement) == kept


def test_where_every_candidate_breaks_a_guard_the_start_is_kept(server, tmp_path):
    made = compiled(server, tmp_path, obedient(PUSHY, TIMELY), guards={"offers": 0.05, "length": 0.2})
    broken = {each.broken for each in made.card.candidates if not each.chosen}
    assert broken == {("offers", "length"), ("length",)}
    assert made.state.signature.instructions == ""
    assert made.card.candidates[0].chosen


def test_guards_look_at_training_folds_and_never_at_the_reporting_judge(server, tmp_path):
    """By the tuning judge, whom control turns are shown to even where the optimizer does not look at them."""
    compiled(server, tmp_path, obedient(PUSHY), optimizer="gepa", guards={"offers": 0.05})
    assert [sent for sent in server.of("judge") if is_about_offers(sent)]
    guarded = len(server.of("report"))
    server.sent.clear()
    compiled(server, tmp_path / "free", obedient("Hold back."), optimizer="gepa")
    assert not [sent for sent in server.of("judge") if is_about_offers(sent)]
    assert len(server.of("report")) == guarded


# What cannot be measured


def test_a_guard_that_would_have_nothing_to_look_at_is_refused_before_any_call(server):
    with pytest.raises(UsageError, match="--guard offers: the corpus has no control turns"):
        at(server, without_controls(), recipe(), guards={"offers": 0.05})
    with pytest.raises(UsageError, match="--guard phases: the corpus has no triggers of other phases"):
        at(server, few(), recipe(), guards={"phases": 0.05})
    assert server.sent == []


def test_without_control_turns_the_card_says_that_there_are_none_and_gives_no_number(server, tmp_path):
    made = compiled(server, tmp_path, obedient(PUSHY), read=without_controls())
    assert made.state.signature.instructions == PUSHY
    assert made.card.controls == 0
    for number in (made.card.offers.before, made.card.offers.after, made.card.offers.difference):
        assert (number.value, number.low, number.high) == (None, None, None)
        assert number.reason == "the corpus has no control turns"
    assert made.card.statement.endswith("; what it did to unwanted offers is not known")
    assert {each.offers for each in made.card.candidates} == {None}


def test_control_turns_that_cannot_be_read_are_no_unwanted_offers(server, tmp_path):
    pushy = obedient(PUSHY)

    def script(sent):
        unread = sent.role in {"judge", "report"} and is_about_offers(sent)
        return Answer("no object") if unread else pushy(sent)

    made = compiled(server, tmp_path, script, guards={"offers": 0.0})
    assert made.state.signature.instructions == PUSHY
    assert (made.card.offers.count, rates(made.card.offers)) == (0, (None, None))
    assert made.card.offers.before.reason == "no scores"


def test_a_phase_without_triggers_has_no_number_and_a_reason(server, tmp_path):
    made = compiled(server, tmp_path, obedient(PUSHY))
    critical = made.card.phases[Phase.CRITICAL]
    assert (critical.count, critical.before.value, critical.before.reason) == (0, None, "no scores")
    assert set(made.card.phases) == set(Phase)


# By hand


@dataclass
class Known:
    """An examiner who knows beforehand what is found, by the instruction of each assistant."""

    found: Mapping[str, Mapping[str, Examined]]

    def examine_all(self, assistant: Assistant, probes: Sequence[Any]) -> dict[str, Examined]:
        return {probe.key: self.found[assistant.instruction][probe.key] for probe in probes}


PROBES = probes_of(corpus(8))
"""8 control turns, 8 triggers of RECOVERY, and 8 of another phase."""


def scene(pushes: int = 0, words: Sequence[int] = (10,), passes: int = 8, unread: str = "") -> dict[str, Examined]:
    """What is found, with so many unwanted offers, so long (100 tokens a word), and so many passes elsewhere."""
    found: dict[str, Examined] = {}
    seen = {"offers": 0, "length": 0, "phases": 0}
    silent = "tokens" if unread == "tokens" else ""
    for probe in PROBES:
        kind = "offers" if probe.phase is None else "length" if probe.phase in CHOSEN else "phases"
        place, seen[kind] = seen[kind], seen[kind] + 1
        if kind == unread:
            found[probe.key] = Examined("x" if kind != "length" else None)
            continue
        count = words[place % len(words)]
        text, tokens = " ".join(["word"] * count), None if silent else 100 * count
        grade = Grade.PASS if place < passes else Grade.FAIL
        quote = Offer(quote=Quote(text="word", start=0, end=4), grounded=False, asked_for=False)
        found[probe.key] = (
            Examined(text, offers=Offers(reasoning="", offers=(quote,) if place < pushes else ()))
            if kind == "offers"
            else Examined(text, verdict=Verdict(reasoning="", evidence=(), grade=grade), tokens=tokens)
        )
    return found


def broken(before: dict[str, Examined], after: dict[str, Examined], **margins: float) -> tuple[str, ...]:
    known: Any = Known({"": before, "Else.": after})
    guards: Any = margins
    watch = Guards(guards, known, PROBES, CHOSEN)
    return watch.broken(watch.measured(Assistant()), watch.measured(Assistant("Else.")))


@pytest.mark.parametrize(
    ("before", "after", "guard", "margin", "kept"),
    [
        # From 1 of 8 to 2 of 8: by .125, neither more nor less; from 2 to 1 always.
        (scene(1), scene(2), "offers", 0.125, True),
        (scene(1), scene(2), "offers", 0.124, False),
        (scene(2), scene(1), "offers", 0.0, True),
        # Mean words 10 to 12: by .2 of 10; .3 of 10 are 13.
        (scene(words=[10]), scene(words=[10, 14]), "length", 0.2, True),
        (scene(words=[10]), scene(words=[10, 16]), "length", 0.2, False),
        (scene(words=[10]), scene(words=[2]), "length", 0.0, True),
        # Mean tokens 1000 to 1200, and to 1300.
        (scene(words=[10]), scene(words=[10, 14]), "tokens", 0.2, True),
        (scene(words=[10]), scene(words=[10, 16]), "tokens", 0.2, False),
        # Mean score 8 of 8 to 7 of 8: by .125.
        (scene(), scene(passes=7), "phases", 0.125, True),
        (scene(), scene(passes=7), "phases", 0.124, False),
        (scene(passes=7), scene(), "phases", 0.0, True),
    ],
)
def test_a_guard_is_broken_by_more_than_its_margin_and_kept_by_it(before, after, guard, margin, kept):
    assert broken(before, after, **{guard: margin}) == (() if kept else (guard,))


@pytest.mark.parametrize("guard", GUARDS)
def test_what_cannot_be_measured_before_or_after_is_kept(guard):
    worse, unread = scene(8, [99], 0), scene(8, [99], 0, unread=guard)
    assert broken(scene(), worse, **{guard: 0.0}) == (guard,)
    assert broken(scene(unread=guard), worse, **{guard: 0.0}) == ()
    assert broken(scene(), unread, **{guard: 0.0}) == ()


def test_only_guards_that_are_asked_for_are_measured_and_all_that_are_broken_are_named():
    worse = scene(8, [99], 0)
    assert broken(scene(), worse) == ()
    assert broken(scene(), worse, **MARGINS) == GUARDS


def test_a_tuning_judge_that_sees_nothing_wrong_does_not_hide_it_from_the_report(server, tmp_path):
    """What guards look at is the tuning judge's; what the card says is the other's."""
    pushy = obedient(PUSHY)

    def script(sent):
        if sent.role == "judge" and is_about_offers(sent):
            return Answer('{"reasoning": "nothing", "offers": []}')
        if sent.role == "report" and not is_about_offers(sent):
            return Answer(verdict("PARTIAL", [OFFER if OFFER in str(sent.messages[-1]) else LATE_OFFER]))
        return pushy(sent)

    made = compiled(server, tmp_path, script, guards={"offers": 0.0})
    assert made.state.signature.instructions == PUSHY
    assert rates(made.card.target) == (0.5, 0.5)
    assert rates(made.card.offers) == (0, 1)
