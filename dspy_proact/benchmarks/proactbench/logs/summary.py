"""What logs show, in a sentence and in counts: which needs models found, what the logged responses made of them.

The headline claims what a judge's verdicts say and names the judge; where nothing was graded it says so. That a user
came back to a need is the auditor's word, with a quote of the user's that code has located.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from dspy_proact.benchmarks.proactbench.generation.brief import CorpusBrief
from dspy_proact.benchmarks.proactbench.logs.conversation import LogFile
from dspy_proact.benchmarks.proactbench.logs.values import LoggedTrigger, MinedDialogue, Redacted
from dspy_proact.benchmarks.proactbench.types import Grade, Phase
from dspy_proact.generation.maker import Kept, Made, Proof
from dspy_proact.report.made import MadeReport, commonest_reasons, shortfall
from dspy_proact.report.numbers import counted, listed, name_or
from dspy_proact.stats import Headline

REVIEW = "Models found the needs, wrote the rubrics and graded; nobody has reviewed them."
UNGRADED = "`eval` grades the logged responses, as the answers `logged` of this corpus."
_ALL_OF_IT = "What is private was looked for by rules and by a model, and neither finds everything."


@dataclass(frozen=True)
class LogCorpus:
    """The conversations of a log, and what was found in them."""

    brief: CorpusBrief
    log: LogFile
    made: Made
    """Its items are `MinedDialogue`s."""
    level: Proof
    """With `none` nobody graded the logged responses."""
    prompts: Mapping[str, str]
    """sha256 of what a stage says to its model, by stage."""

    @property
    def models(self) -> dict[str, list[str]]:
        """Names of the models, by role; without the judge where nobody graded."""
        of = {role: [identity.name for identity in models] for role, models in self.made.models.items()}
        return {role: names for role, names in of.items() if role != "judge" or self.level != "none"}


@dataclass(frozen=True)
class TriggerInLog:
    """A trigger of the corpus with the conversation that it is in."""

    kept: Kept
    mined: MinedDialogue
    trigger: LoggedTrigger

    @property
    def response(self) -> str:
        """What the assistant answered, as logged."""
        response = self.mined.dialogue.response(self.trigger.turn)
        assert response is not None, "only turns with a response have a trigger"
        return response

    @property
    def grade(self) -> Grade | None:
        """Of the logged response; None where it was not graded."""
        return self.trigger.verdict and self.trigger.verdict.grade

    @property
    def is_confirmed(self) -> bool:
        """Whether the user came back to the need, as the auditor says."""
        return self.trigger.after.outcome == "confirmed"


@dataclass(frozen=True)
class LogSummary(MadeReport):
    """What was found in logs, in numbers and sentences."""

    corpus: LogCorpus

    @cached_property
    def dialogues(self) -> list[tuple[Kept, MinedDialogue]]:
        """In the order of their slots, those without a trigger too."""
        return [(kept, kept.item) for kept in self.corpus.made.kept]

    @cached_property
    def triggers(self) -> list[TriggerInLog]:
        """The surest first: what users came back to, then what the models are surest of."""
        every = [TriggerInLog(kept, mined, one) for kept, mined in self.dialogues for one in mined.triggers]
        return sorted(every, key=lambda one: (*one.trigger.order, one.kept.slot, one.trigger.turn))

    def graded(self, *grades: Grade | None) -> list[TriggerInLog]:
        """Those whose logged response has one of these grades, the surest first; None is that of no grade."""
        return [one for one in self.triggers if one.grade in grades]

    @cached_property
    def overlooked(self) -> list[TriggerInLog]:
        """Those that the logged response did not take up, or only in part, by the judge."""
        return self.graded(Grade.FAIL, Grade.PARTIAL)

    @property
    def phases(self) -> dict[str, int]:
        """How many triggers there are of each phase."""
        counts = Counter(one.trigger.rubric.type for one in self.triggers)
        return {phase.value: counts[phase.value] for phase in Phase}

    @cached_property
    def period(self) -> str:
        """The days of the conversations that were read, such as `3 to 8 March 2025`; empty where no log says any."""
        days = sorted(date.fromisoformat(mined.dialogue.day) for _, mined in self.dialogues if mined.dialogue.day)
        if not days:
            return ""
        first, last = days[0], days[-1]
        if first == last:
            return f"{first.day} {first:%B} {first.year}"
        begin = str(first.day) if (first.year, first.month) == (last.year, last.month) else f"{first.day} {first:%B}"
        begin = begin if first.year == last.year else f"{begin} {first.year}"
        return f"{begin} to {last.day} {last:%B} {last.year}"

    @cached_property
    def title(self) -> str:
        """Of the page, with the days of the conversations."""
        return f"What our assistant overlooked{', ' if self.period else ''}{self.period}"

    @property
    def judge(self) -> str:
        """Who graded."""
        return name_or(", ".join(self.corpus.models.get("judge", ())), "a judge")

    # --- what comes first

    @cached_property
    def headline(self) -> Headline:
        """What was found and overlooked, in a sentence, with what it does not say below it."""
        caveats = (*self.caveats, *map(str, self.corpus.log.notes), *self.unusual)
        return Headline(f"{self._sentence()}.", count=len(self.triggers), caveats=caveats)

    def _sentence(self) -> str:
        count, read = len(self.triggers), counted(len(self.dialogues), "conversation")
        number = f"{count:,}" if count else "no" if self.stand_in else "No"
        needs = "needs that users hinted at" if count > 1 else "need that a user hinted at"
        sentence = f"{number} {needs} and did not ask about {'were' if count > 1 else 'was'} found in {read}"
        if not count:
            return f"{self.stand_in}{sentence}"
        if self.stand_in:
            return f"{self.stand_in}{sentence}; this measures nothing"
        if not (graded := count - len(self.graded(None))):
            return f"{sentence}; {'the logged responses are' if count > 1 else 'the logged response is'} not graded"
        begin, taken_up = f"{sentence}; by judge {self.judge}, the logged", graded - len(self.overlooked)
        if count == 1:
            return f"{begin} response {'took it up' if taken_up else 'did not take it up'}"
        return f"{begin} responses took up {taken_up:,} {f'of {graded:,} graded' if graded < count else 'of them'}"

    @cached_property
    def caveats(self) -> tuple[str, ...]:
        """What the sentence does not say of the needs, the judge and the redaction."""
        return tuple(self._caveats())

    def _caveats(self) -> Iterator[str]:
        if self.missing:
            attempts = len(self.corpus.made.dropped)
            yield shortfall(counted(self.missing, "conversation"), attempts, self.repairs)
        if self.overlooked:
            part = len(self.graded(Grade.PARTIAL))
            inner = f" ({part} only in part)" if part else ""
            yield f"Not taken up, by the judge{inner}: {len(self.overlooked)}. {self._came_back()}"
        if self.triggers and self.corpus.level == "none":
            yield UNGRADED
        elif self.triggers and (ungraded := len(self.graded(None))):
            yield f"{counted(ungraded, 'logged response')} could not be graded."
        if self.triggers:
            yield REVIEW
        yield _ALL_OF_IT

    def _came_back(self) -> str:
        """To how many of what was overlooked users came back."""
        count, raised = len(self.overlooked), sum(one.is_confirmed for one in self.overlooked)
        if not raised:
            return f"By the auditor, no user came back to {'it' if count == 1 else 'any of them'} later."
        part = f"{'both' if count == 2 else 'all'} of them" if raised == count else f"{raised:,} of them"
        quotes = "a quote" if raised == 1 else "quotes"
        rest = {0: "", 1: "; the other is open"}.get(count - raised, "; the others are open")
        return f"The user came back to {'it' if count == 1 else part} later, as the auditor says with {quotes}{rest}."

    # --- what was left out

    @cached_property
    def unusual(self) -> list[str]:
        """What is unusual about the conversations that were read, and how many were not; a sentence each."""
        notes, total = list[str](), len(self.dialogues)
        language, spoken = self.corpus.brief.dialogue.language, [mined.dialogue.language for _, mined in self.dialogues]
        others = Counter(name for name in spoken if name.casefold() != language.casefold())
        if others:
            names = listed([f"{name} ({count})" for name, count in others.most_common()])
            notes.append(
                f"{others.total()} of {counted(total, 'conversation')} {'is' if others.total() == 1 else 'are'} not in "
                f"{language}, the brief's language, in "
                f"which rubrics are written: {names}."
            )
        if ordering := sum(bool(mined.dialogue.orders) for _, mined in self.dialogues):
            notes.append(
                f"{counted(ordering, 'conversation')} of {total} {'holds' if ordering == 1 else 'hold'} orders to "
                "whoever reads or grades; they were quoted to the models as material, and code reads none."
            )
        unread = len(self.corpus.log.conversations) - self.corpus.made.wanted
        if unread:
            were = "was" if unread == 1 else "were"
            notes.append(f"{counted(unread, 'conversation')} of the log {were} not read, since fewer were asked for.")
        return notes

    @cached_property
    def redacted(self) -> list[tuple[Kept, Redacted]]:
        """What was taken out, in the order of the conversations."""
        return [(kept, one) for kept, mined in self.dialogues for one in mined.dialogue.redacted]

    @property
    def redacted_kinds(self) -> dict[tuple[str, str], int]:
        """How many different texts were taken out, by who found them and of what kind."""
        return dict(sorted(Counter((one.by, one.kind) for _, one in self.redacted).items()))

    @cached_property
    def rejections(self) -> Sequence[tuple[str, int]]:
        """Why needs are no triggers, the commonest reason first, and how often."""
        return commonest_reasons([lost.reason for _, mined in self.dialogues for lost in mined.lost])

    @property
    def controls(self) -> int:
        """Conversations that end without a need that was found, at whose last message nothing is to be offered."""
        return sum(mined.control is not None for _, mined in self.dialogues)

    @property
    def refuted(self) -> int:
        """Needs that what came after refutes."""
        return sum("refutes the need" in lost.reason for _, mined in self.dialogues for lost in mined.lost)
