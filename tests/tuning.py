"""Small studies to tune a judge to: a few personas with planted words, and a server that answers deterministically."""

import csv
import hashlib
import io
import json
from pathlib import Path
from typing import Any

from server import GRADES, Answer, Sent, verdict

from dspy_proact.compile import Effort, JudgeCompile, Plan
from dspy_proact.corpus import RatedItem, Ratings
from dspy_proact.corpus.ratings.source import RatingsSource
from dspy_proact.models.embedded.proposer import answer as propose
from dspy_proact.types import Grade, Phase, Rating, Rubric, Turn
from dspy_proact.views import JudgeView

PHASES = tuple(Phase)
QUOTE = "Label the boxes today."
KEY, RATER = "quokka", "wombat"
"""Stand in every key, and in every rater's name, and nowhere else."""


def token(persona: int) -> str:
    """A word that stands in everything of one persona."""
    return f"zebra{persona}x"


def item(number: int, persona: int, phase: Phase, scenario: str | None = None) -> RatedItem:
    """A response; its persona's word stands in conversation, rubric and response."""
    word = token(persona)
    forward = ("I suggest that you plan the move.", "You could ask Ann before Friday.", "Good.")[number % 3]
    view = JudgeView(
        conversation=(
            Turn(user=f"I move on Friday, says {word}.", assistant="Good luck."),
            Turn(user=f"Any boxes, number {number}?", assistant=None),
        ),
        turn=2,
        rubric=Rubric(
            phase=phase,
            pass_criteria=f"Plans the move of {word}.",
            partial_criteria="Hints.",
            fail_criteria="Does nothing.",
        ),
    )
    return RatedItem(
        key=f"{KEY}{number}",
        phase=phase,
        scenario=scenario or f"p{persona}/S{number % 2}",
        persona=f"p{persona}",
        view=view,
        response=f"{QUOTE} {forward} Yours, {word}, {number}.",
    )


def study(personas: int = 4, each: int = 3) -> Ratings:
    """Every persona has responses in all phases, each rated by two people who agree now and then."""
    items, ratings = [], []
    for number in range(personas * each):
        made = item(number, number % personas, PHASES[number // personas % 3])
        items.append(made)
        for rater in range(2):
            grade = tuple(Grade)[(number + rater * (number % 2)) % 3]
            reason = f"It is {grade}, says {token(number % personas)}."
            ratings.append(
                Rating(item=made.key, annotator=f"{RATER}{rater}", grade=grade, confidence=3, reason=reason)
            )
    source = RatingsSource(origin="here", files={"ratings.csv": "aa"})
    return Ratings(name="a study", items=tuple(items), ratings=tuple(ratings), source=source)


def on_disk(folder: Path, of: Ratings) -> list[str]:
    """The options that name a study, once it is written to a folder."""
    rows = [
        {
            "item": each.key,
            "scenario": each.scenario,
            "persona": each.persona,
            "conversation": [turn.model_dump(mode="json") for turn in each.view.conversation],
            "rubric": each.view.rubric.model_dump(mode="json"),
            "response": each.response,
        }
        for each in of.items
        if each.view
    ]
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    text = io.StringIO()
    sheet = csv.DictWriter(text, ["item", "annotator", "grade", "confidence", "reason"])
    sheet.writeheader()
    sheet.writerows([each.model_dump(mode="json") for each in of.ratings])
    (folder / "ratings.csv").write_text(text.getvalue(), encoding="utf-8")
    return ["--ratings", str(folder / "ratings.csv"), "--items", str(folder / "items.jsonl")]


def plan(optimizer: Any = "labeled", folds: int = 2, votes: int = 1, trials: int = 2, seed: int = 0) -> Plan:
    """A small one."""
    return Plan(Effort(optimizer, trials=trials, max_demos=2, seed=seed), folds=folds, votes=votes)


def proposer_base(server: Any) -> str:
    """Where the server hears the proposer."""
    return f"http://127.0.0.1:{server.port}/proposer/v1"


def at(server: Any, of: Ratings, how: Plan, **more: Any) -> JudgeCompile:
    """A compile whose judge and proposer are at the server."""
    where = {"judge_api_base": server.judge, "proposer_api_base": proposer_base(server)}
    return JudgeCompile(of, "openai/any", "openai/any", plan=how, retries=0, **(where | more))


def models(sent: Sent) -> Answer:
    """A judge that grades by a hash of all that it was sent, and the embedded proposer."""
    if sent.role == "proposer":
        return Answer(proposal(sent))
    digest = hashlib.sha256(json.dumps(sent.messages).encode()).hexdigest()
    return Answer(verdict(GRADES[int(digest, 16) % 3], [QUOTE]))


def proposal(sent: Sent) -> str:
    """What the embedded proposer answers to a request."""
    told = [(str(message["role"]), str(message["content"])) for message in sent.messages]
    system = "".join(text for role, text in told if role == "system")
    return propose(system, [pair for pair in told if pair[0] != "system"])


def lasting(file: Path) -> dict[str, Any]:
    """An artefact without the time at which it was made."""
    content = json.loads(file.read_text(encoding="utf-8"))
    assert content["card"].pop("created")
    return content
