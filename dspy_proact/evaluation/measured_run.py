"""A run or a results file as its files give it, before anything is estimated of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from dspy_proact.runs import Manifest, Measure, Nouns, Outcome, Outcomes, RoleIdentity

BY_ITSELF = ", graded by the benchmark itself"


@dataclass(frozen=True, repr=False)
class MeasuredRun(Outcomes):
    """Who answered, who graded, and what became of each case; of a results file, as far as it says."""

    path: str
    benchmark: str
    model: str
    judges: tuple[str, ...]
    """Their models; empty where the benchmark grades by itself."""
    strata: tuple[str, ...]
    labels: tuple[str, ...]
    """From best to worst; the first is a full pass."""
    embedded: bool
    """Whether a stand-in that measures nothing took part."""
    outcomes: tuple[Outcome, ...]
    """One a case and epoch."""
    nouns: Nouns = field(default_factory=Nouns)
    """What the benchmark calls its things."""
    measures: tuple[Measure, ...] = ()
    """What the benchmark declares beside scores."""
    tried_again: int = 0
    """Stages that had failed and were asked for once more."""
    seconds: float | None = None
    """From the first call to the last result, pauses between commands included; None where it is not known."""
    manifest: Manifest | None = None
    """Of a run; None for a results file."""
    ordered: bool = True
    """Whether the labels have an order, without which no mean score says anything."""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Of the benchmark, as JSON; empty where they are its defaults."""

    @property
    def roles(self) -> tuple[tuple[str, str], ...]:
        """Each role with the name of its model; the stand-in in place of a rule that stands for both."""
        further = ((name, role.model) for name, role in self.further_roles.items())
        roles = (("assistant", self.model), *further, *(("judge", judge) for judge in self.judges))
        if self.embedded and all(model != "embedded" for _, model in roles):
            return (("assistant", "embedded"),)
        return roles

    @property
    def further_roles(self) -> dict[str, RoleIdentity]:
        """The further models of the answers, by role."""
        return self.manifest.identity.roles if self.manifest else {}

    @property
    def left_out(self) -> list[str]:
        """Why some rows of the corpus are no cases, with how many of all; empty where none is left out."""
        corpus = self.manifest and self.manifest.corpus
        if corpus is None:
            return []
        rows = f"{corpus.rows:,} {self.nouns.row if corpus.rows == 1 else self.nouns.rows}"
        return [f"{count:,} of {rows} left out: {reason}" for reason, count in corpus.left_out.items()]

    @property
    def judge(self) -> str:
        """The judges' models; empty where the benchmark grades by itself."""
        return " + ".join(self.judges)

    @property
    def model_name(self) -> str:
        """The model under test with its program, for people."""
        return self.manifest.model_name if self.manifest else self.model

    @property
    def variant(self) -> str | None:
        """The prompt or program of the model as a person calls it, or by its hash; None for the plain one."""
        if self.manifest is None or self.manifest.identity.assistant.is_plain:
            return None
        return self.manifest.variant or self.manifest.identity.assistant.name[len(self.model) + 2 : -1]

    @property
    def judge_names(self) -> dict[str, str]:
        """Every judge with its program, for people, by its model."""
        named = self.manifest.identity.judges if self.manifest else ()
        return {judge: judge for judge in self.judges} | {judge.model: judge.name for judge in named}

    @property
    def judge_name(self) -> str:
        """The judges with their programs, for people; empty where the benchmark grades by itself."""
        return " + ".join(self.judge_names.values())

    @property
    def graded_by(self) -> str:
        """Who took part beside the model and who graded, as the end of a sentence."""
        further = " and ".join(f"{name} {role.model}" for name, role in self.further_roles.items())
        graded = f" judged by {self.judge_name}" if self.judges else BY_ITSELF
        return f" with {further}{graded}" if further else graded

    @cached_property
    def case_count(self) -> int:
        """Cases that were ever asked for."""
        return len({outcome.key for outcome in self.outcomes})

    @cached_property
    def group_count(self) -> int:
        """Groups among them."""
        return len({outcome.group for outcome in self.outcomes})

    @cached_property
    def groups_reached(self) -> int:
        """Groups with a case that was tried; fewer than all if a run stopped early."""
        return len({outcome.group for outcome in self.outcomes if outcome.state != "pending"})

    @property
    def truncated(self) -> int:
        """Responses that were cut at the token limit; they are judged."""
        return sum(outcome.truncated for outcome in self.outcomes)

    def of_stratum(self, stratum: str) -> list[Outcome]:
        """The outcomes of one stratum."""
        return [outcome for outcome in self.outcomes if outcome.stratum == stratum]


def names_of(runs: Sequence[MeasuredRun]) -> list[str]:
    """The model of each run with its program, for people; with the hash too where one name is of several programs."""
    named = [(run.model_name, run.manifest.identity.assistant.name if run.manifest else run.model) for run in runs]
    names = list[str]()
    for run, (name, hashed) in zip(runs, named, strict=True):
        several = len({other for own, other in named if own == name}) > 1
        names.append(f"{name[:-1]}, {hashed[len(run.model) + 2 :]}" if several and name != hashed else name)
    return names
