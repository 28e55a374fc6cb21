"""Runs as rows for training: JSONL that `datasets.load_dataset` reads, in the columns that trainers of TRL take.

    rl     prompt, key, group, stratum, split, unit               for GRPO; what was hidden stands in a second file
    sft    the same, completion, model, judges                    answers that passed
    dpo    the same, chosen, rejected, the model of either, judges    answers that passed beside answers that failed

A prompt has the messages that the assistant saw. Nothing of a row was hidden from it. Answers are rows only where the
case is of the split `train`. The unit is what the split keeps together, and the judges are who graded: by both,
`compare --card` knows what a model was trained on.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dspy_proact.errors import UsageError
from dspy_proact.evaluation.answer_rows import plain_field
from dspy_proact.evaluation.registry import find_benchmark
from dspy_proact.evaluation.split import Split, split_of, units_of
from dspy_proact.exchange.case import ChatMessage, ExportedCase, exported_cases, manifest_of
from dspy_proact.exchange.forms import HIDDEN
from dspy_proact.exchange.safe_json import safe_json
from dspy_proact.kept import replacing
from dspy_proact.report.numbers import counted
from dspy_proact.report.summary import Summary
from dspy_proact.runs import CONTROL, HELD_BACK, Case, Outcome, require_public
from dspy_proact.types import Frozen

MARGIN = 1.0
"""By how much the score of a passed answer is higher than that of the failed one beside it, at least."""


@dataclass(frozen=True)
class _RunAnswer:
    """A case of a run in an epoch."""

    case: ExportedCase
    unit: str
    """What the split keeps together with it, such as a persona."""
    model: str
    judges: tuple[str, ...]
    """By whom it was graded, or to be; none where the benchmark grades by itself."""
    passed: bool
    """Whether it has the best label."""

    @property
    def split(self) -> Split:
        return split_of(self.unit)

    @property
    def score(self) -> float:
        return self.case.outcome.score

    @property
    def text(self) -> str:
        return self.case.outcome.response or ""

    @property
    def row(self) -> dict[str, Any]:
        """What every row has."""
        outcome = self.case.outcome
        known = {"key": outcome.key, "group": outcome.group, "stratum": outcome.stratum}
        prompt = [_message(message) for message in self.case.messages]
        return {"prompt": prompt, **known, "split": self.split, "unit": self.unit}

    @property
    def prompt(self) -> tuple[str, tuple[ChatMessage, ...]]:
        """What answers have in common that can be compared."""
        return self.case.outcome.key, self.case.messages


def export_rl(summaries: Sequence[Summary], path: Path) -> Sequence[str]:
    """Write the prompts of runs, each once, and beside them what was hidden; what is not in the file, a line each.

    Raises a `UsageError` where the runs cannot be trained on or the files not be written.
    """
    prompts = dict[tuple[str, tuple[ChatMessage, ...]], _RunAnswer]()
    for answer in _answers(summaries, lambda outcome: outcome.epoch == 1):
        prompts.setdefault(answer.prompt, answer)
    hidden = {answer.case.outcome.key: answer.case.hidden for answer in prompts.values()}
    with replacing(path.with_name(path.stem + HIDDEN)) as beside:
        lines = [{"key": key, "hidden": text} for key, text in hidden.items() if text]
        beside.write_text("".join(f"{safe_json(line)[0]}\n" for line in lines), encoding="utf-8")
        lost = _written([answer.row for answer in prompts.values()], path, "no case")
    controls = any(answer.case.outcome.stratum == CONTROL for answer in prompts.values())
    if manifest_of(summaries[0]).control_labels and not controls:
        lost.append(f"{summaries[0].nouns.controls}, which no run was asked for")
    return lost


def export_sft(summaries: Sequence[Summary], path: Path) -> Sequence[str]:
    """Write the answers of runs that passed, equal ones once; raises as `export_rl` does."""
    left, rows = Counter[str](), dict[tuple[str, tuple[ChatMessage, ...], str], dict[str, Any]]()
    for answer in _graded(summaries, left):
        if not answer.passed:
            left["graded below a pass"] += 1
        elif answer.case.outcome.truncated:
            left["cut at the token limit"] += 1
        else:
            own = {"completion": _completion(answer), "model": answer.model, "judges": []}
            row = rows.setdefault((*answer.prompt, answer.text), answer.row | own)
            row["judges"] = sorted({*row["judges"], *answer.judges})
    return [*_written(list(rows.values()), path, "no answer that passed"), *_lost(left)]


def export_dpo(summaries: Sequence[Summary], path: Path, margin: float | None) -> Sequence[str]:
    """Write pairs of a passed and a failed answer to the same messages; raises as `export_rl` does.

    Args:
        summaries: Of runs by the same judges; their models and epochs do not matter.
        path: Of the file.
        margin: By how much the score of the passed one is higher, at least, above 0 and at most 1; 1 where None. Each
            answer stands in one pair at most, the shortest of both sides together.
    """
    margin = MARGIN if margin is None else margin
    if not 0 < margin <= 1:
        raise UsageError(f"`margin={margin:g}`: is a difference of scores, above 0 and at most 1")
    judges = {tuple(judge.model_dump_json() for judge in manifest_of(one).identity.judges): one for one in summaries}
    if len(judges) > 1:
        paths = " and ".join(one.path for one in judges.values())
        raise UsageError(
            f"{paths}: were graded by different judges, so that a pass of one may be a fail of the other; "
            "grade them by the same judge with `rejudge`"
        )
    left, by_prompt = Counter[str](), defaultdict[tuple[str, tuple[ChatMessage, ...]], list[_RunAnswer]](list)
    for answer in _graded(summaries, left):
        by_prompt[answer.prompt].append(answer)
    rows = list[dict[str, Any]]()
    for answers in by_prompt.values():
        pairs = _pairs(answers, margin)
        left["in no pair"] += len(answers) - 2 * len(pairs)
        rows += [
            chosen.row
            | {
                "chosen": _completion(chosen),
                "rejected": _completion(rejected),
                "chosen_model": chosen.model,
                "rejected_model": rejected.model,
                "judges": [*chosen.judges],
            }
            for chosen, rejected in pairs
        ]
    return [
        *_written(rows, path, f"no passed answer beside one to the same messages that is {margin:g} worse"),
        *_lost(left),
    ]


def _pairs(answers: Sequence[_RunAnswer], margin: float) -> list[tuple[_RunAnswer, _RunAnswer]]:
    """Passed answers with worse ones to the same messages, by the margin; a text that did both is on no side."""
    scores = defaultdict[str, list[float]](list)
    for answer in answers:
        scores[answer.text].append(answer.score)
    unlike = {text for text, several in scores.items() if len(set(several)) > 1}
    sides = ({}, {})
    for answer in sorted(answers, key=lambda answer: len(answer.text)):
        if answer.text not in unlike and not (answer.passed and answer.case.outcome.truncated):
            sides[not answer.passed].setdefault(answer.text, answer)
    passed, others = (list(side.values()) for side in sides)
    pairs = list[tuple[_RunAnswer, _RunAnswer]]()
    for chosen in passed:
        if rejected := next((other for other in others if chosen.score - other.score >= margin), None):
            pairs.append((chosen, rejected))
            others.remove(rejected)
    return pairs


def _answers(summaries: Sequence[Summary], wanted: Callable[[Outcome], bool]) -> Iterator[_RunAnswer]:
    """The wanted cases of runs and epochs; raises a `UsageError` where one of the runs cannot be trained on."""
    if len({summary.benchmark for summary in summaries}) > 1:
        named = ", ".join(f"{summary.path} of {summary.benchmark}" for summary in summaries)
        raise UsageError(f"rows are of one benchmark, and these runs are {named}; export them one by one")
    for summary in summaries:
        manifest, declared = manifest_of(summary), find_benchmark(summary.benchmark)
        if declared and plain_field(declared.answer_type) is None:
            raise UsageError(
                f"{summary.path}: answers of {declared.name} are more than a text; use csv as the `format`"
            )
        if not manifest.keeps_inputs:
            raise UsageError(f"{summary.path}: holds no inputs, and so no prompts; make the run with `keep_inputs`")
        outcomes = (*summary.outcomes, *summary.controls.outcomes)
        require_public(summary.path, manifest.corpus.held_back or any(one.meta.get(HELD_BACK) for one in outcomes))
        cases = {one.key: Case(one.key, one.group, one.stratum, Frozen(), one.meta) for one in outcomes}
        units, best = units_of(declared, cases.values()), {summary.labels[0], *manifest.control_labels[:1]}
        judges = tuple(judge.model for judge in manifest.identity.judges)
        for case in exported_cases(summary, wanted):
            outcome = case.outcome
            yield _RunAnswer(case, units[outcome.key], summary.model_name, judges, outcome.label in best)


def _graded(summaries: Sequence[Summary], left: Counter[str]) -> Iterator[_RunAnswer]:
    """The graded answers to cases that may be trained on; the others are counted."""
    for answer in _answers(summaries, lambda outcome: outcome.response is not None):
        if answer.split == "test":
            left["to cases of the split test"] += 1
        elif answer.case.outcome.state != "scored":
            left["without a grade"] += 1
        else:
            yield answer


def _message(message: ChatMessage) -> dict[str, str]:
    return {"role": message.role, "content": message.content}


def _completion(answer: _RunAnswer) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": answer.text}]


def _written(rows: Sequence[dict[str, Any]], path: Path, nothing: str) -> list[str]:
    """Write the rows; raises a `UsageError` where there are none."""
    if not rows:
        raise UsageError(f"{path}: would have no row, since there is {nothing}; name further runs or epochs")
    replaced = 0
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        for row in rows:
            text, changed = safe_json(row)
            file.write(f"{text}\n")
            replaced += changed
    replacements = counted(replaced, "character", "characters")
    return [f"{replacements} that no file holds safely, replaced by U+FFFD"] if replaced else []


def _lost(left: Counter[str]) -> list[str]:
    return [f"{counted(count, 'answer', 'answers')} {why}" for why, count in left.items() if count]
