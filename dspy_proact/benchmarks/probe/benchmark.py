"""PROBE: search a person's documents for what matters, identify the one bottleneck, resolve it."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel

from dspy_proact.benchmarks.probe.scoring import (
    FAILED,
    JUDGMENTS,
    PARTIAL,
    SOLVED,
    FacetWord,
    ProbeGrade,
    authors_grades,
    graded,
    levels,
)
from dspy_proact.benchmarks.probe.settings import ProbeSettings
from dspy_proact.benchmarks.probe.task import PARTS, ProbeView, Solution, TaskView, shown
from dspy_proact.errors import ContentError
from dspy_proact.evaluation.benchmark import CallForecast, CorpusFacts, ModelDefaults, Rule, Start, lazily
from dspy_proact.evaluation.people import Part, People
from dspy_proact.evaluation.published import Published
from dspy_proact.evaluation.ruled import RuledBenchmark, means_of
from dspy_proact.runs import Case, CaseSet, ExpectedCall, Nouns, Scored, Settings

if TYPE_CHECKING:
    from dspy_proact.evaluation.ask import Ask

_PACKAGE = "dspy_proact.benchmarks.probe"
_UNREADABLE = ("empty", "unreadable", "calls")
"""Reasons for which an answer is missing or malformed, which is the model's doing."""
_MEASURES = """
    precision recall f1 identification task overall end_to_end read_task read_overall touched_f1 label_mismatch
    unknown_ids faulty turns
    """
_TITLES = {
    "f1": "F1",
    "read_task": "readable task",
    "read_overall": "readable overall",
    "touched_f1": "returned F1",
    "faulty": "malformed",
}
_COUNTS = ("unknown_ids", "turns")
_FACETS = {
    "who_blocked": "whose work is held up",
    "who_blocker": "who or what holds it up",
    "what_task": "the work that cannot go on",
    "why_root_cause": "why it cannot go on",
    "when_deadline": "by when it matters",
    "where_system": "the system, place or document",
    "how_mechanism": "how it comes about",
    "impact_scope": "what it leads to",
}
_WORDS = {
    "correct": "The same as gold, in whatever words, exactly enough to act on.",
    "incorrect": "Something else, or something made up where it does not apply.",
    "missing": "Nothing.",
    "n/a": "It does not apply: gold says nothing of it, and neither does the response.",
}
SOLUTION_TOKENS = (150, 4000)
"""Of an answer in one call: assumed, from the tersest to one that thinks aloud."""
_VERDICT_TOKENS = (150, 600)
"""Of a verdict: assumed."""
ASSUMED_WORDS = 60
"""Of a description that is not written yet."""


def answer_calls(case: Case, program: Any, settings: Settings) -> Sequence[ExpectedCall] | None:
    """The one call of `single`, and those of `stages`, each counted as long as the first; others' depend on answers."""
    wanted = ProbeSettings.of(settings)
    if wanted.agent not in ("single", "stages"):
        return None
    messages = program.messages(shown(wanted.oracle, case.view_as(ProbeView)).inputs)
    return [ExpectedCall(messages, SOLUTION_TOKENS)] * (len(program.predictors()) if wanted.agent == "stages" else 1)


def grade_calls(case: Case, answer: Solution | None, judge: Any, settings: Settings) -> Sequence[ExpectedCall]:
    """The first request to each judge that has something to judge."""
    from dspy_proact.benchmarks.probe.judging import questions_of

    view, wanted = case.view_as(ProbeView), ProbeSettings.of(settings)
    if answer is None and wanted.baseline == "none":
        words, gold = "word " * ASSUMED_WORDS, view.gold
        answer = Solution(bottleneck=words, action=gold.action, parameters=gold.parameters)
    answer = answer or Solution()
    questions = questions_of(view, answer.as_published if wanted.upstream_rule else answer, wanted)
    return [ExpectedCall(judge.messages(inputs), _VERDICT_TOKENS) for inputs in questions.values()]


