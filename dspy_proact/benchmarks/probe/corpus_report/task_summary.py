"""What is said first of a corpus of tasks that was made, and the counts that its page and its datasheet show.

The headline gives the share of fresh answers with its interval and claims no more; of drafts it says that nothing was
shown, of the stand-in that it measures nothing. Checks that fail stand in it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from dspy_proact.audit.check import AuditCheck
from dspy_proact.benchmarks.probe.generation.corpus import CorpusProof, TaskCorpus
from dspy_proact.benchmarks.probe.generation.draws import STRATEGIES
from dspy_proact.benchmarks.probe.generation.made import LostTask, MadeItem, MadePerson, MadeTask, TaskProof
from dspy_proact.benchmarks.probe.task import Difficulty
from dspy_proact.generation.maker import Kept
from dspy_proact.report.made import MadeReport, commonest_reasons, shortfall
from dspy_proact.report.numbers import counted, listed, name_or
from dspy_proact.stats import Headline
from dspy_proact.stats.diversity import Common, Coverage, Lengths, commonest, openings
from dspy_proact.stats.likeness import NearPair, near_duplicates

REVIEW = "Models wrote the tasks and audited them; nobody has reviewed them."
KINDS = {"email": "e-mails", "event": "events", "document": "documents"}
_DIFFICULTIES: tuple[Difficulty, ...] = ("easy", "medium", "hard")
_WRITERS, AUDITOR = ("planner", "writer"), "auditor"
"""Roles whose work the auditor's answers are about, and the auditor."""
_CHECKS_NAMED = 4
"""Checks that a caveat names."""


@dataclass(frozen=True)
class KeptPerson:
    """A person of the corpus, with the slot that it fills and who wrote what."""

    kept: Kept
    person: MadePerson

    @property
    def slot(self) -> int:
        """Its number, counted from 1."""
        return self.kept.slot

    @property
    def tasks(self) -> list[MadeTask]:
        """Those of the corpus: drafts, or kept by their proof."""
        return [task for task in self.person.tasks if task.published]

    @property
    def rejected(self) -> list[tuple[MadeTask, TaskProof]]:
        """Those that their proof did not keep."""
        return [(task, task.proof) for task in self.person.tasks if task.proof and not task.proof.kept]

    @property
    def lost(self) -> Sequence[LostTask]:
        """Bottlenecks of which no task came."""
        return self.person.lost


@dataclass(frozen=True)
class DoubtfulTask:
    """A task of the corpus and what speaks against it."""

    slot: int
    task: MadeTask
    doubts: tuple[str, ...]
    """In words."""
    solved: float | None
    """Share of its fresh answers that solve it, in [0, 1]; None where none was graded."""


