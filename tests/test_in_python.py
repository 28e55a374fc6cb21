"""What people who import the package see: short texts of values, paths in any form, errors that name arguments."""

from pathlib import Path

import pytest

import dspy_proact
from dspy_proact import (
    AssistantTarget,
    Compile,
    Evaluation,
    Gate,
    JudgeTarget,
    Limits,
    ModelSpec,
    OfferDetector,
    Recipe,
    Rejudging,
    Responses,
    RunFolder,
    Scope,
    Trial,
    cases_of,
    leaderboard,
    load_corpus,
    load_ratings,
    open_model,
    summarize,
)
from dspy_proact.errors import UsageError
from dspy_proact.evaluation.registry import benchmark_named

pytestmark = pytest.mark.usefixtures("proactbench")
RECIPE = Recipe(optimizer="labeled", folds=2)
SHOWN = {
    "Corpus('sample', 16 dialogues, 49 triggers)": lambda: load_corpus("sample"),
    "Ratings('sample', 441 ratings of 147 items by 3 raters)": lambda: load_ratings("sample"),
    "Ratings('published', 275 ratings of 60 items by 18 raters)": lambda: load_ratings("published"),
    "Responses('sample', 147 of 147 cases)": lambda: Responses.of_ratings(load_ratings("sample")),
    "Evaluation(embedded judged by embedded, 64 cases of proactbench)": lambda: Evaluation("sample"),
    "Rejudging(": lambda: Rejudging(Responses.of_ratings(load_ratings("sample"))),
    "Trial('proactbench', assistant=embedded, judge=embedded)": Trial,
    "Compile(judge, 'labeled', 'sample', judge=embedded, proposer=embedded)": lambda: Compile(
        JudgeTarget(load_ratings("sample"), "embedded", "embedded"), RECIPE
    ),
    "Compile(assistant, 'search', 'sample', assistant=embedded, judge=embedded, ": lambda: Compile(
        AssistantTarget("sample", *["embedded"] * 4), Recipe(folds=2)
    ),
    "Gate(concurrency=3, timeout=600.0, retries=5, ": lambda: Gate(concurrency=3),
    "ProactBench('proactbench')": lambda: benchmark_named("proactbench"),
    "Role(name='judge', ": lambda: dspy_proact.JUDGE,
    "Model(name='embedded', ": lambda: open_model("embedded", dspy_proact.JUDGE, Gate()),
    "Leaderboard('proactbench', 16 ranked, 0 runs)": leaderboard,
    "Dialogue('": lambda: load_corpus("sample").dialogues[0],
    "Case('": lambda: cases_of(load_corpus("sample"))[0],
    "OfferDetector('default', demos=0)": OfferDetector,
}


@pytest.mark.parametrize(("begins", "value"), SHOWN.items(), ids=[name.partition("(")[0] for name in SHOWN])
def test_values_are_shown_in_a_line(begins, value):
    shown = repr(value())
    assert shown.startswith(begins)
    assert len(shown) < 400
    assert " at 0x" not in shown
    assert shown.isprintable()


def test_a_run_is_summarized_by_its_path_in_any_form(tmp_path):
    Evaluation("sample").run(tmp_path / "run", Scope(limit=3))
    assert [len(summarize(form(tmp_path / "run")).scored) for form in (str, Path, RunFolder)] == [3, 3, 3]


def misspelt():
    spec = ModelSpec(name="hosted_vllm/any", api_base="http://127.0.0.1:1/v1", params={"temprature": 0})
    return Evaluation("sample", spec, "embedded")


REFUSED = {
    "`model.params` temprature: is not a decoding parameter": misspelt,
    "name each judge once; `scope.judge_epochs=N` has each of them": lambda: Evaluation(judge=["embedded", "embedded"]),
    "`limits.usd` needs a price for `judge` hosted_vllm/any": lambda: open_model(
        "hosted_vllm/any", dspy_proact.JUDGE, Gate(limits=Limits(usd=1.0))
    ),
    "`margins=width`: is no row of the card": lambda: AssistantTarget(margins={"width": None}),
    "`guards=width`: a judge is guarded by": lambda: JudgeTarget(load_ratings("sample"), guards=["width"]),
    "`scope.strata=ORDINARY`: is none of": lambda: Evaluation("sample").check(scope=Scope(strata=("ORDINARY",))),
}


@pytest.mark.parametrize(("begins", "act"), REFUSED.items(), ids=[name.partition(" ")[0] for name in REFUSED])
def test_an_error_in_python_names_arguments_and_no_option(begins, act):
    with pytest.raises(UsageError) as caught:
        act()
    assert str(caught.value).startswith(begins)
    assert "--" not in str(caught.value)


def test_the_command_line_names_the_option_of_an_argument(refused):
    assert refused("eval", "--judge", "openai/any", "--judge-param", "temprature=0").startswith(
        "Error: --judge-param temprature: is not a decoding parameter"
    )
