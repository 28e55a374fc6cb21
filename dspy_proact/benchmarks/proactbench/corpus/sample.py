"""What comes with the package beside dialogues: responses to the sample with author ratings, and cases of the judge.

The ratings are *author ratings*: the authors of this project gave them, each without sight of the others'. They are
no human study, and agreement with them shows how tools work and nothing about people.
"""

import json

from dspy_proact.benchmarks.proactbench.corpus.dialogues import DATA, read_jsonl, sample_path, trigger_key
from dspy_proact.benchmarks.proactbench.corpus.ratings import GivenRating, RatedItem, Ratings, RatingsSource
from dspy_proact.benchmarks.proactbench.types import Grade, JudgeView, OfferRating, Rating
from dspy_proact.files.rows import Line, csv_rows
from dspy_proact.types import Frozen

SAMPLE = "sample"
"""Name of the sample's author ratings, which no person gave."""
_FOLDER = DATA / "sample"


class SampleResponse(Frozen):
    """One response to a trigger of the sample."""

    item: str
    """What its author ratings refer to."""
    case: str
    """Key of the trigger or control turn: `<unique_id_eval>__t<turn>`."""
    text: str

    @property
    def dialogue(self) -> str:
        """`unique_id_eval` of its dialogue."""
        return self.case.rpartition("__t")[0]


def sample_study() -> Ratings:
    """The responses of the bundled sample with their author ratings, which are no human study; no judge graded them."""
    triggers = {
        trigger_key(dialogue.origin.dialogue, trigger.turn): (dialogue, trigger)
        for dialogue in read_jsonl(sample_path()).dialogues
        for trigger in dialogue.triggers
    }
    items: list[RatedItem] = []
    for response in _responses("responses.jsonl"):
        dialogue, trigger = triggers[response.case]
        items.append(
            RatedItem(
                key=response.item,
                phase=trigger.rubric.phase,
                scenario=dialogue.origin.scenario,
                persona=dialogue.origin.persona,
                view=JudgeView.of(dialogue, trigger),
                response=response.text,
                turn=trigger.turn,
            )
        )
    given: list[GivenRating] = []
    for number, row in enumerate(csv_rows(_FOLDER / "ratings.csv"), start=2):
        rating = Rating.model_validate({**row, "confidence": int(row["confidence"])})
        given.append(GivenRating(Line("ratings.csv", number, ""), rating))
    contents = {name: (_FOLDER / name).read_bytes() for name in ("dialogues.jsonl", "responses.jsonl", "ratings.csv")}
    return Ratings.of(SAMPLE, items, given, RatingsSource.of("dspy-proact, the bundled sample", contents))


def sample_control_responses() -> tuple[SampleResponse, ...]:
    """Responses at the sample's control turns, three to each, in the order of their file."""
    return _responses("control_responses.jsonl")


def sample_offer_ratings() -> tuple[OfferRating, ...]:
    """The author ratings of these responses, in the order of their file."""
    return tuple(
        OfferRating.model_validate({**row, "grounded": row["grounded"] or None, "confidence": int(row["confidence"])})
        for row in csv_rows(_FOLDER / "offer_ratings.csv")
    )


def _responses(name: str) -> tuple[SampleResponse, ...]:
    with (_FOLDER / name).open(encoding="utf-8") as lines:
        return tuple(map(SampleResponse.model_validate_json, lines))


class JudgeCase(Frozen):
    """A worked case of the judge's rules: a response whose grade follows from one rule."""

    name: str
    rule: str
    """What it is about, such as `Questions` or a phase."""
    view: JudgeView
    response: str
    grade: Grade
    why: str


def judge_cases() -> tuple[JudgeCase, ...]:
    """The 40 cases, for each rule and its neighbour a response, the grade that follows, and why.

    They are the judge's prompt as examples, written for this project, with one plain answer each. They say whether a
    judge keeps to its rules, and nothing about how hard real responses are to grade.
    """
    held = json.loads((DATA / "judge_cases.json").read_text(encoding="utf-8"))
    views = {
        scene: JudgeView.model_validate({**shown, "turn": len(shown["conversation"])})
        for scene, shown in held["scenes"].items()
    }
    return tuple(JudgeCase(view=views[case.pop("scene")], **case) for case in held["cases"])
