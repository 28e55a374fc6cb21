"""A reward for training: the judge of a benchmark, behind the gate, on completions of a model that is being trained.

A completion is graded as an answer of a run is, by the same code, into a folder of the same form: it is an answer to
its case in a further epoch. The same completion to the same case is graded once, also after a kill.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from dspy_proact.errors import UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.checks import checked
from dspy_proact.evaluation.evaluation import Named
from dspy_proact.evaluation.grading_run import GradingRun, require_text
from dspy_proact.evaluation.registry import benchmark_named
from dspy_proact.evaluation.split import Split, splits_of
from dspy_proact.models import Cost, Gate
from dspy_proact.models.thoughts import without_thoughts
from dspy_proact.plain_text import shown
from dspy_proact.runs import CONTROL, HELD_BACK, Case, CaseSet, Settings, require_public

_ROOM = 400
"""Characters beyond the reference that a passing answer may take: two or three sentences."""


def reward(
    benchmark: Benchmark[Any, Any] | str | None = None,
    judge: Named | None = None,
    *,
    split: Split | None = "train",
    corpus: Any = "sample",
    control_weight: float = 0.5,
    length_weight: float = 0.5,
    settings: Settings | None = None,
    judge_prompt: str = "default",
    judge_program: Any = None,
    gate: Gate | None = None,
    out: str | Path | None = None,
) -> "Reward":
    """A reward function for training a model on the cases of a benchmark, such as by `trl.GRPOTrainer`.

    Args:
        benchmark: By its name, the path of its file, or itself; its answers must be texts.
        judge: By its name, or as a spec; several are a jury. None for the stand-in where the benchmark has a judge.
        split: The cases that may be asked about; None for those of both sides.
        corpus: As `Evaluation` takes it; no part that is held back.
        control_weight: What the worst answer to a control case costs. 0.5 by default: what would fit anybody, listed
            everywhere, earned 0.44 of the score in our trial, and does not pay where controls are as many.
        length_weight: What an answer of twice the proper length or more costs. 0.5 by default, the step from one grade
            to the next where there are three: a list of all that might be meant is worth no more than a hint.
        settings: Of the benchmark; its defaults where None.
        judge_prompt: Name of the words in which judges are asked, where the benchmark has several.
        judge_program: A compiled judge in place of the benchmark's: a module, or a file.
        gate: Limits, the number of calls in flight, and how calls are made; a `Gate()` where None.
        out: Folder of the grades, of one process; as the folder of a run is named where None.

    Raises:
        UsageError: The answers of the benchmark are no texts, or need the answers before them; a weight is negative;
            the corpus is held back, or has no case of the split; or judge and settings do not fit together.
        CorpusError: There is no such corpus, or it is not valid.
    """
    declared = benchmark_named(benchmark)
    settings = settings or declared.settings_type()
    if not all(math.isfinite(weight) and weight >= 0 for weight in (control_weight, length_weight)):
        raise UsageError("`control_weight` and `length_weight` are finite numbers, 0 or more")
    require_text(declared)
    if split not in (None, *get_args(Split)):
        raise UsageError(f"`split={split}`: is `train`, `test`, or None for both")
    if gate and gate.batch:
        raise UsageError("`gate.batch`: a trainer waits for each reward, and batches may take a day; omit it")
    if not isinstance(corpus, CaseSet):
        corpus = checked(declared, "read", declared.read(corpus, settings, None))
    cases: CaseSet = corpus
    cases.require(settings)
    held_back = cases.corpus.held_back or any(case.meta.get(HELD_BACK) for case in cases.cases)
    require_public(cases.corpus.name, held_back)
    if chained := next((case.key for case in cases.cases if case.chain), None):
        raise UsageError(f"{chained}: takes the answers before it, which a reward does not have; leave its setting out")
    splits = splits_of(declared, cases.cases)
    chosen = {case.key: case for case in cases.cases if split in (None, splits[case.key])}
    if not chosen:
        raise UsageError(f"`split={split}`: {cases.corpus.name} has no case of it; name a larger corpus, or None")
    grading = GradingRun(
        declared,
        replace(cases, cases=tuple(chosen.values())),
        judge,
        settings,
        judge_prompt=judge_prompt,
        judge_program=judge_program,
        gate=gate,
        out=out,
    )
    return Reward(grading, chosen, splits, declared.corpus.reference, control_weight, length_weight)


@dataclass(frozen=True)
class Reward:
    """An async reward function: `await reward(prompts, completions, key)`, as `reward` makes it.

        score - length_weight * excess                              at a case
        -control_weight * (1 - score) - length_weight * excess      at a control case

    The score is in [0, 1]. The excess is how much longer the text is than the reference of its case and 400 characters,
    as a share of these, in [0, 1]; 0 where the benchmark has no references. A case thus gives a number in
    [-length_weight, 1], a control case one in [-control_weight - length_weight, 0].
    """

    grading: GradingRun
    cases: Mapping[str, Case]
    """That may be asked about, by key."""
    splits: Mapping[str, Split]
    """Of all cases of the corpus."""
    reference: str | None
    control_weight: float
    length_weight: float

    def __repr__(self) -> str:
        weights = f"control_weight={self.control_weight}, length_weight={self.length_weight}"
        return f"Reward({self.grading.manifest.identity.benchmark!r}, {len(self.cases):,} cases, {weights})"

    @property
    def out(self) -> Path:
        """Folder of the grades, which `show` and `export` read as they read a run."""
        return self.grading.out

    @property
    def spent(self) -> Cost:
        """What this process has spent, against the limits of the gate."""
        return self.grading.spent

    async def __call__(
        self,
        prompts: Sequence[Any],  # noqa: ARG002 - those of the cases
        completions: Sequence[Any],
        key: Sequence[str],
        **columns: Any,  # noqa: ARG002 - trainers pass all that they have
    ) -> list[float | None]:
        """The reward of each completion, in their order; None where the judge gave no grade.

        It may be called from any event loop, and from several at once.

        Args:
            prompts: Not used: a completion answers the case of its key.
            completions: Texts, or conversations of which the last message is the answer. Thoughts in them are left out.
                One without an answer, such as thoughts alone, has the worst score.
            key: Of the case of each completion.
            columns: Not used.

        Raises:
            UsageError: A key is none of the cases, or is of the other split; or a completion is no text.
            RunError: The folder holds something else, or another process uses it; or it was closed meanwhile.
            Halt: A limit is reached, or the judge cannot be asked; after it has been mended, what is graded stays.
        """
        if len(key) != len(completions):
            raise UsageError(f"`key`: has {len(key)} entries, and there are {len(completions)} completions")
        answers = [
            (self._case(one), without_thoughts(_text(text))[1]) for one, text in zip(key, completions, strict=True)
        ]
        graded = await self.grading.graded(answers)
        return [
            None if grade is None else self._worth(case, text, grade)
            for (case, text), grade in zip(answers, graded, strict=True)
        ]

    def close(self) -> None:
        """Let another process use the folder, and drop what is in flight; the next call opens it again."""
        self.grading.close()

    def _case(self, key: str) -> Case:
        if case := self.cases.get(key):
            return case
        if side := self.splits.get(key):
            raise UsageError(f"{key!r}: is of the split {side!r}; leave it out of the rows, or name another `split`")
        corpus = self.grading.case_set.corpus.name
        raise UsageError(f"{shown(key)}: is the key of no case of {corpus}; name the `corpus` that the rows are of")

    def _worth(self, case: Case, text: str, score: float) -> float:
        worth = self.control_weight * (score - 1) if case.stratum == CONTROL else score
        return worth - self.length_weight * self._excess(case, text)

    def _excess(self, case: Case, text: str) -> float:
        if not (reference := case.meta.get(self.reference or "")):
            return 0.0
        proper = len(str(reference)) + _ROOM
        return min(1.0, max(0.0, len(text) / proper - 1))


def _text(completion: Any) -> str:
    """The text of a completion; of a conversation that of its last message, empty where that is of nobody else."""
    if isinstance(completion, Sequence) and not isinstance(completion, str):
        completion = completion[-1] if completion else ""
    content = completion
    if isinstance(completion, Mapping):  # that of a tool is last where the model was cut before its answer
        content = completion.get("content") if completion.get("role", "assistant") == "assistant" else ""
    if isinstance(content, Sequence) and not isinstance(content, str):
        content = "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    if content is not None and not isinstance(content, str):
        raise UsageError(f"`completions`: {shown(completion)} is neither a text nor a conversation")
    return content or ""