class Probe(RuledBenchmark[Solution, ProbeGrade]):
    """Tasks of people, the agents that work them, and the two judges of an answer."""

    name = "probe"
    about = "Whether an assistant, unasked, finds the one bottleneck in a person's documents and resolves it."
    corpus = CorpusFacts(
        size="1,000 tasks of 235 people",
        licence="MIT for its code; that of the dataset is not known",
        source="Hugging Face dataset gilfastino/PROBE, fetched at the first use, or its two zips; a sample is bundled",
        name="probe",
        making=lazily(f"{_PACKAGE}.generation.making", "making"),
        reviewing=lazily(f"{_PACKAGE}.reviewing", "reviewing"),
        auditing=lazily(f"{_PACKAGE}.auditing", "auditing"),
    )
    strata: Sequence[str] = ("easy", "medium", "hard")
    labels: Sequence[str] = (SOLVED, PARTIAL, FAILED)
    nouns = Nouns(
        case="task", stratum="difficulty", strata="difficulties", group="person", groups="people", row="sample"
    )
    measures = means_of(_MEASURES.split(), _TITLES, costs=("label_mismatch", "faulty", *_COUNTS), counts=_COUNTS)
    answer_type = Solution
    view = ProbeView
    settings_type = ProbeSettings
    models = ModelDefaults(judge="openai/gpt-4o-mini", temperatures={"judge": 0.0})
    forecast = CallForecast(
        answer_calls,
        grade_calls,
        f"Judges are counted as asked about a description of {ASSUMED_WORDS} words and the parameters of the right "
        "action where there is no answer yet. Each call of stages counts as long as its first; those of other agents "
        "than single cannot be estimated.",
    )
    people = People(
        grades=authors_grades,
        parts=(
            Part(
                "description",
                JUDGMENTS,
                question="Does the response describe the bottleneck of the section gold?",
                criteria={
                    "CORRECT": "Who reads it would act on the same problem with the same understanding.",
                    "PARTIALLY_CORRECT": "The same problem, with something wrong or left out.",
                    "INCORRECT": "Another problem, or none.",
                },
            ),
            *(
                Part(name, get_args(FacetWord), "nominal", question=f"What does it say of {meaning}?", criteria=_WORDS)
                for name, meaning in _FACETS.items()
            ),
            Part(
                "parameters",
                JUDGMENTS,
                question="Are the parameters of the action right? Another set than that of gold may be as good.",
                criteria={
                    "CORRECT": "All that matter are there and right, and the action would resolve the bottleneck.",
                    "PARTIALLY_CORRECT": "Seven to nine in ten are, or a part would be resolved.",
                    "INCORRECT": "Most are missing, or they reach the wrong people or systems, or resolve nothing.",
                },
            ),
            Part(
                "would_resolve",
                ("no", "partially", "yes"),
                tuned=False,
                question="Would the action with these parameters resolve the bottleneck?",
                criteria={
                    "yes": "It would be gone or on its way out.",
                    "partially": "A part would remain, or somebody asks back.",
                },
            ),
        ),
        briefing="Somewhere in a person's documents is one problem that holds work up. The response says which, and "
        "what to do; the section gold says what is really the matter. Grade what the response says, not how well it is "
        "written. You are asked about it part by part. The same in other words is the same; a role or a team may stand "
        "for a name where it can be no other.",
        about="The grades are of the sample's authors, who are language-model agents, on answers that they wrote to "
        "be of four qualities: agreement with them says nothing of people, and nothing of answers that a model would "
        "give.",
        levels=levels,
    )
    published = Published(
        rows=lazily(f"{_PACKAGE}.report", "published_rows"),
        differences=lazily(f"{_PACKAGE}.report", "differences"),
        headline="task",
        columns={
            "precision": "P",
            "recall": "R",
            "f1": "F1",
            "identification": "ident",
            "task": "task",
            "overall": "overall",
            "end_to_end": "end to end",
        },
        notes=("task is the paper's headline, and asks neither for evidence nor for identification.",),
        as_published={"settings.sanitize": "false", "settings.upstream_rule": "true"},
        source="arXiv 2510.19771",
    )

    def read(self, corpus: Any, settings: Settings, revision: str | None = None) -> CaseSet:
        """Every task of a corpus, as `load_tasks` reads it by the settings."""
        from dspy_proact.benchmarks.probe.corpus import load_tasks

        wanted = ProbeSettings.of(settings)
        return load_tasks(str(corpus), revision, sanitize=wanted.sanitize, seed=wanted.seed, strict=wanted.strict)

    def mark(self, view: BaseModel) -> str:
        """Hash of what makes the task, which neither the ids nor the order of its items change."""
        assert isinstance(view, ProbeView), "PROBE makes its own cases"
        content = [view.world.model_dump(mode="json", exclude={"today"}), view.gold.description]
        return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:16]

    def rule(self, settings: Settings) -> Rule | None:
        """The baseline that the settings name, which only searches."""
        rule = super().rule(settings)
        return rule and replace(rule, name="blind")

    def agent(self, settings: Settings, roles: Mapping[str, Any]) -> Any:
        """The agent that the settings name."""
        wanted = ProbeSettings.of(settings)
        return self.module("agents").AGENTS[wanted.agent](wanted, roles.get("embedder"))

    def judge(self, settings: Settings, start: Start) -> Any:
        """Both judges."""
        return self.module("judging").ProbeJudge()

    async def answer(self, case: Case, ask: "Ask") -> Solution:
        """What the agent or a baseline answers; where nothing of it can be read, an empty answer with all faults."""
        view, wanted = case.view_as(ProbeView), ProbeSettings.of(ask.settings)
        if wanted.baseline != "none":
            return self.module("baselines").by_rule(view.task, wanted.baseline, wanted.take)
        try:
            solution = self.answer_of(await ask(**self.inputs(shown(wanted.oracle, view))))
        except ContentError as error:
            if error.reason not in _UNREADABLE:
                raise
            solution = Solution(faults=PARTS)
        if wanted.oracle == "none":
            return solution
        # What the oracle gave away stands in place of what the agent made of it.
        revealed: dict[str, Any] = {"evidence": view.gold.evidence, "touched": view.gold.evidence}
        revealed |= {"bottleneck": view.gold.description} if wanted.oracle == "bottleneck" else {}
        faults = tuple(fault for fault in solution.faults if fault not in revealed)
        return solution.model_copy(update={**revealed, "faults": faults})

    def inputs(self, view: BaseModel) -> dict[str, Any]:
        """The world, the items and the actions."""
        assert isinstance(view, TaskView), "PROBE makes its own cases"
        return view.inputs

    async def grade(self, case: Case, answer: Solution, ask: "Ask") -> Scored[ProbeGrade]:
        """Ids counted, and what a judge says of the description and of the parameters, where there is any."""
        view, settings = case.view_as(ProbeView), ProbeSettings.of(ask.settings)
        judging, answer = self.module("judging"), answer.as_published if settings.upstream_rule else answer
        questions = judging.questions_of(view, answer, settings)
        predictions = {part: await ask(**inputs) for part, inputs in questions.items()}
        return graded(view, answer, settings, *judging.verdicts(predictions))

    def feedback(self, case: Case, answer: Solution, scored: Scored[ProbeGrade]) -> str:
        """How each stage did, in numbers and in the words of facets; nothing of what is right."""
        grade = scored.detail
        search, facets = grade.search, grade.identified.facets if grade.identified else {}
        wrong = [f"{name} {word}" for name, word in facets.items() if word not in {"correct", "n/a"}]
        action = "right" if grade.action_right else "not the one that resolves it"
        lines = [
            f"Search: precision {search.precision:.2f}, recall {search.recall:.2f}; {len(grade.wrong)} of the items "
            f"that it named are no evidence, {len(grade.missed)} are missing.",
            f"Identification: {grade.identification:g}; "
            f"{', '.join(wrong) or ('all right' if facets else 'nothing said')}.",
            f"Resolution: {grade.task:g}; the action is {action}.",
        ]
        if grade.resolved:
            # Judges write these names, with the right values in sight: only names that the agent knows are told.
            action = next(action for action in case.view_as(ProbeView).actions if action.id == grade.action)
            known = {*action.required, *answer.parameters}
            for name, names in {"missing": grade.resolved.missing, "wrong": grade.resolved.incorrect}.items():
                listed = [parameter if parameter in known else "another" for parameter in names]
                lines += [f"Parameters {name}: {', '.join(dict.fromkeys(listed))}."] if listed else []
        if grade.faults:
            lines.append(f"Faults of form: {', '.join(grade.faults)}.")
        return "\n".join(lines)
