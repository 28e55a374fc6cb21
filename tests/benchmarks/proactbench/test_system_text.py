"""The system text of a dialogue: who is sent it, beside what, and that nothing changes where there is none."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import dspy
import pytest
from builders import assistants, judges
from builders.assistants import OFFER, PUSHY, dialogue, obedient, recipe, token
from builders.dialogues import jsonl, plant_canaries, record, row
from drivers.client import spec
from drivers.compiles import Heard
from fakes.official_package import installed
from fakes.server import Sent, Server, is_about_offers

from dspy_proact import (
    Assistant,
    Corpus,
    Evaluation,
    Gate,
    Judge,
    OfferDetector,
    ProactBench,
    Rejudging,
    Responses,
    RunFolder,
    Scope,
    Settings,
    Trial,
    Turn,
    load_assistant,
    load_corpus,
    summarize,
)
from dspy_proact.benchmarks.proactbench.cases import cases_of, controls_of
from dspy_proact.benchmarks.proactbench.programs import DetectOffers, GradeResponse, OfficialJudge, Reply
from dspy_proact.benchmarks.proactbench.types import AssistantView, Response
from dspy_proact.errors import UsageError
from dspy_proact.label.study import items_of
from dspy_proact.programs.artefact import signature_hash
from dspy_proact.report.export import columns
from dspy_proact.runs import CONTROL

DECLARED: Any = ProactBench()
RULES = "You answer for the ferry office.\n\n    Never promise a cabin; heron-7 is the code of today."
CANARY = "heron-7"
HEADING = "Rules and data that the assistant was given:\n    You answer for the ferry office.\n\n        Never promise"
MARK = "rules and data of this example alone"


def of_rows(*raw: dict[str, Any]) -> Corpus:
    return Corpus.of(jsonl(*raw).splitlines(), name="a corpus", source="here")


def ruled(**changes: Any) -> Corpus:
    """A dialogue with a system text, and with a token of its own in every hidden field."""
    return of_rows(plant_canaries(row(system_text=RULES, **changes))[0])


def evaluation(server: Server, read: Any, **more: Any) -> Evaluation:
    model, judge = spec("hosted_vllm/any", server.assistant), spec("openai/any", server.judge)
    return Evaluation(read, model, judge, gate=Gate(retries=0), **more)


# Nothing changes without one


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=False).encode()).hexdigest()[:16]


def test_hashes_views_requests_and_identities_of_a_corpus_without_one_are_what_they_were():
    """Recorded before there were system texts, of the sample."""
    cases = DECLARED.read("sample", Settings()).cases
    graded, controls = ([case for case in cases if (case.stratum == CONTROL) is of] for of in (False, True))
    assert digest([case.view.model_dump_json() for case in cases]) == "bce3561b14bcd638"
    assert digest([Assistant("Look ahead.").messages(DECLARED.inputs(case.view)) for case in cases]) == (
        "60c3d471c1a0b23c"
    )
    assert digest([Judge().messages(case.view.inputs("Good luck.")) for case in graded]) == "6164735026d49a5a"
    assert digest([OfferDetector().messages(case.view.inputs("Good luck.")) for case in controls]) == "aa256f92eb8251e1"
    assert digest([DECLARED.mark(case.view) for case in cases]) == "858a7852ec951162"
    assert Evaluation().manifest.identity.digest()[:16] == "547f2b5cf0266b28"


def test_hashes_of_programs_and_signatures_are_what_they_were():
    """By which compiled programs and runs of before are known."""
    programs = [Assistant(), Judge(), OfferDetector()]
    recorded = ["7d09f22cb010b1a8", "561b7656f142f34d", "e974b6230277e20f"]
    assert [program.fingerprint()[:16] for program in programs] == recorded
    signatures = [signature_hash(signature)[:16] for signature in (Reply, GradeResponse, DetectOffers)]
    assert signatures == ["cb9e9b728a7f8674", "4af625bbccbd603c", "518733aea5c19127"]


# Who is sent it


@pytest.mark.parametrize("prompt", [None, "Look ahead."])
def test_a_run_sends_it_to_assistant_judge_and_detector_in_its_place_and_nothing_hidden(server, tmp_path, prompt):
    planted, tokens = plant_canaries(row(system_text=RULES, turn_records=[record(turn) for turn in range(1, 9)]))
    evaluation(server, of_rows(planted), system_prompt=prompt).run(tmp_path / "run", Scope(controls=True))
    assert not [token for token in tokens for sent in server.sent if token in sent.text]
    answers, graded = server.of("assistant"), server.of("judge")
    own = f"{prompt}\n\n{RULES}" if prompt else RULES
    assert [sent.messages[0] for sent in answers] == [{"role": "system", "content": own}] * len(answers)
    assert all([message["role"] for message in sent.messages].count("system") == 1 for sent in answers)
    assert {is_about_offers(sent) for sent in graded} == {True, False}
    for sent in graded:
        system, last = (str(message["content"]) for message in sent.messages)
        assert CANARY not in system
        assert (last.count(HEADING), last.count(CANARY), last.index(HEADING)) == (1, 1, 0)


def test_it_is_kept_with_the_run_and_shown_to_raters_and_in_tables(server, tmp_path):
    evaluation(server, ruled()).run(tmp_path / "run")
    run = summarize(RunFolder(tmp_path / "run"))
    assert {outcome.view["system"] for outcome in run.outcomes} == {RULES}
    item, *_ = items_of(DECLARED, [run])
    assert [section.title for section in item.sections] == ["system text", "conversation"]
    assert item.sections[0].items[0][1] == RULES
    (column,) = (column for column in columns(run) if column.name == "system_text")
    assert column.of(run.outcomes[0], None) == RULES
    evaluation(server, of_rows(row())).run(tmp_path / "other")
    other = summarize(RunFolder(tmp_path / "other"))
    assert "system_text" not in [column.name for column in columns(other)]
    assert "system" not in other.outcomes[0].view
    lost = DECLARED.results.write(RunFolder(tmp_path / "run"), run, tmp_path / "results.jsonl")
    assert "3 system texts of triggers, which the corpus has" in lost


def test_a_run_is_judged_again_with_it(server, tmp_path):
    read = ruled()
    evaluation(server, read).run(tmp_path / "run")
    first = [sent.messages for sent in server.of("judge")]
    server.sent.clear()
    again = Rejudging(Responses.of_run(RunFolder(tmp_path / "run")), spec("openai/any", server.judge))
    again.run(tmp_path / "again")
    assert sorted(map(str, (sent.messages for sent in server.sent))) == sorted(map(str, first))
    assert all(CANARY in sent.text for sent in server.sent)


# In Python


def test_programs_take_it_beside_their_inputs_and_every_way_to_ask_sends_the_same(server):
    bare, history = Assistant("Look ahead."), [Turn(user="A", assistant="B")]
    inputs = {"history": history, "user_message": "C", "system": RULES}
    expected = [f"Look ahead.\n\n{RULES}", "A", "B", "C"]
    assert [message["content"] for message in bare.messages(inputs)] == expected
    model = dspy.LM("openai/any", api_base=server.assistant, api_key="k", cache=False)
    with dspy.context(lm=model):
        assert bare(**inputs).response
        assert "".join(bare.stream(**inputs))
    assert [[message["content"] for message in sent.messages] for sent in server.sent] == [expected] * 2


def test_a_view_gives_it_as_an_input_only_where_there_is_one():
    (case, *_), (plain, *_) = cases_of(ruled()), cases_of(of_rows(row()))
    assert DECLARED.inputs(case.view)["system"] == case.view.inputs("")["system"] == RULES
    assert "system" not in {*DECLARED.inputs(plain.view), *plain.view.inputs("")}
    assert AssistantView.of(case.view.conversation, RULES).inputs == DECLARED.inputs(case.view)


def test_blanks_of_an_instruction_go_out_alike_with_and_without_it(server):
    """DSPy makes a signature anew for a further input, and changes the blanks of its instruction."""
    odd = Assistant("  Look\n\tahead.\n\n      Be   brief.")
    model = dspy.LM("openai/any", api_base=server.assistant, api_key="k", cache=False)
    with dspy.context(lm=model):
        odd(history=[], user_message="C", system=RULES)
    (sent,) = server.sent
    assert sent.messages == odd.messages({"history": [], "user_message": "C", "system": RULES})


class Answers(dspy.Module):
    """A person's program, which takes a system text and has a use for it."""

    def __init__(self):
        super().__init__()
        self.reply = dspy.Predict("rules, message -> response")

    async def aforward(self, history: Any, user_message: str, system: str = "none") -> dspy.Prediction:
        del history
        return await self.reply.acall(rules=system, message=user_message)


