"""Leaks and faults in corpora of PROBE's tasks: what finds each; and clean ones, which may be accused in 1 of 20.

    python eval/planted_writers_probe.py

*Files.* Tasks are made by code and read from their files: 120 tasks of 40 people, 16 items that are no evidence shared
by three tasks, two to five items of evidence. Nothing tells evidence but its text, unless a leak is planted: in all
tasks, where the check of its name has to fail, and in one of three, where it may. Of each the share of pairs is printed
in which a classifier ranks evidence above another item, with its 95 % interval; chance is 50 %.

*Writers.* The stand-in's roles answer over HTTP, with a fault planted by changing what one of them answers: in first
answers to a question, so that asking again heals it, or in each. Two people with two easy tasks are made with each.
Counted are the answers with the fault, those that are refused for it, tasks and attempts that are lost for it, and
people in whose published tasks it is all the same: there may be none. An *honest auditor* is scripted: such a row shows
what becomes of what an auditor names, and nothing about whether auditors name it.

Clean writers make two people at each of 20 seeds, and no answer may break a rule. At last 102 tasks of 34 people are
made by clean ones, whom no gate may accuse, and by ones whose evidence is longer than asked for, but not by so much
that a rule refuses it, whom a gate has to find.
"""

import argparse
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from support.faults_of_tasks import LONGER, TASK_FAULTS
from support.faulty_task_writers import TaskFault, TaskWriters
from support.leaky_tasks import LEAKS, LeakyCorpus
from support.provider import SimulatedProvider

from dspy_proact import Gate, Generation, ModelSpec
from dspy_proact.audit.check import AuditCheck
from dspy_proact.benchmarks.probe.corpus import load_tasks
from dspy_proact.benchmarks.probe.gates import gates_of
from dspy_proact.benchmarks.probe.generation.making import ROLES
from dspy_proact.generation.maker import Made, Proof
from dspy_proact.report.numbers import percent

SEEDS, SHARES = 20, (1.0, 1 / 3)
ACCUSED = 0.05
"""Of clean corpora, at most."""
QUICK, QUICK_FAULTS = ("order",), ("two are made for one bottleneck", "nobody could know it")
FINDERS = {"rule": "a rule in code", "auditor": "an honest auditor", "proof": "the proof"}
EASY = {"tasks.difficulty": "easy", "tasks.per_person": 2, "tasks.distractors": 10}
MANY = {"tasks.difficulty": "easy", "tasks.per_person": 3, "tasks.distractors": 16}


def checks_of(corpus: LeakyCorpus, seed: int) -> list[AuditCheck]:
    """What an audit shows of a corpus in its files."""
    with tempfile.TemporaryDirectory() as folder:
        corpus.write(Path(folder), seed)
        return gates_of(load_tasks(folder, sanitize=False, strict=True).cases)


def failed(checks: Sequence[AuditCheck]) -> list[str]:
    """The names of those that failed."""
    return [check.name for check in checks if check.state == "failed"]


def leaks(names: Sequence[str], people: int) -> bool:
    """Print a row a leak; whether each was found where all tasks have it."""
    print("| leak | how | found by | in all tasks | in one of three |\n| --- | --- | --- | --- | --- |")
    sound = True
    for seed, name in enumerate(names):
        change, finder = LEAKS[name]
        cells = list[str]()
        for part in SHARES:
            checks = checks_of(LeakyCorpus(name, part, people), seed)
            (own,) = (check for check in checks if check.name == finder)
            caught = own.state == "failed"
            sound &= caught or part < 1
            others = [other for other in failed(checks) if other != finder]
            reached = f" {percent(own.estimate)}" if own.estimate else ""
            also = f"; also {', '.join(others)}" if others else ""
            cells.append(f"{'found' if caught else 'not found'}{reached}{also}")
        form = " ".join((change.__doc__ or "").split()).rstrip(".")
        print(f"| {name} | {form} | {finder} | {' | '.join(cells)} |", flush=True)
    return sound


def clean(seeds: int, people: int) -> bool:
    """Print what clean files are accused of; whether at most 1 of 20 is."""
    accused, by_check = 0, Counter[str]()
    for seed in range(seeds):
        names = failed(checks_of(LeakyCorpus(people=people), seed))
        accused += bool(names)
        by_check.update(names)
    of_what = f": {', '.join(f'{name} in {count}' for name, count in by_check.most_common())}" if by_check else ""
    print(f"\nClean corpora: {accused} of {seeds} accused{of_what}.")
    return accused <= ACCUSED * seeds


def made_by(
    writers: TaskWriters, people: int, proof: Proof, settings: Mapping[str, object], seed: int = 0
) -> tuple[Made, list[AuditCheck]]:
    """What such writers make, and what an audit shows of its files."""
    with tempfile.TemporaryDirectory() as folder, SimulatedProvider(writers) as provider:
        roles = {name: ModelSpec(name=f"openai/{name}", api_base=provider.base(name)) for name in ROLES}
        generation = Generation(
            model=roles["planner"],
            roles=roles,
            items=people,
            seed=seed,
            proof=proof,
            settings=settings,
            gate=Gate(concurrency=1),
            benchmark="probe",
        )
        made = generation.run(Path(folder) / "corpus").made
        tasks = Path(folder) / "corpus" / "tasks"
        return made, gates_of(load_tasks(str(tasks), sanitize=False).cases) if any(tasks.glob("*")) else []


