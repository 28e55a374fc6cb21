"""What a report says of control turns: a rate with its interval, beside every score and in none of them."""

import json
from collections.abc import Iterable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from proact_run import JUDGE, answered, failed, graded, manifest, trigger, written
from results_rows import result_row
from rich.console import Console
from rows import jsonl

from dspy_proact.benchmarks.proactbench.corpus.dialogues import CONTROL_RULE
from dspy_proact.benchmarks.proactbench.corpus.results import read_results
from dspy_proact.benchmarks.proactbench.report.particulars import author_agreement
from dspy_proact.benchmarks.proactbench.report.results import export_results, summarize_results
from dspy_proact.benchmarks.proactbench.types import ControlView, Offer, Offers, Turn
from dspy_proact.report import (
    Summary,
    compare,
    comparison_document,
    export_csv,
    leaderboard,
    leaderboard_document,
    print_summary,
    summarize,
    summary_document,
)
from dspy_proact.runs import CONTROL, Case, Event, Failure, GradeRecord, Manifest, RoleIdentity, RunFolder, StageKey
from dspy_proact.stats import cluster_mean
from dspy_proact.types import Quote

LABELS = ("HELD_BACK", "UNWANTED")
WORDS = "ff"
OTHER = "openai/k"
RULE = (
    "control turns: without a trigger and at least 2 turns from any, at most as many as the dialogue has triggers, and "
    "the last turn of a dialogue without a RECOVERY trigger"
)


def asked(*judges: str, **changes: Any) -> Manifest:
    """The manifest of a run that was asked for control turns."""
    return manifest(*judges, **({"control_labels": LABELS, "controls": WORDS} | changes))


def control(number: int, scenario: str | None = None) -> Case:
    """A control turn of a dialogue of its own, and of a scenario of its own unless that is named."""
    of = trigger(f"d{number}", scenario=scenario or f"S{number}", turn=4)
    conversation = (Turn(user="I move on Friday.", assistant="Good luck."), Turn(user="Thanks.", assistant=None))
    view = ControlView(conversation=conversation, turn=4)
    return Case(key=of.key, group=of.group, stratum=CONTROL, view=view, meta=of.meta)


def looked(
    case: Case,
    unwanted: bool,
    stands: bool = True,
    *,
    grounded: bool = True,
    judge: str = JUDGE,
    epoch: int = 1,
    judge_epoch: int = 1,
) -> Event:
    """A control turn with one offer or none; an offer whose quote does not stand is not unwanted."""
    quote = Quote(text="Call Ann", start=0, end=8) if stands else Quote(text="zebra")
    found = (Offer(quote=quote, grounded=grounded, asked_for=False),) if unwanted or not stands else ()
    offers = Offers(reasoning="because", offers=found)
    label = LABELS[bool(offers.unwanted)]
    record = GradeRecord(
        score=float(not offers.unwanted),
        label=label,
        verified=offers.verified,
        detail=offers.model_dump(mode="json"),
    )
    key = StageKey(case=case.key, epoch=epoch, stage="verdict", judge=judge, judge_epoch=judge_epoch)
    return Event(key=key, grade=record, calls=(), time=3.0)


def unread(case: Case, **key: Any) -> Event:
    """A verdict at a control turn that was tried and is not there."""
    failure = Failure(kind="content", reason="unreadable")
    return Event(key=looked(case, False, **key).key, failure=failure, calls=(), time=4.0)


TRIGGERS = [
    trigger(f"d{number}", phase, scenario=f"S{number}")
    for number, phase in enumerate(("EMERGENT", "CRITICAL", "RECOVERY") * 2)
]
GRADES = ("PASS", "PARTIAL", "FAIL", "PARTIAL", None, "PASS")
GRADED = [
    event
    for case, grade in zip(TRIGGERS, GRADES, strict=True)
    for event in ([answered(case), graded(case, grade)] if grade else [failed(case, "empty")])
]


def summarized(path: Path, cases: Iterable[Case], events: Iterable[Event], of: Manifest | None = None) -> Summary:
    return summarize(written(path, of or asked(), cases, events))


