"""A benchmark of its own words, parts and measures, graded by itself: in text, JSON, comparison and export."""

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
from builders.riddles import CONTROL_LABELS, SCORES, answered, case, identity, manifest, verdict_key, written
from drivers.terminal import printed
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from dspy_proact.report import (
    Summary,
    compare,
    comparison_document,
    export_csv,
    export_parquet,
    print_comparison,
    summarize,
    summary_document,
)
from dspy_proact.report.numbers import document
from dspy_proact.runs import CONTROL, Case, Manifest, Measure, Nouns, StageEvent, VerdictRecord
from dspy_proact.stats import Estimate, cluster_mean, part_mean

LENGTH = Measure(name="length", title="words a guess", parts=("words",))
HINTS = Measure(name="hints", title="share of hints used", parts=("hints",))
TRICKS = Measure(name="tricks", title="tricks, F1", statistic="f1", parts=("trick", "said"))
INSIGHT = Measure(name="insight", title="insight, kappa", statistic="kappa", parts=("trick", "said"))
WORDS = Nouns(
    case="riddle",
    cases="riddles",
    stratum="kind",
    strata="kinds",
    group="cave",
    groups="caves",
    control="joke",
    controls="jokes",
)


def own(*measures: Measure, **changes: Any) -> Manifest:
    """The manifest of a benchmark that grades by itself."""
    fields = {"identity": identity(judges=()), "judge_prices": {}, "measures": measures, "nouns": WORDS}
    return manifest(**(fields | changes))


def graded(key: str, label: str = "SOLVED", **parts: float) -> StageEvent:
    """The grade that the benchmark itself gives."""
    record = VerdictRecord(score=SCORES[label], label=label, verified=None, parts=parts, detail={"remark": "hm"})
    return StageEvent(key=verdict_key(key).model_copy(update={"judge": None}), grade=record, calls=(), time=3.0)


def run_of(
    path: Path, message: Iterable[tuple[Case, Mapping[str, float]]], *measures: Measure, **changes: Any
) -> Summary:
    """A run of riddles with these parts."""
    message = list(message)
    events = [event for one, parts in message for event in (answered(one.key), graded(one.key, **parts))]
    return summarize(written(path, own(*measures, **changes), [one for one, _ in message], events))


def riddles(*strata: str) -> list[Case]:
    """A riddle a stratum, each in a cave of its own."""
    return [case(f"r{number}", group=f"c{number}", stratum=stratum) for number, stratum in enumerate(strata)]


def measured_run(path: Path, *measures: Measure) -> Summary:
    """Six riddles in six caves: words 1 to 6, and tricks of which one is missed and one is seen where none is."""
    tricks = [(1, 1), (1, 1), (1, 0), (1, 1), (0, 1), (0, 0)]
    lines = [
        (one, {"words": number, "trick": trick, "said": text})
        for number, (one, (trick, text)) in enumerate(
            zip(riddles(*["RHYME"] * 4, *["NUMBER"] * 2), tricks, strict=True), 1
        )
    ]
    return run_of(path, lines, *measures)


def test_measures_stand_in_each_stratum_and_over_all_by_name(tmp_path: Path):
    result = summary_document(measured_run(tmp_path, LENGTH, TRICKS))
    assert list(result["kinds"]["RHYME"]["measures"]) == list(result["overall"]["measures"]) == ["length", "tricks"]
    # Words 1, 2, 3, 4 | 5, 6; tricks: 3 right and 1 missed, 6/7 | 1 false, 0/1 | 6/8.
    values = {name: result["kinds"][name]["measures"] for name in ("RHYME", "NUMBER")}
    assert [value["length"]["value"] for value in values.values()] == [2.5, 5.5]
    assert [value["tricks"]["value"] for value in values.values()] == [pytest.approx(6 / 7), 0]
    overall = result["overall"]["measures"]
    assert (overall["length"]["value"], overall["tricks"]["value"]) == (3.5, pytest.approx(0.75))
    expected = part_mean([1, 2, 3, 4, 5, 6], range(6))
    assert overall["length"] == document(expected)
    # Tricks are in four caves of six.
    assert overall["tricks"]["reason"] == "fewer than 5 caves with a positive riddle"
    assert values["RHYME"]["tricks"]["reason"] == "fewer than 5 caves"


def test_what_is_said_of_a_row_names_its_columns_unless_it_holds_for_all_of_it(tmp_path: Path):
    # One trick that is seen and three that are missed: the answers have one length, and the scores are all alike.
    rhymes = enumerate(riddles(*["RHYME"] * 4))
    values = [(one, {"words": 3, "trick": 1, "said": float(not index)}) for index, one in rhymes]
    lines = printed(run_of(tmp_path, values, LENGTH, TRICKS)).splitlines()
    assert "RHYME, micro: fewer than 5 caves." in lines
    assert "score, pass rate of RHYME, micro: all values equal." in lines
    assert "words a guess of RHYME, micro: no variance between caves." in lines