@dataclass(frozen=True)
class TaskSummary(MadeReport):
    """A made corpus in numbers and sentences."""

    corpus: TaskCorpus

    @cached_property
    def people(self) -> list[KeptPerson]:
        """In the order of their slots."""
        return [KeptPerson(kept, kept.item) for kept in self.corpus.made.kept]

    @cached_property
    def tasks(self) -> list[tuple[KeptPerson, MadeTask]]:
        """Of the corpus, in order."""
        return [(person, task) for person in self.people for task in person.tasks]

    # --- what comes first

    @cached_property
    def headline(self) -> Headline:
        """What was shown, in a sentence, with what makes it doubtful."""
        proof = self.corpus.proof
        fresh = proof.fresh if proof and not proof.is_repeated and not self.stand_in else None
        number = fresh.share if fresh and self.tasks else None
        return Headline(
            f"{self._sentence()}.",
            number=number,
            test="95 % interval of the share, clustered by persona" if number and number.low is not None else None,
            count=len(self.tasks),
            caveats=tuple(self._caveats()),
        )

    def _sentence(self) -> str:
        people = counted(len(self.people), "person", "people")
        size = f"{f'{len(self.people)} of {self.corpus.made.wanted} people' if self.missing else people}, "
        size += counted(len(self.tasks), "task")
        if self.stand_in:
            return f"{self.stand_in}{size}, which {'measures' if len(self.tasks) == 1 else 'measure'} nothing"
        if not self.tasks:
            return f"{size}: nothing to measure with"
        failing = len(self.failed)
        failed = f"; {counted(failing, 'check')} {'fails' if failing == 1 else 'fail'}" if failing else ""
        shown = f"; {self._solved(self.corpus.proof)}" if self.corpus.proof else ": drafts, of which nothing was shown"
        return f"{size}{shown}{failed}"

    def _solved(self, proof: CorpusProof) -> str:
        """What fresh answers show."""
        fresh, name = proof.fresh, name_or(proof.tester, "one model")
        if fresh is None or fresh.share.value is None:
            return "no fresh answer was graded, so nothing is shown"
        if proof.is_repeated:
            return "nothing is shown, as the fresh answers repeat those by which tasks were kept"
        solves = f"from the evidence alone, {name} solves {100 * fresh.share.value:.0f} %"
        if fresh.share.low is None or fresh.share.high is None:
            return f"too few for an interval: {solves} (fresh answers)"
        low, high = 100 * fresh.share.low, 100 * fresh.share.high
        return f"{solves} (95 % {low:.0f} to {high:.0f}, fresh answers)"

    @cached_property
    def failed(self) -> list[AuditCheck]:
        """Checks that failed."""
        return [check for check in self.corpus.checks if check.state == "failed"]

    def _caveats(self) -> Iterator[str]:
        proof, made = self.corpus.proof, self.corpus.made
        if self.missing:
            yield shortfall(counted(self.missing, "person", "people"), len(made.dropped), self.repairs)
        rejected, lost = sum(len(of.rejected) for of in self.people), sum(len(of.lost) for of in self.people)
        if rejected or lost:
            every = len(self.tasks) + rejected + lost
            parts = [f"{lost} became no task"] * bool(lost) + [f"the proof did not keep {rejected}"] * bool(rejected)
            yield f"Of {counted(every, 'bottleneck')}, {listed(parts)}; the commonest reason: {self.rejections[0][0]}"
        if self.stand_in:
            return
        if self.failed:
            names = [check.name for check in self.failed]
            more = [f"{len(names) - _CHECKS_NAMED} more"] if len(names) > _CHECKS_NAMED else []
            yield f"Failed: {listed([*names[:_CHECKS_NAMED], *more])}."
        if proof and proof.fresh:
            yield from self._of_answers(proof)
        untested = [check for check in self.corpus.gates if check.state == "not tested"]
        if untested:
            size = f"{counted(len(self.tasks), 'task')} of {counted(len(self.people), 'person', 'people')}"
            yield f"{counted(len(untested), 'gate')} not tested: too few tasks or people ({size})."
        models = self.corpus.models
        if same := set(models.get(AUDITOR, ())) & {name for role in _WRITERS for name in models.get(role, ())}:
            yield f"Writer and auditor are the same model ({listed(sorted(same))}), which may not see its own mistakes."
        if self.tasks:
            yield REVIEW

    def _of_answers(self, proof: CorpusProof) -> Iterator[str]:
        """What is wrong with the answers that decided and those that are published."""
        fresh = proof.fresh
        assert fresh, "there are fresh answers"
        if reason := fresh.share.reason:
            yield f"Share of fresh answers: {reason}."
        if fresh.ungraded:
            yield f"{counted(fresh.ungraded, 'fresh answer')} could not be graded and are in no share."
        if proof.repeats:
            yield (
                f"{proof.repeats} of {fresh.graded + fresh.ungraded} fresh answers repeat, word for word, an answer by "
                "which their task was kept: sample at a temperature above 0, or name another model as the tester."
            )
        if self.corpus.level == "light":
            yield "Light proof: one answer in place of three kept or rejected each task."

    # --- what is weak, and what was dropped

    @cached_property
    def weakest(self) -> list[DoubtfulTask]:
        """The tasks against which something speaks: by their fresh answers, the weakest first, then by their doubts."""
        doubtful = [
            DoubtfulTask(of.slot, task, tuple(_doubts(task)), _solved_share(task.proof)) for of, task in self.tasks
        ]
        return sorted(
            (item for item in doubtful if item.doubts),
            key=lambda item: (1 if item.solved is None else item.solved, -len(item.doubts), item.slot),
        )

    @cached_property
    def rejections(self) -> list[tuple[str, int]]:
        """Why bottlenecks of the people are no task of the corpus, the commonest reason first, and how often."""
        lost = [f"{lost.stage}: {' '.join(lost.reasons)}" for of in self.people for lost in of.lost]
        rejected = [f"proof: {_without_ids(task, proof.reason)}" for of in self.people for task, proof in of.rejected]
        return commonest_reasons([*rejected, *lost])

    # --- how varied it is

    @cached_property
    def evidence(self) -> Coverage:
        """The items of the evidence by difficulty and kind."""
        rows = [(of.person.difficulty, KINDS[item.kind]) for of, task in self.tasks for item in task.evidence]
        return Coverage({"difficulty": _DIFFICULTIES, "kind": tuple(KINDS.values())}, rows)

    @cached_property
    def distractors(self) -> Coverage:
        """The other items by strategy and kind."""
        rows = [(item.order.strategy, KINDS[item.kind]) for of in self.people for item in of.person.distractors]
        strategies = tuple(dict.fromkeys([*STRATEGIES, *(strategy for strategy, _ in rows)]))
        return Coverage({"strategy": strategies, "kind": tuple(KINDS.values())}, rows)

    @cached_property
    def common(self) -> Mapping[str, Sequence[Common]]:
        """By what it is of, the commonest values over people; only those that more than one has."""
        of = [kept.person for kept in self.people]
        names = [
            [word for name in _names(person) for word in name.split() if len(word) > 2]  # no initials
            for person in of
        ]
        values = {
            "name": commonest(names, 3),
            "company": commonest(([person.world.company_name] for person in of), 3),
            "persona": commonest(([person.persona_text] for person in of), 3),
            "title": commonest(([item.item.title for item in _items(person)] for person in of), 3),
            "opening": openings([task.bottleneck.description for _, task in self.tasks]),
        }
        return {name: [value for value in row if value.count > 1] for name, row in values.items()}

    @cached_property
    def alike(self) -> Mapping[str, list[NearPair]]:
        """Near duplicates among bottlenecks, evidence and other items, as pairs of their indices."""
        others = [item.item.text for of in self.people for item in of.person.distractors]
        return {
            "bottlenecks": near_duplicates([task.bottleneck.description for _, task in self.tasks]),
            "items of the evidence": near_duplicates(
                [item.item.text for _, task in self.tasks for item in task.evidence]
            ),
            "other items": near_duplicates(others),
        }

    @cached_property
    def lengths(self) -> Mapping[str, Lengths | None]:
        """In words, of the texts of items by kind, those of the evidence and the others."""
        evidence = [item for _, task in self.tasks for item in task.evidence]
        others = [item for of in self.people for item in of.person.distractors]
        return {
            f"{noun}, {which}": Lengths.of([item.item.text for item in items if item.kind == kind])
            for kind, noun in KINDS.items()
            for which, items in (("evidence", evidence), ("others", others))
        }


