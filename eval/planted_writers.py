"""Writers of a corpus with one fault each: what finds it, and what comes of it; and clean ones, whom no rule accuses.

    python eval/planted_writers.py

The stand-in's roles answer over HTTP, with a fault of 22 kinds planted by changing what one of them answers: in its
first answer to a question, so that asking again heals it, or in each. Two dialogues are made with each. Counted are the
answers with the fault, the requests that were asked again with its reason (of the same stage, or of the one before),
triggers that were lost or not kept for it, attempts that failed and dialogues that were dropped for it, and dialogues
that have it all the same: there may be none.

An *honest auditor* is scripted: its answer names the fault wherever the fault stands. Such a row shows what becomes of
what an auditor names, and nothing about whether auditors name it.

Then clean writers make six dialogues at each of 20 seeds, with proof, and every answer that breaks a rule is counted.
"""

import argparse
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from support.faults_of_plans import PLAN_FAULTS
from support.faults_of_turns import TURN_FAULTS
from support.faulty_writers import Fault, Writers
from support.provider import SimulatedProvider

from dspy_proact import Gate, Generation, ModelSpec
from dspy_proact.benchmarks.proactbench.generation import making
from dspy_proact.benchmarks.proactbench.generation.dialogue import Play, Spoken, linked
from dspy_proact.benchmarks.proactbench.generation.made import MadeDialogue
from dspy_proact.benchmarks.proactbench.generation.values import Step
from dspy_proact.generation.maker import Made, Proof

DIALOGUES, SEEDS, CLEAN = 2, 20, 6
QUICK = ("two anchors in a turn", "anchors joined")
FINDERS = {"rule": "a rule in code", "proof": "the proof", "auditor": "an honest auditor"}
ROLES = ("planner", "user", "assistant", "auditor", "judge")


def corpus_of(writers: Writers, dialogues: int, proof: Proof, seed: int = 0) -> Made:
    """A corpus by such writers; one call at a time, so that requests come in the same order each time."""
    with tempfile.TemporaryDirectory() as folder, SimulatedProvider(writers) as provider:
        roles = {name: ModelSpec(name=f"openai/{name}", api_base=provider.base(name)) for name in ROLES}
        first, gate = roles["planner"], Gate(concurrency=1)
        generation = Generation(model=first, roles=roles, items=dialogues, proof=proof, seed=seed, gate=gate)
        return generation.run(Path(folder) / "corpus").made


@dataclass(frozen=True)
class Outcome:
    """What came of a fault."""

    planted: int
    """Answers with it, or rubrics that were moved."""
    repeated: int
    """Requests that were asked again with its reason, of its stage."""
    mended: int
    """The same of the stage before."""
    lost: int
    """Triggers of dialogues that were made which became ordinary turns, or were not kept by the proof, for it."""
    failed: int
    """Attempts that failed for it."""
    dropped: int
    """Dialogues that could not be made."""
    kept: int
    """Dialogues with it."""

    @classmethod
    def of(cls, fault: Fault, writers: Writers, made: Made) -> "Outcome":
        """What came of a fault of these writers in a corpus."""
        has, items = re.compile(fault.reason).search, [kept.item for kept in made.kept]
        lost = [one.reason for item in items for one in item.lost]
        lost += [one.proof.reason for item in items for one in item.triggers if one.proof and not one.published]
        mends = [mend for one in (*made.kept, *made.dropped) for mend in one.mends if has(" ".join(mend.reasons))]
        return cls(
            planted=writers.planted,
            repeated=writers.repeated - len(mends),
            mended=len(mends),
            lost=sum(bool(has(reason)) for reason in lost),
            failed=sum(bool(has(" ".join(dropped.reasons))) for dropped in made.dropped),
            dropped=made.missing,
            kept=sum(fault.kept(item) for item in items),
        )

    @property
    def caught(self) -> bool:
        """Whether the fault was planted, had consequences, and is in nothing that was kept."""
        return bool(self.planted and (self.repeated or self.lost or self.failed) and not self.kept)

    @property
    def healed(self) -> bool:
        """Whether each single answer with it was found, and all dialogues were made."""
        return self.caught and self.repeated + self.lost + self.failed >= self.planted and not self.dropped

    def __str__(self) -> str:
        counts = {
            "asked again": self.repeated,
            "mended by the stage before": self.mended,
            "triggers lost": self.lost,
            "attempts failed": self.failed,
            "dialogues dropped": self.dropped,
            "dialogues HAVE IT": self.kept,
        }
        parts = [f"{count} {name}" for name, count in counts.items() if count]
        return f"{self.planted} planted: {', '.join(parts) or 'NOT FOUND'}"


