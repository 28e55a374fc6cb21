"""What a report says of control turns: a rate with its interval, beside every score and in none of them."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from builders.dialogues import jsonl
from builders.results import result_row
from builders.runs import JUDGE, answered, failed, graded, manifest, trigger, written
from drivers.terminal import printed

from dspy_proact import export_results, read_results, summarize_results
from dspy_proact.benchmarks.proactbench.corpus.dialogues import CONTROL_RULE
from dspy_proact.benchmarks.proactbench.report.control_turns import author_agreement
from dspy_proact.benchmarks.proactbench.types import ControlView, Offer, Offers, Turn
from dspy_proact.report import (
    Summary,
    compare,
    comparison_document,
    export_csv,
    leaderboard,
    leaderboard_document,
    summarize,
    summary_document,
)
from dspy_proact.runs import (
    CONTROL,
    Case,
    Failure,
    Manifest,
    RoleIdentity,
    RunFolder,
    StageEvent,
    StageKey,
    VerdictRecord,
)
from dspy_proact.types import Quote

LABELS = ("HELD_BACK", "UNWANTED")


def with_controls(*judges: str, **changes: Any) -> Manifest:
    """The manifest of a run that was asked for control turns."""
    return manifest(*judges, **({"control_labels": LABELS, "controls": "ff"} | changes))


def control(number: int, scenario: str | None = None) -> Case:
    """A control turn of a dialogue of its own, and of a scenario of its own unless that is named."""
    of = trigger(f"d{number}", scenario=scenario or f"S{number}", turn=4)
    conversation = (Turn(user="I move on Friday.", assistant="Good luck."), Turn(user="Thanks.", assistant=None))
    view = ControlView(conversation=conversation, turn=4)
    return Case(key=of.key, group=of.group, stratum=CONTROL, view=view, meta=of.meta)


def detection(
    case: Case, unwanted: bool | None, stands: bool = True, *, grounded: bool = True, **of: Any
) -> StageEvent:
    """A control turn with one offer or none; an offer whose quote does not stand is not unwanted; None: not read."""
    key = StageKey(**({"case": case.key, "epoch": 1, "stage": "verdict", "judge": JUDGE, "judge_epoch": 1} | of))
    if unwanted is None:
        return StageEvent(key=key, failure=Failure(kind="content", reason="unreadable"), calls=(), time=4.0)
    quote = Quote(text="Call Ann", start=0, end=8) if stands else Quote(text="zebra")
    result = (Offer(quote=quote, grounded=grounded, asked_for=False),) if unwanted or not stands else ()
    offers = Offers(reasoning="because", offers=result)
    record = VerdictRecord(
        score=float(not offers.unwanted),
        label=LABELS[bool(offers.unwanted)],
        verified=offers.verified,
        detail=offers.model_dump(mode="json"),
    )
    return StageEvent(key=key, grade=record, calls=(), time=3.0)


TRIGGERS = [
    trigger(f"d{number}", phase, scenario=f"S{number}")
    for number, phase in enumerate(("EMERGENT", "CRITICAL", "RECOVERY") * 2)
]
GRADED = [
    event
    for case, grade in zip(TRIGGERS, ("PASS", "PARTIAL", "FAIL", "PARTIAL", None, "PASS"), strict=True)
    for event in ([answered(case), graded(case, grade)] if grade else [failed(case, "empty")])
]


def summarized(path: Path, cases: Iterable[Case], events: Iterable[StageEvent], of: Manifest | None = None) -> Summary:
    return summarize(written(path, of or with_controls(), cases, events))


def held_or_not(path: Path, *unwanted: bool, grounded: int = 99) -> Summary:
    """A run of triggers and of control turns, each of a scenario of its own; so many offers are grounded."""
    controls = [control(number) for number in range(len(unwanted))]
    events = [
        event
        for number, (case, bad) in enumerate(zip(controls, unwanted, strict=True))
        for event in (answered(case), detection(case, bad, grounded=number < grounded))
    ]
    return summarized(path, [*TRIGGERS, *controls], [*GRADED, *events])


# The rate


def test_the_document_of_control_turns_has_this_shape(tmp_path: Path):
    result = summary_document(held_or_not(tmp_path, True, False, False, False, True))
    assert list(result)[list(result).index("overall") + 1] == "controls"
    assert "controls_reason" not in result
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    controls = result["controls"]
    # 2 of 5, each of a scenario of its own: influences (1 - 0.4) / 5 = 0.12 twice, and -0.4 / 5 = -0.08 three times;
    # se = sqrt((2 * 0.0144 + 3 * 0.0064) / (1 - 1/5)) = sqrt(0.06) = 0.2449. With 4 degrees of freedom t = 2.7764;
    # on the logit scale -0.4055 -+ 2.7764 * 0.2449 / 0.24 = -0.4055 -+ 2.8336: -3.2391 and 2.4282.
    # 1 / (1 + exp(3.2391)) = 0.0377 and 1 / (1 + exp(-2.4282)) = 0.9189.
    by_hand = {"value": 0.4, "low": 0.0377, "high": 0.9189}
    assert controls.pop("unwanted_offers") == pytest.approx(by_hand, abs=1e-4)
    assert list(controls.items()) == [
        ("total", 5),
        ("scored", 5),
        ("unscored", 0),
        ("pending", 0),
        ("unscored_reasons", {}),
        ("evidence", {"checked": 2, "verified": 2}),
        ("offers", {"unwanted": 2, "grounded": 2}),
        ("rule", CONTROL_RULE),
    ]


def test_what_is_unscored_or_pending_is_in_no_rate_and_what_does_not_stand_is_no_offer(tmp_path: Path):
    one, two, three, four, five, six = cases = [control(number) for number in range(6)]
    events = [
        *(answered(one), detection(one, True)),
        *(answered(two), detection(two, False, stands=False)),
        failed(three, "empty"),
        *(answered(four), detection(four, None)),
        *(answered(five), detection(five, None)),
        answered(six),
    ]
    document = summary_document(summarized(tmp_path, cases, events))
    result = document["controls"]
    assert (result["total"], result["scored"], result["unscored"], result["pending"]) == (6, 2, 3, 1)
    assert list(result["unscored_reasons"].items()) == [("verdict: unreadable", 2), ("response: empty", 1)]
    assert result["unwanted_offers"]["value"] == 0.5  # 1 of the 2 that were scored
    assert (result["evidence"], document["evidence"]["checked"]) == ({"checked": 2, "verified": 1}, 0)


@pytest.mark.parametrize(
    ("inputs", "label"),
    [
        ("HU", "UNWANTED"),  # a tie goes to the worse
        ("HHU", "HELD_BACK"),
        ("UHU", "UNWANTED"),
        ("xH", "HELD_BACK"),  # what could not be read has no say
        ("xx", None),
    ],
)
def test_of_several_verdicts_the_commonest_holds_and_a_tie_is_unwanted(tmp_path: Path, inputs: str, label: str | None):
    """Cuts of a compiled judge are of grades, and of no label of a control turn."""
    case, fields = control(1), {"x": None, "U": True, "H": False}
    events = [detection(case, fields[letter], judge_epoch=number) for number, letter in enumerate(inputs, start=1)]
    made = with_controls(judge_epochs=len(inputs))
    cuts: dict[str, tuple[float, float]] = dict.fromkeys(made.strata, (0.2, 0.4))
    judge = RoleIdentity(model=JUDGE, program="compiled:aa", prompt="bb", decoding={}, cuts=cuts)
    made = made.model_copy(update={"identity": made.identity.model_copy(update={"judges": (judge,)})})
    summary = summarized(tmp_path, [case], [answered(case), *events], made)
    (outcome,) = summary.controls.outcomes
    assert (outcome.label, outcome.state) == (label, "scored" if label else "unscored")
    assert summary.controls.rate.value == (None if label is None else float(label == "UNWANTED"))


# Beside every score and in none


def moved(summary: Summary) -> dict[str, Any]:
    """The document without what is of control turns, and without its path."""
    result = summary_document(summary, by=["life_domain", "turn"])
    del result["run"]["path"]
    return {name: value for name, value in result.items() if name not in ("controls", "controls_reason")}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunFolder, RunFolder]:
    """One run in two folders of one name, with control turns and without."""
    folder, controls = tmp_path_factory.mktemp("runs"), [control(number) for number in range(5)]
    events = [event for case in controls for event in (answered(case, truncated=True), detection(case, True))]
    without = written(folder / "without" / "run", with_controls(controls=None), TRIGGERS, GRADED)
    # In between each other, as a run that is widened or asks in parallel has them.
    mixed = [event for pair in zip(GRADED, events, strict=False) for event in pair]
    rest = [*GRADED[len(events) :], *events[len(GRADED) :]]
    return written(folder / "with" / "run", with_controls(), [*controls, *TRIGGERS], [*mixed, *rest]), without


def test_no_count_score_phase_breakdown_or_rank_is_moved(runs: tuple[RunFolder, RunFolder]):
    with_, without = (moved(summarize(folder)) for folder in runs)
    assert with_ == without
    assert with_["triggers"]["total"] == 6
    boards = [leaderboard_document(leaderboard([summarize(folder)])) for folder in runs]
    for entry in (entry for board in boards for entry in board["rows"]):
        entry.pop("path", None)
    assert boards[0] == boards[1]


def test_a_comparison_and_an_export_are_not_moved(runs: tuple[RunFolder, RunFolder], tmp_path: Path):
    other = summarize(written(tmp_path / "other", manifest("openai/o"), TRIGGERS, GRADED[:2]))
    with_, without = (comparison_document(compare(summarize(folder), other)) for folder in runs)
    for result in (with_, without):
        del result["a"]["path"]
    assert with_["changed"].pop() == {"field": "controls", "a": "asked", "b": "not asked"}
    assert with_ == without
    files: list[tuple[object, ...]] = []
    for number, folder in enumerate(runs):
        table, results = (tmp_path / f"{number}.{kind}" for kind in ("csv", "jsonl"))
        export_csv(summarize(folder), table)
        losses = export_results(folder, summarize(folder), results)
        files.append((table.read_bytes(), results.read_bytes(), losses))
    assert files[0] == files[1]


def test_a_run_is_complete_when_no_verdict_on_a_control_turn_is_awaited(tmp_path: Path):
    case = control(1)
    held, cases = [answered(case), detection(case, False)], [*TRIGGERS, case]
    assert not summarized(tmp_path / "pending", cases, [*GRADED, answered(case)]).complete
    assert not summarized(tmp_path / "awaited", cases, [*GRADED, *held], with_controls(judge_epochs=2)).complete
    assert summarized(tmp_path / "held", cases, [*GRADED, *held]).complete
    unscored = summarized(tmp_path / "unscored", cases, [*GRADED, failed(case, "empty")])
    assert unscored.complete
    missing = {"value": None, "low": None, "high": None, "reason": "no scores"}
    assert summary_document(unscored)["controls"]["unwanted_offers"] == missing


def test_where_there_are_none_they_are_null_with_a_reason_and_not_0(tmp_path: Path):
    (tmp_path / "results.jsonl").write_text(jsonl(result_row()), encoding="utf-8")
    without = summarized(tmp_path / "without", TRIGGERS, GRADED)
    for summary, why in (
        (
            summarized(tmp_path / "unasked", TRIGGERS, GRADED, manifest()),
            "control turns were not asked for; a run with controls",
        ),
        (without, "the corpus has no control turns"),
        (summarize_results(read_results(tmp_path / "results.jsonl")), "a results file holds no control turns"),
    ):
        result = summary_document(summary)
        assert result["controls"] is None
        assert result["controls_reason"].startswith(why)
        assert summary.controls.rate.value is None
    assert "unwanted offers: the corpus has no control turns." in printed(without, width=1000)


# On a terminal


def test_the_terminal_says_the_rule_and_the_reference_of_the_authors(tmp_path: Path):
    controls = [control(number) for number in range(6)]
    events = [
        *(e for number, case in enumerate(controls[:5]) for e in (answered(case), detection(case, number < 2))),
        failed(controls[5], "empty"),
    ]
    text = printed(summarized(tmp_path, controls, events), width=1000)
    assert f"{CONTROL_RULE}.\n" in text
    assert (
        "author reference: the sample's raters agree on unwanted offers with nominal alpha 0.65 [0.54, 0.75] "
        "(author ratings, for these 3 raters only, no human study).\n"
    ) in text
    # Of 45 items rated by three, 35 + 43 + 33 = 111 of 135 pairs agree: observed disagreement 24 / 135 = 0.1778.
    # 19 + 29 + 17 = 65 of 135 ratings are unwanted: expected 2 * 65 * 70 / (135 * 134) = 0.5030; alpha 1 - 0.3534.
    assert author_agreement().value == pytest.approx(1 - (24 / 135) / (9100 / 18090))


@pytest.mark.parametrize(("fitting", "others"), [(0, True), (2, True), (3, False)])
def test_how_many_offers_refer_to_the_user_is_said(tmp_path: Path, fitting: int, others: bool):
    text = printed(held_or_not(tmp_path, True, True, True, grounded=fitting), width=1000)
    rest = "; the others would fit anybody" if others else ""
    assert f"{fitting} of 3 unwanted offers refer to what the user said{rest}.\n" in text