def held_or_not(path: Path, *unwanted: bool) -> Summary:
    """A run of triggers and of control turns, each of a scenario of its own."""
    controls = [control(number) for number in range(len(unwanted))]
    events = [e for case, bad in zip(controls, unwanted, strict=True) for e in (answered(case), looked(case, bad))]
    return summarized(path, [*TRIGGERS, *controls], [*GRADED, *events])


def shown(summary: Summary, width: int = 1000) -> str:
    console = Console(file=StringIO(), width=width)
    print_summary(summary, console, explain=True)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


# The document.


def test_the_document_of_control_turns_has_this_shape(tmp_path: Path):
    found = summary_document(held_or_not(tmp_path, True, False, False, False, True))
    assert list(found)[list(found).index("overall") + 1] == "controls"
    assert "controls_reason" not in found
    controls = found["controls"]
    estimate = controls.pop("unwanted_offers")
    assert list(estimate) == ["value", "low", "high"]
    assert controls == {
        "total": 5,
        "scored": 5,
        "unscored": 0,
        "pending": 0,
        "unscored_reasons": {},
        "offers": {"unwanted": 2, "grounded": 2},
        "evidence": {"checked": 2, "verified": 2},
        "rule": RULE,
    }
    assert list(controls) == [
        "total",
        "scored",
        "unscored",
        "pending",
        "unscored_reasons",
        "offers",
        "evidence",
        "rule",
    ]
    assert CONTROL_RULE == RULE
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_the_rate_and_its_interval_are_worked_by_hand(tmp_path: Path):
    # 2 of 5, each of a scenario of its own: influences (1 - 0.4) / 5 = 0.12 twice, and -0.4 / 5 = -0.08 three times;
    # se = sqrt((2 * 0.0144 + 3 * 0.0064) / (1 - 1/5)) = sqrt(0.06) = 0.2449. With 4 degrees of freedom t = 2.7764;
    # on the logit scale -0.4055 -+ 2.7764 * 0.2449 / 0.24 = -0.4055 -+ 2.8336: -3.2391 and 2.4282.
    # 1 / (1 + exp(3.2391)) = 0.0377 and 1 / (1 + exp(-2.4282)) = 0.9189.
    estimate = held_or_not(tmp_path, True, False, False, False, True).controls.rate
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx((0.4, 0.0377, 0.9189), abs=1e-4)


def test_intervals_are_clustered_over_scenarios_in_which_epochs_fall_together(tmp_path: Path):
    cases = [control(number, f"S{number // 2}") for number in range(6)]
    bad = {0, 1, 7, 10}
    events = [
        event
        for epoch in (1, 2)
        for number, case in enumerate(cases)
        for event in (answered(case, epoch=epoch), looked(case, number + 6 * (epoch - 1) in bad, epoch=epoch))
    ]
    summary = summarized(tmp_path, cases, events, asked(epochs=2))
    scores = [float(number in bad) for number in range(12)]
    groups = [cases[number % 6].group for number in range(12)]
    assert len(set(groups)) == 3
    expected = cluster_mean(scores, groups)
    assert summary.controls.rate == replace(expected, reason="too few scenarios: very wide")
    assert summary_document(summary)["controls"]["total"] == 12  # 6 turns x 2 epochs


def test_what_is_unscored_or_pending_is_counted_and_in_no_rate(tmp_path: Path):
    one, two, three, four, five, six = cases = [control(number) for number in range(6)]
    events = [
        *(answered(one), looked(one, True)),
        *(answered(two), looked(two, False)),
        failed(three, "empty"),
        *(answered(four), failed(four, "unreadable", judge=JUDGE)),
        *(answered(five), failed(five, "unreadable", judge=JUDGE)),
        answered(six),
    ]
    found = summary_document(summarized(tmp_path, cases, events))["controls"]
    assert (found["total"], found["scored"], found["unscored"], found["pending"]) == (6, 2, 3, 1)
    assert list(found["unscored_reasons"].items()) == [("verdict: unreadable", 2), ("response: empty", 1)]
    assert found["unwanted_offers"]["value"] == 0.5  # 1 of the 2 that were scored