class Passing(dspy.Module):
    """Gives all of its inputs to a predictor that declares a system text."""

    def __init__(self):
        super().__init__()
        self.reply = dspy.Predict("history, user_message, system -> response")

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        return await self.reply.acall(**inputs)


class Deaf(dspy.Module):
    """Takes none."""

    def __init__(self):
        super().__init__()
        self.reply = dspy.Predict("message -> response")

    async def aforward(self, history: Any, user_message: str) -> dspy.Prediction:
        del history
        return await self.reply.acall(message=user_message)


@pytest.mark.parametrize("program", [Answers(), Passing()])
def test_a_persons_program_that_takes_it_is_given_it(server, tmp_path, program):
    evaluation(server, ruled(), program=program).run(tmp_path / "run", Scope(limit=1))
    assert CANARY in server.of("assistant")[0].text


@pytest.mark.parametrize("program", [Deaf(), dspy.Predict("history, user_message -> response")])
def test_a_persons_program_that_takes_none_is_refused_before_any_call(server, program):
    for build in (
        lambda: evaluation(server, ruled(), program=program),
        lambda: Trial(spec("hosted_vllm/any", server.assistant), None, program=program).run(cases_of(ruled())[:1]),
    ):
        with pytest.raises(UsageError, match=r"takes no `system`, and \d of \d cases have a system text") as caught:
            build()
        assert "give it an input `system: str`" in str(caught.value)
    assert not server.sent
    assert evaluation(server, of_rows(row()), program=program), "it is asked for where there is one"


