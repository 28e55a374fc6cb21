"""The five agents: DSPy modules that work a task, sync or async, and end in a `Solution`."""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, ClassVar

import dspy
from dspy import AdapterParseError

from dspy_proact.benchmarks.probe.agents import questions
from dspy_proact.benchmarks.probe.agents.questions import PlanStep, Step
from dspy_proact.benchmarks.probe.agents.sql import cut
from dspy_proact.benchmarks.probe.agents.tools import Observation, Toolbox
from dspy_proact.benchmarks.probe.settings import ProbeSettings
from dspy_proact.benchmarks.probe.task import PARTS, Solution, TaskView, Written
from dspy_proact.calls import collect_calls, was_cut
from dspy_proact.errors import ContentError
from dspy_proact.models import Embedder
from dspy_proact.programs import FencedJSON
from dspy_proact.programs.answer import Answer
from dspy_proact.programs.asking import Asking, ask_for_fields, ask_now
from dspy_proact.programs.program import Program

_FENCED = ("bottleneck", "action", "question")
"""What a model wrote and is shown again."""
_TO_CONCLUDE = 2
"""Requests that are kept for the conclusion and its repair."""
_TO_END_TRIAL = 4
"""Requests that are kept for the end of a trial: a conclusion, a critique, and their repairs."""
_LACKED = "I tried before, and this was lacking."
_LESSONS = 2
"""Of the latest trials, that the next one is shown."""
_EMPTY: Mapping[str, Any] = {"evidence": [], "bottleneck": "", "action": "", "parameters": {}}
"""An attempt of which nothing could be read."""
_WRITTEN = "written "
_REFERENCE = re.compile(r"\$(\w+)")


class SolutionJSON(FencedJSON):
    """Keeps what the official program reads otherwise as it was `written`, under the fields' names and a mark."""

    def __init__(self, *fenced: str, note: str = ""):
        super().__init__(*fenced, note=note)
        self.written = dict[str, Any]()

    def answer(self, completion: str, names: set[str]) -> dict[str, Any]:
        """The object with the named fields, as it was answered; raises `ValueError` when there is not one such."""
        answer = super().answer(completion, names)
        self.written |= {_WRITTEN + name: answer[name] for name in Written.model_fields if name in answer}
        return answer


class PartialJSON(SolutionJSON):
    """The adapter under a repair: reads each field by itself; one that is missing or malformed is None."""

    def parse(self, signature: type[dspy.Signature], completion: str) -> dict[str, Any]:
        """The output fields of the one object in the answer; raises `AdapterParseError` where none can be read."""
        fields: dict[str, Any] = {}
        for name, field in signature.output_fields.items():
            alone: Any = SimpleNamespace(output_fields={name: field})  # all that parsing reads of a signature
            with suppress(AdapterParseError):
                fields |= super().parse(alone, completion)
        return dict.fromkeys(signature.output_fields) | fields if fields else super().parse(signature, completion)


class Session:
    """Asks the questions of an agent about one task, counts requests, and notes what cannot be read as faults.

    `turns` are the questions that were asked, `left` the requests that are left, repairs included, and `faults` stand
    in the order in which they were noticed, each once.
    """

    def __init__(self, agent: "AgentModule", asking: Asking, task: TaskView, tools: Toolbox):
        self.task, self.tools, self.turns, self.left = task, tools, 0, agent.bounds.calls
        self.common = {"world": task.world, "actions": list(task.actions)}
        self.faults: dict[str, None] = {}
        self._agent, self._asking, self._read_any = agent, asking, False
        self._last: ContentError | None = None

    async def ask(self, question: str, /, **inputs: Any) -> Mapping[str, Any]:
        """The readable fields of an answer, after one repair, or none; raises a `ProviderError` of the model's."""
        if self.left < 1:
            self.fault("turns")
            return {}
        self.turns += 1
        try:
            predictor, adapters = getattr(self._agent, question), list[SolutionJSON]()

            def wording(note: str) -> dspy.Adapter:
                adapters.append(self._agent.wording(note))
                return adapters[-1]

            answer = await ask_for_fields(self._counted, predictor, wording, **inputs)
        except ContentError as error:
            self._last = error
            return {}
        fields = {name: value for name, value in answer.items() if value is not None}
        self._read_any = self._read_any or bool(fields)
        return fields | adapters[-1].written

    async def _counted(self, predictor: dspy.Predict, adapter: dspy.Adapter, **inputs: Any) -> Answer:
        if self.left < 1:
            raise ContentError("calls", "no request is left to repair an answer")
        self.left -= 1
        return await self._asking(predictor, adapter, **inputs)

    def fault(self, name: str) -> None:
        """Note what is missing or malformed."""
        self.faults[name] = None

    def solution(self, fields: Mapping[str, Any]) -> Solution:
        """The solution in answers' fields, bad or missing parts as faults; `ContentError` if nothing could be read."""
        if self._last and not self._read_any:
            raise self._last
        fields = dict(fields)
        try:
            json.dumps(fields.get("parameters"), allow_nan=False)
        except (ValueError, RecursionError):  # a number that is not finite, or too deep
            del fields["parameters"]
        parameters = fields.get("parameters", {})
        evidence = tuple(dict.fromkeys(id_ for named in fields.get("evidence") or () if (id_ := named.strip())))
        bottleneck, action = (str(fields.get(part) or "").strip() for part in ("bottleneck", "action"))
        required = next((known.required for known in self.task.actions if known.id == action), None)
        sound = (evidence, bottleneck, required is not None, required is None or set(required) <= parameters.keys())
        missing = [part for part, is_sound in zip(PARTS, sound, strict=True) if not is_sound or part not in fields]
        written = {name: fields[_WRITTEN + name] for name in Written.model_fields if _WRITTEN + name in fields}
        return Solution(
            evidence=evidence,
            bottleneck=bottleneck,
            action=action,
            parameters=parameters,
            touched=self.tools.touched,
            turns=self.turns,
            faults=tuple(dict.fromkeys((*missing, *self.faults))),
            written=Written.of(written, evidence, action, parameters),
        )


