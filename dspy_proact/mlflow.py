"""A judge as a scorer of MLflow, whose feedback keeps its reasons and quotes; MLflow is not installed with this.

import mlflow
from dspy_proact.mlflow import scorer

graded = scorer("openai/gpt-5.4", criteria="Does the reply take up what the user mentioned in passing?")
mlflow.genai.evaluate(data=[{"inputs": {"question": ...}, "outputs": ...}], scorers=[graded])
"""

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, cast

from pydantic import ValidationError

from dspy_proact.errors import ContentError, StageError, UsageError
from dspy_proact.evaluation import OWN_ROWS
from dspy_proact.evaluation.ask import Ask
from dspy_proact.evaluation.benchmark import Benchmark, Start
from dspy_proact.evaluation.compiled import compiled_program
from dspy_proact.evaluation.participant import role_of
from dspy_proact.evaluation.ratings import digest
from dspy_proact.evaluation.registry import benchmark_as_set, benchmark_named, reporting_of
from dspy_proact.evaluation.responses import Responses
from dspy_proact.evaluation.trial import Side, graded
from dspy_proact.files.columns import USUAL
from dspy_proact.files.rows import misfit
from dspy_proact.models import Gate, ModelSpec, open_model, wait_for
from dspy_proact.plain_text import shown
from dspy_proact.runs import Case, CaseSet, VerdictRecord

CASE = "case"
"""The expectation that holds a case of a benchmark, in rows that `export` writes."""
_QUESTIONS = (*USUAL["input"], "message", "request", "text")
"""Names of an input that is the user's message, where there are no messages."""
_REPLIES = (*USUAL["response"], "content", "text")
"""Names of an output that is the text of the answer."""


def scorer(
    judge: ModelSpec | str,
    *,
    criteria: str | None = None,
    scale: tuple[str, ...] = (),
    nominal: bool = False,
    benchmark: Benchmark[Any, Any] | str | None = None,
    settings: Mapping[str, Any] | None = None,
    judge_program: str | Path | None = None,
    value: Literal["grade", "score"] = "grade",
    name: str | None = None,
    gate: Gate | None = None,
) -> Any:
    """A scorer for `mlflow.genai.evaluate(scorers=[...])`, which returns a `Feedback`.

    Rows of one's own are graded by criteria and a scale: `inputs` are the conversation, as `messages` or as one
    question, and further inputs and all expectations are shown to the judge. Rows of `export --format mlflow` are
    graded as the benchmark grades them, from the case in their expectations. The feedback of a verdict that could not
    be had is an error, and no grade. Once a limit of the gate is reached, or the judge refuses every request, no
    further one is sent.

    Args:
        judge: The model that grades.
        criteria: What is graded, and what the levels mean; without it by the words of the scale alone.
        scale: Levels from worst to best, such as `("bad", "ok", "good")`.
        nominal: Whether the levels have no order.
        benchmark: Whose cases rows of an export are; of rows of one's own None.
        settings: Of the benchmark.
        judge_program: The file of a compiled judge.
        value: Whether the value of the feedback is the grade or the score, a number in [0, 1], of which MLflow makes a
            mean. The other one is among the metadata.
        name: Of the feedback, by which MLflow keeps one mean for all scorers of that name. Where None, the benchmark's;
            of rows of one's own with a short hash of criteria and scale, so that two scorers have two means.
        gate: Limits and the number of calls in flight.

    Raises:
        UsageError: MLflow is not installed, a key is missing, or what is given does not fit together.
    """
    try:
        genai, entities = import_module("mlflow.genai"), import_module("mlflow.entities")
    except ImportError as error:
        mend = "pip install 'mlflow>=3.17', without `-c requirements.lock`, whose versions it does not take"
        raise UsageError(f"a scorer of MLflow needs MLflow 3.17 or newer: {mend} ({error})") from error
    own = {name: one for name, one in {"criteria": criteria, "scale": scale, "nominal": nominal}.items() if one}
    if own and benchmark is not None:
        raise UsageError(f"`{next(iter(own))}` is of rows of one's own; leave it out beside `benchmark`")
    named = OWN_ROWS if benchmark is None else benchmark
    grading = _Grading(judge, named, {**(settings or {}), **own}, judge_program, gate or Gate())
    source = entities.AssessmentSource(entities.AssessmentSourceType.LLM_JUDGE, grading.model.name)
    called = name or "_".join([grading.declared.name, *([digest([criteria, scale, nominal])[:8]] if own else [])])

    def grade(*, inputs: Any = None, outputs: Any = None, expectations: Any = None) -> Any:
        try:
            side = grading.grade(inputs, outputs, expectations)
        except StageError as error:
            return entities.Feedback(name=called, error=error, source=source)
        return grading.feedback(entities, side, called, source, value)

    return genai.scorer(grade, name=called)