def test_a_part_within_0_and_1_has_the_interval_of_a_share(tmp_path: Path):
    hints = [0.0, 0.25, 0.5, 0.5, 0.75, 1.0]
    lines = [(one, {"hints": share}) for one, share in zip(riddles(*["RHYME"] * 6), hints, strict=True)]
    summary = run_of(tmp_path, lines, HINTS)
    assert summary.measured(summary.outcomes)["hints"] == cluster_mean(hints, range(6))


@pytest.mark.parametrize("counts", [[0.0, 0.0, 0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 9.0, 0.0, 0.0]])
def test_a_part_with_declared_bounds_has_an_interval_within_them_whatever_its_values(tmp_path: Path, counts):
    lines = [(one, {"words": count}) for one, count in zip(riddles(*["RHYME"] * 6), counts, strict=True)]
    summary = run_of(tmp_path / "count", lines, LENGTH.model_copy(update={"least": 0}))
    result = summary.measured(summary.outcomes)["length"]
    assert result == part_mean(counts, range(6), bounds=(0, np.inf))
    assert result.low == 0
    share = run_of(tmp_path / "share", lines, LENGTH.model_copy(update={"least": 0, "most": 1}))
    result, within = share.measured(share.outcomes)["length"], max(counts) <= 1
    assert result.reason == (None if within else "words is out of its bounds somewhere")
    assert result.value == (cluster_mean(counts, range(6)).value if within else None)


@pytest.mark.parametrize("constant", [0.0, 0.5, 1.0])
def test_what_never_differs_has_no_interval_where_no_bounds_are_declared(tmp_path: Path, constant: float):
    """It may be a share, or a count that happened to be small: bounds taken from the data would be made up."""
    summary = run_of(tmp_path, [(one, {"hints": constant}) for one in riddles(*["RHYME"] * 6)], HINTS)
    assert summary.measured(summary.outcomes)["hints"] == Estimate(constant, reason="no variance between caves")


