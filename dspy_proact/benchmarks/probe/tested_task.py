"""What tests by models showed of tasks that were read from files, and the checks that follow."""

from collections.abc import Iterator, Sequence

from dspy_proact.audit.auditing import ModelTests
from dspy_proact.audit.check import AuditCheck, Finding
from dspy_proact.benchmarks.probe.generation.corpus import (
    SolvedShare,
    by_shortcut,
    first_from_less,
    from_less,
    solvable,
)
from dspy_proact.benchmarks.probe.generation.made import TaskProof
from dspy_proact.benchmarks.probe.generation.proof import most, rate, solved_from_less
from dspy_proact.benchmarks.probe.generation.values import ActionAudit
from dspy_proact.report.numbers import counted, interval
from dspy_proact.types import Frozen


class TestedTask(Frozen):
    """One task, and what each test of it showed; ids are those of its files."""

    __test__ = False  # no test of pytest's
    key: str
    person: str
    """The unit of clustering."""
    action: str
    """The right one."""
    proof: TaskProof | None = None
    """What answers showed, and whether a task that was made would be kept by them; None where none were asked for."""
    audit: ActionAudit | None = None
    """Which actions resolve it, as the auditor says."""
    reason: str = ""
    """Why no audit of its actions could be used; empty where one could."""

    @property
    def resolving(self) -> frozenset[str]:
        """Ids of the actions that resolve it, as the auditor says."""
        return frozenset(self.audit.resolving) if self.audit else frozenset()


def tests_shown(tasks: Sequence[TestedTask], of: int, solver: str, auditor: str) -> ModelTests:
    """The checks that follow, and what they show.

    Args:
        tasks: In any order.
        of: Tasks of the corpus.
        solver: The model that answered.
        auditor: The model that said which actions resolve a task.
    """
    proofs = [(task, task.proof) for task in tasks if task.proof]
    directed = SolvedShare.of([(task.person, proof.directed) for task, proof in proofs])
    less = SolvedShare.of([(task.person, first_from_less(proof)) for task, proof in proofs])
    shortcut = SolvedShare.of([(task.person, (proof.shortcut,)) for task, proof in proofs])
    pairs = [
        (
            solvable(directed, "answer", f" by {solver}"),
            [
                Finding(key=task.key, problem=f"From all its evidence, {rate(proof.directed)}.")
                for task, proof in proofs
                if not most(proof.directed, of=True)
            ],
        ),
        (
            from_less(less),
            [Finding(key=task.key, problem=one) for task, proof in proofs for one in solved_from_less(proof)],
        ),
        (
            by_shortcut(shortcut),
            [
                Finding(key=task.key, problem="The adversary finds action and bottleneck without any text.")
                for task, proof in proofs
                if proof.shortcut
            ],
        ),
    ]
    checks = [check.model_copy(update={"findings": tuple(findings)}) for check, findings in pairs]
    ungraded = sum(share.ungraded for share in (directed, less, shortcut) if share)
    unread = f"; {counted(ungraded, 'answer')} could not be graded and are in no share" if ungraded else ""
    return ModelTests(
        (*checks, _one_resolves(tasks, auditor)),
        _clause(directed, less, solver),
        f"Models tested {len(tasks):,} of {counted(of, 'task')}{unread}.",
    )


def _clause(directed: SolvedShare | None, less: SolvedShare | None, solver: str) -> str:
    """What a headline may say: the share from the evidence, and the upper bound of that from less; or nothing."""
    if directed is None or less is None or less.bound is None:
        return ""
    value, low, high = directed.share.value, directed.share.low, directed.share.high
    if value is None or low is None or high is None:
        return ""
    solves = f"{solver} solves {100 * value:.0f} % (95 % {100 * low:.0f} to {100 * high:.0f})"
    return f"from the evidence alone {solves}, from less at most {100 * less.bound:.0f} %"


def _one_resolves(tasks: Sequence[TestedTask], auditor: str) -> AuditCheck:
    """Reported: a model's opinion on what others wrote is right far from always."""
    name, audited = "one action resolves", [task for task in tasks if task.audit]
    findings = tuple(Finding(key=task.key, problem=problem) for task in tasks for problem in _doubts(task))
    alone = SolvedShare.of([(task.person, (task.resolving == {task.action},)) for task in audited])
    if alone is None:
        why = "No audit of actions could be used." if tasks else "No task was tested."
        return AuditCheck(name=name, state="not tested", sentence=why, tested=0, findings=findings)
    read = "" if alone.solved == alone.tasks else "; models err about actions, so read the others"
    sentence = (
        f"In {alone.solved} of {counted(alone.tasks, 'task')} the right action is the only one that resolves the "
        f"bottleneck, as {auditor} says without knowing which was meant ({interval(alone.share)}){read}."
    )
    return AuditCheck(
        name=name, state="reported", sentence=sentence, tested=alone.tasks, findings=findings, estimate=alone.share
    )


def _doubts(task: TestedTask) -> Iterator[str]:
    """What speaks against the actions of a task, with the auditor's reason."""
    if task.audit is None:
        yield task.reason
        return
    why = f" ({reason})" if (reason := task.audit.reason.strip().rstrip(".")) else ""
    if others := sorted(task.resolving - {task.action}):
        yield f"{', '.join(others)} would resolve it, too{why}."
    if task.action not in task.resolving:
        yield f"The right action, {task.action}, would not resolve it{why if not others else ''}."
