"""What is said first of a corpus that was made, and the counts that its page and its datasheet show.

The headline claims what was shown and no more: an effect only where its interval lies above zero, nothing of drafts,
and of the stand-in that it measures nothing. A shortfall and a planted assistant that misses its bar stand in it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from dspy_proact.benchmarks.proactbench.generation.made import (
    Effect,
    MadeCorpus,
    MadeDialogue,
    MadeTrigger,
    PlantedCell,
    Sampled,
    TriggerProof,
)
from dspy_proact.benchmarks.proactbench.generation.values import Anchor, RubricAudit
from dspy_proact.benchmarks.proactbench.types import Grade, Phase
from dspy_proact.generation.maker import Kept
from dspy_proact.report.made import MadeReport, commonest_reasons, shortfall
from dspy_proact.report.numbers import counted, name_or
from dspy_proact.stats import Headline
from dspy_proact.stats.diversity import Common, Coverage, Lengths, closings, commonest, openings
from dspy_proact.stats.likeness import NearPair, near_duplicates

PHASES = tuple(phase.value for phase in Phase)
REVIEW = "Models wrote the rubrics and audited them; nobody has reviewed them."
_STYLES = range(1, 25)
_REALISM = 0.6
"""The realism below which a swap is doubtful."""


@dataclass(frozen=True)
class KeptDialogue:
    """A dialogue of the corpus, with the slot that it fills and who wrote it."""

    kept: Kept
    dialogue: MadeDialogue

    @property
    def slot(self) -> int:
        """Its number, counted from 1."""
        return self.kept.slot

    @property
    def triggers(self) -> list[MadeTrigger]:
        """Those of the corpus: drafts, or kept by their proof."""
        return [trigger for trigger in self.dialogue.triggers if trigger.published]

    @property
    def rejected(self) -> list[tuple[MadeTrigger, str]]:
        """Those that their proof did not keep, with the reason."""
        tested = ((trigger, trigger.proof) for trigger in self.dialogue.triggers if trigger.proof)
        return [(trigger, proof.reason) for trigger, proof in tested if not proof.kept]

    def anchors(self, trigger: MadeTrigger) -> list[Anchor]:
        """The anchors that a trigger's rubric rests on."""
        return [anchor for anchor in self.dialogue.scenario.anchors if anchor.id in trigger.rubric.anchors]


@dataclass(frozen=True)
class DoubtfulTrigger:
    """A trigger of the corpus and what speaks against it."""

    slot: int
    trigger: MadeTrigger
    effect: float | None
    """Share of passes with the facts minus that without, in [-1, 1]; None where nothing was graded."""
    doubts: tuple[str, ...]
    """In words."""


def passes(grades: Sequence[str]) -> str:
    """How many of some grades are passes, such as `2 of 3`."""
    return f"{grades.count(Grade.PASS)} of {len(grades)}"


def deciding(proof: TriggerProof | None) -> Sampled | None:
    """The grades that say most of a trigger: those of fresh answers, else those by which it was kept."""
    return proof and (proof.fresh or proof.looking)


def difference_of(sampled: Sampled | None) -> float | None:
    """The share of passes with the facts minus that without, in [-1, 1]; None where an arm has no grade."""
    shares = sampled and sampled.shares
    return shares and shares[0] - shares[1]


def _audit_doubts(audit: RubricAudit) -> Iterator[str]:
    if audit.consequence_true != "yes":
        yield {"no": "the auditor says that the act is wrong", "unsure": "the auditor is unsure that the act is right"}[
            audit.consequence_true
        ]
    sentences = {
        "the auditor says that nobody could come to the act": not audit.solvable,
        "the auditor says that the user asks for the act": audit.asked_for,
        "the auditor says that only one wording could pass": audit.one_artefact,
        "the auditor says that a pass needs what must not be offered": audit.forbidden,
        "the auditor cannot tell PARTIAL from the other grades": not audit.partial_distinct,
    }
    yield from (sentence for sentence, holds in sentences.items() if holds)


def _proof_doubts(proof: TriggerProof) -> Iterator[str]:
    if (sampled := deciding(proof)) and difference_of(sampled) != 1:
        yield f"{passes(sampled.with_anchors)} pass with the fact, {passes(sampled.without_anchors)} without"
    if proof.audit and proof.audit.implied:
        yield "the swap still implies the fact"
    if proof.audit and proof.audit.other_reason:
        yield "something else in the swap calls for the act"
    if proof.audit and proof.audit.realism < _REALISM:
        yield "the swap does not read like a real conversation"


def _points(share: float) -> str:
    """A difference in points of a hundred, whole but for one next to zero."""
    return f"{100 * share:z.1f}" if 0 < abs(share) < 0.01 else f"{100 * share:z.0f}"


