"""What a run is: its identity, and what is recorded beside it."""

import operator
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from math import inf
from typing import Any, Literal, Self, TypeVar

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from dspy_proact.calls import Price
from dspy_proact.kept import Claimed, Identified
from dspy_proact.runs.shard import Shards
from dspy_proact.types import Classification, Frozen, RoleIdentity

Value = TypeVar("Value")
MOST_EPOCHS = 1000
"""Answers to a case, or verdicts on an answer: a larger number in a command or a file is a mistake."""
_NEUTRAL = re.compile(r"\b(?:cases?|stratum|strata|groups?)\b")
_ARGUMENTS_OF_LIMITS = {"assistant.decoding.max_tokens": "model", "judge.decoding.max_tokens": "judge"}


class Identity(Identified):
    """What must be equal for two commands to be the same run."""

    benchmark: str
    assistant: RoleIdentity
    judges: tuple[RoleIdentity, ...]
    """None, one, or those of a jury, in the order in which they were named; no two have one model."""
    settings: dict[str, Any] = Field(default_factory=dict[str, Any])
    """The benchmark's own, as JSON."""
    corpus: str
    """sha256 of the validated cases."""
    parent: str | None = None
    """Whose responses are graded: digest of a run's identity, or sha256 of the answers of a file."""
    roles: dict[str, RoleIdentity] = Field(default_factory=dict[str, RoleIdentity])
    """Further models of the answers, by role."""

    @property
    def judge_name(self) -> str:
        """The judges by their models."""
        return " + ".join(judge.model for judge in self.judges)

    @model_serializer(mode="wrap")
    def _without_roles(self, fields_of: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Runs without further roles are the same as before there were any."""
        fields = fields_of(self)
        return fields if self.roles else {name: fields[name] for name in fields if name != "roles"}

    def compared(self, other: Identified) -> dict[str, Any]:
        """A judge is `judge` where both have one, and `judges.1` and so on in a jury."""
        fields = super().compared(other)
        judges = fields.pop("judges")
        if any(len(identity.judges) > 1 for identity in (self, other) if isinstance(identity, Identity)):
            return fields | {"judges": {str(number): judge for number, judge in enumerate(judges, start=1)}}
        return fields | {"judge": judges[0] if judges else None}

    def mend(self, differing: Mapping[str, tuple[str | None, str | None]]) -> str:
        """Other answers, or the limits there, if nothing else differs: a server that is down changes limits."""
        if set(differing) == {"parent"}:
            return "other answers were graded there: "
        if not differing.keys() <= _ARGUMENTS_OF_LIMITS.keys():
            return ""
        limits = " and ".join(
            f"`{_ARGUMENTS_OF_LIMITS[name]}.params` max_tokens={there or 'none'}"
            for name, (_, there) in differing.items()
        )
        why = "a limit that is not set depends on the context that the server reports, if it is up"
        return f"{why}: continue that run with {limits}, or "


def _plural(noun: str) -> Any:
    return Field(default_factory=lambda named: {"stratum": "strata"}.get(named[noun], f"{named[noun]}s"))


class Nouns(Frozen):
    """What a benchmark calls its things, in reports and as keys of their JSON; a plural that is not named has an s."""

    case: str = "case"
    cases: str = _plural("case")
    stratum: str = "stratum"
    strata: str = _plural("stratum")
    group: str = "group"
    groups: str = _plural("group")
    control: str = "control case"
    controls: str = _plural("control")
    row: str = "row"
    """What its corpus is a list of; a row may hold several cases."""
    rows: str = _plural("row")

    def translated(self, text: str) -> str:
        """A text of `stats`, which says case, stratum and group, in the benchmark's nouns."""
        return _NEUTRAL.sub(lambda match: str(getattr(self, match[0])), text)


def in_nouns(value: Value, nouns: Nouns) -> Value:
    """A copy of a frozen value in whose reasons, at any depth, cases, strata and groups have the benchmark's nouns."""
    copied: Any = value
    own = {field.name: getattr(copied, field.name) for field in fields(copied)}
    inner = {name: in_nouns(item, nouns) for name, item in own.items() if is_dataclass(item)}
    return replace(copied, **inner, **({"reason": nouns.translated(own["reason"])} if own.get("reason") else {}))


class Measure(Frozen):
    """A number of a set of cases, which a benchmark declares and reports give with its interval.

    Only graded cases that have all of its parts count; a benchmark may give a part to some cases only.
    """

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    """Its key in JSON."""
    title: str
    statistic: Literal["mean", Classification] = "mean"
    """Kappa is in [-1, 1], the others but the mean in [0, 1]."""
    parts: tuple[str, ...]
    """Names of parts of a grade: one for a mean; the truth and the prediction, each 0 or 1, for the others."""
    least: float | None = None
    """The least that the part of a mean can be; None for no bound, and without either bound see `most`."""
    most: float | None = None
    """The greatest. Without either bound the part is a share where all of its values are in [0, 1]."""
    cost: str | None = Field(default=None, exclude=True)
    """Name of the setting that says what a wrong act costs, where the least is minus that."""
    rules: tuple[str, ...] = Field(default=(), exclude=True)
    """Values of the setting `baseline` under which it is the same whatever the cases are."""
    constant: bool = False
    """Whether the rule in place of the program makes it so: then it has no interval."""
    higher_is_better: bool = True
    """Which way a guard of a compile looks, and which change counts as a cost."""

    @property
    def span(self) -> tuple[float, float]:
        """The least and the greatest that it can be; infinite where no bound of a mean is declared."""
        if self.statistic != "mean":
            return (-1.0 if self.statistic == "kappa" else 0.0), 1.0
        return -inf if self.least is None else self.least, inf if self.most is None else self.most

    def under(self, settings: Any) -> Self:
        """As it is under the settings of a run."""
        least = -getattr(settings, self.cost) if self.cost else self.least
        constant = bool(self.rules) and settings.baseline in self.rules
        return self.model_copy(update={"least": least, "constant": constant})

    @model_validator(mode="after")
    def _require_parts(self) -> Self:
        if len(self.parts) != (1 if self.statistic == "mean" else 2):
            raise ValueError("a mean takes one part, every other statistic two: the truth and the prediction")
        return self


class CorpusRecord(Frozen):
    """The corpus as it was read."""

    name: str
    revision: str | None
    rows: int
    cases: int
    """Control cases not counted."""
    ignored_fields: dict[str, int]
    left_out: dict[str, int] = Field(default_factory=dict[str, int])
    """Rows that are no cases, by the reason."""
    private: bool = False
    """Whether it is of real people who did not publish it: a run keeps its views as hashes unless a person asks for
    more, and no page shows them."""
    held_back: bool = False
    """Whether anything of it is of the part of a corpus that is not published: nothing may be tuned on it."""


class ReusedRun(Frozen):
    """A run from which another one takes over stages whose requests are equal up to a raised limit of output."""

    path: str
    limits: dict[str, dict[str, int | None]]
    """Limits of output that were raised, by the names of their fields: `there` and `here`; None for no limit."""
    reason: str = ""
    """What of it is not reused, and why, a sentence; empty where only what was cut or failed is asked for again."""
    prices: dict[str, tuple[Price, ...]] = Field(default_factory=dict[str, tuple[Price, ...]])
    """At which its replies were paid for, there or in runs that it reused, by role, and of judges by model."""

    @classmethod
    def of(cls, path: str, manifest: "Manifest", here: Identity) -> Self:
        """That run as another one takes over from it."""
        there, limits, unequal = manifest.identity, dict[str, dict[str, int | None]](), list[str]()
        for name, (now, before) in here.differences(there).items():
            if name.endswith(".decoding.max_tokens") and before and (now is None or int(before) < int(now)):
                limits[name] = {"there": int(before), "here": int(now) if now else None}
            elif name != "parent" or here.parent != there.digest():  # that run's own responses are judged again
                unequal.append(name)
        run = cls(path=path, limits=limits, prices=manifest.prices_paid)
        if there.parent and not here.parent:
            why = "its responses are copies without calls; reuse the run that made them"
            what = f"No response of {path} is reused, nor a verdict on one that is made anew"
            return run.model_copy(update={"reason": f"{what}: {why}."})
        if not unequal:
            return run
        what = f"Of {path} only what has an equal request is reused"
        if any(name.startswith(("assistant.", "roles.", "benchmark")) for name in unequal):
            what = f"Nothing of {path} is reused"
        elif any(name.startswith("judge") for name in unequal):
            what = f"Of {path} no verdict by another judge is reused"
        differ = "differs" if len(unequal) == 1 else "differ"
        return run.model_copy(update={"reason": f"{what}: {', '.join(unequal)} {differ}."})


class AnswerFile(Frozen):
    """A file of answers that existed before the run, which graded them."""

    name: str
    """Its path, as a person named it."""
    cases: int
    """Cases of the corpus for which it has a row, control cases not counted."""
    cut_short: str | None = Field(default=None, exclude_if=operator.not_)
    """How what wrote it ended before its time, a clause; None where nothing says so."""


class Manifest(Claimed[Identity]):
    """`manifest.json`: everything about a run but its cases and events."""

    format: Literal[3] = 3
    strata: tuple[str, ...]
    labels: tuple[str, ...]
    """From best to worst; the first is a full pass."""
    ordered: bool = Field(default=True, exclude_if=bool)
    """Whether the labels have an order, without which no mean score says anything."""
    nouns: Nouns = Nouns()
    about: str = ""
    """What the benchmark measures, a sentence; empty where it does not say, and in runs of before it was kept."""
    measures: tuple[Measure, ...] = ()
    control_labels: tuple[str, ...] = ()
    """Of control cases, from best to worst."""
    controls: str | None = None
    """sha256 of the words in which control cases are graded; None where none were asked for."""
    system_prompt: str | None = None
    """What the assistant was told beside the conversation; None for nothing."""
    learned_on: int = 0
    """Rows of the corpus that the assistant's program was compiled on: on them it is not tested."""
    cards: dict[str, str] = Field(default_factory=dict[str, str])
    """What the cards of compiled programs tell, by role; empty in runs of before they were kept."""
    embedded: bool
    """Whether a stand-in that measures nothing took part."""
    keeps_inputs: bool = True
    """Whether `cases.jsonl` holds the views, and not their hashes alone."""
    stored: tuple[str, ...] = ()
    """Roles whose requests are in `messages.jsonl`, where the inputs are kept: they cannot be rendered again."""
    keeps_calls: bool = False
    """Whether `calls.jsonl` holds its calls; in older runs `events.jsonl` does."""
    epochs: int = Field(ge=1, le=MOST_EPOCHS)
    """The most that were asked for."""
    judge_epochs: int = Field(1, ge=1, le=MOST_EPOCHS)
    """Verdicts of each judge on a response; the most that were asked for."""
    shards: Shards | None = Field(default=None, exclude_if=operator.not_)
    """The parts of its cases that were asked for; None where all were."""
    corpus: CorpusRecord
    assistant_price: Price
    """As read at the start of the run, or given."""
    judge_prices: dict[str, Price]
    further_prices: dict[str, Price] = Field(default_factory=dict[str, Price])
    """Likewise, of further models of the answers, by role."""
    reused: tuple[ReusedRun, ...] = ()
    """Runs from which stages were to be taken over, in the order of asking."""
    overrides: dict[str, tuple[str, ...]] = Field(default_factory=dict[str, tuple[str, ...]])
    """Decoding parameters that are not the preset's, by role."""
    variant: str | None = Field(default=None, exclude_if=operator.not_)
    """What a person calls its prompt or program, such as by the name of its file."""
    tags: dict[str, str] = Field(default_factory=dict[str, str], exclude_if=operator.not_)
    """Labels that a person gave it, by name."""
    answers: AnswerFile | None = Field(default=None, exclude_if=operator.not_)
    """The file that the answers were read from; None where a model answered, or they are those of another run."""
    note: str | None = Field(default=None, exclude_if=operator.not_)
    """A note of a person's on it."""
    commit: str | None = Field(default=None, exclude_if=operator.not_)
    """The git commit of the folder in which it was begun, with `-dirty` where files were changed; None without one."""
    backend: str
    versions: dict[str, str]
    salt: str = Field(default="", exclude_if=operator.not_)
    """Random: tells its conversations and batches from those of other runs of this identity; empty in older runs."""
    created: str

    @property
    def model_name(self) -> str:
        """The model under test, and in brackets its prompt or program as a person calls it, or else by its hash."""
        named = self.identity.assistant
        return f"{named.model} ({self.variant})" if self.variant and not named.is_plain else named.name

    def price_of(self, role: str, judge: str | None = None) -> Price:
        """Of a role's model; of judges, of the one of this name."""
        if role == "assistant":
            return self.assistant_price
        unknown = Price(reason="its price is not recorded")
        return self.further_prices.get(role, unknown) if judge is None else self.judge_prices.get(judge, unknown)

    def is_in_batches(self, role: str) -> bool:
        """Whether the requests of a role are answered in batches."""
        prices = self.judge_prices.values() if role == "judge" else [self.price_of(role)]
        return any(price.tier for price in prices)

    @property
    def in_batches(self) -> bool:
        """Whether its requests are answered in batches, at the price of these."""
        # Of copied answers the price is that of the run that asked for them.
        own = () if self.identity.parent else (self.assistant_price, *self.further_prices.values())
        return any(price.tier for price in (*own, *self.judge_prices.values()))

    @property
    def prices_paid(self) -> dict[str, tuple[Price, ...]]:
        """At which its replies were paid for, here or in runs that it reused, by role, and of judges by model."""
        own = {} if self.identity.parent else {"assistant": self.assistant_price}
        own |= self.further_prices | self.judge_prices
        return {name: (price, *self._prices_there(name)) for name, price in own.items()}

    def price_paid(self, role: str, judge: str | None = None) -> Price:
        """Of a role's replies that were copied, in the run that paid for them; of judges, of the one of this name."""
        there = self._prices_there(judge or role)
        prices = {price.model_copy(update={"reason": None}).model_dump_json(): price for price in there}
        if len(prices) > 1:
            return Price(reason="the runs that paid for them had different prices")
        return next(iter(prices.values()), Price(reason="its price is not recorded"))

    def _prices_there(self, name: str) -> list[Price]:
        return [price for run in self.reused for price in run.prices.get(name, ())]