class _Grading:
    """A judge of one benchmark, which grades one row after another, many at a time."""

    def __init__(
        self,
        judge: ModelSpec | str,
        benchmark: Benchmark[Any, Any] | str,
        settings: Mapping[str, Any],
        program: str | Path | None,
        gate: Gate,
    ):
        declared = benchmark_named(benchmark)
        try:
            chosen = declared.settings_type.model_validate(settings)
        except ValidationError as error:
            field, problem = misfit(error)
            raise UsageError(f"`settings.{field}`: {problem}") from None
        self.declared = benchmark_as_set(None, settings, declared)
        self._settings, self._gate = chosen, gate
        asking = compiled_program(self.declared, chosen, Start(file=Path(program) if program else None), "judge")
        if asking is None:
            raise UsageError(f"{declared.name} is graded without a judge: there is nothing that one could score")
        self.model = open_model(judge, role_of(self.declared, "judge"), gate)
        self.model.require_key()
        self._ask = Ask.in_run(asking, self.model.lm, chosen)

    def grade(self, inputs: Any, outputs: Any, expectations: Any) -> Side:
        """The grades of a row; raises a `StageError` without one, and a `UsageError` where it is no such row."""
        self._require_going()
        case = self._case(_fields(inputs), _fields(expectations))
        row = {"key": case.key, "response": self._output(outputs, exported=CASE in _fields(expectations))}
        one = CaseSet.of("a row", [case])
        read = Responses.of_rows([row], "mlflow", one, benchmark=self.declared, settings=self._settings, name="outputs")
        (stage,) = read.stages
        if stage.answer is None:
            raise ContentError(stage.failure.reason if stage.failure else "empty", "there is no answer to grade")
        answer = self.declared.answer_type.model_validate(stage.answer)
        side = wait_for(graded(self.declared, case, answer, self._ask, self._gate.switch))
        self._require_going()
        return side

    def feedback(self, entities: Any, side: Side, name: str, source: Any, value: str) -> Any:
        """The grades of a row as MLflow keeps them."""
        if side.scored is None or side.label is None:
            reason, _, detail = (side.error or "unscored").partition(": ")
            return entities.Feedback(name=name, error=ContentError(reason, detail), source=source)
        records = [VerdictRecord.of(one, one.detail.model_dump(mode="json"), self.model.name) for one in side.verdicts]
        grounds = [reporting_of(self.declared.name).grounds(record) for record in records]
        score = fmean(record.score for record in records)
        verified = [record.verified for record in records]
        metadata = {
            "grade": side.label,
            "score": str(score),
            "judge": self.model.name,
            "benchmark": self.declared.name,
            "quotes": json.dumps([quote.model_dump() for one in grounds for quote in one.quotes], ensure_ascii=False),
            "verified": json.dumps(None if None in verified else all(verified)),
            **{name.replace(" ", "_"): text for one in grounds for name, text in one.points},
        }
        return entities.Feedback(
            name=name,
            value=side.label if value == "grade" else score,
            rationale="\n\n".join(one.reasons for one in grounds if one.reasons),
            source=source,
            metadata=metadata,
        )

    def _require_going(self) -> None:
        if halt := self._gate.switch.halt:
            # MLflow keeps an error and goes on to the next row; a `Halt` would end its thread.
            raise UsageError(str(halt))

    def _case(self, inputs: Mapping[str, Any], expectations: Mapping[str, Any]) -> Case:
        """The case that a row is; raises a `UsageError` where it is none of the benchmark."""
        form, known = self.declared.view, expectations.get(CASE)
        assert form is not None, "a benchmark with a judge has views"
        document = _fields(known) if known is not None else {"view": _own_view(inputs, expectations)}
        if document.get("benchmark", self.declared.name) != self.declared.name:
            mend = f"name it as `benchmark={document['benchmark']}`"
            raise UsageError(f"the row is a case of {document['benchmark']!r}, not of {self.declared.name!r}: {mend}")
        try:
            view = form.model_validate(document.get("view"))
        except ValidationError as error:
            field, problem = misfit(error)
            where = f"expectations.{CASE}.view" if known is not None else "inputs"
            raise UsageError(f"{where}, field {field!r}: {problem}; it is no case of {self.declared.name}") from None
        stratum = str(document.get("stratum", self.declared.strata[0]))
        meta = cast("dict[str, str | int]", document.get("meta") or {})
        return Case(str(document.get("key", "row")), str(document.get("group", "row")), stratum, view, meta)

    def _output(self, outputs: Any, exported: bool) -> Any:
        """The answer in `outputs`: a text, the only one in an object of usual names, or the last message."""
        if exported or outputs is None or isinstance(outputs, str):
            return outputs
        fields = _fields(outputs)
        if isinstance(choices := fields.get("choices"), list) and choices:
            fields = _fields(_fields(cast("list[Any]", choices)[0]).get("message"))
        elif isinstance(messages := fields.get("messages"), list) and messages:
            fields = _fields(cast("list[Any]", messages)[-1])
        texts = [fields[name] for name in _REPLIES if isinstance(fields.get(name), str)]
        if len(texts) != 1:
            raise UsageError(f"`outputs` is {shown(outputs)} in which no answer is known; give its text")
        return texts[0]


def _fields(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _own_view(inputs: Mapping[str, Any], expectations: Mapping[str, Any]) -> dict[str, Any]:
    """A row of one's own as the judge sees it: the conversation, and all that stands beside it."""
    messages: Any = inputs.get("messages")
    name = "messages"
    if not isinstance(messages, list):
        texts = [name for name, text in inputs.items() if isinstance(text, str)]
        name = next((name for name in _QUESTIONS if name in texts), texts[0] if len(texts) == 1 else "")
        if not name:
            raise UsageError(f"`inputs` has no messages and no question; it has {', '.join(inputs) or 'nothing'}")
        messages = [{"role": "user", "content": inputs[name]}]
    entries = map(_fields, cast("list[Any]", messages))
    chat = [{"role": entry.get("role"), "content": entry.get("content")} for entry in entries]
    further = {**{other: value for other, value in inputs.items() if other != name}, **expectations}
    context = [
        {"name": other, "text": value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)}
        for other, value in further.items()
    ]
    return {"conversation": chat, "context": context}
