"""What a compile tells whom: planted words are read for in every request of every role, and in the file."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import dspy
import pytest
from builders import judges
from builders.assistants import (
    ASSISTANT_OPTIMIZERS,
    DECLARED,
    KEY,
    OFFER,
    PERSONA,
    SCENARIO,
    SECRET,
    at,
    criteria,
    curated,
    dialogue,
    items_of,
    of_phases,
    prompt_of,
    proposed,
    recipe,
    secret,
    token,
)
from builders.dialogues import jsonl, plant_canaries
from builders.judges import RATER, proposal, study, taught
from drivers.compiles import Heard
from fakes.server import Answer, Sent, is_about_offers, offers, verdict

from dspy_proact import Assistant, Corpus, Grade, Phase, Response, Scored, Settings, Verdict
from dspy_proact.benchmarks.proactbench.programs import GradeResponse, Reply
from dspy_proact.benchmarks.proactbench.tuning import HINT
from dspy_proact.benchmarks.proactbench.types import JudgeView
from dspy_proact.compile.brief import brief_of
from dspy_proact.compile.training import Answered, TraceStep
from dspy_proact.evidence import locate_quotes, words_of
from dspy_proact.optimizer_names import OPTIMIZERS

PERSONAS = {"judge": 4, "assistant": 4}
WORDS = tuple(token(persona) for persona in range(6))
"""The same in both."""
SECRETS = re.compile(rf"{SECRET}[a-z]+")
HIDDEN = "wren"
"""Stands in every field of a row that nobody may see."""
NOWHERE = {"judge": (judges.KEY, RATER), "assistant": (KEY, SCENARIO, PERSONA, HIDDEN)}
PROPOSING = {"miprov2", "gepa", "search"}
REASON = "wallaby"
"""Stands in every rater's reason."""
JUDGE = taught(study(PERSONAS["judge"]))


def words_in(text: str) -> set[str]:
    return {word for word in WORDS if word in text}


def read() -> Corpus:
    """Six personas, with planted words in the planner's notes and in unknown fields too."""
    rows = [plant_canaries(dialogue(persona))[0] for persona in range(PERSONAS["assistant"])]
    return Corpus.of(jsonl(*rows).splitlines(), name="a corpus", source="here")


RUBRICS = criteria(read())


def echo(sent: Sent, grade: str) -> str:
    """A verdict whose reasoning and quotes hold the rubric: whole, word by word, inflected, in capitals."""
    shown = str(sent.messages[-1]["content"])
    of = next(rubric for rubric in RUBRICS if rubric.pass_criteria in shown)
    complete = f"{of.pass_criteria}\n{of.partial_criteria}\n{of.fail_criteria}"
    first, second, third = SECRETS.findall(complete)
    sentences = [
        "It is a kind answer.",
        complete,
        f"It never says {first}.",
        f"Two {second}s are missing!",
        f"Nor is it {third}ed, or {third}ing.",
        f"Where is the **{first.upper()}**, the {second.title()}'s?",
    ]
    return verdict(grade, [OFFER, of.pass_criteria, first, f"{second}s"], "\n".join(sentences))


def gossip(sent: Sent) -> Answer:
    """Models that repeat every planted word that they are shown; whatever is told, the assistant then offers."""
    shown = json.dumps(sent.messages)
    words = " ".join(sorted({*words_in(shown), *SECRETS.findall(shown)}))
    if sent.role == "assistant":
        system, _ = prompt_of(sent)
        return Answer(f"Good luck, {words}. {OFFER if system else ''}")
    if sent.role == "proposer":
        return Answer(proposed(sent, f"Look ahead, as in {words}."))
    pushes = OFFER in str(sent.messages[-1]["content"])
    if is_about_offers(sent):
        return Answer(offers(*[OFFER][: int(pushes)], reasoning=words))
    return Answer(echo(sent, "PASS" if pushes else "FAIL"))


def gossip_of_judge(sent: Sent) -> Answer:
    """A proposer that puts every planted word that it is shown into the instruction, and a judge that learns."""
    if sent.role == "judge":
        return JUDGE(sent)
    shown = " ".join(sorted(words_in(json.dumps(sent.messages))))
    return Answer(proposal(sent).replace("when in doubt", f"as in {shown}, when in doubt"))


@pytest.fixture(scope="module")
def heard(request, tmp_path_factory):
    """A compile with an optimizer, all guards of an assistant watching."""
    role, optimizer = request.param
    folder, ratings = tmp_path_factory.mktemp("out"), study(PERSONAS["judge"])
    ratings = replace(
        ratings, grades=tuple(replace(grade, reason=f"{grade.reason} {REASON}") for grade in ratings.grades)
    )
    if role == "judge":
        how = judges.recipe(optimizer, trials=3)
        return Heard.of(gossip_of_judge, lambda server: judges.at(server, ratings, how), folder)
    guards = {"offers": 1.0, "length": 9.0, "phases": 1.0}
    return Heard.of(gossip, lambda server: at(server, read(), recipe(optimizer), guards=guards), folder)