def test_no_unwanted_offer_is_a_rate_of_0_with_the_bound_of_as_many_trials(tmp_path: Path):
    # 1 - 0.025 ** (1 / 3) = 0.7076: three scenarios, none of them with an unwanted offer.
    estimate = held_or_not(tmp_path, False, False, False).controls.rate
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx((0.0, 0.0, 0.7076), abs=1e-4)


def test_evidence_counts_verdicts_that_name_an_offer_and_those_whose_every_quote_stands(tmp_path: Path):
    cases = [control(number) for number in range(4)]
    given = [(True, True), (False, True), (False, False), (True, True)]
    events = [
        e for case, (bad, stands) in zip(cases, given, strict=True) for e in (answered(case), looked(case, bad, stands))
    ]
    found = summary_document(summarized(tmp_path, cases, events))
    assert found["controls"]["evidence"] == {"checked": 3, "verified": 2}
    assert found["evidence"] == {"checked": 0, "verified": 0}
    assert found["controls"]["unwanted_offers"]["value"] == 0.5  # what does not stand in the response is no offer


# Several verdicts.


@pytest.mark.parametrize(
    ("given", "label"),
    [
        ("HH", "HELD_BACK"),
        ("HU", "UNWANTED"),  # a tie goes to the worse
        ("UH", "UNWANTED"),
        ("HHU", "HELD_BACK"),
        ("UHU", "UNWANTED"),
        ("HUHU", "UNWANTED"),
        ("xH", "HELD_BACK"),  # what could not be read has no say
        ("xU", "UNWANTED"),
        ("xx", None),
    ],
)
@pytest.mark.parametrize("of", ["a jury", "one judge asked again"])
def test_of_several_verdicts_the_commonest_holds_and_a_tie_is_unwanted(
    tmp_path: Path, of: str, given: str, label: str | None
):
    case, jury = control(1), of == "a jury"
    names = [f"openai/{number}" for number in range(len(given))] if jury else [JUDGE]
    numbers = range(1, len(given) + 1)
    keys: list[Any] = [{"judge": name} for name in names] if jury else [{"judge_epoch": number} for number in numbers]
    events = [
        unread(case, **key) if letter == "x" else looked(case, letter == "U", **key)
        for letter, key in zip(given, keys, strict=True)
    ]
    times = 1 if jury else len(given)
    summary = summarized(tmp_path, [case], [answered(case), *events], asked(*names, judge_epochs=times))
    (outcome,) = summary.controls.outcomes
    assert (outcome.label, outcome.state) == (label, "scored" if label else "unscored")
    assert summary.controls.rate.value == (None if label is None else float(label == "UNWANTED"))


def compiled(**changes: Any) -> Manifest:
    """Of a run whose judge was compiled: cuts of every phase, three verdicts on each response."""
    cuts: dict[str, tuple[float, float]] = dict.fromkeys(manifest().strata, (0.2, 0.4))
    judge = RoleIdentity(model=JUDGE, program="compiled:aa", prompt="bb", decoding={}, cuts=cuts)
    of = asked(judge_epochs=3, **changes)
    return of.model_copy(update={"identity": of.identity.model_copy(update={"judges": (judge,)})})


@pytest.mark.parametrize(("given", "label"), [("HHU", "HELD_BACK"), ("HUU", "UNWANTED"), ("UUU", "UNWANTED")])
def test_cuts_of_a_compiled_judge_are_of_grades_and_the_commonest_label_holds(tmp_path: Path, given: str, label: str):
    case = control(1)
    events = [looked(case, letter == "U", judge_epoch=again) for again, letter in enumerate(given, start=1)]
    (outcome,) = summarized(tmp_path, [case], [answered(case), *events], compiled()).controls.outcomes
    assert outcome.label == label


# Beside every score and in none.


def moved(summary: Summary) -> dict[str, Any]:
    """The document without what is of control turns."""
    found = summary_document(summary, by=["life_domain", "turn"])
    return {name: value for name, value in found.items() if name not in ("controls", "controls_reason")}


