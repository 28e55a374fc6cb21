"""A compiled judge as a file: what is written is read back as it was, and nothing else is loaded."""

import os
import pickle

import assistants
import dspy
import pytest
from tuning import artefact, card, compiled_judge, filed, graded, study, worked

from dspy_proact.benchmarks.compiled import load_judge
from dspy_proact.benchmarks.proactbench.programs import GradeResponse, Judge
from dspy_proact.calls import Call, Price
from dspy_proact.compile.training import variant
from dspy_proact.errors import UsageError
from dspy_proact.programs import CardUsage
from dspy_proact.programs.artefact import read_artefact, signature_hash, states_of, write_artefact

RESPONSE = dspy.InputField(desc=GradeResponse.fields["response"].json_schema_extra["desc"])
FROZEN_SIGNATURE = "4af625bbccbd603cec323a88743ebd9fe61fbee03549970d740d45dfc7d78286"


# Writing and reading


def test_what_is_written_is_read_back(tmp_path):
    for made in (artefact(), artefact(votes=3, cuts=(0.25, 1.75), demos=0)):
        write_artefact(tmp_path / "deep" / "judge.json", made)
        assert read_artefact(tmp_path / "deep" / "judge.json") == made
    assert [file.name for file in (tmp_path / "deep").iterdir()] == ["judge.json"]


def test_a_judge_from_a_file_says_what_the_judge_said_that_was_written(tmp_path):
    judge = variant(Judge(ask_quote_again=False), "Grade by the moon.", ())
    judge.grade.demos = worked(study())[:3]
    write_artefact(tmp_path / "judge.json", filed(judge, "judge", card()))
    again = compiled_judge(read_artefact(tmp_path / "judge.json"), ask_quote_again=False)
    for item in graded(study()):
        assert again.messages(item.case.view, item.answer.text) == judge.messages(item.case.view, item.answer.text)
    assert again.fingerprint() == judge.fingerprint() != Judge(ask_quote_again=False).fingerprint()


def test_a_judge_is_loaded_by_the_path_of_its_file(tmp_path):
    made = artefact(demos=2)
    write_artefact(tmp_path / "judge.json", made)
    loaded = load_judge(str(tmp_path / "judge.json"))
    assert loaded.fingerprint() == compiled_judge(made).fingerprint()
    assert (loaded.name, loaded.demos) == (f"compiled:{made.digest[:12]}", 2)


def test_an_assistant_is_not_loaded_as_a_judge(tmp_path):
    write_artefact(tmp_path / "assistant.json", assistants.artefact())
    with pytest.raises(UsageError, match="a compiled assistant, where a judge is asked for"):
        load_judge(tmp_path / "assistant.json")


def test_a_compiled_judge_is_named_by_what_decides_its_verdicts_and_not_by_its_card():
    plain = artefact()
    named = compiled_judge(plain).name
    assert named == f"compiled:{plain.digest[:12]}"
    assert compiled_judge(artefact(EMERGENT=0.1)).name == named
    others = (artefact(votes=2), artefact(cuts=(0.5, 1.25)), artefact(demos=2))
    assert len({named, *(compiled_judge(other).name for other in others)}) == 4


def test_a_demo_keeps_fields_of_the_signature_only():
    judge = Judge()
    (demo, *_) = worked(study())
    judge.grade.demos = [dspy.Example(**dict(demo.items()), label="PASS", rater="ann")]
    (kept,) = states_of(judge)["grade"].demos
    assert set(kept) == set(GradeResponse.fields)


def test_the_signature_hash_is_frozen_and_leaves_the_instruction_out():
    """It is part of the file format: where it changes on purpose, every compiled judge is refused."""
    assert signature_hash(GradeResponse) == FROZEN_SIGNATURE
    assert signature_hash(GradeResponse.with_instructions("Else.")) == FROZEN_SIGNATURE


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
def test_another_signature_has_another_hash(changed):
    assert signature_hash(changed) != signature_hash(GradeResponse)


def test_what_cannot_be_written_is_a_sentence(tmp_path):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(UsageError, match="cannot be written"):
        write_artefact(tmp_path / "file" / "judge.json", artefact())


# What is refused


def test_a_pickle_is_not_loaded(tmp_path):
    (tmp_path / "judge.pkl").write_bytes(pickle.dumps(Trap(str(tmp_path / "sprung"))))
    with pytest.raises(UsageError, match="not a compiled program of ours"):
        read_artefact(tmp_path / "judge.pkl")
    assert not (tmp_path / "sprung").exists()


class Trap:
    """Makes a folder where it is unpickled."""

    def __init__(self, path: str):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("name", ["missing.json", "folder"])
def test_a_file_that_is_not_there_is_refused(tmp_path, name):
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match="cannot be read"):
        read_artefact(tmp_path / name)


# What an answer takes


def call(prompt, completion, error=None):
    return Call(role="judge", started=0, latency=1, prompt_tokens=prompt, completion_tokens=completion, error=error)


@pytest.mark.parametrize(
    ("calls", "prompt", "completion"),
    [
        ([call(10, 2), call(30, 4)], 20_000, 3_000),  # 40 and 6 for two answers
        ([call(10, 2), call(30, 4), call(20, 6)], 30_000, 6_000),  # a repair: 60 and 12 for two answers
        ([call(10, 2), call(30, 4), call(None, None, "rate_limit")], 20_000, 3_000),  # what failed took none
        ([call(20, 4), call(None, None)], 20_000, 4_000),  # what was not counted counts as the mean of the others
        ([call(None, None)], None, None),
        ([], None, None),
    ],
)
def test_what_1000_answers_take_rests_on_all_calls_that_two_took(calls, prompt, completion):
    usage = CardUsage.of(calls, 2, Price(prompt=1e-6, completion=1e-6))
    assert (usage.prompt_tokens, usage.completion_tokens) == (prompt, completion)
    assert usage.tokens == (None if prompt is None else prompt + completion)
    assert usage.usd == (None if prompt is None else pytest.approx((prompt + completion) / 1e6))
