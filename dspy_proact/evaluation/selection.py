"""What a command asks of a benchmark by its scope: which cases, how often, and what the manifest of its run says."""

from functools import cached_property
from typing import Any

from dspy_proact.errors import UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.responses import Responses
from dspy_proact.runs import (
    CONTROL,
    MOST_EPOCHS,
    Case,
    CaseSet,
    Manifest,
    Scope,
    Shards,
    select_cases,
    shard_of,
)


class Selection:
    """The cases of a scope, and the manifest of a command that asks for them.

    Args:
        declared: The benchmark.
        case_set: Its cases; of copied responses, those that were answered.
        begun: The manifest of a run of all of them, once.
        copied: The responses that are graded; None where a model is asked for them.
        scope: How much is asked for.

    Attributes:
        manifest: That of the command, without its shards.

    Raises:
        UsageError: The scope does not fit the benchmark or the responses.
    """

    def __init__(
        self,
        declared: Benchmark[Any, Any],
        case_set: CaseSet,
        begun: Manifest,
        copied: Responses | None,
        scope: Scope,
    ):
        self._declared, self._case_set, self._copied, self._scope = declared, case_set, copied, scope
        judge_epochs = begun.judge_epochs if scope.judge_epochs is None else scope.judge_epochs
        if not begun.identity.judges and judge_epochs != begun.judge_epochs:
            raise UsageError(f"{declared.name} is graded without a judge, and once; leave `scope.judge_epochs` out")
        if any(judge.cuts for judge in begun.identity.judges) and judge_epochs != begun.judge_epochs:
            count = f"{begun.judge_epochs} verdicts on each response"
            raise UsageError(f"the judge's program asks for {count}; leave `scope.judge_epochs` out")
        epochs = begun.epochs if scope.epochs is None else scope.epochs
        if copied and epochs > copied.epochs:
            has = f"{copied.name} has at most {copied.epochs} of each {declared.nouns.case}"
            raise UsageError(f"`scope.epochs={epochs}`: {has}")
        controls = declared.controls and declared.controls.prompt() if scope.controls else None
        numbers = {"epochs": epochs, "judge_epochs": judge_epochs, "controls": controls}
        self.manifest = begun.model_copy(update=numbers | {"tags": dict(scope.tags), "note": scope.note})

    @cached_property
    def with_shards(self) -> Manifest:
        """The manifest with its shards; raises a `UsageError` where copied responses are of others."""
        shard, there = self._scope.shard, self.manifest.shards
        if shard is None:
            return self.manifest
        if self._copied and there and (there.count != shard.count or shard.number not in there.numbers):
            raise UsageError(f"`scope.shard={shard}`: {self._copied.name} has {there} alone; leave it out")
        scope, named = self._scope, {stratum.casefold() for stratum in self._scope.strata}
        strata = tuple(stratum for stratum in self.manifest.strata if stratum.casefold() in named)
        numbers, limits = (shard.number,), {"limit": scope.limit, "strata": strata, "controls": scope.controls}
        shards = Shards.model_validate({"count": shard.count, "numbers": numbers, **limits})
        if not there:  # else the responses to other cases are not known
            shards = shards.sized(case.chain or case.key for case in self._of_all_shards)
        return self.manifest.model_copy(update={"shards": shards if shard.count > 1 else None})

    @cached_property
    def cases(self) -> list[Case]:
        """Those that are asked for, control cases last; a shard may have none. Raises a `UsageError` as below."""
        shard, cases = self._scope.shard, self._of_all_shards
        return [case for case in cases if not shard or shard_of(case.chain or case.key, shard.count) == shard.number]

    @cached_property
    def _of_all_shards(self) -> list[Case]:
        """Those that all shards have together; raises a `UsageError` where the benchmark has no such cases."""
        scope, manifest, declared = self._scope, self.manifest, self._declared
        known = {stratum.casefold(): stratum for stratum in manifest.strata}
        for stratum in scope.strata:
            if stratum.casefold() not in known:
                raise UsageError(f"`scope.strata={stratum}`: is none of {', '.join(manifest.strata)}")
        times = {manifest.epochs, manifest.judge_epochs} <= set(range(1, MOST_EPOCHS + 1))
        if not times or (scope.limit is not None and scope.limit < 1):
            raise UsageError(f"limit must be 1 or more, epochs and votes 1 to {MOST_EPOCHS}")
        wanted = [known[stratum.casefold()] for stratum in scope.strata]
        cases = self._case_set.cases
        chosen = select_cases([case for case in cases if case.stratum != CONTROL], scope.limit, wanted)
        if not scope.controls:
            return chosen
        if manifest.controls is None:
            raise UsageError(f"`scope.controls`: {declared.name} has no {declared.nouns.controls}; leave it out")
        controls = select_cases([case for case in cases if case.stratum == CONTROL], scope.limit)
        if self._copied and not controls:
            raise UsageError(
                f"`scope.controls`: among these responses is none at a {declared.nouns.control}; a model is asked for "
                "them by an evaluation with `scope.controls`, where its corpus has them"
            )
        return [*chosen, *controls]