JUDGES = [("judge", optimizer) for optimizer in OPTIMIZERS]
ASSISTANTS = [("assistant", optimizer) for optimizer in ASSISTANT_OPTIMIZERS]
OF_JUDGES, OF_ASSISTANTS, OF_BOTH = (
    pytest.mark.parametrize("heard", of, indirect=True, scope="module", ids="-".join)
    for of in (JUDGES, ASSISTANTS, [*JUDGES, *ASSISTANTS])
)


def folds(heard: Heard) -> list[tuple[set[str], Sequence[Sent]]]:
    """The folds' requests, each with the words of the personas that its program must not have seen."""
    return [
        (words_in(" ".join(str(item.view.conversation[0].user) for item in fold.test)), requests)
        for fold, requests in heard.parts.folds
    ]


def spread(sent: Sent) -> tuple[str, str]:
    """What a program adds to a conversation, worked examples and instructions, and the conversation itself."""
    system, text = prompt_of(sent)
    return system, json.dumps(text)


def text_of(requests: Iterable[Sent]) -> str:
    return "\n".join(sent.text for sent in requests)


# Folds


@OF_JUDGES
def test_no_request_of_a_fold_holds_a_word_of_its_test_personas_but_the_grading_of_them(heard):
    learned = 0
    assert len(folds(heard)) == 2
    for unseen, requests in folds(heard):
        tested: list[bool] = []
        for sent in requests:
            *before, last = (json.dumps(message) for message in sent.messages)
            assert not words_in(" ".join(before)) & unseen
            learned += len(words_in(" ".join(before)))
            if sent.role == "proposer":
                assert not words_in(last) & unseen
                assert True not in tested
                continue
            (graded,) = words_in(last)  # a response is graded without a word of another persona's
            tested.append(graded in unseen)
        assert tested == sorted(tested), "nothing is learned after the test has begun"
        assert sum(tested) == 6  # each of its two personas' three responses, once
    # Words of training personas are found where those of test personas are looked for.
    assert learned
    proposals = [sent for _, requests in folds(heard) for sent in requests if sent.role == "proposer"]
    assert bool(proposals) == (heard.optimizer in PROPOSING)


@OF_ASSISTANTS
def test_nothing_of_a_folds_test_personas_reaches_its_optimizer_or_its_program_but_in_testing(heard):
    assert len(folds(heard)) == 2
    learned, tested = 0, 0
    for hidden, requests in folds(heard):
        assert len(hidden) == PERSONAS["assistant"] / 2
        testing = False
        for sent in requests:
            if sent.role == "report":
                testing = True
            if sent.role in {"judge", "proposer"}:
                assert not testing, "tuning is over when testing begins"
                assert not words_in(sent.text) & hidden
                assert not any(secret(int(word[5]), turn, 0) in sent.text for word in hidden for turn in (2, 6))
            if sent.role == "assistant":
                program, conversation = spread(sent)
                assert not words_in(program) & hidden
                learned += len(words_in(program))
                (calls,) = words_in(conversation)  # nobody is asked with a word of another persona's
                testing = testing or calls in hidden
                assert (calls in hidden) == testing
        tested += testing
    assert tested == 2
    # Words of training personas are found where those of test personas are looked for: in programs, as demos or as
    # what the proposer made of what it was shown.
    assert learned
    assert {bool([sent for sent in requests if sent.role == "proposer"]) for _, requests in folds(heard)} == {
        heard.optimizer in PROPOSING
    }


@OF_ASSISTANTS
def test_the_reporting_judge_hears_of_the_start_and_of_tests_and_the_tuning_judge_of_neither(heard):
    before = heard.parts.before
    assert {sent.role for sent in before} == {"assistant", "report"}
    assert "report" not in {sent.role for sent in heard.parts.everywhere}
    # 12 turns: graded or looked at once as they are answered by the start; a FAIL needs no second quote.
    assert len([sent for sent in before if sent.role == "report"]) == 12


# Rubrics


@OF_ASSISTANTS
def test_no_word_of_a_rubric_is_in_any_request_to_the_assistant_or_the_proposer_or_in_the_file(heard):
    assert not SECRETS.search(text_of(heard.by("assistant", "proposer")))
    assert not SECRETS.search(heard.file)
    # They are where they belong.
    probes = items_of(read())
    both = text_of(heard.by("judge")), text_of(heard.by("report"))
    for persona in range(PERSONAS["assistant"]):
        for criterion in range(3):
            assert secret(persona, 6, criterion) in both[0]
            assert secret(persona, 6, criterion) in both[1]
    assert len(of_phases(probes, [Phase.RECOVERY])) == PERSONAS["assistant"]


@OF_ASSISTANTS
def test_of_a_judges_reasons_and_quotes_a_proposer_is_told_what_stands_in_the_response_alone(heard):
    requests = text_of(heard.by("proposer"))
    assert "kind answer" not in requests
    assert ("Graded FAIL." in requests) == (heard.optimizer in PROPOSING)