def test_the_official_judge_is_refused_before_any_call(server, tmp_path):
    with installed(tmp_path):
        with pytest.raises(UsageError, match="the official prompt has no place for the system text of a dialogue"):
            evaluation(server, ruled(), judge_prompt="official")
        with pytest.raises(UsageError, match="no place for the system text"):
            OfficialJudge().messages(cases_of(ruled())[0].view.inputs("Good luck."))
        assert evaluation(server, of_rows(row()), judge_prompt="official")
    assert not server.sent


# Compiling


def rules_of(persona: int) -> str:
    return f"You answer for the office of {token(persona)}, which opens at nine."


def ruled_corpus(personas: int = 4) -> Corpus:
    """A dialogue a persona, every one but the first with a system text of its own, and canaries in hidden fields."""
    rows = [
        plant_canaries(dialogue(persona) | ({"system_text": rules_of(persona)} if persona else {}))[0]
        for persona in range(personas)
    ]
    return of_rows(*rows)


def own_of(sent: Sent) -> int:
    """The persona whose conversation a request of the assistant's holds."""
    chat = json.dumps([message for message in sent.messages if message["role"] != "system"])
    (persona,) = (persona for persona in range(4) if token(persona) in chat)
    return persona


@pytest.mark.parametrize("optimizer", ["bootstrap", "search"])
def test_a_compiled_assistant_keeps_the_rules_of_each_dialogue_and_marks_those_of_its_examples(tmp_path, optimizer):
    heard = Heard.of(
        obedient(PUSHY),
        lambda server: assistants.at(server, ruled_corpus(), recipe(optimizer)),
        tmp_path / "out",
    )
    assert not [sent for sent in heard.sent if "wren" in sent.text], "a hidden field"
    answers, examples = heard.by("assistant"), 0
    for sent in answers:
        system, own = assistants.prompt_of(sent)[0], own_of(sent)
        if own:
            assert system.endswith(rules_of(own))
        program = system.removesuffix(rules_of(own)) if own else system
        for persona in range(4):
            # Only inside a worked example, and under a name that says whose it is.
            assert program.count(rules_of(persona)) == program.count(f'"{MARK}": "{rules_of(persona)}"')
            examples += program.count(rules_of(persona))
    assert examples
    for sent in heard.by("judge", "report"):
        (persona,) = (persona for persona in range(4) if token(persona) in str(sent.messages[-1]["content"]))
        assert (rules_of(persona) in str(sent.messages[-1]["content"])) == (persona > 0)
    if optimizer == "search":
        proposals = heard.by("proposer")
        assert any("system (rules and data of this conversation alone)" in sent.text for sent in proposals)
    demos = [dict(demo) for demo in load_assistant(heard.finished.path).reply.demos]
    assert all(demo.get("system", "") in {"", *map(rules_of, range(4))} for demo in demos)