class AgentModule(Program):
    """An agent, which goes as far as its `bounds`, and searches by an embedder, or by words where it has none."""

    asks: ClassVar[Mapping[str, type[dspy.Signature]]]
    """What it asks, by the names of its predictors."""

    def __init__(self, bounds: ProbeSettings | None = None, embedder: Embedder | None = None):
        super().__init__()
        self.bounds, self._embedder = bounds or ProbeSettings(), embedder
        for name, signature in self.asks.items():
            setattr(self, name, dspy.Predict(signature))

    @property
    def turns(self) -> int:
        """The most uses of a tool before it concludes."""
        return self.bounds.turns

    async def answer_by(self, asking: Asking, **inputs: Any) -> dspy.Prediction:
        """The fields of a `Solution`, with faults if it is readable in part; a `StageError` where nothing of it is."""
        task = TaskView(world=inputs["world"], items=tuple(inputs["documents"]), actions=tuple(inputs["actions"]))
        embedder = self._embedder
        embed = embedder and (embedder.embed_now if asking is ask_now else embedder.embed)
        with collect_calls() as calls:
            tools = Toolbox(task.items, self.bounds, embed, now=asking is ask_now)
            session = Session(self, asking, task, tools)
            solution = session.solution(await self._work(session))
        return dspy.Prediction(**solution.model_copy(update={"truncated": was_cut(calls)}).model_dump())

    def messages(self, inputs: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The first request about these inputs."""
        return super().messages({**inputs, "steps": [], "left": self.turns, "most": self.turns})

    def wording(self, note: str = "") -> SolutionJSON:
        """A repair takes what can be read of an answer."""
        return PartialJSON(*_FENCED, note=note) if note else SolutionJSON(*_FENCED)

    async def _work(self, session: Session) -> Mapping[str, Any]:
        """The fields of a solution, as far as they could be read."""
        raise NotImplementedError


class Single(AgentModule):
    """One question with everything in it: the published setting."""

    name = "single"
    asks: ClassVar = {"solve_task": questions.SolveTask}

    async def _work(self, session: Session) -> Mapping[str, Any]:
        session.tools.touch_all()
        return await session.ask("solve_task", **session.common, documents=list(session.task.items))


class Stages(AgentModule):
    """Search, identify, resolve: each stage sees only what the ones before it found."""

    name = "stages"
    asks: ClassVar = {
        "search": questions.SearchDocuments,
        "identify": questions.IdentifyBottleneck,
        "resolve": questions.ResolveBottleneck,
    }

    async def _work(self, session: Session) -> Mapping[str, Any]:
        task = session.task
        session.tools.touch_all()
        searched = await session.ask("search", world=task.world, documents=list(task.items))
        named = {id_.strip() for id_ in searched.get("evidence", ())}
        evidence = [item for item in task.items if item.id in named]
        identified = await session.ask("identify", world=task.world, documents=evidence)
        bottleneck = identified.get("bottleneck", "")
        resolved = await session.ask("resolve", **session.common, documents=evidence, bottleneck=bottleneck)
        return {**searched, **identified, **resolved}


class ReAct(AgentModule):
    """Uses tools one by one, choosing each by what came before, and concludes."""

    name = "react"
    asks: ClassVar = {"choose": questions.ChooseStep, "conclude": questions.ConcludeTask}

    async def _work(self, session: Session) -> Mapping[str, Any]:
        return (await self._trial(session, [], _TO_CONCLUDE))[1]

    async def _trial(
        self, session: Session, before: Sequence[Step], reserved: int
    ) -> tuple[list[Step], Mapping[str, Any]]:
        """One way through the task after steps `before`, with requests `reserved`: its steps, and the conclusion."""
        steps = list(before)
        for left in range(self.turns, -1, -1):
            if left == 0 or session.left <= reserved:
                session.fault("turns")
                break
            chosen = await session.ask("choose", **session.common, steps=steps, left=left)
            tool, longest = chosen.get("tool"), self.bounds.observation
            thought, argument = (cut(chosen.get(name, ""), longest) for name in ("thought", "argument"))
            if tool is None:
                session.fault("steps")
            if tool in (None, "finish"):
                break
            observation = await session.tools.use(tool, argument)
            steps.append(Step(thought=thought, tool=tool, argument=argument, observation=observation.text))
        return steps, await session.ask("conclude", **session.common, steps=steps)


class Reflexion(ReAct):
    """Tries with tools, judges itself by what it saw, and tries again with what was lacking.

    Its own judge sees what the agent saw and nothing of gold; a score that cannot be read is 0. Of several trials the
    one with the best score of its own counts, of equal ones the last.
    """

    name = "reflexion"
    asks: ClassVar = {**ReAct.asks, "criticise": questions.CriticiseAttempt}

    @property
    def turns(self) -> int:
        """Of one trial."""
        return max(1, self.bounds.turns // self.bounds.trials)

    async def _work(self, session: Session) -> Mapping[str, Any]:
        lessons: list[Step] = []
        best: Mapping[str, Any] = {}
        highest = -1.0
        for number in range(self.bounds.trials):
            if number and session.left < _TO_END_TRIAL:
                break
            steps, concluded = await self._trial(session, lessons[-_LESSONS:], _TO_END_TRIAL)
            if number and not concluded:
                continue
            attempt = {part: concluded.get(part, nothing) for part, nothing in _EMPTY.items()}
            critique = await session.ask("criticise", **session.common, steps=steps, **attempt)
            score, lacking = critique.get("score", -1.0), critique.get("lacking", "")[: self.bounds.observation]
            if not 0 <= score <= 1:
                session.fault("steps")
                score = 0.0
            if score >= highest:
                best, highest = concluded, score
            if score >= self.bounds.threshold:
                break
            lessons.append(Step(thought=_LACKED, tool="reflect", argument="", observation=lacking))
        return best


class ReWOO(AgentModule):
    """Plans all uses of tools at once; they are done without a further look at the plan; then it concludes."""

    name = "rewoo"
    asks: ClassVar = {
        "plan": questions.PlanWork,
        "answer": questions.AnswerQuestion,
        "conclude": questions.ConcludeTask,
    }

    async def _work(self, session: Session) -> Mapping[str, Any]:
        planned = await session.ask("plan", **session.common, most=self.turns)
        if "plan" not in planned:
            session.fault("steps")
        plan: list[PlanStep] = planned.get("plan", [])
        if len(plan) > self.turns:
            session.fault("turns")
        steps = await self._carried_out(plan[: self.turns], session)
        return await session.ask("conclude", **session.common, steps=steps)

    async def _carried_out(self, plan: Sequence[PlanStep], session: Session) -> list[Step]:
        """The steps of a plan with what they returned; one that refers to a later one is not done."""
        steps, results, longest = list[Step](), dict[str, Observation](), self.bounds.observation
        names = [re.sub(r"\W", "", planned.var) for planned in plan]
        for name, planned in zip(names, plan, strict=True):
            argument = cut(planned.argument, longest)
            referred = _REFERENCE.findall(argument)
            if late := [var for var in referred if var in names and var not in results]:
                observation = Observation(f"Not done: {late[0]} is no step before it.")
            elif planned.tool == "model":
                shown = [step for step in steps if step.thought in referred]
                observation = await self._observed(session, argument, shown)
            else:
                held = {var: session.tools.named(planned.tool, result.ids) for var, result in results.items()}
                argument = cut(_REFERENCE.sub(lambda var, held=held: held.get(var[1], var[0]), argument), longest)
                observation = await session.tools.use(planned.tool, argument)
            results[name] = observation
            steps.append(Step(thought=name, tool=planned.tool, argument=argument, observation=observation.text))
        return steps

    async def _observed(self, session: Session, question: str, steps: Sequence[Step]) -> Observation:
        """What the model says by what some steps returned; its ids are those of the items that it names."""
        if session.left <= _TO_CONCLUDE:
            session.fault("turns")
            return Observation("Not done: no request is left for it.")
        answer = (await session.ask("answer", steps=list(steps), question=question)).get("answer")
        if answer is None:
            session.fault("steps")
            return Observation("No answer.")
        named = set(re.findall(r"[\w-]+", answer))
        ids = tuple(item.id for item in session.task.items if item.id in named)
        return Observation(cut(answer, self.bounds.observation), ids)


AGENTS: Mapping[str, type[AgentModule]] = {kind.name: kind for kind in (Single, Stages, ReAct, Reflexion, ReWOO)}
"""By the name of the setting."""
