"""A corpus of tasks that was made: how, and what the proofs of single tasks show of it together.

Shares are of answers that could be graded, a task counting once, and are clustered by persona, of whom several people
may be made. What decided is over all
versions of tasks that were tested, kept or not: over those that were kept it would be flattered, since it chose them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dspy_proact.audit.check import AuditCheck
from dspy_proact.benchmarks.probe.generation.brief import ProbeBrief
from dspy_proact.benchmarks.probe.generation.made import MadePerson, TaskProof
from dspy_proact.benchmarks.probe.generation.proof import Answers
from dspy_proact.generation.maker import Made, Proof
from dspy_proact.report.numbers import counted, interval, share
from dspy_proact.stats import Estimate, cluster_mean
from dspy_proact.stats.estimate import trial_bounds

FEWEST_TASKS, FEWEST_PERSONAS = 12, 5
"""With fewer of either a share has no interval."""
SOLVABLE = 0.8
"""The least share of fresh answers from the evidence alone that solve a task: a corpus below it is no fair test."""
Rows = Sequence[tuple[str, Answers]]
"""Of each task its persona and some answers."""


@dataclass(frozen=True)
class SolvedShare:
    """How often answers of one kind solved tasks."""

    tasks: int
    """With an answer that could be graded."""
    personas: int
    """Of these tasks: the units of clustering."""
    solved: int
    """Answers."""
    graded: int
    """Answers."""
    ungraded: int
    """Answers that could not be graded, those of other tasks among them."""
    share: Estimate
    """Mean over tasks, in [0, 1]; without bounds below 12 tasks or 5 personas, with the reason."""

    @classmethod
    def of(cls, rows: Rows) -> "SolvedShare | None":
        """That of tasks; None of no task."""
        if not rows:
            return None
        graded = [
            (persona, [one for one in answers if one is not None]) for persona, answers in rows if set(answers) - {None}
        ]
        personas = [persona for persona, _ in graded]
        estimate = cluster_mean([sum(answers) / len(answers) for _, answers in graded], personas)
        few = [
            f"fewer than {least} {noun} ({count})"
            for count, least, noun in (
                (len(personas), FEWEST_TASKS, "tasks"),
                (len(set(personas)), FEWEST_PERSONAS, "personas"),
            )
            if count < least
        ]
        return cls(
            tasks=len(personas),
            personas=len(set(personas)),
            solved=sum(sum(answers) for _, answers in graded),
            graded=sum(len(answers) for _, answers in graded),
            ungraded=sum(answers.count(None) for _, answers in rows),
            share=Estimate(estimate.value, reason=few[0]) if few and personas else estimate,
        )

    @property
    def bound(self) -> float | None:
        """The upper end of the 95 % interval; where nothing was solved the exact one, of one trial a persona.

        None where something was solved and there is no interval, or nothing could be graded.
        """
        return trial_bounds(0.0, self.personas)[1] if self.personas and not self.solved else self.share.high


@dataclass(frozen=True)
class CorpusProof:
    """What proofs show of a corpus as one."""

    tested: int
    """Versions of tasks with a proof, kept or not."""
    kept: int
    """Tasks."""
    tester: str
    """The model of the fresh answers."""
    directed: SolvedShare | None
    """From the evidence alone, by the answers that decided, over all that were tested; None where none was."""
    less: SolvedShare | None
    """From less than the evidence, by the first answer to each question, over all that were asked so."""
    shortcut: SolvedShare | None
    """By the adversary, without any text, over all versions that had passed the other tests."""
    fresh: SolvedShare | None
    """From the evidence alone, by answers that decided nothing, of the tasks that were kept."""
    repeats: int = 0
    """Fresh answers that equal, word for word, one by which their task was kept."""

    @property
    def is_repeated(self) -> bool:
        """Whether most fresh answers are those that kept a task, so that they show no more than the selection."""
        return self.fresh is not None and 2 * self.repeats > self.fresh.graded + self.fresh.ungraded


@dataclass(frozen=True)
class TaskCorpus:
    """The people and tasks of a corpus, how they were made, and what was shown of them."""

    brief: ProbeBrief
    made: Made
    """Its items are `MadePerson`s."""
    level: Proof
    prompts: Mapping[str, str]
    """sha256 of what a stage says to its model, by stage."""
    proof: CorpusProof | None
    """None for drafts."""
    gates: Sequence[AuditCheck] = ()
    """What checks without a model show of the files."""
    keys: Mapping[tuple[int, int], str] = field(default_factory=dict[tuple[int, int], str])
    """By which files name a task, by slot and number."""
    people: Mapping[int, str] = field(default_factory=dict[int, str])
    """Ids of people, by slot."""

    @property
    def models(self) -> dict[str, list[str]]:
        """Names of the models, by role."""
        return {role: [identity.name for identity in models] for role, models in self.made.models.items()}

    @property
    def checks(self) -> list[AuditCheck]:
        """Of the proof, then of the files."""
        return [*(proof_checks(self.proof) if self.proof else ()), *self.gates]


def proof_of(people: Iterable[MadePerson], tester: str) -> CorpusProof:
    """What the proofs of people's tasks show together.

    Args:
        people: Drafts among their tasks are left out.
        tester: The model of the fresh answers.
    """
    tasks = [(person.persona, task) for person in people for task in person.tasks if task.proof]
    proofs = [(persona, proof) for persona, task in tasks for proof in (*task.earlier, task.proof) if proof]

    def of(answers: Callable[[TaskProof], Answers]) -> SolvedShare | None:
        return SolvedShare.of([(persona, answers(proof)) for persona, proof in proofs if answers(proof)])

    return CorpusProof(
        tested=len(proofs),
        kept=sum(proof.kept for _, proof in proofs),
        tester=tester,
        directed=of(lambda proof: proof.directed),
        less=of(first_from_less),
        shortcut=of(lambda proof: (proof.shortcut,) if proof.fresh else ()),
        fresh=of(lambda proof: proof.fresh if proof.kept else ()),
        repeats=sum(proof.repeats for _, proof in proofs if proof.kept),
    )


def first_from_less(proof: TaskProof) -> Answers:
    """The first answer to each question from less: further ones are only asked for where that may solve it."""
    return tuple(some[0] for some in (*proof.without.values(), *proof.alone.values()) if some)


def proof_checks(proof: CorpusProof) -> list[AuditCheck]:
    """What a proof shows, as checks: whether the tasks can be solved, from less as well, and without any text."""
    before, dropped = " that had passed the tests before", ", and what it solves is dropped"
    return [
        solvable(proof.fresh, "fresh answer", is_repeated=proof.is_repeated),
        from_less(proof.less, ", kept or not"),
        by_shortcut(proof.shortcut, before, dropped),
    ]


def solvable(solved: SolvedShare | None, answer: str, by: str = "", *, is_repeated: bool = False) -> AuditCheck:
    """Whether tasks can be solved by whoever is told where to look; without an interval the bar is not tested.

    Args:
        solved: From the evidence alone.
        answer: What an answer is called.
        by: Whose the answers are, with a blank before it.
        is_repeated: Whether they repeat those by which tasks were kept, so that they test nothing.
    """
    name = "solvable"
    if solved is None or solved.share.value is None:
        return AuditCheck.not_tested(name, f"no {answer} was graded")
    answers, low, high = f"{answer[0].upper()}{answer[1:]}s{by}", solved.share.low, solved.share.high
    sentence = f"{answers} from the evidence alone solve {_of_tasks(solved)}; the bar is {100 * SOLVABLE:.0f} %"
    state = "passed" if solved.share.value >= SOLVABLE else "failed"
    if is_repeated:
        state, sentence = "not tested", f"{sentence}, but they repeat those by which tasks were kept"
    elif low is None:
        state = "not tested"
    elif state == "passed" and low < SOLVABLE:
        sentence += ", below which the interval reaches"
    elif state == "failed" and high is not None and high >= SOLVABLE:
        sentence += ", which the interval reaches"
    return AuditCheck(name=name, state=state, sentence=f"{sentence}.", tested=solved.tasks, estimate=solved.share)


def from_less(less: SolvedShare | None, of: str = "") -> AuditCheck:
    """How often first answers solve tasks without an item of the evidence; `of` ends the sentence."""
    name = "less than the evidence"
    if less is None or less.share.value is None:
        return AuditCheck.not_tested(name, "no answer from less was graded")
    sentence = f"Without one item of the evidence, or from one alone, first answers solve {_of_tasks(less)}{of}."
    return AuditCheck(name=name, state="reported", sentence=sentence, tested=less.tasks, estimate=less.share)


def by_shortcut(shortcut: SolvedShare | None, of: str = "", then: str = "") -> AuditCheck:
    """How many tasks an adversary solves without any text, with the upper bound.

    Args:
        shortcut: By the adversary.
        of: Which tasks these are, with a blank before it.
        then: What becomes of those that it solves, with a comma before it.
    """
    name = "without any text"
    if shortcut is None or not shortcut.graded:
        return AuditCheck.not_tested(name, "no answer of an adversary was graded")
    tasks = f"{counted(shortcut.tasks, 'task')}{of}"
    bound = "no bound" if shortcut.bound is None else f"95 %: at most {share(shortcut.bound)} %"
    sentence = f"An adversary who sees no text solves {shortcut.solved} of {tasks} ({bound})"
    sentence += f"{then if shortcut.solved else ''}."
    return AuditCheck(name=name, state="reported", sentence=sentence, tested=shortcut.tasks, estimate=shortcut.share)


def _of_tasks(solved: SolvedShare) -> str:
    return f"{share(solved.share.value)} % of {counted(solved.tasks, 'task')} ({interval(solved.share)})"
