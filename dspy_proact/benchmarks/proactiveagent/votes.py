"""People's votes on proposals, in the layout of the authors' reward data: one proposal, or silence, a row.

What must be known of them, all counted in the 1,749 official rows:
- A row of a proposal is gold by a strict majority. A row of silence is not: its gold is that no proposal of the turn
  was ticked by all, which contradicts the votes in 126 of the 149 rows of the training part that accept silence.
- The official test part holds out no context: all of its 120 stand in the training part too, with other proposals. Half
  of the set alone is therefore refused, and whole traces are left out in turn.
- Where two people voted, ties were dropped, so that these rows look agreed. Whether the first vote of a row is one
  person's throughout is not known: raters are positions.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import Field

from dspy_proact.benchmarks.proactiveagent.corpus import (
    MOST_EVENTS,
    NAME,
    RawEvent,
    Trace,
    fetched,
    folders_of,
    load_traces,
    origin_of,
)
from dspy_proact.benchmarks.proactiveagent.turns import ACCEPTED, REJECTED, Assistance, ProactiveAgentSettings, stripped
from dspy_proact.errors import CorpusError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.people import HumanGrade
from dspy_proact.evaluation.ratings import Ratings
from dspy_proact.files.rows import FileReader, Line, RawPart, lines_in, lines_of
from dspy_proact.runs import CaseSet, Settings

Category = Literal["Correct-Detection (CD)", "False-Alarm (FA)", "Correct-Rejection (CR)", "Missed-Need (MN)"]
CATEGORIES: tuple[Category, ...] = get_args(Category)
OFFICIAL = ("train_data.jsonl", "test_data.jsonl")
"""The two parts of the authors' split."""
_FOLDERS = ("reward_data", "dataset/reward_data")
_OWN = "votes.jsonl"
"""Votes in the same format that were never split."""
_WANTED = f"the folder that holds {' and '.join(OFFICIAL)}"


@dataclass(frozen=True)
class Vote:
    """A row: what was proposed at a turn, and how people voted on it."""

    turn: str
    """Key of the case."""
    number: int
    """Of the row among those of its turn, counted from 1."""
    proposal: str
    """Empty for silence."""
    votes: tuple[bool, ...]
    """One a person, in the order of the file: whether it is accepted; of silence, whether the person wanted nothing."""
    valid: bool
    """The official label."""
    help_needed: bool
    """Whether some proposal of the turn was ticked by everybody."""
    category: Category
    part: str
    """The file that it stands in."""

    @property
    def share(self) -> float:
        """Share of votes that accept, in [0, 1]."""
        return sum(self.votes) / len(self.votes)

    def grades(self) -> Iterator[HumanGrade]:
        """One a vote; a rater is a position in the row."""
        answer = Assistance(proposals=(self.proposal,) if self.proposal else ())
        for position, accepted in enumerate(self.votes, start=1):
            grade = ACCEPTED if accepted else REJECTED
            yield HumanGrade(self.turn, answer, grade, f"annotator {position}", item=f"{self.turn}/{self.number}")


@dataclass(frozen=True)
class Votes:
    """Votes, and the turns that they are of."""

    turns: CaseSet
    rows: tuple[Vote, ...]

    def human_grades(self, silence: bool) -> list[HumanGrade]:
        """The votes as grades, those on silence only where they are asked for."""
        return [grade for row in self.rows if row.proposal or silence for grade in row.grades()]


class _Row(RawPart):
    obs: list[RawEvent] = Field(min_length=1, max_length=MOST_EVENTS)
    pred_task: str | None
    annotation: list[bool] = Field(min_length=1, max_length=100)
    valid: bool
    help_needed: bool
    category: Category

    @property
    def proposal(self) -> str:
        return stripped(self.pred_task)

    def misfits(self) -> Iterator[tuple[str, str]]:
        """What contradicts the votes."""
        for number, event in enumerate(self.obs):
            if event.problem:
                yield f"obs[{number}].event", event.problem
        count, votes = sum(self.annotation), len(self.annotation)
        gold, rule = not self.help_needed, "silence is right where no help is needed"
        if self.proposal:
            gold, rule = 2 * count > votes, f"{count} of {votes} votes accept"
        if self.valid != gold:
            yield "valid", f"is {str(self.valid).lower()}, and {rule}"
        right, wrong = CATEGORIES[:2] if self.proposal else CATEGORIES[2:]
        if self.category != (right if self.valid else wrong):
            yield "category", f"is {self.category!r}; the row is a {right if self.valid else wrong}"


