"""How PROBE makes a corpus: a person with tasks from the world to their proof, and what a person takes."""

import hashlib
from collections.abc import Mapping, Sequence

from dspy_proact.benchmarks.probe import stand_in
from dspy_proact.benchmarks.probe.corpus_report.task_summary import TaskSummary
from dspy_proact.benchmarks.probe.embedded_auditor import auditor, solver
from dspy_proact.benchmarks.probe.embedded_generation import writer
from dspy_proact.benchmarks.probe.generation.brief import ProbeBrief, beyond_stand_in, brief_of
from dspy_proact.benchmarks.probe.generation.corpus import TaskCorpus
from dspy_proact.benchmarks.probe.generation.distractors import DistractorWork, clashes
from dspy_proact.benchmarks.probe.generation.draws import PersonSetting
from dspy_proact.benchmarks.probe.generation.expected import expected, mean_forecast
from dspy_proact.benchmarks.probe.generation.files import corpus_of, files_of
from dspy_proact.benchmarks.probe.generation.made import LostTask, MadePerson, MadeTask
from dspy_proact.benchmarks.probe.generation.person import PersonWork, Workload, written_world
from dspy_proact.benchmarks.probe.generation.proof import Prover
from dspy_proact.benchmarks.probe.generation.roles import programs
from dspy_proact.benchmarks.probe.generation.values import DraftWorld
from dspy_proact.benchmarks.probe.task import Difficulty
from dspy_proact.evaluation.benchmark import lazily
from dspy_proact.evaluation.corpus_forecast import StageForecast
from dspy_proact.generation.attempt import Attempt, Mend, RuleError, all_of
from dspy_proact.generation.maker import Made, Making, Proof, joint_fingerprint
from dspy_proact.models import Role
from dspy_proact.stats import Headline

ROLES = {
    "planner": Role("planner", "roles.planner", "verdict", writer),
    "writer": Role("writer", "roles.writer", "verdict", writer),
    "auditor": Role("auditor", "roles.auditor", "verdict", auditor),
    "solver": Role("solver", "roles.solver", "response", solver),
    "judge": Role("judge", "judge", "verdict", stand_in.judge_answer, 0.0),
    "tester": Role("tester", "roles.tester", "response", solver),
    "adversary": Role("adversary", "roles.adversary", "response", auditor),
}
"""By the name that a person gives."""


