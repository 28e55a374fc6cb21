"""A compiled program as a file: what is written is read back as it was, and nothing else is loaded."""

import json
import pickle
from typing import Any

import dspy
import pytest
from builders import assistants
from builders.judges import artefact, card, compiled_judge, filed, graded, study, worked

from dspy_proact import Evaluation, Responses, RunFolder, Scope, leaderboard, load_assistant, load_judge, summarize
from dspy_proact.benchmarks.proactbench.programs import GradeResponse, Judge
from dspy_proact.calls import Call, Price
from dspy_proact.compile.target import tokens_of_call
from dspy_proact.compile.training import variant
from dspy_proact.errors import UsageError
from dspy_proact.programs.artefact import checksum_of, read_artefact, signature_hash, states_of, write_artefact
from dspy_proact.programs.card import CardUsage

RESPONSE = dspy.InputField(desc=GradeResponse.fields["response"].json_schema_extra["desc"])
FROZEN_SIGNATURE = "4af625bbccbd603cec323a88743ebd9fe61fbee03549970d740d45dfc7d78286"


# Writing and reading


def test_what_is_written_is_read_back(tmp_path):
    for made in (artefact(), artefact(votes=3, cuts=(0.25, 1.75), demos=0)):
        write_artefact(tmp_path / "deep" / "judge.json", made)
        assert read_artefact(tmp_path / "deep" / "judge.json") == made
    assert [file.name for file in (tmp_path / "deep").iterdir()] == ["judge.json"]


def test_a_judge_from_a_file_says_what_the_judge_said_that_was_written(tmp_path):
    judge = variant(Judge(ask_quote_again=False), ["Grade by the moon."] * 3, worked(study())[:3])
    made = filed(judge, "judge", card())
    write_artefact(tmp_path / "judge.json", made)
    again = load_judge(str(tmp_path / "judge.json"))
    for item in graded(study()):
        inputs = item.case.view.inputs(item.answer.text)
        assert again.messages(inputs) == judge.messages(inputs)
    assert (again.name, again.demos) == (f"compiled:{made.digest[:12]}", 3)
    alone = compiled_judge(made, ask_quote_again=False)
    assert alone.fingerprint() == judge.fingerprint() != Judge(ask_quote_again=False).fingerprint()


def test_a_compiled_judge_is_named_by_what_decides_its_verdicts_and_not_by_its_card():
    named = compiled_judge(artefact()).name
    assert compiled_judge(artefact(better=False)).name == named
    others = (artefact(votes=2), artefact(cuts=(0.5, 1.25)), artefact(demos=2))
    assert len({named, *(compiled_judge(other).name for other in others)}) == 4


def test_a_demo_keeps_fields_of_the_signature_only():
    judge = Judge()
    (demo, *_) = worked(study())
    judge.critical.demos = [dspy.Example(**dict(demo.items()), label="PASS", rater="ann")]
    (kept,) = states_of(judge)["critical"].demos
    assert set(kept) == set(GradeResponse.fields)


@pytest.mark.parametrize(
    "changed",
    [
        GradeResponse.with_updated_fields("response", desc="another description"),
        GradeResponse.with_updated_fields("evidence", type_=str),
        GradeResponse.append("more", dspy.OutputField(), str),
        GradeResponse.delete("rubric"),
        GradeResponse.delete("response").prepend("response", RESPONSE, str),
    ],
    ids=["description", "type", "one more", "one less", "order"],
)
def test_the_signature_hash_is_frozen_and_leaves_the_instruction_out(changed):
    """It is part of the file format: where it changes on purpose, every compiled judge is refused."""
    assert signature_hash(GradeResponse) == signature_hash(GradeResponse.with_instructions("Else.")) == FROZEN_SIGNATURE
    assert signature_hash(changed) != FROZEN_SIGNATURE


# What is refused


