"""A run in other forms: a results file that reads back as the run, and tables that no spreadsheet runs."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from proact_run import JUDGE, MODEL, PHASES, RESPONSE, answered, failed, graded, manifest, trigger, written
from results_rows import OFFICIAL_KEYS
from toy import answered as guessed
from toy import case as riddle
from toy import graded as marked
from toy import manifest as manifest_of_riddles
from toy import written as riddles

from dspy_proact.benchmarks.proactbench.corpus import ResultTrigger, TokenUsage, read_results
from dspy_proact.benchmarks.proactbench.report import export_results, summarize_results
from dspy_proact.calls import Call
from dspy_proact.errors import CorpusError, UsageError
from dspy_proact.report import Summary, compare, export_csv, export_parquet, summarize
from dspy_proact.report.export import columns, rows
from dspy_proact.runs import Case, Event, RunFolder

COLUMNS = {
    "key": "string",
    "scenario": "string",
    "phase": "string",
    "dialogue": "string",
    "life_domain": "string",
    "turn": "int64",
    "earlier_turns": "string",
    "user_message": "string",
    "rubric_pass": "string",
    "rubric_partial": "string",
    "rubric_fail": "string",
    "epoch": "int64",
    "model": "string",
    "program": "string",
    "judge": "string",
    "judge_program": "string",
    "judge_epoch": "int64",
    "state": "string",
    "reason": "string",
    "grade": "string",
    "score": "float64",
    "response": "string",
    "truncated": "bool",
    "reasoning": "string",
    "evidence": "string",
    "verified": "bool",
}
"""Of a run of ProactBench."""
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30),
    st.sampled_from(
        [
            "",
            " ",
            "=1+1",
            "\u2003\u3000=1+1",
            "\ufeff\v\f+1",
            '=HYPERLINK("http://x","y")',
            "+1",
            "-1",
            "@SUM(A1)",
            "\t=1",
            "\r=1",
            "\n=1",
            "x;=1+1",
            "x\t@SUM(A1)",
            "a; b;- c",
            " =1",
            "\uff1d1",
            "1 - 2 = x",
            "'=1",
            'a "quote", then\r\n"another"',
            "[]",
            '["a", "b"]',
            "null",
            "\u2028 \x85 \ufeff",
            "é\U0001f600 漢字 עברית",
        ]
    ),
)
GRADES = st.sampled_from(["PASS", "PARTIAL", "FAIL"])


def exported(folder: RunFolder, name: str = "out.jsonl") -> tuple[tuple[ResultTrigger, ...], list[str]]:
    """The triggers of the results file that a run makes, and what the format could not hold."""
    lost = export_results(folder, summarize(folder), folder.path.with_name(name))
    return read_results(folder.path.with_name(name)).triggers, lost


def lines_of(path: Path) -> list[list[str]]:
    csv.field_size_limit(10**9)
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, strict=True))


def as_csv(summary: Summary, folder: Path) -> list[dict[str, str]]:
    export_csv(summary, folder / "out.csv")
    header, *body = lines_of(folder / "out.csv")
    assert header == [column.name for column in columns(summary)]
    return [dict(zip(header, line, strict=True)) for line in body]


def used(role: str, prompt: int | None, completion: int | None, **changes: Any) -> Call:
    fields = {"started": 1.0, "latency": 0.5, "finish_reason": "stop"}
    return Call(role=role, prompt_tokens=prompt, completion_tokens=completion, **(fields | changes))


# The official format.


@st.composite
def runs(draw: st.DrawFn) -> tuple[list[Case], list[Event]]:
    """Triggers of one to three dialogues, answered and graded with any text, unscored or pending; one is graded."""
    cases: list[Case] = []
    events: list[Event] = []
    for number in range(draw(st.integers(1, 3))):
        for turn in draw(st.lists(st.integers(1, 10), min_size=1, max_size=3, unique=True)):
            user = draw(TEXTS.filter(str.strip))
            case = trigger(f"d{number}", draw(st.sampled_from(PHASES)), turn=turn, user=user, curated=draw(TEXTS))
            states = ("graded", "graded", "no response", "no verdict", "pending") if cases else ("graded",)
            events += draw(_events(case, draw(st.sampled_from(states))))
            cases.append(case)
    return cases, events


@st.composite
def _events(draw: st.DrawFn, case: Case, state: str) -> list[Event]:
    if state == "pending":
        return []
    if state == "no response":
        return [failed(case, "empty")]
    response = draw(TEXTS)
    if state == "no verdict":
        return [answered(case, response), failed(case, "unreadable", judge=JUDGE)]
    evidence, reasoning = draw(st.lists(TEXTS, max_size=3)), draw(TEXTS)
    verdict = graded(case, draw(GRADES), reasoning=reasoning, evidence=evidence, response=response)
    return [answered(case, response), verdict]


@settings(max_examples=60)
@given(made=runs())
def test_a_results_file_reads_back_as_the_run(tmp_path_factory, made: tuple[list[Case], list[Event]]):
    cases, events = made
    folder = written(tmp_path_factory.mktemp("x") / "run", manifest(), cases, events)
    triggers, _ = exported(folder)
    tried = {outcome.key: outcome for outcome in summarize(folder).outcomes if outcome.state != "pending"}
    assert [each.key for each in triggers] == list(tried)
    for each in triggers:
        outcome = tried[each.key]
        assert (each.grade, each.response) == (outcome.label, outcome.response)
        assert (each.unscored_reason is None) == (outcome.state == "scored")
        assert each.user_message == outcome.view["conversation"][-1]["user"]
        assert each.curated_response == outcome.meta["curated_response"]
        assert each.rubric.model_dump(mode="json") == outcome.view["rubric"]
        assert each.origin.model_dump().items() <= dict(outcome.meta).items()
        detail = outcome.verdicts[0].detail if outcome.verdicts else {"reasoning": "", "evidence": []}
        assert each.reasoning == detail["reasoning"]
        assert list(each.evidence) == [quote["text"] for quote in detail["evidence"]]


@settings(max_examples=30)
@given(made=runs())
def test_a_run_and_its_results_file_do_not_differ(tmp_path_factory, made: tuple[list[Case], list[Event]]):
    folder = written(tmp_path_factory.mktemp("x") / "run", manifest(), *made)
    exported(folder)
    run, file = summarize(folder), summarize_results(read_results(folder.path.with_name("out.jsonl")))
    comparison = compare(run, file)
    assert len(comparison.pairs) == run.count("scored") == file.count("scored")
    assert comparison.micro.weighted.difference.value == 0
    assert sum(comparison.flips[grade][grade] for grade in comparison.flips) == len(comparison.pairs)
    assert file.count("unscored") == run.count("unscored")
    assert (file.evidence.checked, file.evidence.verified) == (run.evidence.checked, run.evidence.verified)


def test_a_row_has_the_official_keys_in_their_order_and_the_documented_one(tmp_path):
    case = trigger()
    folder = written(tmp_path / "run", manifest(), [case], [answered(case), graded(case)])
    exported(folder)
    (line,) = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    assert list(json.loads(line)) == [*OFFICIAL_KEYS, "unique_id_eval"]
    assert json.loads(line)["evaluated_model"] == MODEL
    assert json.loads(line)["trigger_points"][0]["evaluation_result"] == {
        "status": "EVALUATED",
        "score": "PASS",
        "rationale": "because",
        "evidence": "Label the boxes today.",
    }


def test_triggers_of_a_dialogue_make_one_row_and_the_unscored_are_skipped_in_its_counts(tmp_path):
    cases = [trigger("d1", turn=1), trigger("d1", turn=2), trigger("d1", "RECOVERY", turn=3), trigger("d2", turn=1)]
    events = [event for case in cases[1:] for event in (answered(case), graded(case, "PARTIAL"))]
    exported(written(tmp_path / "run", manifest(), cases, [failed(cases[0], "empty"), *events]))
    first, second = map(json.loads, (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines())
    assert first["trigger_stats"] == {
        "EMERGENT": {"PASS": 0, "PARTIAL": 1, "FAIL": 0, "SKIPPED": 1},
        "RECOVERY": {"PASS": 0, "PARTIAL": 1, "FAIL": 0, "SKIPPED": 0},
    }
    assert (first["num_trigger_points"], second["num_trigger_points"]) == (3, 1)


def test_tokens_are_those_of_the_first_epoch_by_dialogue_and_role(tmp_path):
    one, other = trigger("d1"), trigger("d2")
    events = [
        answered(one, RESPONSE, used("assistant", 10, 5)),
        graded(one, "PASS", used("judge", 20, None), used("judge", 21, 2)),
        answered(other, RESPONSE, used("assistant", 7, 7)),
        graded(other, "FAIL", used("judge", 1, 1)),
        answered(one, RESPONSE, used("assistant", 1000, 1000), epoch=2),
    ]
    folder = written(tmp_path / "run", manifest(epochs=2), [one, other], events)
    exported(folder)
    first, second = map(json.loads, (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines())
    assert first["token_usage"] == {
        "assistant": {"prompt_tokens": 10, "completion_tokens": 5, "calls": 1},
        "judge": {"prompt_tokens": 41, "completion_tokens": 2, "calls": 2},  # 20 + 21 and 0 + 2
    }
    assert second["token_usage"]["assistant"] == {"prompt_tokens": 7, "completion_tokens": 7, "calls": 1}
    assert read_results(tmp_path / "out.jsonl").usage["judge"] == TokenUsage(
        prompt_tokens=42, completion_tokens=3, calls=3
    )


def test_of_several_verdicts_the_first_with_the_common_grade_is_kept(tmp_path):
    case = trigger()
    judges = ("openai/a", "openai/b", "openai/c")
    verdicts = [
        graded(case, grade, judge=judge, reasoning=f"so says {judge}")
        for judge, grade in zip(judges, ("PASS", "FAIL", "FAIL"), strict=True)
    ]
    folder = written(tmp_path / "run", manifest(*judges), [case], [answered(case), *verdicts])
    (only,), lost = exported(folder)
    assert (only.grade, only.reasoning) == ("FAIL", "so says openai/b")
    assert "2 further verdicts on one response; the first with the common grade is kept" in lost


def test_what_the_format_cannot_hold_is_listed_with_its_count(tmp_path):
    cases = [trigger(name) for name in "abcde"]
    a, b, c, d, _ = cases
    events = [
        *(answered(a, "Label the boxes\0 today.", truncated=True), graded(a, reasoning="x\0y")),
        failed(b, "empty"),
        failed(c, "empty"),
        *(answered(d), failed(d, "unreadable", judge=JUDGE)),
    ]
    triggers, lost = exported(written(tmp_path / "run", manifest(), cases, events))
    assert [each.key for each in triggers] == ["a__t2", "b__t2", "c__t2", "d__t2"]
    assert (triggers[0].response, triggers[0].reasoning) == ("Label the boxes\ufffd today.", "x\ufffdy")
    assert lost == [
        "3 reasons of unscored triggers: response: empty 2, verdict: unreadable 1",
        "1 pending triggers, which are left out",
        "1 marks of a response cut at the token limit",
        "2 characters that no file holds safely, replaced by U+FFFD",
        lost[-1],
    ]
    assert all(word in lost[-1] for word in ("judge", "decoding", "endpoints", "versions", "latencies"))


def test_later_epochs_are_left_out_and_said(tmp_path):
    case = trigger()
    events = [event for epoch in (1, 2, 3) for event in (answered(case, f"Try {epoch}.", epoch=epoch),)]
    grades = [graded(case, grade, epoch=epoch) for epoch, grade in ((1, "FAIL"), (2, "PASS"), (3, "PASS"))]
    (only,), lost = exported(written(tmp_path / "run", manifest(epochs=3), [case], [*events, *grades]))
    assert (only.response, only.grade) == ("Try 1.", "FAIL")
    assert "2 outcomes of later epochs" in lost


def test_a_run_in_which_nothing_was_tried_makes_no_file(tmp_path):
    folder = written(tmp_path / "run", manifest(), [trigger()])
    with pytest.raises(UsageError, match="nothing in it was tried yet"):
        exported(folder)
    assert not (tmp_path / "out.jsonl").exists()


def test_the_official_format_holds_runs_of_its_own_benchmark_only(tmp_path):
    folder = riddles(tmp_path / "run", manifest_of_riddles(), [riddle("a")], [guessed("a"), marked("a", "SOLVED")])
    with pytest.raises(UsageError, match="a run of 'riddles'"):
        exported(folder)


# Tables.


BLANKS = "\u200b\ufeff" + "".join(char for char in map(chr, range(0x3001)) if char.isspace() and char not in "\t\r\n")


def cell_of(text: str | None) -> str:
    """What a text must be in a CSV file."""
    whole = before = ""
    for place, char in enumerate(text := (text or "").replace("\0", "\ufffd")):
        begins = not before or before in ";\t\r\n"
        first = text[place:].lstrip(BLANKS)[:1]
        runs = char in "\t\r" or (first and first in "=+-@\uff1d\uff0b\uff0d\uff20")
        whole += f"'{char}" if begins and runs else char
        before = char
    return whole


@settings(max_examples=60)
@given(
    response=TEXTS, reasoning=TEXTS, quote=TEXTS, user=TEXTS, dialogue=TEXTS, scenario=TEXTS, model=TEXTS, judge=TEXTS
)
def test_every_text_of_a_csv_file_reads_back_and_none_of_them_is_run(
    tmp_path_factory, response, reasoning, quote, user, dialogue, scenario, model, judge
):
    folder = tmp_path_factory.mktemp("x")
    case = trigger(dialogue, scenario=scenario, domain=scenario, user=user)
    verdict = graded(case, judge=judge, reasoning=reasoning, evidence=[quote], response=response)
    run = written(folder / "run", manifest(judge, model=model), [case], [answered(case, response), verdict])
    (row,) = as_csv(summarize(run), folder)
    assert verdict.grade is not None
    evidence = "\n".join(each["text"] for each in verdict.grade.detail["evidence"])
    texts = {
        "key": case.key,
        "dialogue": dialogue,
        "scenario": case.group,
        "life_domain": scenario,
        "model": model,
        "judge": judge,
        "user_message": user,
        "response": response,
        "reasoning": reasoning,
        "evidence": evidence,
    }
    assert {name: row[name] for name in texts} == {name: cell_of(text) for name, text in texts.items()}
    parted = [part.lstrip(BLANKS) for cell in row.values() for part in re.split("[;\t\r\n]", cell)]
    assert not any(part.startswith(("=", "+", "-", "@")) for part in parted)
    assert (folder / "out.csv").read_bytes().startswith(b'"key","scenario"')


def test_a_nul_character_becomes_a_replacement_character(tmp_path):
    case = trigger()
    run = written(tmp_path / "run", manifest(), [case], [answered(case, "a\0b"), graded(case, reasoning="\0=1")])
    (row,) = as_csv(summarize(run), tmp_path)
    assert (row["response"], row["reasoning"]) == ("a\ufffdb", "\ufffd=1")
    assert b"\0" not in (tmp_path / "out.csv").read_bytes()


def test_there_is_a_row_a_verdict_and_one_for_each_trigger_without(tmp_path):
    a, b, c = (trigger(name) for name in "abc")
    events = [
        answered(a),
        *(graded(a, grade, judge=judge) for judge, grade in (("openai/x", "PASS"), ("openai/y", "PARTIAL"))),
        failed(b, "empty"),
    ]
    run = written(tmp_path / "run", manifest("openai/x", "openai/y"), [a, b, c], events)
    read = as_csv(summarize(run), tmp_path)
    names = ("key", "judge", "state", "reason", "grade", "score", "verified", "truncated")
    assert [tuple(row[name] for name in names) for row in read] == [
        ("a__t2", "openai/x", "scored", "", "PASS", "1.0", "True", "False"),
        ("a__t2", "openai/y", "scored", "", "PARTIAL", "0.5", "True", "False"),
        ("b__t2", "", "unscored", "response: empty", "", "", "", ""),
        ("c__t2", "", "pending", "", "", "", "", ""),
    ]


def test_an_epoch_and_a_further_verdict_have_rows_of_their_own(tmp_path):
    case = trigger()
    events = [
        event
        for epoch in (1, 2)
        for event in (answered(case, epoch=epoch), *(graded(case, epoch=epoch, judge_epoch=n) for n in (1, 2)))
    ]
    run = written(tmp_path / "run", manifest(epochs=2, judge_epochs=2), [case], events)
    read = as_csv(summarize(run), tmp_path)
    assert [(row["epoch"], row["judge_epoch"]) for row in read] == [("1", "1"), ("1", "2"), ("2", "1"), ("2", "2")]


def test_several_quotes_stand_one_a_line(tmp_path):
    case = trigger()
    run = written(
        tmp_path / "run", manifest(), [case], [answered(case), graded(case, evidence=["Label the boxes", "call Ann"])]
    )
    assert as_csv(summarize(run), tmp_path)[0]["evidence"] == "Label the boxes\ncall Ann"


def test_parquet_reads_back_as_the_rows_with_text_as_it_is(tmp_path):
    hostile = ["=1+1", "\0nul", "", "a\r\nb\u2028c", "é\U0001f600", "'", ","]
    cases = [trigger(f"d{number}", user=text or "x") for number, text in enumerate(hostile)]
    events = [
        event
        for case, text in zip(cases, hostile, strict=True)
        for event in (answered(case, text), graded(case, "FAIL", reasoning=text, evidence=[text], response=text))
    ]
    pending = trigger("pending")
    summary = summarize(written(tmp_path / "run", manifest(), [*cases, pending], events))
    export_parquet(summary, tmp_path / "out.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "out.parquet")
    assert table.to_pylist() == list(rows(summary))
    assert {field.name: str(field.type).replace("double", "float64") for field in table.schema} == COLUMNS
    assert table.column("response").to_pylist() == [*hostile, None]


def test_parquet_leaves_the_progress_bars_of_datasets_as_they_were(tmp_path):
    import datasets

    summary = summarize(written(tmp_path / "run", manifest(), [trigger()]))
    for disabled in (False, True):
        (datasets.utils.disable_progress_bars if disabled else datasets.utils.enable_progress_bars)()
        export_parquet(summary, tmp_path / "out.parquet")
        assert datasets.utils.are_progress_bars_disabled() is disabled
    datasets.utils.enable_progress_bars()


def test_a_table_of_a_run_without_events_has_its_pending_triggers(tmp_path):
    summary = summarize(written(tmp_path / "run", manifest(), [trigger()]))
    (row,) = as_csv(summary, tmp_path)
    assert (row["state"], row["user_message"]) == ("pending", "Any boxes?")
    export_parquet(summary, tmp_path / "out.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "out.parquet").to_pylist() == list(rows(summary))


def test_an_empty_run_makes_a_table_with_its_header(tmp_path):
    summary = summarize(written(tmp_path / "run", manifest()))
    assert as_csv(summary, tmp_path) == []
    export_parquet(summary, tmp_path / "out.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "out.parquet").column_names == list(COLUMNS)


def test_a_table_of_another_benchmark_holds_what_is_alike(tmp_path):
    run = riddles(tmp_path / "run", manifest_of_riddles(), [riddle("=a")], [guessed("=a"), marked("=a", "CLOSE")])
    (row,) = as_csv(summarize(run), tmp_path)
    assert (row["key"], row["stratum"], row["grade"], row["score"]) == ("'=a", "RHYME", "CLOSE", "0.4")
    assert (row["group"], row["response"], row["detail"]) == ("cave", '{"words": "a river"}', '{"remark": "hm"}')
    export_parquet(summarize(run), tmp_path / "out.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "out.parquet").num_rows == 1


def test_a_line_of_a_megabyte_is_written_and_read_in_every_form(tmp_path):
    long = "=" + "boats " * 200_000  # 1.2 MB
    case = trigger()
    run = written(tmp_path / "run", manifest(), [case], [answered(case, long), graded(case, reasoning=long)])
    (only,), _ = exported(run)
    assert (only.response, only.reasoning) == (long, long)
    summary = summarize(run)
    assert as_csv(summary, tmp_path)[0]["response"] == f"'{long}"
    export_parquet(summary, tmp_path / "out.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "out.parquet").column("response").to_pylist() == [long]


# The file.

WRITERS = {
    "proactbench": export_results,
    "csv": lambda _, summary, path: export_csv(summary, path),
    "parquet": lambda _, summary, path: export_parquet(summary, path),
}
FORMS = pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)


@pytest.fixture
def finished(tmp_path: Path) -> RunFolder:
    return written(tmp_path / "run", manifest(), [trigger()], [answered(trigger()), graded(trigger())])


@FORMS
def test_a_folder_that_is_not_there_is_said_with_the_path(tmp_path, finished, write):
    path = tmp_path / "nowhere" / "out"
    with pytest.raises((UsageError, CorpusError)) as caught:
        write(finished, summarize(finished), path)
    assert str(path) in str(caught.value)
    assert "cannot be written" in str(caught.value)


@FORMS
def test_what_stood_there_is_replaced(tmp_path, finished, write):
    write(finished, summarize(finished), tmp_path / "fresh")
    (tmp_path / "old").write_text("what was there " * 1000)
    write(finished, summarize(finished), tmp_path / "old")
    assert (tmp_path / "old").read_bytes() == (tmp_path / "fresh").read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"run", "fresh", "old"}


@FORMS
def test_where_a_folder_stands_nothing_is_written_and_nothing_left_behind(tmp_path, finished, write):
    (tmp_path / "taken").mkdir()
    with pytest.raises((UsageError, CorpusError), match="cannot be written"):
        write(finished, summarize(finished), tmp_path / "taken")
    assert {path.name for path in tmp_path.iterdir()} == {"run", "taken"}


@FORMS
def test_the_run_is_left_as_it_was(tmp_path, finished, write):
    before = {path.name: path.read_bytes() for path in finished.path.iterdir()}
    write(finished, summarize(finished), tmp_path / "out")
    assert {path.name: path.read_bytes() for path in finished.path.iterdir()} == before