class ProbeMaker:
    """Makes people with tasks from a brief, as `generation.Maker` asks for.

    Args:
        brief: What they are made from.
        proof: How far it is proved that tasks measure something.

    Attributes:
        programs: Of the making, by stage.
    """

    def __init__(self, brief: ProbeBrief, proof: Proof = "full"):
        self.brief, self.programs = brief, programs()
        self.programs.pop("adversary")  # the prover's
        self.proof: Proof = proof
        self.prover = Prover(proof)
        self._last: TaskCorpus | None = None

    @property
    def roles(self) -> Mapping[str, Role]:
        """By the name that a person gives."""
        return ROLES

    @property
    def usual(self) -> Mapping[str, str]:
        """Whoever plans writes, whoever audits looks for shortcuts, and fresh answers are the solver's."""
        return {"writer": "planner", "adversary": "auditor", "tester": "solver"}

    async def begin(self, attempt: Attempt) -> DraftWorld:
        """The world."""
        setting = PersonSetting.of(self.brief, attempt.seed, attempt.slot, attempt.number)
        return await written_world(attempt, self.programs, self.brief, setting)

    def text(self, made: DraftWorld | MadePerson) -> str:
        """What likeness is seen by: of a world, what is said of the people; of a person, what stands still."""
        if isinstance(made, DraftWorld):
            return "\n".join((made.about, *(one.relationship_context for one in made.relationships)))
        return "\n".join(f"{task.bottleneck.description} {task.bottleneck.resolution}" for task in made.tasks)

    async def finish(self, attempt: Attempt, begun: DraftWorld) -> MadePerson:
        """The person with tasks, proved as far as asked for; raises `RuleError` where no task is left."""
        setting = PersonSetting.of(self.brief, attempt.seed, attempt.slot, attempt.number)
        work = PersonWork(attempt, self.programs, self.brief, setting, begun)
        workload = await attempt.mended(work.bottlenecks, work.workload)
        results = await all_of(work.task(workload, n) for n in range(1, len(workload.bottlenecks) + 1))
        tasks = [result for result in results if isinstance(result, MadeTask)]
        lost = [result for result in results if isinstance(result, LostTask)]
        if not tasks:
            raise RuleError(lost[0].stage, [f"Task {one.number}: {' '.join(one.reasons)}" for one in lost])
        person = MadePerson(
            persona=setting.persona.key,
            persona_text=setting.persona.text,
            language=self.brief.tasks.language,
            difficulty=setting.difficulty,
            today=setting.today.isoformat(),
            world=begun,
            actions=tuple(workload.actions),
            tasks=tuple(tasks),
            lost=tuple(lost),
            distractors=tuple(await DistractorWork(work, workload, tasks).made()),
        )
        proved = await all_of(self._proved(work, workload, person, task) for task in tasks)
        if not any(task.published for task in proved):
            reasons = [f"Task {task.number}: {task.proof.reason}" for task in proved if task.proof]
            raise RuleError("proof", reasons)
        return person.model_copy(update={"tasks": tuple(proved)})

    async def _proved(self, work: PersonWork, workload: Workload, person: MadePerson, task: MadeTask) -> MadeTask:
        """A task with its proof; one that was not kept, with other evidence, once.

        Who solves it without any text would do so beside other evidence: it gets none, since a second try of the same
        adversary would keep such tasks by luck.
        """
        proved = await self.prover.proved(work.attempt, person, task)
        if proved.published or proved.proof is None or proved.proof.shortcut:
            return proved
        work.attempt.mends.append(Mend(stage="proof", reasons=(proved.proof.reason,)))
        weakness = proved.proof.reason
        for n, item in enumerate(task.evidence, start=1):  # planner and writers know their numbers
            weakness = weakness.replace(item.id, f"item {n}")
        reason = f"The evidence before did not measure what it should. {weakness}"
        again = await work.task(workload, task.number, reason)
        action = workload.matter(task.number).action
        if isinstance(again, LostTask) or clashes(again, action, person.distractors):
            return proved
        mended = await self.prover.proved(work.attempt, person, again)
        return mended.model_copy(update={"earlier": (proved.proof,)})

    def key(self, item: MadePerson) -> str:
        """The id of a person: the persona's, and a hash of the world."""
        return f"{item.persona}-{hashlib.sha256(item.world.model_dump_json().encode()).hexdigest()[:8]}"

    def fingerprint(self) -> str:
        """Of what its roles are told."""
        return joint_fingerprint((*self.programs.values(), *self.prover.programs))

    def forecast(self) -> Sequence[StageForecast]:
        """The calls of one person, nothing of whom is made twice."""
        named = self.brief.tasks.difficulty
        levels: Sequence[Difficulty] = ("easy", "medium", "hard") if named == "mixed" else (named,)
        of_levels = [expected(self.brief, self.programs, self.prover, level) for level in levels]
        return [mean_forecast(stages) for stages in zip(*of_levels, strict=True)]

    def files(self, made: Made) -> Mapping[str, str]:
        """Tasks in the official layout, distractors with their reasons, audits, brief, datasheet and page."""
        return files_of(self._corpus(made))

    def headline(self, made: Made) -> Headline:
        """What was shown, as the page says it."""
        return TaskSummary(self._corpus(made)).headline

    def _corpus(self, made: Made) -> TaskCorpus:
        """What files and headline are written from, made once of each."""
        if self._last is None or self._last.made is not made:
            prompts = {stage: program.fingerprint() for stage, program in self.programs.items()}
            self._last = corpus_of(self.brief, made, self.proof, prompts, self.key)
        return self._last


def making() -> Making:
    """How corpora of PROBE are made."""
    return Making(
        brief_of,
        ProbeMaker,
        item="person",
        items="people",
        number_of_stand_in=2,
        publishing=lazily("dspy_proact.benchmarks.probe.corpus_report.task_publishing", "publishing"),
        beyond_stand_in=beyond_stand_in,
    )
