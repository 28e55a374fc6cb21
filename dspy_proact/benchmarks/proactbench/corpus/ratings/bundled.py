"""What comes with the package: the published study as figures, and the sample with its author ratings."""

from collections.abc import Mapping
from importlib.resources import files

from dspy_proact.benchmarks.proactbench.corpus.ratings.official import RawRating
from dspy_proact.benchmarks.proactbench.corpus.ratings.rated_item import RatedItem, scenario_of
from dspy_proact.benchmarks.proactbench.corpus.ratings.rating import GivenRating
from dspy_proact.benchmarks.proactbench.corpus.ratings.ratings import Ratings, RatingsSource
from dspy_proact.benchmarks.proactbench.corpus.result_trigger import trigger_key
from dspy_proact.benchmarks.proactbench.corpus.sample import sample_path, sample_ratings, sample_responses
from dspy_proact.benchmarks.proactbench.corpus.spec import read_jsonl
from dspy_proact.benchmarks.proactbench.types import Grade, Phase
from dspy_proact.benchmarks.proactbench.views import JudgeView
from dspy_proact.files.data_file import csv_rows
from dspy_proact.files.line import Line

DATA = files("dspy_proact.benchmarks.proactbench") / "data"

PUBLISHED_ORIGIN = "github.com/boson-ai/ProactBench"
_PUBLISHED = DATA / "published"

SAMPLE = "sample"
"""Name of the sample's author ratings, which no person gave."""


def published_ratings() -> Ratings:
    """The published study: 275 ratings of 60 items by 18 annotators, with the grades of the study's judge, GPT-5.4.

    Labels only: no conversation, no rubric, no response and no reason comes with the package. One item has no rating.
    """
    items = [_published_item(row) for row in csv_rows(_PUBLISHED / "human_items.csv")]
    rows = enumerate(csv_rows(_PUBLISHED / "human_ratings.csv"), start=2)
    given = [_published_rating(number, row) for number, row in rows]
    source = RatingsSource.of(PUBLISHED_ORIGIN, _contents("published", "human_items.csv", "human_ratings.csv"))
    return Ratings.of("published", items, given, source)


def sample_study() -> Ratings:
    """The responses of the bundled sample with their author ratings, which are no human study; no judge graded them."""
    dialogues = {
        trigger_key(dialogue.origin.dialogue, trigger.turn): (dialogue, trigger)
        for dialogue in read_jsonl(sample_path()).dialogues
        for trigger in dialogue.triggers
    }
    items: list[RatedItem] = []
    for response in sample_responses():
        dialogue, trigger = dialogues[response.case]
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
    given = [
        GivenRating(Line("ratings.csv", number, ""), each) for number, each in enumerate(sample_ratings(), start=2)
    ]
    contents = _contents("sample", "dialogues.jsonl", "responses.jsonl", "ratings.csv")
    return Ratings.of(SAMPLE, items, given, RatingsSource.of("dspy-proact, the bundled sample", contents))


def _published_item(row: Mapping[str, str]) -> RatedItem:
    scenario, persona = scenario_of(row["item_id"])
    return RatedItem(
        key=row["item_id"],
        phase=Phase(row["type"]),
        scenario=scenario,
        persona=persona,
        judge=Grade(row["judge_score"].upper()),
        turn=int(row["turn"]),
        model=row["evaluated_model"],
    )


def _published_rating(number: int, row: Mapping[str, str]) -> GivenRating:
    fields = {**row, "time_spent_seconds": float(row["time_spent_seconds"])}
    line = Line("human_ratings.csv", number, "", fields)
    return GivenRating.of(line, RawRating.of(line))


def _contents(folder: str, *names: str) -> dict[str, bytes]:
    return {name: (DATA / folder / name).read_bytes() for name in names}