def test_the_file_of_an_assistant_keeps_the_rules_of_its_examples_and_reads_them_again(tmp_path):
    compiled = Assistant("Look ahead.")
    demo = assistants.demo() | {"system": RULES}
    compiled.reply.demos = [demo]
    artefact = judges.filed(compiled, "assistant", assistants.card())
    again = artefact.put_into(Assistant(), "assistant.json")
    (sent, _) = again.messages({"history": [], "user_message": "C", "system": "Be kind."})
    assert f'"{MARK}": {json.dumps(RULES)}' in sent["content"]
    assert sent["content"].endswith("\n\nBe kind.")
    assert OFFER in sent["content"]


def with_rules(ratings: Any) -> Any:
    """A study whose every second item is of a dialogue with a system text."""
    items = [
        replace(item, view=item.view.model_copy(update={"system": f"{RULES} {item.key}"})) if number % 2 else item
        for number, item in enumerate(ratings.items)
    ]
    return replace(ratings, items=tuple(items))


@pytest.mark.parametrize("optimizer", ["labeled", "gepa"])
def test_a_compiled_judge_is_asked_about_each_response_under_its_own_rules(tmp_path, optimizer):
    ratings = with_rules(judges.study())
    heard = Heard.of(
        judges.taught(ratings), lambda server: judges.at(server, ratings, judges.recipe(optimizer)), tmp_path / "out"
    )
    keys = {item.key: bool(item.view.system) for item in ratings.items}
    requests = heard.by("judge")
    for sent in requests:
        system, *demos, last = (str(message["content"]) for message in sent.messages)
        (graded,) = (
            item
            for item in ratings.items
            if f"Yours, {item.meta['persona'].replace('p', 'zebra')}x, {item.key.removeprefix(judges.KEY)}." in last
        )
        assert CANARY not in system
        assert (f"heron-7 is the code of today. {graded.key}" in last) == keys[graded.key]
        assert last.count(CANARY) == keys[graded.key]
        # An example without rules is no worse an example: DSPy would say that something is missing in it.
        assert not any("not supplied" in text for text in (*demos, last))
    if optimizer == "labeled":
        assert any(CANARY in str(message["content"]) for sent in requests for message in sent.messages[:-1])


def test_a_judge_grades_a_control_turn_under_the_rules(server):
    (control,) = controls_of(ruled(turn_records=[record(turn) for turn in range(1, 8)]))[:1]
    inputs = control.view.inputs(Response(text="Good luck.").text)
    assert str(OfferDetector().messages(inputs)[-1]["content"]).startswith(HEADING)


# A folder


def controls(**changes: Any) -> dict[str, Any]:
    turns = [record(turn, user_message=f"Swapped {turn}?") for turn in range(1, 4)]
    fields = {"unique_id_eval": "swap-1", "trigger_points": [], "turn_records": turns, "control_turn": 3}
    return row(**(fields | {"system_text": "Swapped rules."} | changes))


def folder_of(path: Path, dialogues: Any, swapped: Any) -> Path:
    path.mkdir()
    (path / "final_dialogues.jsonl").write_text(jsonl(*dialogues), encoding="utf-8")
    if swapped is not None:
        (path / "controls.jsonl").write_text(jsonl(*swapped), encoding="utf-8")
    return path


def test_a_folder_is_a_corpus_whose_controls_are_control_cases_with_keys_and_a_hash_of_their_own(tmp_path):
    plain = load_corpus(str(folder_of(tmp_path / "plain", [row()], None)))
    made = load_corpus(str(folder_of(tmp_path / "made", [row()], [controls()])))
    assert (made.name, made.dialogues, made.ignored_fields) == (str(tmp_path / "made"), plain.dialogues, {})
    assert plain.sha256 == load_corpus(str(tmp_path / "plain" / "final_dialogues.jsonl")).sha256
    other = load_corpus(str(folder_of(tmp_path / "other", [row()], [controls(control_turn=2)])))
    assert len({plain.sha256, made.sha256, other.sha256}) == 3
    *turns, own = controls_of(made)
    assert (tuple(turns), own.key, own.stratum) == (controls_of(plain), "swap-1__t3", CONTROL)
    assert (own.group, own.meta["own_row"]) == (cases_of(made)[0].group, 1)
    assert own.view.inputs("x")["system"] == "Swapped rules."
    assert [turn.user for turn in own.view.conversation] == ["Swapped 1?", "Swapped 2?", "Swapped 3?"]
    assert own.view.conversation[-1].assistant is None
    assert cases_of(made) == cases_of(plain)


