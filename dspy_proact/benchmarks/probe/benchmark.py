"""PROBE: search a person's documents for what matters, identify the one bottleneck, resolve it."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel

from dspy_proact.benchmarks.benchmark import Benchmark, HumanGrade, Part, StandIn, Start
from dspy_proact.benchmarks.embedding import WithEmbedder
from dspy_proact.benchmarks.probe.scoring import (
    FAILED,
    JUDGMENTS,
    PARTIAL,
    SOLVED,
    STAGE_WEIGHTS,
    FacetGrades,
    FacetWord,
    ProbeGrade,
    graded,
    is_described,
    is_filled,
    label_of,
    overall_score,
    parts_of,
)
from dspy_proact.benchmarks.probe.settings import ProbeSettings
from dspy_proact.benchmarks.probe.task import DATA, PARTS, ProbeView, Solution, shown, with_given
from dspy_proact.benchmarks.published import PublishedRow
from dspy_proact.errors import ContentError, UsageError
from dspy_proact.files.rows import csv_rows
from dspy_proact.runs import Case, CaseSet, ExpectedCall, Measure, Nouns, Scored, Settings

if TYPE_CHECKING:
    from dspy_proact.benchmarks.ask import Ask
    from dspy_proact.benchmarks.probe.agents import AgentModule
    from dspy_proact.benchmarks.probe.baselines import Blind
    from dspy_proact.benchmarks.probe.judging import ProbeJudge
    from dspy_proact.benchmarks.probe.tuning import ProbeTuning
    from dspy_proact.models import Embedder
    from dspy_proact.report.particulars import Particulars

BLIND = "blind"
"""Stands for the model of a baseline, which has none."""
DIFFICULTIES = ("easy", "medium", "hard")
SOLUTION_TOKENS = (150, 4000)
"""Of an answer in one call: assumed, from the tersest to one that thinks aloud."""
VERDICT_TOKENS = (150, 600)
"""Of a verdict: assumed."""
_ASSUMED_WORDS = 60
_UNREADABLE = ("empty", "unreadable", "calls")
"""Reasons for which an answer is missing or malformed, which is the model's doing."""


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
_SAID = {
    "correct": "The same as gold, in whatever words, exactly enough to act on.",
    "incorrect": "Something else, or something made up where it does not apply.",
    "missing": "Nothing.",
    "n/a": "It does not apply: gold says nothing of it, and neither does the response.",
}


def _graded(*criteria: str) -> dict[str, str]:
    """What the judgments mean, from the best on."""
    return dict(zip(reversed(JUDGMENTS), criteria, strict=True))