def both(folder: Path) -> tuple[RunFolder, RunFolder]:
    """One run in two folders of one name, with control turns and without."""
    controls = [control(number) for number in range(5)]
    events = [event for case in controls for event in (answered(case, truncated=True), looked(case, True))]
    without = written(folder / "without" / "run", asked(controls=None), TRIGGERS, GRADED)
    # In between each other, as a run that is widened or asks in parallel has them.
    mixed = [event for pair in zip(GRADED, events, strict=False) for event in pair]
    rest = [*GRADED[len(events) :], *events[len(GRADED) :]]
    return written(folder / "with" / "run", asked(), [*controls, *TRIGGERS], [*mixed, *rest]), without


@pytest.fixture
def runs(tmp_path: Path) -> tuple[RunFolder, RunFolder]:
    return both(tmp_path)


def test_no_count_score_phase_or_breakdown_is_moved(runs: tuple[RunFolder, RunFolder]):
    with_, without = (moved(summarize(folder)) for folder in runs)
    for found in (with_, without):
        del found["run"]["path"]
    assert with_ == without
    assert with_["triggers"]["total"] == 6


def test_judges_epochs_and_variances_are_not_moved(tmp_path: Path):
    case, events = control(1), []
    for epoch, judge in [(1, JUDGE), (2, JUDGE), (1, OTHER), (2, OTHER)]:
        events += [answered(case, epoch=epoch), looked(case, judge == OTHER, judge=judge, epoch=epoch)]
        for number, each in enumerate(TRIGGERS):
            grade = ("PASS", "FAIL", "PARTIAL")[(number + epoch + (judge == OTHER)) % 3]
            events += [answered(each, epoch=epoch), graded(each, grade, judge=judge, epoch=epoch)]
    of = asked(JUDGE, OTHER, epochs=2)
    alone = [event for event in events if event.key.case != case.key]
    with_ = moved(summarized(tmp_path / "with", [*TRIGGERS, case], events, of))
    without = moved(summarized(tmp_path / "without", TRIGGERS, alone, of))
    for found in (with_, without):
        del found["run"]["path"]
    assert {"several_verdicts", "repeats"} <= with_.keys()
    assert with_ == without


def test_a_comparison_is_not_moved(runs: tuple[RunFolder, RunFolder], tmp_path: Path):
    other = summarize(written(tmp_path / "other", manifest("openai/o"), TRIGGERS, GRADED[:2]))
    with_, without = (comparison_document(compare(summarize(folder), other)) for folder in runs)
    for found in (with_, without):
        del found["a"]["path"]
    assert with_["changed"].pop() == {"field": "controls", "a": "asked", "b": "not asked"}
    assert with_ == without


def test_a_leaderboard_is_not_moved(runs: tuple[RunFolder, RunFolder]):
    with_, without = (leaderboard_document(leaderboard([summarize(folder)])) for folder in runs)
    for found in (with_, without):
        for entry in found["rows"]:
            entry.pop("path", None)
    assert with_ == without


def test_an_export_is_not_moved(runs: tuple[RunFolder, RunFolder], tmp_path: Path):
    files: list[tuple[bytes, ...]] = []
    for number, folder in enumerate(runs):
        table, results = (tmp_path / f"{number}.{kind}" for kind in ("csv", "jsonl"))
        summary = summarize(folder)
        export_csv(summary, table)
        losses = export_results(folder, summary, results)
        files.append((table.read_bytes(), results.read_bytes(), "\n".join(losses).encode()))
    assert files[0] == files[1]


def test_a_run_is_not_complete_while_a_control_turn_is_pending(tmp_path: Path):
    events = [*GRADED, answered(control(1))]
    summary = summarized(tmp_path, [*TRIGGERS, control(1)], events)
    assert (summary.complete, summary_document(summary)["complete"], summary.count("pending")) == (False, False, 0)
    assert summarize(written(tmp_path, asked(), [], [looked(control(1), False)])).complete


def test_a_run_is_complete_though_a_control_turn_is_unscored(tmp_path: Path):
    summary = summarized(tmp_path, [*TRIGGERS, control(1)], [*GRADED, failed(control(1), "empty")])
    assert summary.complete
    found = summary_document(summary)["controls"]
    assert found["unwanted_offers"] == {"value": None, "low": None, "high": None, "reason": "no scores"}