def test_where_the_mean_of_strata_is_published_measures_are_compared_by_it_too(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(Summary, "leading_mean", "macro")
    kinds = riddles(*["RHYME"] * 4, *["NUMBER"] * 2)
    sides = [
        run_of(tmp_path / str(more), [(one, {"words": more * (one.stratum == "NUMBER")}) for one in kinds], LENGTH)
        for more in (0, 3)
    ]
    overall = comparison_document(compare(*sides))["overall"]
    # Rhymes 0 and 0, numbers 0 and 3: 2 x 3 / 6 over riddles, (0 + 3) / 2 over kinds.
    assert overall["measures"]["length"]["difference"]["value"] == 1
    assert overall["macro"]["measures"]["length"]["difference"]["value"] == 1.5
    file = io.StringIO()
    print_comparison(compare(*sides), Console(file=file, width=120), explain=True)
    assert re.search(r"^words a guess of macro +0.00 +1.50", file.getvalue(), re.MULTILINE)


def test_cases_without_a_part_do_not_count_and_are_told(tmp_path: Path):
    one, two, three = riddles("RHYME", "RHYME", "NUMBER")
    summary = run_of(tmp_path, [(one, {"words": 2}), (two, {"words": 4}), (three, {})], LENGTH)
    result = summary_document(summary)
    assert result["overall"]["measures"]["length"]["value"] == 3
    assert result["overall"]["measures"]["length"]["reason"] == "fewer than 5 caves; over 2 of 3 scored"
    missing = {"value": None, "low": None, "high": None, "reason": "no scored case has words"}
    assert result["kinds"]["NUMBER"]["measures"]["length"] == missing | {"reason": "no scored riddle has words"}


def test_what_is_neither_yes_nor_no_has_no_f1(tmp_path: Path):
    (one,) = riddles("RHYME")
    summary = run_of(tmp_path, [(one, {"trick": 0.5, "said": 1})], TRICKS)
    estimate = summary.measured(summary.outcomes)["tricks"]
    assert (estimate.value, estimate.reason) == (None, "trick or said is neither 0 nor 1 somewhere")


def test_the_terminal_shows_measures_who_graded_and_the_benchmarks_words(tmp_path: Path):
    text = printed(measured_run(tmp_path, LENGTH, TRICKS, INSIGHT))
    assert "on 6 riddles of riddles." in " ".join(text.split())
    heads = next(line for line in text.splitlines() if "words a guess" in line)
    assert heads.index("kind") < heads.index("words a guess") < heads.index("tricks, F1")
    (rhyme,) = [line.split() for line in text.splitlines() if line.startswith("RHYME") and "2.50" in line]
    assert rhyme[1] == "2.50"
    assert "6 riddles in 6 caves; % with 95 % intervals. micro: the mean over riddles" in text
    assert "interval: 95 %, cluster-robust over caves" in text
    assert "RHYME, NUMBER: fewer than 5 caves." in text
    assert "judge" not in text.replace("judged", "")


def test_a_run_without_a_judge_says_so_in_json(tmp_path: Path):
    result = summary_document(measured_run(tmp_path, LENGTH))
    assert (result["run"]["judge"], result["run"]["judge_reason"]) == (None, "graded by the benchmark")
    assert (result["run"]["judges"], result["run"]["judge_prompt"]) == ([], None)
    assert (list(result["usage"]), result["complete"], "several_verdicts" in result) == (["assistant"], True, False)


def compared(tmp_path: Path, a: list[tuple[int, int]], b: list[tuple[int, int]], *measures: Measure):
    def side(name: str, message: list[tuple[int, int]]) -> Summary:
        requests = zip(riddles(*["RHYME"] * len(message)), message, strict=True)
        parts = [
            (one, {"trick": trick, "said": text, "words": text + number})
            for number, (one, (trick, text)) in enumerate(requests)
        ]
        return run_of(tmp_path / name, parts, *measures)

    return compare(side("a", a), side("b", b))


def test_a_measure_is_compared_by_case(tmp_path: Path):
    a, b = [(1, 1), (1, 1), (1, 0), (1, 0), (0, 0), (0, 1)], [(1, 1)] * 4 + [(0, 0)] * 2
    comparison = compared(tmp_path, a, b, TRICKS, LENGTH)
    result = comparison_document(comparison)
    tricks = result["kinds"]["RHYME"]["measures"]["tricks"]
    # a: 2 right, 2 missed, 1 false: 4 / 7; b: 1.
    assert (tricks["a"]["value"], tricks["b"]["value"]) == (pytest.approx(4 / 7), 1)
    assert tricks["difference"]["value"] == pytest.approx(3 / 7)
    # Without each: 1 - (2/5, 2/5, 4/6, 4/6, 4/7, 4/6) - 3/7; SE^2 = 5/6 of their squares; t(5).
    left = [3 / 5, 3 / 5, 1 / 3, 1 / 3, 3 / 7, 1 / 3]
    error = (5 / 6 * sum((one - 3 / 7) ** 2 for one in left)) ** 0.5
    assert tricks["difference"]["low"] == pytest.approx(3 / 7 - 2.570582 * error, abs=1e-6)
    length = result["overall"]["measures"]["length"]
    assert length["difference"]["value"] == pytest.approx((0 + 0 + 1 + 1 + 0 - 1) / 6)
    assert result["judges_reason"] == "the two did not grade the same responses"
    file = io.StringIO()
    print_comparison(comparison, Console(file=file, width=120), explain=True)
    assert "a: traveller, graded by the benchmark itself" in file.getvalue()
    assert "flips all riddles of a cave together" in " ".join(file.getvalue().split())


def test_a_part_that_is_told_of_acts_is_compared_over_the_acts_of_each_run(tmp_path: Path):
    """As each run's report has it: of cases in both a would be wrong never, for it was wrong where b was silent.

    Wrong of a: 1, 0, 0, 0 at the first four; of b: 0, 0, 1 at the second, third and fifth: 1/4 and 1/3. Without each of
    the six riddles b - a is 1/3 - 0, 1/2 - 1/3, 1/2 - 1/3, 1/3 - 1/3, 0 - 1/4, 1/3 - 1/4.
    """
    false = Measure(name="wrong", title="wrong", parts=("wrong",), least=0, most=1, higher_is_better=False)
    cases = riddles(*["RHYME"] * 6)
    sides = [{0: 1, 1: 0, 2: 0, 3: 0}, {1: 0, 2: 0, 4: 1}]
    runs = [
        run_of(
            tmp_path / str(index),
            [(case, {"wrong": own[n]} if n in own else {}) for n, case in enumerate(cases)],
            false,
        )
        for index, own in enumerate(sides)
    ]
    result = comparison_document(compare(*runs))["overall"]["measures"]["wrong"]
    for side, run in zip("ab", runs, strict=True):
        alone = summary_document(run)["overall"]["measures"]["wrong"]
        assert [result[side][end] for end in ("value", "low", "high")] == [
            alone[end] for end in ("value", "low", "high")
        ]
    left = [1 / 3, 1 / 2 - 1 / 3, 1 / 2 - 1 / 3, 0, -1 / 4, 1 / 3 - 1 / 4]
    error = (5 / 6 * sum((one - 1 / 12) ** 2 for one in left)) ** 0.5
    assert result["difference"]["value"] == pytest.approx(1 / 12)
    assert result["difference"]["low"] == pytest.approx(1 / 12 - 2.570582 * error, abs=1e-6)


def test_where_one_side_has_no_value_the_difference_says_why(tmp_path: Path):
    comparison = compared(tmp_path, [(0, 0), (0, 0)], [(0, 1), (0, 0)], TRICKS)
    result = comparison_document(comparison)["overall"]["measures"]["tricks"]
    assert result["a"]["reason"] == result["difference"]["reason"] == "no positive riddle, and none predicted"
    assert result["b"]["value"] == 0


def test_the_table_has_a_column_a_part_and_those_of_the_cases(tmp_path: Path):
    one = case("r1", group="c1", page=3, author="=Ann", score="taken")
    two = case("r2", group="c2", stratum="NUMBER", page=4, author="Bob", score="taken")
    summary = run_of(tmp_path / "run", [(one, {"words": 2, "state": 1}), (two, {})], LENGTH)
    export_csv(summary, tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(encoding="utf-8-sig", newline="") as file:
        first, second = csv.DictReader(file)
    assert list(first)[:3] == ["key", "cave", "kind"]
    assert (first["author"], first["page"], first["case_score"], first["score"]) == ("'=Ann", "3", "taken", "1.0")
    assert (first["words"], first["part_state"], first["state"]) == ("2.0", "1.0", "scored")
    assert (second["words"], second["part_state"], second["judge"]) == ("", "", "")
    export_parquet(summary, tmp_path / "out.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "out.parquet")
    types = {field.name: str(field.type) for field in table.schema}
    assert (types["page"], types["author"], types["words"]) == ("int64", "string", "double")
    assert table.column("words").to_pylist() == [2.0, None]


def test_control_cases_of_any_benchmark_have_the_rate_of_their_worst_label(tmp_path: Path):
    jokes = [case(f"j{number}", group=f"c{number}", stratum=CONTROL) for number in range(5)]
    labels = ["CHATTY", "SILENT", "SILENT", "CHATTY", "SILENT"]
    events = [
        event for one, label in zip(jokes, labels, strict=True) for event in (answered(one.key), graded(one.key, label))
    ]
    of = own(control_labels=CONTROL_LABELS, controls="ff")
    summary = summarize(written(tmp_path, of, jokes, events))
    result = summary_document(summary)["controls"]
    assert (result["total"], result["scored"], result["rate"]["value"]) == (5, 5, 0.4)
    assert result["rate"] == document(cluster_mean([1, 0, 0, 1, 0], range(5)))
    assert "CHATTY: 40.0 [" in printed(summary)
    assert "% of 5/5 jokes. Not included in the scores." in printed(summary)


def test_reasons_of_missing_numbers_use_the_benchmarks_words(tmp_path: Path):
    (one,) = riddles("RHYME")
    result = summary_document(run_of(tmp_path, [(one, {"words": 1})], LENGTH))
    assert result["kinds"]["RHYME"]["weighted"]["reason"] == "one cave"
    assert result["kinds"]["RHYME"]["measures"]["length"]["reason"] == "one cave"
    assert WORDS.translated("no pairs in two strata; a case, the group's, ungrouped") == (
        "no pairs in two kinds; a riddle, the cave's, ungrouped"
    )


@settings(max_examples=12, deadline=None)
@given(
    message=st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 3), st.sampled_from(["RHYME", "NUMBER"])),
        min_size=1,
        max_size=12,
    )
)
def test_every_document_of_measures_is_json_and_a_run_does_not_differ_from_itself(tmp_path_factory, message):
    cases = [case(f"r{at}", group=f"c{item[2]}", stratum=item[3]) for at, item in enumerate(message)]
    parts = [{"trick": item[0], "said": item[1], "words": item[2]} for item in message]
    measures = (LENGTH, TRICKS, INSIGHT)
    summary = run_of(tmp_path_factory.mktemp("x"), zip(cases, parts, strict=True), *measures)
    json.dumps(summary_document(summary), allow_nan=False)
    result = comparison_document(compare(summary, summary))
    json.dumps(result, allow_nan=False)
    differences = [measure["difference"]["value"] for measure in result["overall"]["measures"].values()]
    assert set(differences) <= {0, None}
    assert printed(summary)
