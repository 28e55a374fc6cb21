"""Small studies to tune a judge to: a few personas with planted words, and a server that answers deterministically."""

import csv
import hashlib
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import dspy
from drivers.client import spec
from fakes.server import GRADES, Answer, Sent, verdict

from builders.item_scores import of_judge
from dspy_proact import Compile, Estimate, Gate, Judge, JudgeTarget, ProactBench, Recipe, Settings
from dspy_proact.benchmarks.proactbench.corpus.rated_items import rated_item
from dspy_proact.benchmarks.proactbench.types import Grade, JudgeView, Phase, Rubric, Turn
from dspy_proact.calls import Price
from dspy_proact.compile.training import variant
from dspy_proact.evaluation.people import HumanGrade, parts_of
from dspy_proact.evaluation.ratings import RatedItem, Ratings, RatingsSource
from dspy_proact.programs.artefact import Artefact, Cuts, Learned, signature_of, states_of
from dspy_proact.programs.card import Card, DataSource, Provenance
from dspy_proact.programs.embedded.proposer import answer as propose
from dspy_proact.programs.item_scores import ItemScores
from dspy_proact.types import RoleIdentity

PHASES = tuple(Phase)
TUNING: Any = ProactBench().tuning(Settings())
QUOTE = "Label the boxes today."
KEY, RATER = "quokka", "wombat"
"""Stand in every key, and in every rater's name, and nowhere else."""
SMALL = ("--trials", 2, "--max-demos", 1, "--folds", 2)
"""Options of a compile that ends soon."""


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
    response, where = f"{QUOTE} {forward} Yours, {word}, {number}.", scenario or f"p{persona}/S{number % 2}"
    return rated_item(f"{KEY}{number}", view, response, scenario=where, persona=f"p{persona}")