def outcome(fault: Fault, once: bool, dialogues: int) -> Outcome:
    """What comes of a fault of writers."""
    writers, proved = Writers(fault, once), fault.stage == "swap" or fault.finder == "proof"
    return Outcome.of(fault, writers, corpus_of(writers, dialogues, "light" if proved else "none"))


def is_late(item: MadeDialogue) -> bool:
    """Whether a rubric stands behind the reply in the chain."""
    order = [(link.turn, link.kind) for link in item.chain]
    return any(order.index((turn, kind)) > order.index((turn, "reply")) for turn, kind in order if kind == "rubric")


FAULTS = [*PLAN_FAULTS, *TURN_FAULTS]
LATE = Fault(
    "rubric after the reply",
    "in the hash chain, by a changed making: no answer can do it",
    "rule",
    "dialogue",
    lambda *_: False,
    "hash chain does not hold",
    is_late,
)


def late_outcome(once: bool, dialogues: int) -> Outcome:
    """What comes of rubrics that enter the hash chain after the reply; `once` in first attempts."""
    writers = Writers()

    class LatePlay(Play):
        async def respond(self, step: Step, spoken: Spoken) -> None:
            before = len(self.chain)
            await super().respond(step, spoken)
            if spoken.rubric and not (once and self.attempt.number > 1):
                writers.planted += 1
                links = [link for link in self.chain[before:] if link.kind != "rubric"]
                self.chain[before:] = [*links, linked(links, step.turn, "rubric", spoken.rubric)]

    with mock.patch.object(making, "Play", LatePlay):
        return Outcome.of(LATE, writers, corpus_of(writers, dialogues, "none"))


def table(faults: Sequence[Fault], dialogues: int) -> bool:
    """Print a row a fault; whether each was found."""
    print("| fault | planted | found by | leads to, in first answers | leads to, in each answer |")
    print("| --- | --- | --- | --- | --- |")
    sound = True
    for fault in faults:
        modes = (True, False)
        if fault is LATE:
            first, always = (late_outcome(once, dialogues) for once in modes)
        else:
            first, always = (outcome(fault, once, dialogues) for once in modes)
        sound &= always.caught and (first.caught if fault is LATE else first.healed)
        print(f"| {fault.kind} | {fault.form} | {FINDERS[fault.finder]} | {first} | {always} |", flush=True)
    return sound


def clean(seeds: int, dialogues: int) -> bool:
    """Print what clean writers are accused of; whether of nothing."""
    accused, failed, answers, kept = Counter[str](), Counter[str](), 0, 0
    for seed in range(seeds):
        made = corpus_of(Writers(), dialogues, "light", seed)
        authors = [author for one in (*made.kept, *made.dropped) for author in one.authors]
        answers, kept = answers + len(authors), kept + len(made.kept)
        accused.update(f"{author.stage}: {reason}" for author in authors for reason in author.broken)
        failed.update(dropped.stage for dropped in made.dropped)
        stages = [dropped.stage for dropped in made.dropped if dropped.stage != "anchor test"]  # which is the proof's
        accused.update(f"{stage}: an attempt failed" for stage in stages)
    print(
        f"\nClean writers: {seeds} seeds, {kept} dialogues, {answers:,} answers, {accused.total()} accused by a rule."
    )
    print(f"Attempts that failed: {', '.join(f'{n} at {stage}' for stage, n in failed.most_common()) or 'none'}.")
    print(*(f"  {count} {reason}" for reason, count in accused.most_common()), sep="\n")
    return not accused


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="three kinds, and a clean dialogue")
    parser.add_argument("--only", help="kinds with these words, and no clean writers")
    options = parser.parse_args()
    faults = sorted([*FAULTS, LATE], key=lambda fault: list(FINDERS).index(fault.finder))
    if options.only:
        sound = table([fault for fault in faults if options.only in fault.kind], DIALOGUES)
    elif options.quick:
        sound = table([fault for fault in faults if fault.kind in (*QUICK, LATE.kind)], 1) & clean(1, 1)
    else:
        sound = table(faults, DIALOGUES) & clean(SEEDS, CLEAN)
    if not sound:
        sys.exit(1)


if __name__ == "__main__":
    main()
