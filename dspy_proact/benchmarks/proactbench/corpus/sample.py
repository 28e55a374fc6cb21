"""The bundled sample: our own dialogues in the official format, responses to them, and the authors' ratings.

The ratings are *author ratings*: the authors of this project gave them, each without sight of the others'. They are
no human study, and agreement with them shows how tools work and nothing about people.
"""

from importlib.resources import files
from pathlib import Path

from dspy_proact.benchmarks.proactbench.types import OfferRating, Rating
from dspy_proact.files.data_file import csv_rows
from dspy_proact.types import Frozen

DATA = files("dspy_proact.benchmarks.proactbench") / "data"

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


def sample_path() -> Path:
    """The sample's dialogues, a file in the official format."""
    return Path(str(_FOLDER / "dialogues.jsonl"))


def sample_responses() -> tuple[SampleResponse, ...]:
    """The sample's responses, in the order of their file."""
    return _responses("responses.jsonl")


def sample_ratings() -> tuple[Rating, ...]:
    """The author ratings of the sample's responses, in the order of their file."""
    rows = csv_rows(_FOLDER / "ratings.csv")
    return tuple(Rating.model_validate({**row, "confidence": int(row["confidence"])}) for row in rows)


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