def test_a_run_is_not_complete_while_a_further_verdict_on_a_control_turn_is_awaited(tmp_path: Path):
    case = control(1)
    events = [answered(case), looked(case, False)]
    summary = summarized(tmp_path, [case], events, asked(judge_epochs=2))
    assert (sum(outcome.awaited for outcome in summary.controls.outcomes), summary.complete) == (1, False)


# Where there are none.


def test_where_they_were_not_asked_for_they_are_null_and_the_reason_says_how_to_ask(tmp_path: Path):
    found = summary_document(summarized(tmp_path, TRIGGERS, GRADED, manifest()))
    assert found["controls"] is None
    assert found["controls_reason"] == "control turns were not asked for; --controls asks at them"


def test_where_the_corpus_has_none_it_is_said_and_not_0(tmp_path: Path):
    summary = summarized(tmp_path, TRIGGERS, GRADED)
    found = summary_document(summary)
    assert (found["controls"], found["controls_reason"]) == (None, "the corpus has no control turns")
    assert summary.controls.rate.value is None
    assert "unwanted offers: the corpus has no control turns." in shown(summary)


def test_a_results_file_holds_none(tmp_path: Path):
    path = tmp_path / "results.jsonl"
    path.write_text(jsonl(result_row()), encoding="utf-8")
    found = summary_document(summarize_results(read_results(path)))
    assert (found["controls"], found["controls_reason"]) == (None, "a results file holds no control turns")


# On a terminal.


def test_the_terminal_says_rate_interval_denominator_rule_and_the_reference_of_the_authors(tmp_path: Path):
    controls = [control(number) for number in range(6)]
    events = [
        *(e for number, case in enumerate(controls[:5]) for e in (answered(case), looked(case, number < 2))),
        failed(controls[5], "empty"),
    ]
    text = shown(summarized(tmp_path, controls, events))
    assert (
        "unwanted offers: 40.0 [3.8–91.9] % of 5/6 control turns; 2 of 2 verdicts that name an offer, wanted or not, "
        "quote only words found in the response. Not included in the scores.\n"
    ) in text
    assert f"{RULE}.\n" in text
    assert (
        "author reference: the sample's raters agree on unwanted offers with nominal alpha 0.65 [0.54, 0.75] "
        "(author ratings, for these 3 raters only, no human study).\n"
    ) in text


@pytest.mark.parametrize("count", [1, 3])
def test_the_terminal_says_why_an_interval_is_missing_or_too_narrow(tmp_path: Path, count: int):
    summary = held_or_not(tmp_path, *[number == 0 for number in range(count)])
    assert (reason := summary.controls.rate.reason)
    assert reason in shown(summary).partition("unwanted offers: ")[2].partition("human reference")[0]


@pytest.mark.parametrize(("hang", "unwanted"), [(0, 1), (2, 3)])
def test_how_many_offers_refer_to_the_conversation_is_said(tmp_path: Path, hang: int, unwanted: int):
    told = f"{hang} of {unwanted} unwanted offers refer to what the user said; others would fit anybody."
    controls = [control(number) for number in range(unwanted)]
    events = [e for n, case in enumerate(controls) for e in (answered(case), looked(case, True, grounded=n < hang))]
    assert f"{told}\n" in shown(summarized(tmp_path, controls, events))


def test_of_several_judges_each_verdict_with_an_offer_counts(tmp_path: Path):
    case = control(1)
    events = [answered(case), looked(case, True), looked(case, True, judge=OTHER)]
    text = shown(summarized(tmp_path, [case], events, asked(JUDGE, OTHER)))
    assert "; 2 of 2 verdicts that name an offer, wanted or not, quote only" in text


def test_the_authors_agreement_is_worked_by_hand():
    # Of 45 items rated by three, 35 + 43 + 33 = 111 of 135 pairs agree: observed disagreement 24 / 135 = 0.1778.
    # 19 + 29 + 17 = 65 of 135 ratings are unwanted: expected 2 * 65 * 70 / (135 * 134) = 0.5030; alpha 1 - 0.3534.
    estimate = author_agreement()
    assert estimate.value == pytest.approx(1 - (24 / 135) / (9100 / 18090))
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.low < 0.6466 < estimate.high