def _items(person: MadePerson) -> list[MadeItem]:
    return [*(item for task in person.tasks for item in task.evidence), *person.distractors]


def _names(person: MadePerson) -> list[str]:
    return [person.world.full_name, *(one.name for one in person.world.relationships)]


def _without_ids(task: MadeTask, reason: str) -> str:
    """A reason by which those of several tasks are counted together."""
    for item in task.evidence:
        reason = reason.replace(item.id, "one item")
    return reason


def _solved_share(proof: TaskProof | None) -> float | None:
    graded = [answer for answer in proof.fresh if answer is not None] if proof else []
    return sum(graded) / len(graded) if graded else None


def _doubts(task: MadeTask) -> Iterator[str]:
    review, proof = task.review, task.proof
    if proof:
        if (solved := proof.fresh.count(True)) < len(proof.fresh):
            yield f"{solved} of {len(proof.fresh)} fresh answers solve it"
        for name, of in (("without", proof.without), ("from", proof.alone)):
            alone = "" if name == "without" else " alone"
            yield from (f"{name} {item}{alone}, an answer solves it" for item, answers in of.items() if any(answers))
    numbers = {number: item.id for number, item in enumerate(task.evidence, start=1)}
    for named, what in (
        (review.sufficient_alone, "is enough alone"),
        (review.other_problems, "shows other work that stands still"),
        (review.unnatural, "reads like part of a test"),
    ):
        yield from (f"the auditor says that {numbers[one]} {what}" for one in named if one in numbers)