def are_labels(named: str) -> bool:
    """Whether a path is of files of labels, and of no votes in the layout of the authors' repository."""
    votes, path = (*OFFICIAL, _OWN), Path(named)
    if path.is_file():
        return path.name not in votes
    if any((folder / name).is_file() for folder in folders_of(named, *_FOLDERS) for name in votes):
        return False
    return any(file.suffix.lower() in {".csv", ".jsonl"} for file in path.glob("*"))


def load_votes(spec: str, window: int) -> Votes:
    """The votes of `sample`, `proactiveagent`, or a folder in the layout of the authors' repository.

    There is a case for each turn that was voted on, with `window` events. Raises a `CorpusError` where there are none,
    a row contradicts itself or another, or half of the official set stands alone.
    """
    contents, traces, reader = dict[str, bytes](), dict[str, Trace](), FileReader()
    if spec == NAME:
        contents = {f"{NAME}/{name}": data for name, data in fetched("dataset/reward_data", OFFICIAL).items()}
        traces = load_traces(spec)[0]
    else:
        for folder in folders_of(spec, *_FOLDERS):
            there = [folder / name for name in (*OFFICIAL, _OWN) if (folder / name).is_file()]
            contents |= {str(path): reader.read(path, _WANTED) for path in there}
        if any((folder / "splits.json").is_file() for folder in folders_of(spec, "test_data", "dataset/test_data")):
            traces = load_traces(spec)[0]
    parts = {path.rpartition("/")[2] for path in contents} & set(OFFICIAL)
    if len(parts) == 1 or spec.endswith(".jsonl"):
        problem = "half of the official split: every context of its test part stands in its training part too, so that"
        raise CorpusError(f"{problem} nothing is held out; give {_WANTED}, and whole traces are left out", source=spec)
    if not contents:
        raise CorpusError(f"there are no votes in it; give {_WANTED}", source=spec)
    lines = (line for path, data in contents.items() for line in lines_in(lines_of(data, path), path, "row of votes"))
    return _joined(spec, lines, list(traces.values()), window)


def _joined(spec: str, lines: Iterator[Line], known: Sequence[Trace], window: int) -> Votes:
    traces = {trace.origin: trace for trace in known}
    seen, needs, rows = dict[tuple[str, str], int](), dict[str, bool](), list[Vote]()
    counts = Counter[str]()
    for line in lines:
        row = _Row.of(line)
        events = tuple(event.plain for event in row.obs)
        origin = origin_of(events[0])
        # A generated trace has no file of its own: its longest prefix is the trace.
        trace = traces.get(origin) or Trace(f"trace-{origin[:6]}", "coding", ())
        if (shared := min(len(events), len(trace.events))) and events[:shared] != trace.events[:shared]:
            raise line.error(f"its events are not those of the trace {trace.name}", "obs")
        traces[origin] = trace if len(events) <= len(trace.events) else Trace(trace.name, trace.kind, events)
        turn = f"{trace.name}/{len(events):02}"
        if needs.setdefault(turn, row.help_needed) != row.help_needed:
            raise line.error(f"another row of {turn} says otherwise", "help_needed")
        if (turn, row.proposal) in seen:
            raise line.error(f"line {seen[turn, row.proposal]} has votes on it already", "pred_task")
        seen[turn, row.proposal] = line.number
        votes = tuple(row.annotation)
        counts[turn] += 1
        part = line.source.rpartition("/")[2]
        rows.append(Vote(turn, counts[turn], row.proposal, votes, row.valid, row.help_needed, row.category, part))
    voted = {row.turn for row in rows}
    cases = [
        case
        for trace in sorted(traces.values(), key=lambda trace: trace.name)
        for number in range(1, len(trace.events) + 1)
        if (case := trace.case(number, window)).key in voted
    ]
    return Votes(CaseSet.of(spec, cases, rows=len({case.group for case in cases})), tuple(rows))


_POSITIONS = "Raters are positions in a row of votes; whether a position is one person throughout is not known."


def known_ratings(declared: Benchmark[Any, Any], named: str, settings: Settings) -> Ratings | None:
    """The votes of the sample, or of a folder in the layout of the authors' repository, on the turns there."""
    wanted, bundled = ProactiveAgentSettings.of(settings), named in ("sample", "published")
    if not bundled and are_labels(named):
        return None
    votes = load_votes("sample" if bundled else named, wanted.window)
    ratings = Ratings.of_human_grades(
        "sample" if bundled else named, declared, votes.human_grades(wanted.silence), votes.turns.cases
    )
    return ratings if bundled else replace(ratings, about=(_POSITIONS,))
