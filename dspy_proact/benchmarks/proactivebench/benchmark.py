"""ProactiveBench: ask for what would show what an image hides, and then answer."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from dspy_proact.benchmarks.proactivebench import trajectory
from dspy_proact.benchmarks.proactivebench.entries import NAMES, WORLDS, Name
from dspy_proact.benchmarks.proactivebench.environment import controlled
from dspy_proact.benchmarks.proactivebench.lettered import plain
from dspy_proact.benchmarks.proactivebench.trajectory import ProactiveBenchSettings, Sample, Trajectory, TrajectoryGrade
from dspy_proact.errors import ContentError
from dspy_proact.evaluation.benchmark import CallForecast, CorpusFacts, ModelDefaults, Start, lazily
from dspy_proact.evaluation.published import Published
from dspy_proact.evaluation.ruled import RuledBenchmark, means_of
from dspy_proact.images import measured, scaled
from dspy_proact.runs import Case, CaseSet, ExpectedCall, Nouns, Scored, Settings

if TYPE_CHECKING:
    from dspy_proact.evaluation.ask import Ask

_PACKAGE = "dspy_proact.benchmarks.proactivebench"
_SHOWN_SOLVED = ("ROD", "MVP-N")
"""Environments in which examples are shown, as published."""
_MEASURES = ["interventions", "asks", "abstains", "guesses", "useful", "blind", "step_reward", "asking", "category"]
_TITLES = {"useful": "useful asks", "blind": "blind asking", "asking": "open: a move", "category": "open: the category"}
_ANSWER_TOKENS, _VERDICT_TOKENS, _ASSUMED = (10, 300), (20, 100), "word " * 30
"""Of an answer and of a verdict, and an open answer: assumed."""


def judge_inputs(case: Case, text: str, settings: Settings) -> dict[str, Any]:
    """What the judge is shown of an open answer."""
    environment = case.view_as(Sample).played(ProactiveBenchSettings.of(settings))
    rights = trajectory.right_answers(environment)[0]
    return {"question": environment.question(), "right_answers": rights, "answer": text}


def answer_calls(case: Case, program: Any, settings: Settings) -> Sequence[ExpectedCall]:
    """The first steps, with the images that they show."""
    wanted, sample = ProactiveBenchSettings.of(settings), case.view_as(Sample)
    made = sample.played(wanted)
    path, crop, most = made.path(made.start), made.crop(made.start), wanted.longest
    size = measured(BytesIO(sample.images.load(made.world, path)), path, sample.images.source_of(made.world, path))
    shown = scaled(*((round(crop[2] - crop[0]), round(crop[3] - crop[1])) if crop else size), most)
    solved = sum(2 if made.world.name == "ROD" else entry.num_images for entry in sample.examples)
    call = ExpectedCall(program.messages({"sample": sample}), _ANSWER_TOKENS, images=(shown,) * (solved + 1))
    if wanted.program == "open" or wanted.reference:
        return [call]
    return [call, replace(call, images=(shown,) * (solved + 1 + wanted.history))]


def grade_calls(case: Case, answer: Trajectory | None, judge: Any, settings: Settings) -> Sequence[ExpectedCall]:
    """One question about an open answer."""
    inputs = judge_inputs(case, answer.steps[0].text if answer else _ASSUMED, settings)
    return [ExpectedCall(judge.messages(inputs), _VERDICT_TOKENS)] if judge else []


class ProactiveBench(RuledBenchmark[Trajectory, TrajectoryGrade]):
    """Samples of seven environments, the program that looks at their images, and the judge of open answers."""

    name = "proactivebench"
    about = "Whether a model that cannot see what is asked asks for what would show it, and then answers."
    corpus = CorpusFacts(
        size="7,557 samples of seven environments",
        licence="of the images not known; none is bundled",
        source="the test folder of the Hugging Face dataset tdemin16/ProactiveBench; a sample of 28 drawings "
        "is bundled",
        name="proactivebench",
        auditing=lazily(f"{_PACKAGE}.auditing", "auditing"),
    )
    strata: Sequence[str] = NAMES
    labels: Sequence[str] = (trajectory.RIGHT, trajectory.WRONG)
    nouns = Nouns(case="sample", stratum="environment", group="subject")
    measures = means_of(_MEASURES, _TITLES, costs=("blind",), counts=("interventions",))
    answer_type = Trajectory
    view = Sample
    settings_type = trajectory.ProactiveBenchSettings
    models = ModelDefaults(judge="openai/gpt-4o", temperatures={"assistant": 0.0, "judge": 0.0})
    people = None
    forecast = CallForecast(
        answer_calls,
        grade_calls,
        "Two steps a sample are counted, with images of the first one's size; who asks more takes more.",
    )
    published = Published(
        rows=lazily(f"{_PACKAGE}.report", "published_rows"),
        differences=lazily(f"{_PACKAGE}.report", "differences"),
        headline="macro",
        columns={"macro": "accuracy", "interventions": "interventions"},
        notes=(
            "accuracy and interventions are means of the environments, to be read together: who asks until the limit "
            "has many interventions, and who guesses at once is right at a quarter of the samples of six environments.",
        ),
        as_published={"settings.upstream_rule": "true"},
        source="arXiv 2603.19466",
    )

    def read(self, corpus: Any, settings: Settings, revision: str | None = None) -> CaseSet:
        """The entries of the environments asked for, with other moves under the control."""
        from dspy_proact.benchmarks.proactivebench.corpus import read_corpus

        wanted, cases = ProactiveBenchSettings.of(settings), list[Case]()
        names: list[Name] = [name for name in NAMES if name in wanted.environments]
        loaded = read_corpus(corpus, names, wanted.filter, wanted.control, revision)
        for name, read in loaded.entries.items():
            entries = [controlled(WORLDS[name], entry) if wanted.control else entry for entry in read]
            examples = wanted.examples if name in _SHOWN_SOLVED else 0
            distance = len(entries) // (examples + 1)  # neighbours may show the same thing
            for index, entry in enumerate(entries):
                others = [entries[index - distance * step] for step in range(1, examples + 1) if distance]
                view = Sample(environment=name, entry=entry, examples=tuple(others), images=loaded.images)
                cases.append(Case(f"{name}/{entry.id}", f"{name}: {plain(entry.answer)}", name, view))
        return replace(CaseSet.of(loaded.record.name, cases), corpus=loaded.record)

    def agent(self, settings: Settings, roles: Mapping[str, Any]) -> Any:
        """The program that looks at images."""
        return self.module("programs").Looker(settings)

    def judge(self, settings: Settings, start: Start) -> Any:
        """The judge of open answers."""
        if not _is_open(settings):
            return None
        from dspy_proact.programs.program import Question

        return Question(self.module("programs").JudgeOpenAnswer, "question", "answer")

    def inputs(self, view: BaseModel) -> dict[str, Any]:
        """The sample, which the program plays."""
        return {"sample": view}

    async def answer(self, case: Case, ask: "Ask") -> Trajectory:
        """The trajectory of the program, or of a baseline."""
        wanted = ProactiveBenchSettings.of(ask.settings)
        return await super().answer(case, ask) if wanted.baseline == "none" else trajectory.by_rule(case, wanted)

    async def grade(self, case: Case, answer: Trajectory, ask: "Ask") -> Scored[TrajectoryGrade]:
        """By the environment, or what a judge finds in an open answer; as published, no verdict finds nothing."""
        wanted = ProactiveBenchSettings.of(ask.settings)
        if not _is_open(wanted):
            return trajectory.graded(case, answer, wanted)
        inputs = judge_inputs(case, answer.steps[0].text, wanted)
        listed = len(inputs["right_answers"])
        try:
            verdicts = (await ask(**inputs)).given
            if len(verdicts) != listed:
                raise ContentError("unreadable", f"{len(verdicts)} verdicts on {listed} right answers")
        except ContentError as error:
            if not wanted.upstream_rule or error.reason not in ("unreadable", "empty"):
                raise
            verdicts = [False] * listed
        return trajectory.graded_open(case, verdicts, wanted)

    def feedback(self, case: Case, answer: Trajectory, scored: Scored[TrajectoryGrade]) -> str:
        """What became of each step, without any category."""
        return self.module("tuning").step_feedback(answer, scored)


def _is_open(settings: Settings) -> bool:
    """Whether answers are open, which a judge grades."""
    wanted = ProactiveBenchSettings.of(settings)
    return wanted.program == "open" and wanted.baseline == "none"