class Probe(WithEmbedder, Benchmark[Solution, ProbeGrade]):
    """Tasks of people, the agents that work them, and the two judges of an answer."""

    name = "probe"
    about = "Whether an assistant, unasked, finds the one bottleneck in a person's documents and resolves it."
    size = "1,000 tasks of 235 people"
    licence = "MIT for its code; that of the dataset is not known"
    data = "Hugging Face dataset gilfastino/PROBE, fetched at the first use, or its two zips; a sample is bundled"
    strata: Sequence[str] = DIFFICULTIES
    labels: Sequence[str] = (SOLVED, PARTIAL, FAILED)
    nouns = Nouns(
        case="task",
        cases="tasks",
        stratum="difficulty",
        strata="difficulties",
        group="person",
        groups="people",
        row="sample",
        rows="samples",
    )
    measures = (
        Measure(name="precision", title="precision", parts=("precision",)),
        Measure(name="recall", title="recall", parts=("recall",)),
        Measure(name="f1", title="F1", parts=("f1",)),
        Measure(name="identification", title="identification", parts=("identification",)),
        Measure(name="task", title="task", parts=("task",)),
        Measure(name="overall", title="overall", parts=("overall",)),
        Measure(name="end_to_end", title="end to end", parts=("end_to_end",)),
        Measure(name="read_task", title="readable task", parts=("read_task",)),
        Measure(name="read_overall", title="readable overall", parts=("read_overall",)),
        Measure(name="touched_f1", title="returned F1", parts=("touched_f1",)),
        Measure(name="label_mismatch", title="label mismatch", parts=("label_mismatch",), higher_is_better=False),
        Measure(name="unknown_ids", title="unknown ids", parts=("unknown_ids",), higher_is_better=False),
        Measure(name="faulty", title="malformed", parts=("faulty",), higher_is_better=False),
        Measure(name="turns", title="turns", parts=("turns",), higher_is_better=False),
    )
    answer_type = Solution
    view = ProbeView
    settings_type = ProbeSettings
    of_grading = frozenset({"upstream_rule"})
    options = frozenset({"--corpus", "--program", "--judge-program", "--ratings", "--run"})
    judge_name = "openai/gpt-4o-mini"
    temperatures = MappingProxyType({"judge": 0.0})
    published_corpus = "probe"
    assumption = (
        f"Judges are counted as asked about a description of {_ASSUMED_WORDS} words and the parameters of the right "
        "action where there is no answer yet; the calls of other agents than single cannot be estimated."
    )
    parts = (
        Part(
            "description",
            JUDGMENTS,
            question="Does the response describe the bottleneck of the section gold?",
            criteria=_graded(
                "Who reads it would act on the same problem with the same understanding.",
                "The same problem, with something wrong or left out.",
                "Another problem, or none.",
            ),
        ),
        *(
            Part(name, get_args(FacetWord), "nominal", question=f"What does it say of {_FACETS[name]}?", criteria=_SAID)
            for name in FacetGrades.model_fields
        ),
        Part(
            "parameters",
            JUDGMENTS,
            question="Are the parameters of the action right? Another set than that of gold may be as good.",
            criteria=_graded(
                "All that matter are there and right, and the action would resolve the bottleneck.",
                "Seven to nine in ten are, or a part would be resolved.",
                "Most are missing, or they reach the wrong people or systems, or nothing would be resolved.",
            ),
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
    )
    for_raters = (
        "Somewhere in a person's documents is one problem that holds work up. The response says which, and what to do; "
        "the section gold says what is really the matter. Grade what the response says, not how well it is written. "
        "You are asked about it part by part. The same in other words is the same; a role or a team may stand for "
        "a name where it can be no other."
    )
    about_raters = (
        "The grades are of the sample's authors, who are language-model agents, on answers that they wrote to be of "
        "four qualities: agreement with them says nothing of people, and nothing of answers that a model would give."
    )
    as_published = ("--set", "sanitize=false", "--set", "upstream_rule=true")

    leaderboard_headline = "task"
    leaderboard_columns = MappingProxyType(
        {
            "precision": "P",
            "recall": "R",
            "f1": "F1",
            "identification": "ident",
            "task": "task",
            "overall": "overall",
            "end_to_end": "end to end",
        }
    )
    leaderboard_notes = ("task is the paper's headline, and asks neither for evidence nor for identification.",)

    @property
    def best(self) -> str:
        """The best published task score, and whose it is."""
        rows = self.published()
        most = max(row.scores["task"] or 0.0 for row in rows)
        first = [row.name for row in rows if row.scores["task"] == most]
        return f"{100 * most:.0f} % task execution: {' and '.join(first)} (arXiv 2510.19771)"

    def published(self) -> Sequence[PublishedRow]:
        """Tables 3, 4 and 2: models and agents by their task score, the best first, and people as published.

        Scores are means over tasks, in [0, 1]; precision and recall of people were not published. The paper does not
        print its weighted overall; the overall of means is the mean overall. Notes say why a row contradicts the
        paper's own text or what was released. Source in NOTICE.
        """
        rows: list[PublishedRow] = []
        doubts = {row["doubt"]: row["note"] for row in csv_rows(DATA / "published" / "probe_doubts.csv")}
        for row in csv_rows(DATA / "published" / "probe_scores.csv"):
            names = ("precision", "recall", "f1", "identification", "task")
            scores = {name: float(row[name]) if row[name] else None for name in names}
            scores["overall"] = overall_score({name: scores[name] or 0.0 for name in STAGE_WEIGHTS})
            notes = tuple(doubts[word] for word in row["doubt"].split())
            cases = int(row["entries"]) if row["entries"] else None
            rows.append(PublishedRow(row["name"], scores, kind=row["kind"], cases=cases, notes=notes))
        rows.sort(key=lambda row: 0.0 if row.kind == "person" else -(row.scores["task"] or 0.0))
        return sorted(rows, key=lambda row: ("model", "agent", "person").index(row.kind))

    def differences(self, run: Any) -> Sequence[str]:
        """How a run was measured otherwise than the published rows; it is never ranked: the paper names no judge."""
        settings = run.manifest.identity.settings
        found: list[str] = []
        if settings["baseline"] != "none":
            found.append("a blind baseline, which only searches")
        elif settings["agent"] != "single":
            found.append(f"the agent is {settings['agent']!r} of ours; published models answer in one call")
        if settings["oracle"] != "none":
            found.append(f"an oracle gives away: {settings['oracle']}")
        if settings["sanitize"]:
            found.append("ids, order and stamps are sanitized; published models saw them as they are")
        if not settings["upstream_rule"]:
            found.append("graded by our rule, which knows facets that do not apply")
        if run.manifest.corpus.name != "probe":
            found.append(f"the corpus is {run.manifest.corpus.name!r}, not the published one")
        if run.judges:
            found.append(f"the paper names no judge; here {run.judge_name}, with our prompt")
        states = [f"{count} {state}" for state in ("unscored", "pending") if (count := run.count(state))]
        answers = [f"{run.manifest.epochs} answers to each task"] if run.manifest.epochs != 1 else []
        return [*found, *run.left_out, *states, *answers]

    def leaderboard_details(self, runs: Sequence[Any]) -> Iterable[Any]:
        """Failure modes."""
        from dspy_proact.benchmarks.probe.report import leaderboard_details

        return leaderboard_details(runs)

    def leaderboard_document(self, runs: Sequence[Any]) -> dict[str, Any]:
        """Failure modes."""
        from dspy_proact.benchmarks.probe.report import leaderboard_document

        return leaderboard_document(runs)

    def read(self, corpus: Any, settings: Settings, revision: str | None = None) -> CaseSet:
        """Every task of a corpus: of a `TaskSet`, or as `load_tasks` reads it by the settings.

        Raises:
            UsageError: The tasks were read by other settings.
        """
        from dspy_proact.benchmarks.probe.corpus import load_tasks

        wanted = ProbeSettings.of(settings)
        if isinstance(corpus, str):
            corpus = load_tasks(corpus, revision, sanitize=wanted.sanitize, seed=wanted.seed, strict=wanted.strict)
        if (corpus.sanitize, corpus.seed) != (wanted.sanitize, wanted.seed):
            read, set_ = (f"sanitize={of.sanitize} and seed={of.seed}" for of in (corpus, wanted))
            problem = f"read with {read}, and the settings say {set_}; read it by the settings"
            raise UsageError(f"{corpus.case_set.corpus.name}: {problem}")
        return corpus.case_set

    def strata_of(self, case_set: CaseSet) -> Sequence[str]:
        """The difficulties that the tasks have."""
        there = {case.stratum for case in case_set.cases}
        return [difficulty for difficulty in DIFFICULTIES if difficulty in there]

    def mark(self, view: BaseModel) -> str:
        """Hash of what makes the task, which neither the ids nor the order of its items change."""
        assert isinstance(view, ProbeView), "PROBE makes its own cases"
        content = [view.world.model_dump(mode="json", exclude={"today"}), view.gold.description]
        return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:16]

    def unasked(self, settings: Settings) -> str | None:
        """The name that stands for a baseline, which asks no model."""
        return None if ProbeSettings.of(settings).baseline == "none" else BLIND

    def require(self, settings: Settings, models: Iterable[str], start: Start) -> None:
        """Raise a `UsageError` where a baseline is given what it does not ask."""
        wanted = ProbeSettings.of(settings)
        if wanted.baseline != "none" and (start.file or any(model != "embedded" for model in models)):
            raise UsageError(
                f"--set baseline={wanted.baseline}: a baseline asks no model; leave --model and --judge out"
            )

    def program(self, settings: Settings, start: Start, companions: "Sequence[Embedder]" = ()) -> "AgentModule | Blind":
        """The agent that the settings name, or a baseline."""
        from dspy_proact.benchmarks.probe.agents import make_agent
        from dspy_proact.benchmarks.probe.baselines import Blind

        wanted = ProbeSettings.of(settings)
        if start.prompt is not None:
            raise UsageError("--system-prompt: an agent has questions of its own; leave it out")
        if wanted.baseline != "none":
            return Blind(wanted.baseline, wanted.take)
        return make_agent(wanted.agent, wanted, next(iter(companions), None))

    def judge(self, settings: Settings, start: Start) -> "ProbeJudge":
        """Both judges."""
        from dspy_proact.benchmarks.probe.judging import ProbeJudge

        if start.prompt is not None:
            raise UsageError(f"--judge-prompt {start.prompt}: probe has one prompt of its judges; leave it out")
        return ProbeJudge()

    def stand_in(self, role: str) -> StandIn | None:
        """An agent by rules, and judges by rules."""
        from dspy_proact.benchmarks.probe.stand_in import agent_answer, judge_answer

        return agent_answer if role == "assistant" else judge_answer

    async def answer(self, case: Case, ask: "Ask") -> Solution:
        """The agent's answer; one that is missing or malformed as a whole is an empty one, with all of its faults."""
        view, oracle = case.view_as(ProbeView), ProbeSettings.of(ask.settings).oracle
        try:
            solution = await ask.program.solve(shown(oracle, view), ask.asking)
        except ContentError as error:
            if error.reason not in _UNREADABLE:
                raise
            solution = Solution(faults=PARTS)
        return with_given(oracle, solution, view.gold)

    def inputs(self, view: BaseModel) -> dict[str, Any]:
        """The world, the items and the actions."""
        assert isinstance(view, ProbeView), "PROBE makes its own cases"
        return {"world": view.world, "documents": list(view.items), "actions": list(view.actions)}

    async def grade(self, case: Case, answer: Solution, ask: "Ask") -> Scored[ProbeGrade]:
        """Ids counted, and what a judge says of the description and of the parameters, where there is any."""
        view, settings = case.view_as(ProbeView), ProbeSettings.of(ask.settings)
        described, filled = is_described(answer, settings), is_filled(answer, view.gold, settings)
        identified = resolved = None
        judge = ask.program
        if judge is not None:
            identified = await judge.identify(view, answer.bottleneck, ask.asking) if described else None
            resolved = await judge.resolve(view, answer.parameters, ask.asking) if filled else None
        assert judge or not (described or filled), "what is described or filled in is graded by judges"
        grade = graded(view, answer, settings, identified, resolved)
        return Scored(grade.overall, label_of(grade), grade, parts=parts_of(grade, answer))

    def answer_calls(self, case: Case, program: Any, settings: Settings) -> Sequence[ExpectedCall] | None:
        """The one call of `single`; none of a baseline; what else an agent asks depends on the answers."""
        wanted = ProbeSettings.of(settings)
        if wanted.baseline != "none":
            return []
        if wanted.agent != "single":
            return None
        return [ExpectedCall(program.expected(shown(wanted.oracle, case.view_as(ProbeView))), SOLUTION_TOKENS)]

    def grade_calls(
        self, case: Case, answer: Solution | None, judge: Any, settings: Settings
    ) -> Sequence[ExpectedCall]:
        """The first request to each judge that has something to judge."""
        from dspy_proact.benchmarks.probe.judging import description_inputs, parameters_inputs

        view, wanted = case.view_as(ProbeView), ProbeSettings.of(settings)
        assumed = Solution(
            bottleneck="word " * _ASSUMED_WORDS, action=view.gold.action, parameters=view.gold.parameters
        )
        solution = answer or (assumed if wanted.baseline == "none" else Solution())
        requests: list[list[dict[str, Any]]] = []
        if is_described(solution, wanted):
            requests.append(judge.identification.messages(description_inputs(view, solution.bottleneck)))
        if is_filled(solution, view.gold, wanted):
            requests.append(judge.resolution.messages(parameters_inputs(view, solution.parameters)))
        return [ExpectedCall(messages, VERDICT_TOKENS) for messages in requests]

    def tuning(self, settings: Settings) -> "ProbeTuning":
        """How its agents and judges are compiled: by instructions alone."""
        from dspy_proact.benchmarks.probe.tuning import ProbeTuning

        return ProbeTuning(self, settings)

    def feedback(self, case: Case, answer: Solution, scored: Scored[ProbeGrade]) -> str:
        """How each stage did, in numbers and in the words of facets; nothing of what is right."""
        grade = scored.detail
        search, facets = grade.search, grade.identified.facets.model_dump() if grade.identified else {}
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
                told = [each if each in known else "another" for each in names]
                lines += [f"Parameters {name}: {', '.join(dict.fromkeys(told))}."] if told else []
        if grade.faults:
            lines.append(f"Faults of form: {', '.join(grade.faults)}.")
        return "\n".join(lines)

    def graded_parts(self, scored: Scored[ProbeGrade]) -> dict[str, str]:
        """The judgment of each judge that was asked, each facet of a description, and what parameters would do."""
        grade, parts = scored.detail, dict[str, str]()
        if grade.identified:
            parts |= {"description": grade.identified.judgment, **grade.identified.facets.model_dump()}
        if grade.resolved:
            parts |= {"parameters": grade.resolved.judgment, "would_resolve": grade.resolved.would_resolve}
        return parts

    def human_grades(self) -> Sequence[HumanGrade]:
        """Grades that the sample's authors gave by hand: four descriptions and four sets of parameters a task.

        Of a description its judgment and each facet, of parameters their judgment and whether they would resolve. Each
        is an answer with nothing else in it.
        """
        grades: list[HumanGrade] = []
        for kind in ("descriptions", "parameters"):
            for line in (DATA / "sample" / f"graded_{kind}.jsonl").read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                answer = Solution.model_validate(row["answer"])
                for part, level in row["grades"].items():
                    grades.append(HumanGrade(row["task"], answer, level, "authors", part, item=row["key"]))
        return grades

    def particulars(self) -> "Particulars":
        """Worlds, documents, actions, and how an answer fails."""
        from dspy_proact.benchmarks.probe.report import PARTICULARS

        return PARTICULARS