def test_six_words_of_a_rubric_stand_in_a_brief_only_where_the_user_said_them():
    """Of every trigger of the sample, whatever its judge repeats."""
    cases = [case for case in DECLARED.read("sample", Settings()).cases if isinstance(case.view, JudgeView)]
    tuning, answers = DECLARED.tuning(Settings()), list[Answered]()
    for case in cases:
        rubric, response = case.view.rubric, "Good luck."
        echoed = "\n".join((rubric.pass_criteria, rubric.partial_criteria, rubric.fail_criteria))
        verdict_ = Verdict(reasoning=echoed, evidence=locate_quotes([echoed], response), grade=Grade.FAIL)
        feedback = tuning.feedback(case, Response(text=response), Scored(0.0, Grade.FAIL, verdict_))
        step = TraceStep("reply", DECLARED.inputs(case.view), {"response": response})
        answers.append(Answered(dspy.Example(key=case.key), dspy.Prediction(**step.outputs), feedback, (step,), None))
    of_all: Any = {"strata_there": [], "default_guards": {}}
    target = SimpleNamespace(tuning=tuning, role="assistant", declared=DECLARED, **of_all)
    overlaps = 0
    for case, answer in zip(cases, answers, strict=True):
        of_case: Any = {"items": {case.key: case}, "groups": {case.key: case.group}, "chosen": [case]}
        training: Any = SimpleNamespace(target=target, seed=0, **of_case)
        brief = brief_of(training, Assistant(), "reply", [answer])
        assert f"| {case.view.conversation[-1].user[:20]}" in brief.answers
        user = runs(" ".join(turn.user for turn in case.view.conversation))
        rubric = case.view.rubric
        own = runs(" ".join((rubric.pass_criteria, rubric.partial_criteria, rubric.fail_criteria)))
        assert not (runs(" ".join(brief.inputs.values())) & own) - user
        overlaps += len(own & user)
    assert len(cases) == 49
    assert overlaps  # some rubrics quote the user


def runs(text: str) -> set[tuple[str, ...]]:
    """Every six words in a row."""
    words = words_of(text)
    return {tuple(words[index : index + 6]) for index in range(len(words) - 5)}


@OF_JUDGES
def test_no_reason_of_a_rater_reaches_the_proposer(heard):
    assert REASON in heard.file or heard.optimizer in {"gepa", "search", "miprov2"}
    assert REASON not in text_of(heard.by("proposer"))


# What nobody is told


@OF_ASSISTANTS
def test_no_curated_response_is_shown_to_who_is_to_write_it(heard):
    """Neither at the turn that is asked for, nor of any turn after it."""
    for sent in heard.by("assistant", "judge", "report"):
        if sent.role != "assistant":
            conversation = str(sent.messages[-1]["content"])
            turn = int(re.findall(r"^Turn (\d), user:$", conversation, re.MULTILINE)[-1])
        else:
            _, text = prompt_of(sent)
            conversation, turn = json.dumps(text), (len(text) + 1) // 2
        shown = {int(match) for match in re.findall(r"capybara\dt(\d)", conversation)}
        assert shown == set(range(1, turn))
    last = [curated(persona, 6) for persona in range(PERSONAS["assistant"])]
    everything = text_of(heard.sent) + heard.file
    assert not [word for word in last if word in everything]


@OF_ASSISTANTS
def test_only_a_teacher_is_hinted_at_and_no_student_proposer_or_file(heard):
    hinted = [sent for sent in heard.by("assistant") if HINT in prompt_of(sent)[0]]
    assert bool(hinted) == (heard.optimizer in {"bootstrap", "miprov2", "search"})
    assert not [sent for sent in heard.by("judge", "report", "proposer") if HINT in sent.text]
    assert HINT not in heard.file
    assert HINT[:60] not in heard.file
    for hidden, requests in folds(heard):
        testing = [sent for sent in requests if sent.role == "assistant" and words_in(spread(sent)[1]) & hidden]
        assert testing
        assert not [sent for sent in testing if HINT in sent.text]
    assert not [sent for sent in heard.parts.before if HINT in sent.text]


# Both


@OF_BOTH
def test_the_whole_compile_sends_what_its_parts_send_alone(heard):
    """Side by side, with a record that they share, no fold is told of another: there is nothing further to read."""
    assert {sent.wire for sent in heard.sent} == {sent.wire for sent in heard.parts.everything}


@OF_BOTH
def test_no_key_name_or_hidden_field_is_in_any_request_or_in_the_file(heard):
    everything = text_of(heard.sent) + heard.file
    assert not [word for word in NOWHERE[heard.finished.artefact.role] if word in everything]


@OF_BOTH
def test_the_file_holds_nothing_of_the_data_beyond_its_demos_signature_fields_and_instructions(heard):
    content = json.loads(heard.file)
    states = content.pop("states").values()
    shown = [state.pop("demos") for state in states]
    assert any(shown) or heard.optimizer not in {"labeled", "bootstrap"}
    fields = {*(GradeResponse if heard.finished.artefact.role == "judge" else Reply).fields, "augmented"}
    assert all(demo.keys() <= fields for demos in shown for demo in demos)
    for state in states:
        assert state["lm"] is None
        assert (state["traces"], state["train"]) == ([], [])
        state["signature"].pop("instructions")  # the proposer's words
    assert not words_in(json.dumps([content, *states]))
    assert OFFER not in json.dumps([content, *states])
