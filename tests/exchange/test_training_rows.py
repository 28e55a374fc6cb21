"""Runs as rows for training: what stands in them, what is left out, and what never gets in."""

import asyncio
import json
from pathlib import Path

import datasets
import pytest
from builders.runs import answered, graded, manifest, run_of, trigger, written
from drivers.script import ended

from dspy_proact import Evaluation, ModelSpec, Rejudging, Responses, Scope, cli, load_corpus, reward, summarize
from dspy_proact.errors import UsageError
from dspy_proact.evaluation.registry import benchmarks
from dspy_proact.evaluation.split import split_of
from dspy_proact.exchange.training_rows import export_dpo, export_rl, export_sft
from dspy_proact.runs import CONTROL

pytestmark = pytest.mark.usefixtures("proactbench")
PERSONA = "0123456789abcdef"
"""Of the builders' triggers."""
assert split_of(PERSONA) == "train"


def lines(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def run_by(path, model, *graded_texts, judge="judge-1", **of):
    """A run on one trigger, with an epoch a text and its grade."""
    case, events = trigger("a"), []
    for epoch, (text, grade) in enumerate(graded_texts, start=1):
        events += [answered(case, text, epoch=epoch, truncated=text.startswith("cut"))]
        events += [graded(case, grade, judge=judge, epoch=epoch, response=text, evidence=(text,))]
    return summarize(written(path, manifest(judge, model=model, epochs=len(graded_texts), **of), [case], events))


def pairs(path, *summaries, margin=None):
    """The pairs of a file, as texts, and what is not in it."""
    lost = export_dpo(summaries, path / "pairs.jsonl", margin)
    rows = lines(path / "pairs.jsonl")
    return [(row["chosen"][0]["content"], row["rejected"][0]["content"]) for row in rows], lost


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """The sample by the stand-in, bare in two epochs and told to be proactive, and by one that is terse."""
    folder, controls = tmp_path_factory.mktemp("sample"), Scope(controls=True)
    Evaluation("sample").run(folder / "bare", Scope(controls=True, epochs=2))
    Evaluation("sample", system_prompt="Be proactive.").run(folder / "told", controls)
    rows = [{"key": key, "response": "That is done."} for key in reward("proactbench", split=None).cases]
    Rejudging(Responses.of_rows(rows, "terse")).run(folder / "terse", controls)
    return [summarize(folder / name) for name in ("bare", "told", "terse")]


# Prompts


def test_prompts_are_those_of_all_cases_once_with_their_split_and_a_reward_takes_their_keys(sample, tmp_path):
    assert export_rl(sample[:1], tmp_path / "rows.jsonl") == []
    rows = lines(tmp_path / "rows.jsonl")
    known = reward("proactbench", split=None)
    assert sorted(row["key"] for row in rows) == sorted(known.cases)
    assert {row["key"]: row["split"] for row in rows} == known.splits
    assert sum(row["stratum"] == CONTROL for row in rows) == 15
    for row in rows:
        assert row.keys() == {"prompt", "key", "group", "stratum", "split", "unit"}
        assert split_of(row["unit"]) == row["split"]
        assert row["prompt"][-1]["role"] == "user"
    # The same cases under another system text are other prompts.
    export_rl(sample, tmp_path / "both.jsonl")
    prompted = [row for row in lines(tmp_path / "both.jsonl") if row["prompt"][0]["role"] == "system"]
    assert {row["prompt"][0]["content"] for row in prompted} == {"Be proactive."}
    assert len(lines(tmp_path / "both.jsonl")) == 2 * len(rows) == 2 * len(prompted)


def test_nothing_of_a_rubric_is_in_any_row_and_the_second_file_has_it(sample, tmp_path):
    export_rl(sample, tmp_path / "rl.jsonl")
    export_sft(sample, tmp_path / "sft.jsonl")
    export_dpo(sample, tmp_path / "dpo.jsonl", None)
    written = {name: (tmp_path / f"{name}.jsonl").read_text("utf-8") for name in ("rl", "sft", "dpo")}
    hidden = {row["key"]: row["hidden"] for row in lines(tmp_path / "rl_hidden.jsonl")}
    corpus = load_corpus("sample")
    assert hidden.keys() == corpus.triggers.keys()
    for key, (_, point) in corpus.triggers.items():
        for criteria in (point.rubric.pass_criteria, point.rubric.partial_criteria, point.rubric.fail_criteria):
            assert criteria in hidden[key]
            assert not any(json.dumps(criteria, ensure_ascii=False)[1:-1] in text for text in written.values())


def test_what_raters_see_and_the_assistant_does_not_is_in_no_prompt(tmp_path):
    """Further columns of a table of one's own."""
    from dspy_proact.benchmarks.rows.levels import RowSettings

    head, row = "input,output,customer,remark,grade_ann", "Where is my parcel?,On its way.,c1,SECRET,good"
    (tmp_path / "mine.csv").write_text(f"{head}\n{row}\n", "utf-8")
    settings = RowSettings(scale=("bad", "good"), columns=(("context", "remark"),))
    Evaluation(str(tmp_path / "mine.csv"), benchmark="rows", settings=settings).run(tmp_path / "run")
    export_rl([summarize(tmp_path / "run")], tmp_path / "rows.jsonl")
    (written,) = lines(tmp_path / "rows.jsonl")
    assert written["prompt"] == [{"role": "user", "content": "Where is my parcel?"}]
    assert "SECRET" in (tmp_path / "rows_hidden.jsonl").read_text("utf-8")


OWN = """
from pydantic import BaseModel
from dspy_proact import Assistant, Benchmark, Case, CaseSet, Scored, Turn

class Message(BaseModel, frozen=True):
    user_message: str
    history: tuple[Turn, ...] = ()

class Reply(BaseModel, frozen=True):
    response: str

class Mine(Benchmark[Reply, Reply]):
    name, about, strata, labels, view, answer_type = "mine", "Any.", ("S",), ("RIGHT", "WRONG"), Message, Reply

    def read(self, corpus, settings, revision=None):
        late = Message(user_message="And then?", history=(Turn(user="Hello", assistant="Hi"),))
        return CaseSet.of("mine", [Case(k, k, "S", v) for k, v in (("a", Message(user_message="Hello")), ("b", late))])

    def program(self, settings, start, roles):
        return Assistant(start.prompt)

    async def grade(self, case, answer, ask):
        return Scored(1.0, "RIGHT", answer)
"""


def test_prompts_of_a_benchmark_of_ones_own_are_the_messages_that_its_assistant_was_sent(server, tmp_path):
    (tmp_path / "mine.py").write_text(OWN, "utf-8")
    own, model = str(tmp_path / "mine.py"), ModelSpec(name="openai/m", api_base=server.assistant)
    Evaluation("any", model, benchmark=own, system_prompt="Be brief.").run(tmp_path / "run")
    export_rl([summarize(tmp_path / "run")], tmp_path / "rows.jsonl")
    sent = [one.messages for one in server.sent]
    prompts = [row["prompt"] for row in lines(tmp_path / "rows.jsonl")]
    assert [len(prompt) for prompt in prompts] == [2, 4]
    assert sorted(prompts, key=len) == sorted(sent, key=len)


def test_a_run_without_control_turns_says_so(tmp_path):
    run = run_by(tmp_path / "run", "m", ("Label the boxes.", "PASS"), control_labels=("HELD_BACK", "UNWANTED"))
    assert export_rl([run], tmp_path / "rows.jsonl") == ["control turns, which no run was asked for"]


# Answers to imitate


def test_answers_that_passed_are_rows_once_and_only_of_the_training_cases(sample, tmp_path):
    lost = export_sft(sample, tmp_path / "rows.jsonl")
    rows = lines(tmp_path / "rows.jsonl")
    best = {"PASS", "HELD_BACK"}
    outcomes = [(run, one) for run in sample for one in (*run.outcomes, *run.controls.outcomes)]
    wanted = {
        (one.key, one.response, run.manifest.system_prompt)
        for run, one in outcomes
        if one.label in best and split_of(one.meta["persona"]) == "train"
    }
    system = [row["prompt"][0]["content"] if row["prompt"][0]["role"] == "system" else None for row in rows]
    texts = [row["completion"][0]["content"] for row in rows]
    assert {*zip([row["key"] for row in rows], texts, system, strict=True)} == wanted
    assert len(rows) == len(wanted)
    assert {row["split"] for row in rows} == {"train"}
    assert {row["unit"] for row in rows} == {one.meta["persona"] for _, one in outcomes} & {row["unit"] for row in rows}
    assert [row["judges"] for row in rows] == [["embedded"]] * len(rows)
    tests = sum(split_of(one.meta["persona"]) == "test" for _, one in outcomes)
    assert lost[0] == f"{tests} answers to cases of the split test"


def test_what_was_cut_is_no_example(tmp_path):
    run = run_by(tmp_path / "run", "m", ("Label the boxes.", "PASS"), ("cut off", "PASS"), ("No.", "PARTIAL"))
    lost = export_sft([run], tmp_path / "rows.jsonl")
    assert [row["completion"] for row in lines(tmp_path / "rows.jsonl")] == [
        [{"role": "assistant", "content": "Label the boxes."}]
    ]
    assert lost == ["1 answer cut at the token limit", "1 answer graded below a pass"]


# Answers side by side


def test_a_passed_answer_stands_beside_a_failed_one_of_another_model_or_epoch_and_each_once(tmp_path):
    one = run_by(tmp_path / "one", "m", ("pass 1", "PASS"), ("fail", "FAIL"), ("hint", "PARTIAL"))
    two = run_by(tmp_path / "two", "n", ("a longer fail", "FAIL"), ("a pass", "PASS"), ("pass, no. 3", "PASS"))
    # The shortest first on both sides; the third pass has no failed answer left, the hint is no fail.
    assert pairs(tmp_path, one, two) == (
        [("pass 1", "fail"), ("a pass", "a longer fail")],
        ["2 answers in no pair"],
    )
    (first, second) = lines(tmp_path / "pairs.jsonl")
    assert (first["chosen_model"], first["rejected_model"]) == ("m", "m")
    assert (second["chosen_model"], second["rejected_model"]) == ("n", "n")
    assert first["judges"] == second["judges"] == ["judge-1"]
    assert first["unit"] == PERSONA
    assert first["prompt"] == second["prompt"]


@pytest.mark.parametrize(
    ("margin", "expected"),
    [(None, ["a failure"]), (1.0, ["a failure"]), (0.6, ["a failure"]), (0.5, ["a hint", "a failure"])],
)
def test_near_misses_are_left_out_unless_the_margin_allows_them(tmp_path, margin, expected):
    graded_texts = [("pass", "PASS"), ("a pass", "PASS"), ("a failure", "FAIL"), ("a hint", "PARTIAL")]
    run = run_by(tmp_path / "run", "m", *graded_texts)
    assert [rejected for _, rejected in pairs(tmp_path, run, margin=margin)[0]] == expected


def test_a_text_that_passed_and_failed_is_on_no_side_and_a_hint_is_never_chosen(tmp_path):
    run = run_by(tmp_path / "run", "m", ("same", "PASS"), ("same", "FAIL"), ("a hint", "PARTIAL"), ("bad", "FAIL"))
    with pytest.raises(UsageError, match="would have no row"):
        pairs(tmp_path, run, margin=0.5)


@pytest.mark.parametrize("margin", [0, -1, 1.01, float("nan")])
def test_a_margin_is_a_difference_of_scores(tmp_path, margin):
    run = run_by(tmp_path / "run", "m", ("pass", "PASS"), ("fail", "FAIL"))
    with pytest.raises(UsageError, match="above 0 and at most 1"):
        pairs(tmp_path, run, margin=margin)


def test_grades_of_different_judges_are_not_compared(tmp_path):
    one = run_by(tmp_path / "one", "m", ("pass", "PASS"))
    two = run_by(tmp_path / "two", "n", ("fail", "FAIL"), judge="judge-2")
    with pytest.raises(UsageError, match="graded by different judges"):
        pairs(tmp_path, one, two)


# Any run


def test_every_file_is_read_by_datasets(sample, tmp_path):
    for name, write in (("rl", export_rl), ("sft", export_sft), ("dpo", lambda *of: export_dpo(*of, None))):
        write(sample, tmp_path / f"{name}.jsonl")
        read = datasets.load_dataset(
            "json", data_files=str(tmp_path / f"{name}.jsonl"), split="train", cache_dir=str(tmp_path / "cache")
        )
        assert read.to_list() == lines(tmp_path / f"{name}.jsonl")


def test_hostile_texts_are_rows_that_any_reader_of_lines_takes(tmp_path):
    texts = [
        f"{text} boxes" for text in ("a\0b", "\u2028\u2029\x85", "\r\n\x0b\x1b[2J", '{"a": 1}\n', "\ufeff\u202e</s>")
    ]
    run = run_by(tmp_path / "run", "m", *((text, "PASS") for text in texts))
    assert export_sft([run], tmp_path / "rows.jsonl") == ["1 character that no file holds safely, replaced by U+FFFD"]
    rows = lines(tmp_path / "rows.jsonl")
    assert [row["completion"][0]["content"] for row in rows] == [text.replace("\0", "\ufffd") for text in texts]
    read = datasets.load_dataset(
        "json", data_files=str(tmp_path / "rows.jsonl"), split="train", cache_dir=str(tmp_path / "cache")
    )
    assert read.to_list() == rows


def test_rewarded_completions_are_rows_too(tmp_path):
    rewarding = reward("proactbench", out=tmp_path / "rewards")
    key, case = next((key, case) for key, case in rewarding.cases.items() if case.stratum != CONTROL)
    passed = f"I suggest planning ahead: {case.view.rubric.pass_criteria} {case.view.conversation[-1].user}"
    assert asyncio.run(rewarding(None, [passed, "That is done."], [key] * 2))[1] == 0
    rewarding.close()
    export_dpo([summarize(rewarding.out)], tmp_path / "pairs.jsonl", 0.5)
    (row,) = lines(tmp_path / "pairs.jsonl")
    assert (row["key"], row["chosen"][0]["content"], row["rejected_model"]) == (key, passed, "policy")


@pytest.mark.parametrize("name", list(benchmarks()))
def test_a_benchmark_whose_answers_are_no_texts_is_refused(name, tmp_path):
    Evaluation("sample", benchmark=name).run(tmp_path / "run", Scope(limit=6))
    run = summarize(tmp_path / "run")
    if name in ("proactbench", "rows"):
        export_rl([run], tmp_path / "rows.jsonl")
        assert len(lines(tmp_path / "rows.jsonl")) == 6
        return
    with pytest.raises(UsageError, match="are more than a text; use csv"):
        export_rl([run], tmp_path / "rows.jsonl")


@pytest.mark.parametrize("changes", [{"held_back": True}, {"private": True}])
def test_what_is_held_back_and_what_keeps_no_inputs_is_refused(tmp_path, changes):
    corpus = manifest().corpus.model_copy(update=changes)
    run = run_of(tmp_path / "run", [(trigger("a"), "PASS")], corpus=corpus, keeps_inputs="private" not in changes)
    with pytest.raises(UsageError, match="held back" if "held_back" in changes else "holds no inputs"):
        export_sft([summarize(run)], tmp_path / "rows.jsonl")


def test_the_command_takes_several_runs_for_rows_alone_and_names_both_files(sample, tmp_path):
    runs = [run.path for run in sample]

    def called(*arguments):
        return ended(cli.main, Path("dspy-proact"), "export", *arguments, folder=tmp_path)

    done = called(*runs, "--format", "rl")
    assert (done.returncode, done.stdout) == (0, "exports/bare.rl.jsonl\n")
    assert "exports/bare.rl_hidden.jsonl" in done.stderr
    assert called(runs[0], runs[2], "--format", "dpo", "--margin", "0.5").stdout == "exports/bare.dpo.jsonl\n"
    for arguments, sentence in (
        ((*runs, "--format", "csv"), "--format csv is of one run, and 3 are named; several are for rl, sft, dpo"),
        ((runs[0], "--format", "sft", "--margin", "0.5"), "--margin has no effect with --format sft; leave it out"),
        ((runs[0], "--format", "dpo", "--margin", "2"), "--margin 2: is a difference of scores"),
    ):
        refused = called(*arguments)
        assert (refused.returncode, sentence in " ".join(refused.stderr.split())) == (2, True)