WRONG_CONTROLS = {
    "a trigger": (controls(trigger_points=row()["trigger_points"][:1]), "a control has no trigger"),
    "no turn": ({name: value for name, value in controls().items() if name != "control_turn"}, "the field is missing"),
    "no such turn": (controls(control_turn=4), "there is no turn 4: the last one is 3"),
    "a dialogue's key": (controls(unique_id_eval=row()["unique_id_eval"]), "give the control one of its own"),
}


@pytest.mark.parametrize(("swapped", "problem"), WRONG_CONTROLS.values(), ids=WRONG_CONTROLS)
def test_a_control_that_is_none_is_refused_with_file_and_field(tmp_path, swapped, problem):
    folder = folder_of(tmp_path / "made", [row()], [swapped])
    with pytest.raises(UsageError, match=problem) as caught:
        load_corpus(str(folder))
    assert str(folder / "controls.jsonl") in str(caught.value)


def test_the_folder_of_a_made_corpus_without_its_controls_is_refused(tmp_path):
    folder = folder_of(tmp_path / "made", [row()], None)
    (folder / "corpus.json").write_text("{}", encoding="utf-8")
    with pytest.raises(UsageError, match="missing from the folder of a made corpus"):
        load_corpus(str(folder))


def test_personas_of_a_folder_are_the_units_of_folds_and_its_controls_go_with_them(tmp_path):
    personas = ["a" * 32, "b" * 32]
    rows = [
        row(unique_id_eval=f"d{n}", uuid=personas[n // 2], scenario_id=f"S{n}", style_combination_index=0)
        for n in range(4)
    ]
    swapped = [controls(unique_id_eval=f"c{n}", uuid=personas[n // 2], scenario_id=f"S{n}") for n in range(4)]
    cases = DECLARED.read(str(folder_of(tmp_path / "made", rows, swapped)), Settings()).cases
    units = DECLARED.tuning(Settings()).units(cases)
    assert len(set(units.values())) == 2
    assert all(units[case.key] == units[f"{case.meta['dialogue'].replace('c', 'd')}__t2"] for case in cases)


def test_every_command_takes_a_folder_and_nothing_hidden_in_it_is_sent_or_shown(proact, server, tmp_path):
    made, tokens = list[dict[str, Any]](), list[str]()
    for persona in range(4):
        for key, extra in (
            (f"d{persona}", {"system_text": rules_of(persona)}),
            (f"swap{persona}", {"trigger_points": [], "control_turn": 6}),
        ):
            raw = dialogue(persona) | {"category_key": "lending library", "style_combination_index": 0} | extra
            planted, hidden = plant_canaries(raw | {"unique_id_eval": key})
            made.append(planted)
            tokens += hidden
    folder = folder_of(tmp_path / "made", made[::2], made[1::2])
    models = ["--model", "hosted_vllm/any", "--judge", "openai/any"]
    models += ["--model-api-base", server.assistant, "--judge-api-base", server.judge]
    outputs = [
        proact("eval", *models, "--corpus", folder, "--controls", "--out", "a"),
        proact("eval", *models, "--corpus", folder, "--controls", "--system-prompt", "Look ahead.", "--out", "b"),
        proact("report", "a", "--by", "life_domain", "--by", "style"),
        proact("show", "a", "--trigger", "d1__t6"),
        proact("compare", "a", "b"),
        proact("label", "sheet", "a", "--out", "sheet.csv"),
        proact("optimize", "assistant", "--corpus", folder, "--folds", 2, "--dry-run"),
    ]
    assert [(status, err) for status, _, err in outputs if status] == []
    report = outputs[2][1]
    assert "lending library" in report
    assert "4 of 8 control turns are rewritten triggers" in " ".join(report.split())
    texts = [sent.text for sent in server.sent] + [out for _, out, _ in outputs]
    files = ("sheet.csv", "a/cases.jsonl", "a/events.jsonl", "a/manifest.json")
    texts += [Path(name).read_text(encoding="utf-8") for name in files]
    assert not [token for token in tokens if any(token in text for text in texts)]
    assert rules_of(1) in " ".join(outputs[3][1].split())
    assert rules_of(1) in Path("sheet.csv").read_text(encoding="utf-8")