@pytest.mark.parametrize("name", ["missing.json", "folder"])
def test_a_file_that_cannot_be_read_or_written_is_refused(tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(UsageError, match="cannot be read"):
        read_artefact(tmp_path / name)
    with pytest.raises(UsageError, match="cannot be written"):
        write_artefact(tmp_path / "file" / name, artefact())


MADE = {"judge": artefact(votes=3, cuts=(0.5, 1.5)), "assistant": assistants.artefact()}
READ = {"judge": load_judge, "assistant": load_assistant}
PREDICTORS = {"judge": "emergent", "assistant": "reply"}
BOTH = pytest.mark.parametrize("program", MADE)
NOT_FINITE = pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
MISSING: Any = object()


def refused(folder, program: str, contents: Any) -> str:
    """The sentence with which a file of a program with these contents is refused."""
    file = folder / f"{program}.json"
    file.write_bytes(contents if isinstance(contents, bytes) else json.dumps(contents).encode())
    with pytest.raises(UsageError) as caught:
        READ[program](file)
    text = str(caught.value)
    assert text.startswith(f"{file}: ")
    assert "\n" not in text
    return text


def content(program: str, path: str = "", value: Any = None) -> Any:
    """The content of a file, with another value, or none, at a path; a star in it is the program's predictor.

    Its checksum is right.
    """
    document = here = json.loads(MADE[program].model_dump_json())
    *above, name = (PREDICTORS[program] if part == "*" else part for part in path.split("."))
    for part in above:
        here = here[int(part)] if part.isdecimal() else here[part]
    if value is MISSING:
        del here[int(name) if isinstance(here, list) else name]
    elif name:
        here[int(name) if isinstance(here, list) else name] = value
    return document | {"checksum": checksum_of(document)}


@BOTH
@pytest.mark.parametrize(
    "path",
    [
        "",
        "states.*.",
        "states.*.signature.",
        "states.*.signature.fields.0.",
        "card.",
        "card.item_scores.",
        "card.provenance.",
    ],
)
def test_a_key_that_we_do_not_know_is_refused_naming_it(tmp_path, program, path):
    message = refused(tmp_path, program, content(program, f"{path}forward", "x"))
    assert "not a compiled program of ours" in message
    assert f"{path}forward".replace("*", PREDICTORS[program]) in message


@BOTH
@pytest.mark.parametrize(
    "path",
    ["states.*.demos", "states.*.signature", "signature", "card", "card.item_scores", "program", "role", "start"],
)
def test_a_key_that_is_missing_is_refused_naming_it(tmp_path, program, path):
    assert path.replace("*", PREDICTORS[program]) in refused(tmp_path, program, content(program, path, MISSING))


DEMO = "states.*.demos.0"
LOWER = {"partial": 0.5, "full": 1.5}


@pytest.mark.parametrize(
    ("program", "path", "value", "message"),
    [
        *((program, "signature", "0" * 64, "compiled for other signatures") for program in MADE),
        *((program, "format", 4, "format") for program in MADE),
        *(
            (program, "states.*.lm", lm, f"states.{PREDICTORS[program]}.lm")
            for program in MADE
            for lm in ({"model": "openai/other"}, "openai/other", {})
        ),
        ("judge", "votes", 1001, "votes"),
        *((program, "card.unchanged", True, "does not say whether the program is `start`") for program in MADE),
        ("judge", "card.item_scores.votes", 1, "card.item_scores.votes are not the 3 of the program"),
        ("judge", "card.provenance.models", {}, "names no model of the judge"),
        ("judge", "card.item_scores.parts.0.after.0", 3, "a level of the grading is none of its 3"),
        ("judge", "card.item_scores.parts.0.grades.0", [], "nobody graded an item"),
        ("judge", "card.item_scores.parts.0.grades.0", [[0, 1], [0, 2]], "a rater graded an item twice"),
        ("judge", "card.item_scores.stratum.0", 3, "the stratum of an item is none of `strata`"),
        ("judge", "card.item_scores.parts", [], "either columns, the score first, or parts that people grade"),
        ("assistant", "card.item_scores.tuned_for.0", 3, "what it was tuned for is none of `strata`"),
        ("assistant", "card.item_scores.columns.0.after.0", 1.5, "'score' is not in [0, 1]"),
        ("assistant", "card.item_scores.groups.0", MISSING, "not everything is there of each of the 119 items"),
        *(("judge", f"states.emergent.{name}", [{"x": 1}], f"states.emergent.{name}") for name in ("traces", "train")),
        *(
            (program, f"{DEMO}.{name}", "x", f"a demo has a field that is not the program's: {name!r}")
            for program, names in (
                ("judge", ["label"]),
                ("assistant", ["key", "rubric", "reasoning", "forward", "demos"]),
            )
            for name in names
        ),
        ("judge", "role", "assistant", "names no model of the assistant"),
        ("judge", "program", "Else", "a compiled Else"),
        ("judge", "benchmark", "probe", "probe"),
        ("judge", "votes", 0, "votes"),
        ("judge", "cuts.EMERGENT.forward", "x", "cuts.EMERGENT.forward"),
        ("judge", "cuts.EMERGENT.full", 3, "cuts.EMERGENT.full"),
        ("judge", "cuts.EMERGENT.partial", float("nan"), "cuts.EMERGENT.partial"),
        ("judge", "cuts.EMERGENT", {"partial": 1.5, "full": 0.5}, "cuts.EMERGENT"),
        ("judge", "cuts", {"LATER": LOWER}, "cuts.LATER"),
        ("assistant", "role", "teacher", "role"),
        ("assistant", "benchmark", "nobody's", "nobody's"),
        ("assistant", "card", {}, "card"),
        # A demo that no conversation can be made of, before it is used and not in the middle of a run.
        ("assistant", f"{DEMO}.history", "no turns", "'history' of a demo: Input"),
        ("assistant", f"{DEMO}.history", [{"user": "x"}], "'history' of a demo: field '0.assistant': Field"),
        ("assistant", f"{DEMO}.history", None, "'history' of a demo: Input"),
        *(
            ("assistant", f"{DEMO}.{name}", MISSING, f"lacks the field {name!r}")
            for name in ("history", "user_message")
        ),
    ],
)
def test_a_value_that_cannot_be_is_refused_naming_it(tmp_path, program, path, value, message):
    assert message in refused(tmp_path, program, content(program, path, value))


@NOT_FINITE
@pytest.mark.parametrize(
    "path", ["price.prompt", "overlap.items", "item_scores.columns.0.before.0", "item_scores.columns.2.after.9"]
)
def test_a_number_that_is_not_finite_is_refused_naming_it(tmp_path, path, number):
    message = refused(tmp_path, "assistant", content("assistant", f"card.{path}", number))
    assert f"card.{path}': " in message
    assert "finite" in message
    assert "Value error" not in message


@NOT_FINITE
def test_a_parameter_that_is_not_finite_is_refused_saying_where_it_stands(tmp_path, number):
    """Parameters have names of a provider's own, and no model of ours."""
    spoilt = content("judge", "card.provenance.models.judge.decoding.temperature", number)
    column = json.dumps(spoilt).index(json.dumps(number)) + 1
    message = refused(tmp_path, "judge", spoilt)
    assert "not a compiled program of ours: a number that is not finite: " in message
    assert int(message.partition(" at line 1 column ")[2]) in {column, column + 1}  # of the second sign behind a minus


@BOTH
def test_a_file_that_is_none_of_ours_is_refused(tmp_path, program):
    valid = json.dumps(content(program)).encode()
    for contents in (b"", b"{}", b"[]", b"null", valid[:-20], b"\xff\xfe" + valid, pickle.dumps({"lm": None})):
        assert "not a compiled program of ours" in refused(tmp_path, program, contents)


# What an answer takes


def call(prompt, completion):
    return Call(role="judge", started=0, latency=1, prompt_tokens=prompt, completion_tokens=completion)


@pytest.mark.parametrize(
    ("calls", "prompt", "completion"),
    [
        ([call(10, 2), call(30, 4)], 20_000, 3_000),  # 40 and 6 for two answers
        ([call(10, 2), call(30, 4), call(20, 6)], 30_000, 6_000),  # a repair: 60 and 12 for two answers
        ([call(20, 4), call(None, None)], 20_000, 4_000),  # what was not counted counts as the mean of the others
        ([call(None, None)], None, None),
        ([], None, None),
    ],
)
def test_what_1000_answers_take_rests_on_all_calls_that_two_took(calls, prompt, completion):
    usage = CardUsage.of([tokens_of_call(call) for call in calls], 2, Price(prompt=1e-6, completion=1e-6))
    assert (usage.prompt_tokens, usage.completion_tokens) == (prompt, completion)
    assert usage.tokens == (None if prompt is None else prompt + completion)
    assert usage.usd == (None if prompt is None else pytest.approx((prompt + completion) / 1e6))


def code_at(folder):
    """A file of Python that leaves a trace when it is run."""
    (folder / "mine.py").write_text(f"open({str(folder / 'was-run')!r}, 'w')\n", encoding="utf-8")
    return str(folder / "mine.py")


def test_a_program_that_names_a_file_as_its_benchmark_runs_no_code_of_it(tmp_path):
    path = tmp_path / "judge.json"
    write_artefact(path, artefact().model_copy(update={"benchmark": code_at(tmp_path)}))
    with pytest.raises(UsageError, match=r"no benchmark is called '.*mine\.py'"):
        load_judge(path)
    assert not (tmp_path / "was-run").exists()


def test_a_run_that_names_a_file_as_its_benchmark_runs_no_code_of_it(tmp_path):
    Evaluation("sample").run(tmp_path / "run", Scope(limit=1))
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text("utf-8"))
    manifest["identity"]["benchmark"] = code_at(tmp_path)
    (tmp_path / "run" / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    (tmp_path / "run" / "calls.jsonl").write_bytes(b"")  # its marks are those of the run that it was
    with pytest.raises(UsageError, match=r"no benchmark is called '.*mine\.py'"):
        leaderboard([summarize(tmp_path / "run")])
    with pytest.raises(UsageError, match=r"no benchmark is called '.*mine\.py'"):
        Responses.of_run(RunFolder(tmp_path / "run"))
    assert not (tmp_path / "was-run").exists()


def test_settings_that_its_benchmark_does_not_have_are_refused(tmp_path):
    path = tmp_path / "judge.json"
    write_artefact(path, artefact().model_copy(update={"settings": {"loud": 1}}))
    with pytest.raises(UsageError, match=r"judge\.json: settings: field 'loud'"):
        load_judge(path)
