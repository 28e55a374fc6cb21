"""What a person is expected to take: calls by stage, and tokens from lengths that are ordered or assumed."""

from collections.abc import Mapping, Sequence
from typing import cast

import dspy

from dspy_proact.benchmarks.probe.generation.brief import ProbeBrief
from dspy_proact.benchmarks.probe.generation.distractors import BATCH
from dspy_proact.benchmarks.probe.generation.draws import EVIDENCE, SHARES, STRATEGIES, TEMPLATES, WORDS
from dspy_proact.benchmarks.probe.generation.person import work_text
from dspy_proact.benchmarks.probe.generation.proof import Prover
from dspy_proact.benchmarks.probe.generation.rules import RELATIONSHIPS, action_count
from dspy_proact.benchmarks.probe.task import Difficulty
from dspy_proact.evaluation.corpus_forecast import StageForecast
from dspy_proact.programs.program import Question

_CHARACTERS_A_TOKEN, _TOKENS_A_WORD = 4, 1.4
_PERSON, _RELATIONSHIP, _BOTTLENECK, _ACTION, _PLANNED, _ITEM, _STATED = 300, 50, 340, 100, 95, 60, 190
"""Tokens of one as JSON: of an item without its text, of all that an item of the evidence states."""
_ORDER = 75
"""Likewise: of an order."""


def expected(
    brief: ProbeBrief, programs: Mapping[str, Question], prover: Prover, difficulty: Difficulty
) -> list[StageForecast]:
    """The calls for a person of a difficulty, all of whose tasks are made and kept at once."""

    def middle(bounds: tuple[int, int]) -> float:
        return sum(bounds) / 2

    tasks, evidence = brief.tasks.per_person, middle(EVIDENCE[difficulty])
    actions, others = action_count(difficulty, tasks), brief.tasks.distractors
    words = sum(share * middle(WORDS[difficulty][kind]) for kind, share in SHARES.items()) / sum(SHARES.values())
    world, item = _PERSON + _RELATIONSHIP * middle(RELATIONSHIPS[difficulty]), _ITEM + _TOKENS_A_WORD * words
    work, all_of_them = len(work_text(brief)) / _CHARACTERS_A_TOKEN, _BOTTLENECK * tasks
    matter, batches = world + _BOTTLENECK + _ACTION, -(-others // BATCH)
    templates = BATCH * len(TEMPLATES) / len(STRATEGIES) * item
    # Stage, role, calls, those of them in a row, tokens of the inputs and of the answer.
    rows = [
        ("world", "planner", 1, 1, work + 300, world),
        ("bottlenecks", "planner", 1, 1, work + world + 200, all_of_them),
        ("audit of bottlenecks", "auditor", 1, 1, work + world + all_of_them, 30),
        ("actions", "planner", 1, 1, world + all_of_them, _ACTION * actions),
        ("audit of actions", "auditor", tasks, 1, world + _BOTTLENECK + _ACTION * actions, 40),
        ("plan", "planner", tasks, 1, matter, _PLANNED * evidence),
        ("evidence", "writer", tasks * evidence, 1, matter + _PLANNED * evidence, item + _STATED),
        ("parameters", "planner", tasks, 1, matter + item * evidence, 120),
        ("review of evidence", "auditor", tasks, 0, matter + item * evidence, 350),  # beside the parameters
        (
            "distractors",
            "writer",
            batches,
            1,
            world + all_of_them + _ORDER * BATCH + templates,
            (item + 35) * BATCH,
        ),
        (
            "review of distractors",
            "auditor",
            batches,
            1,
            world + all_of_them + item * BATCH,
            25,
        ),
    ]
    making = [
        StageForecast(stage, role, calls, round(_bare(programs[stage]) + prompt), round(answer), in_a_row)
        for stage, role, calls, in_a_row, prompt, answer in rows
    ]
    proving = prover.forecast(tasks, evidence, items=others + evidence, actions=actions, words=words)
    return [*making, *proving]


def mean_forecast(stages: Sequence[StageForecast]) -> StageForecast:
    """One stage of people of several difficulties, as many of each."""
    calls = sum(stage.calls for stage in stages)

    def mean(tokens: Sequence[int]) -> int:
        weighted = zip(stages, tokens, strict=True)
        return round(sum(stage.calls * count for stage, count in weighted) / calls) if calls else 0

    rows = [stage.calls if stage.in_a_row is None else stage.in_a_row for stage in stages]
    return StageForecast(
        stages[0].stage,
        stages[0].role,
        calls / len(stages),
        mean([stage.prompt for stage in stages]),
        mean([stage.completion for stage in stages]),
        sum(rows) / len(rows),
    )


def _bare(program: Question) -> float:
    """Tokens of a request without its inputs."""
    names = cast("type[dspy.Signature]", program.question.signature).input_fields
    messages = program.messages(dict.fromkeys(names, ""))
    return sum(len(message["content"]) for message in messages) / _CHARACTERS_A_TOKEN