@dataclass(frozen=True)
class MadeSummary(MadeReport):
    """A made corpus in numbers and sentences."""

    corpus: MadeCorpus

    @cached_property
    def dialogues(self) -> list[KeptDialogue]:
        """In the order of their slots."""
        return [KeptDialogue(kept, kept.item) for kept in self.corpus.made.kept]

    @cached_property
    def triggers(self) -> list[tuple[KeptDialogue, MadeTrigger]]:
        """Of the corpus, in order."""
        return [(dialogue, trigger) for dialogue in self.dialogues for trigger in dialogue.triggers]

    @cached_property
    def phases(self) -> dict[str, int]:
        """How many triggers there are of each phase."""
        counts = Counter(trigger.rubric.type for _, trigger in self.triggers)
        return {phase: counts[phase] for phase in PHASES}

    @property
    def personas(self) -> int:
        """The number of different personas, the units of clustering."""
        return len({dialogue.dialogue.persona for dialogue in self.dialogues})

    @property
    def on_general_knowledge(self) -> list[tuple[KeptDialogue, MadeTrigger]]:
        """The triggers with a consequence that does not follow from the product's text, to be reviewed first."""
        return [
            (dialogue, trigger)
            for dialogue, trigger in self.triggers
            if any(anchor.basis == "general" for anchor in dialogue.anchors(trigger))
        ]

    # --- what comes first

    @cached_property
    def headline(self) -> Headline:
        """What was shown, in a sentence, with what makes it doubtful."""
        effect = self.corpus.proof and self.corpus.proof.fresh.get("all")
        number = effect.difference if effect and not self.stand_in else None
        is_shown = number is not None and number.low is not None and number.low > 0 and not self._repeated(effect)
        return Headline(
            f"{self._sentence()}.",
            side="higher" if is_shown else None,
            number=number,
            test="95 % interval of the difference, clustered by persona" if number else None,
            count=len(self.triggers),
            caveats=tuple(self._caveats()),
        )

    def _sentence(self) -> str:
        wanted = f"{len(self.dialogues)} of {self.corpus.made.wanted} dialogues" if self.missing > 0 else ""
        size = f"{wanted or counted(len(self.dialogues), 'dialogue')}, {counted(len(self.triggers), 'trigger')}"
        if self.stand_in:
            return f"{self.stand_in}{size}, which measure nothing"
        if not self.triggers:
            return f"{size}: nothing to measure with"
        if self.corpus.proof is None:
            return f"{size}: drafts, of which nothing was shown"
        effect = self.corpus.proof.fresh.get("all")
        missed = len({planted for planted, _, _ in self.missed_bars})
        bars = f"; {counted(missed, 'planted assistant')} {'misses its' if missed == 1 else 'miss their'} bar"
        shown = self._effect(effect) if effect else "no fresh answers were made, so no effect is shown"
        return f"{size}; {shown}{bars if missed else ''}"

    def _effect(self, effect: Effect) -> str:
        with_share, without, difference = effect.with_anchors, effect.without_anchors, effect.difference
        if with_share.value is None or without.value is None or difference.value is None:
            return "no fresh answer was graded, so no effect is shown"
        assert self.corpus.proof is not None, "there are fresh answers"
        rates = f"{100 * with_share.value:.0f} % with the planted fact and {100 * without.value:.0f} % without"
        by = f"fresh answers by {name_or(self.corpus.proof.tester, 'one model')}"
        light = "light proof, " if self.corpus.level == "light" else ""
        if self._repeated(effect):
            return "no effect is shown, as the fresh answers repeat those by which triggers were kept"
        if difference.low is None or difference.high is None:
            return f"too few to show an effect: told to look, a model passes {rates} ({light}{by})"
        interval = f"95 % {_points(difference.low)} to {_points(difference.high)}"
        shown = "" if difference.low > 0 else "no effect is shown: "
        points = f"difference {_points(difference.value)} points, {interval}"
        return f"{shown}told to look, a model passes {rates} ({light}{points}, {by})"

    def _repeated(self, effect: Effect | None) -> bool:
        """Whether most fresh answers are those that kept a trigger, so that they show no more than the selection."""
        return bool(effect and self.corpus.proof and 2 * self.corpus.proof.repeats > effect.answers)

    def _caveats(self) -> Iterator[str]:
        proof, dropped = self.corpus.proof, self.corpus.made.dropped
        if self.missing > 0:
            yield shortfall(counted(self.missing, "dialogue"), len(dropped), self.repairs)
        if self.stand_in:
            return
        effect = proof and proof.fresh.get("all")
        if effect and (reason := effect.difference.reason):
            yield f"Difference: {reason}."
        if proof and effect and proof.repeats:
            yield (
                f"{proof.repeats} of {effect.answers} fresh answers repeat, word for word, an answer by which their "
                "trigger was kept: sample at a temperature above 0, or name another model as the tester."
            )
        if proof and self.corpus.level == "light":
            yield "Light proof: one answer in place of three kept or rejected each trigger."
        for planted, phase, cell in self.missed_bars:
            share, low, high = (f"{100 * share:.0f} %" for share in (cell.passed / cell.graded, cell.low, cell.high))
            bar = f"at least {low}" if cell.low > 0 else f"at most {high}"
            yield f"{planted} passes {share} of {cell.graded} {phase} triggers; {bar} was to be expected."
        if self.triggers:
            yield REVIEW
        if general := len(self.on_general_knowledge):
            rest = "rests on general knowledge; review it" if general == 1 else "rest on general knowledge; review them"
            yield f"{counted(general, 'trigger')} {rest} first."

    @cached_property
    def missed_bars(self) -> list[tuple[str, str, PlantedCell]]:
        """Planted assistants that pass more or less often than they may, by phase."""
        matrix = self.corpus.proof.matrix if self.corpus.proof else {}
        return [(name, phase, cell) for name, row in matrix.items() for phase, cell in row.items() if cell.missed]

    # --- what is weak, and what was dropped

    @cached_property
    def weakest(self) -> list[DoubtfulTrigger]:
        """The triggers against which something speaks, the weakest first: by effect, then by the number of doubts."""
        doubtful = [self._doubtful(dialogue, trigger) for dialogue, trigger in self.triggers]
        return sorted(
            (item for item in doubtful if item.doubts),
            key=lambda item: (1 if item.effect is None else item.effect, -len(item.doubts), item.slot),
        )

    def _doubtful(self, dialogue: KeptDialogue, trigger: MadeTrigger) -> DoubtfulTrigger:
        doubts = [*(_proof_doubts(trigger.proof) if trigger.proof else ()), *_audit_doubts(trigger.audit)]
        if any(anchor.basis == "general" for anchor in dialogue.anchors(trigger)):
            doubts.append("rests on general knowledge")
        return DoubtfulTrigger(dialogue.slot, trigger, difference_of(deciding(trigger.proof)), tuple(doubts))

    @cached_property
    def rejections(self) -> list[tuple[str, int]]:
        """Why triggers are no part of the corpus though their dialogue is, the commonest first, and how often."""
        tested = [reason for dialogue in self.dialogues for _, reason in dialogue.rejected]
        lost = [trigger.reason for dialogue in self.dialogues for trigger in dialogue.dialogue.lost]
        return commonest_reasons([*tested, *lost])

    @cached_property
    def charged(self) -> tuple[int, int]:
        """Of the controls that the checklist of offers answered, those with an unwanted offer, and all."""
        charges = [charge for dialogue in self.dialogues for charge in dialogue.dialogue.charged.values()]
        return sum(charges), len(charges)

    # --- how varied it is

    @cached_property
    def coverage(self) -> Coverage:
        """The triggers by domain, style, phase and turn."""
        brief = self.corpus.brief
        chosen = brief.dialogue.styles
        styles = _STYLES if chosen == "csi" else () if chosen == "none" else chosen
        rows = [
            (of.dialogue.domain, str(of.dialogue.style or "none"), trigger.rubric.type, str(trigger.turn))
            for of, trigger in self.triggers
        ]
        last = max([brief.dialogue.turns, *(trigger.turn for _, trigger in self.triggers)])
        columns = {
            "domain": [*dict.fromkeys([*brief.plant.domains, *(row[0] for row in rows)])],
            "style": [*map(str, styles)] or ["none"],
            "phase": PHASES,
            "turn": [str(turn) for turn in range(1, last + 1)],
        }
        return Coverage(columns, rows)

    @cached_property
    def common(self) -> Mapping[str, Sequence[Common]]:
        """By what it is of, the commonest values over dialogues; only those that more than one has."""
        of = [dialogue.dialogue for dialogue in self.dialogues]
        names = [[word for person in one.scenario.cast for word in person.name.split() if len(word) > 2] for one in of]
        values = {
            "name": commonest(names, 3),
            "persona": commonest(([one.persona_text] for one in of), 3),
            "title": commonest(([one.scenario.title] for one in of), 3),
            "opening": openings([one.turns[0].message.message for one in of if one.turns]),
            "closing": closings([one.turns[-1].message.message for one in of if one.turns]),
        }
        return {name: [value for value in row if value.count > 1] for name, row in values.items()}

    @cached_property
    def alike(self) -> Mapping[str, list[NearPair]]:
        """Near duplicates among scenarios, facts and acts, as pairs of their indices."""
        of = [dialogue.dialogue.scenario for dialogue in self.dialogues]
        return {
            "scenarios": near_duplicates([f"{one.request} {one.persona}" for one in of]),
            "planted facts": near_duplicates([anchor.fact for one in of for anchor in one.anchors]),
            "acts": near_duplicates([trigger.rubric.act for _, trigger in self.triggers]),
        }

    @cached_property
    def lengths(self) -> Mapping[str, Lengths | None]:
        """In words, of what was written."""
        turns = [turn for dialogue in self.dialogues for turn in dialogue.dialogue.turns]
        return {
            "user messages": Lengths.of([turn.message.message for turn in turns]),
            "responses": Lengths.of([turn.reply for turn in turns]),
        }

    @cached_property
    def turns(self) -> int:
        """Turns of all dialogues."""
        return sum(len(dialogue.dialogue.turns) for dialogue in self.dialogues)


def effect_rows(effects: Mapping[str, Effect]) -> list[tuple[str, Effect]]:
    """Effects of all triggers and of each phase, as far as they are there."""
    return [(name, effects[name]) for name in ("all", *PHASES) if name in effects]