@dataclass(frozen=True)
class TaskOutcome:
    """What came of a fault."""

    planted: int
    """Answers with it."""
    refused: int
    """Answers that were refused for it."""
    mended: int
    """Times that the stage before made its answer once more for it."""
    lost: int
    """Tasks that were lost for it, or not kept by the proof."""
    failed: int
    """Attempts that failed for it."""
    missing: int
    """People who could not be made."""
    kept: int
    """People with it in what is published."""

    @classmethod
    def of(cls, fault: TaskFault, once: bool) -> "TaskOutcome":
        """What comes of it, in first answers or in each."""
        writers = TaskWriters(fault, once)
        made, _ = made_by(writers, 2, "light" if fault.finder == "proof" else "none", EASY)
        has, people = re.compile(fault.reason, re.DOTALL).search, [kept.item for kept in made.kept]
        every = [*made.kept, *made.dropped]
        lost = [" ".join(one.reasons) for person in people for one in person.lost]
        lost += [one.proof.reason for person in people for one in person.tasks if one.proof and not one.published]
        refused = sum(bool(has(" ".join(author.broken))) for one in every for author in one.authors)
        # Items that are no evidence are refused one by one, of an answer that itself may stand.
        refused += writers.repeated if fault.stage == "distractors" else 0
        return cls(
            planted=writers.planted,
            refused=refused,
            mended=sum(bool(has(" ".join(mend.reasons))) for one in every for mend in one.mends),
            lost=sum(bool(has(reason)) for reason in lost),
            failed=sum(bool(has(" ".join(dropped.reasons))) for dropped in made.dropped),
            missing=made.missing,
            kept=sum(map(fault.kept, people)),
        )

    @property
    def caught(self) -> bool:
        """Whether it was planted, had consequences, and is in nothing that is published."""
        return bool(self.planted and (self.refused or self.mended or self.lost or self.failed) and not self.kept)

    @property
    def healed(self) -> bool:
        """Whether it was caught, and nothing was lost for it."""
        return self.caught and not self.lost and not self.failed and not self.missing

    def __str__(self) -> str:
        counts = {
            "refused": self.refused,
            "mended by the stage before": self.mended,
            "tasks lost": self.lost,
            "attempts failed": self.failed,
            "people missing": self.missing,
            "people HAVE IT": self.kept,
        }
        parts = [f"{count} {name}" for name, count in counts.items() if count]
        return f"{self.planted} planted: {', '.join(parts) or 'NOT FOUND'}"


def faults(planted: Sequence[TaskFault]) -> bool:
    """Print a row a fault; whether each was found, and in first answers healed."""
    print("\n| fault | how | found by | in first answers | in each answer |\n| --- | --- | --- | --- | --- |")
    sound = True
    for fault in planted:
        first, always = (TaskOutcome.of(fault, once) for once in (True, False))
        sound &= first.healed and always.caught
        print(f"| {fault.kind} | {fault.form} | {FINDERS[fault.finder]} | {first} | {always} |", flush=True)
    return sound


def clean_writers(seeds: int) -> bool:
    """Print what clean writers are accused of; whether of nothing."""
    accused, answers, kept = Counter[str](), 0, 0
    for seed in range(seeds):
        made, _ = made_by(TaskWriters(), 2, "none", EASY, seed)
        authors = [author for one in (*made.kept, *made.dropped) for author in one.authors]
        answers, kept = answers + len(authors), kept + len(made.kept)
        accused.update(f"{author.stage}: {reason}" for author in authors for reason in author.broken)
    print(f"\nClean writers: {seeds} seeds, {kept} people, {answers:,} answers, {accused.total()} accused by a rule.")
    for reason, count in accused.most_common():
        print(f"  {count} {reason}")
    return not accused


def many(people: int) -> bool:
    """Print which gates fail for clean writers, and for those whose evidence is longer; whether only the latter do."""
    outcomes = list[list[str]]()
    for fault, who in ((None, "clean writers"), (LONGER, "writers whose evidence is a fifth longer than asked for")):
        made, checks = made_by(TaskWriters(fault), people, "none", MANY)
        tasks, names = sum(len(kept.item.tasks) for kept in made.kept), failed(checks)
        print(
            f"\n{tasks} tasks of {len(made.kept)} people by {who}: {', '.join(names) or 'no check'} failed.", flush=True
        )
        for check in checks:
            print(f"  {check.sentence}\n" if check.state == "failed" else "", end="")
        outcomes.append(names)
    return not outcomes[0] and "metadata: lengths" in outcomes[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a leak of 34 people, two faults, and a clean one each")
    parser.add_argument("--only", help="faults of writers with these words, and nothing else")
    options = parser.parse_args()
    if options.only:
        sound = faults([fault for fault in TASK_FAULTS if options.only in f"{fault.kind}: {fault.form}"])
    elif options.quick:
        sound = leaks(QUICK, 34) & clean(1, 34)
        sound &= faults([fault for fault in TASK_FAULTS if fault.form in QUICK_FAULTS]) & clean_writers(1)
    else:
        sound = leaks(list(LEAKS), 40) & clean(SEEDS, 40) & faults(TASK_FAULTS) & clean_writers(SEEDS) & many(34)
    if not sound:
        sys.exit(1)


if __name__ == "__main__":
    main()