def study(personas: int = 4, per_persona: int = 3, first: int = 0) -> Ratings:
    """Every persona, counted from the first, has responses in all phases, each rated by two who agree now and then."""
    items, ratings = [], []
    for number in range(personas * per_persona):
        made = item(number, first + number % personas, PHASES[number // personas % 3])
        items.append(made)
        for rater in range(2):
            grade = tuple(Grade)[(number % personas + number // personas + rater * (number % 5 == 0)) % 3]
            reason = f"It is {grade}, says {token(first + number % personas)}."
            ratings.append(HumanGrade(made.key, made.answer, grade, f"{RATER}{rater}", reason=reason))
    source = RatingsSource(origin="here", files={"ratings.csv": "aa"})
    return Ratings("a study", "proactbench", tuple(items), tuple(ratings), source)


def on_disk(folder: Path, of: Ratings) -> list[str]:
    """The options that name a study, once it is written to a folder."""
    rows = [
        {
            "item": entry.key,
            "scenario": entry.group,
            "persona": entry.meta["persona"],
            "conversation": [turn.model_dump(mode="json") for turn in entry.view.conversation],
            "rubric": entry.view.rubric.model_dump(mode="json"),
            "response": entry.text,
        }
        for entry in of.items
        if isinstance(entry.view, JudgeView)
    ]
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    text = io.StringIO()
    sheet = csv.writer(text)
    sheet.writerow(["item", "annotator", "grade", "reason"])
    sheet.writerows([grade.key, grade.rater, grade.grade, grade.reason] for grade in of.grades)
    (folder / "ratings.csv").write_text(text.getvalue(), encoding="utf-8")
    return ["--ratings", str(folder / "ratings.csv"), "--items", str(folder / "items.jsonl")]


def recipe(optimizer: Any = "labeled", folds: int = 2, trials: int = 2, seed: int = 0) -> Recipe:
    """A small one."""
    return Recipe(optimizer=optimizer, trials=trials, max_demos=2, folds=folds, seed=seed)


def proposer_base(server: Any) -> str:
    """Where the server hears the proposer."""
    return f"http://127.0.0.1:{server.port}/proposer/v1"


def at(
    server: Any,
    of: Ratings,
    how: Recipe,
    params: dict[str, Any] | None = None,
    proposer: str | None = None,
    start: Path | None = None,
    votes: int = 1,
    guards: Any = (),
    **calls: Any,
) -> Compile:
    """A compile whose judge, with parameters, and proposer, at another endpoint if one is given, are at the server."""
    judge = spec("openai/any", server.judge, params=params or {})
    writer = spec("openai/any", proposer or proposer_base(server))
    gate = Gate(**({"retries": 0} | calls))
    return Compile(JudgeTarget(of, judge, writer, votes=votes, start=start, guards=guards), how, gate)


def models(sent: Sent) -> Answer:
    """A judge that grades by a hash of all that it was sent, and the embedded proposer."""
    if sent.role == "proposer":
        return Answer(proposal(sent))
    digest = hashlib.sha256(json.dumps(sent.messages).encode()).hexdigest()
    return Answer(verdict(GRADES[int(digest, 16) % 3], [QUOTE]))


def taught(of: Ratings) -> Callable[[Sent], Answer]:
    """Models of which the judge is wrong throughout, and right as soon as it has a demo or a rule of the proposer's."""
    people = {entry.answer.text: consensus(entry) for entry in graded(of)}

    def answer(sent: Sent) -> Answer:
        if sent.role == "proposer":
            return Answer(proposal(sent))
        system, *demos, last = (str(message["content"]) for message in sent.messages)
        (grade,) = (grade for response, grade in people.items() if response in last)
        wrong = "PASS" if grade == "FAIL" else "FAIL"
        return Answer(verdict(grade if demos or "when in doubt" in system else wrong, [QUOTE]))

    return answer


def proposal(sent: Sent) -> str:
    """What the embedded proposer answers to a request."""
    lines = [(str(message["role"]), str(message["content"])) for message in sent.messages]
    system = "".join(text for role, text in lines if role == "system")
    return propose(system, [pair for pair in lines if pair[0] != "system"])


def lasting(file: Path) -> dict[str, Any]:
    """An artefact without the time at which it was made, of which its checksum is too."""
    content = json.loads(file.read_text(encoding="utf-8"))
    assert content["card"]["provenance"].pop("created")
    assert content.pop("checksum")
    return content


def provenance(data: str = "a study", **models: str) -> Provenance:
    """With what a program by hand would have been made."""
    return Provenance(
        models={
            name: RoleIdentity(model=model, endpoint=None, decoding={})
            for name, model in (models or {"judge": "openai/any", "proposer": "openai/any"}).items()
        },
        recipe=Recipe(folds=2),
        start="ff",
        data=DataSource(name=data, sha256="ff"),
        embedded=False,
        versions={"dspy": "3"},
        created="2026-01-02T03:04:05+00:00",
    )


NUMBER = Estimate(value=0.5, low=0.3, high=0.7)
NO_PRICE = Price(reason="by hand")


def card(scores: ItemScores | None = None, **changes: Any) -> Card:
    """A card of scores by hand, by default of a judge that agrees better with people after."""
    nouns = ProactBench().nouns.model_copy(update={"case": "graded answer", "cases": "graded answers"})
    of = {"nouns": nouns, "item_scores": scores or of_judge(), "price": NO_PRICE, "provenance": provenance()}
    return Card(**(of | changes))


def filed(program: Any, role: Any, of: Card, benchmark: str = "proactbench", **reading: Any) -> Artefact:
    """The file of a program as it is, compiled from one without words of its own."""
    states = states_of(program)
    bare = {
        name: state.model_copy(
            update={"demos": (), "signature": state.signature.model_copy(update={"instructions": "Begin."})}
        )
        for name, state in states.items()
    }
    return Artefact(
        signature=signature_of(program, states),
        benchmark=benchmark,
        role=role,
        program=type(program).__name__,
        states=states,
        card=of,
        **({"start": Learned(states=bare)} | reading),
    )


def artefact(
    votes: int = 1, cuts: tuple[float, float] | None = None, demos: int = 1, changes: Any = None, **scores: Any
) -> Artefact:
    """A compiled judge by hand: a rule of its own, and demos of the study's responses; `scores` are of its items."""
    judge = variant(Judge(ask_quote_again=False), ["Grade by the moon."] * 3, worked(study())[:demos])
    cut = dict.fromkeys(Phase, Cuts(partial=cuts[0], full=cuts[1])) if cuts else {}
    return filed(judge, "judge", card(of_judge(votes=votes, **scores), **(changes or {})), votes=votes, cuts=cut)


def graded(of: Ratings) -> Sequence[RatedItem]:
    """The items of a study, as a compile has them."""
    return JudgeTarget(of).items


def consensus(entry: RatedItem) -> str:
    """The commonest grade of an item."""
    (part,) = parts_of(ProactBench())
    return entry.consensus(part)


def worked(of: Ratings) -> list[dspy.Example]:
    """The items as a judge that agrees with people would have answered them."""
    examples = [dspy.Example(key=entry.key, **TUNING.question(entry.case, entry.answer).inputs) for entry in graded(of)]
    return [TUNING.worked(entry, example, None) for entry, example in zip(graded(of), examples, strict=True)]


def compiled_judge(of: Artefact, ask_quote_again: bool = True) -> Judge:
    """The judge of an artefact."""
    return of.put_into(Judge(ask_quote_again), "judge.json")
