"""The roles in which models are called: whom they are counted for, how a person names them, what stands in for them."""

from collections.abc import Sequence

from dspy_proact.models import Role


# The stand-ins read the programs' words, so that they are imported when they are asked.
def _assistant(system: str, messages: Sequence[tuple[str, str]]) -> str:
    from dspy_proact.benchmarks.proactbench.embedded import assistant

    return assistant.answer(system, messages)


def _judge(system: str, messages: Sequence[tuple[str, str]]) -> str:
    from dspy_proact.benchmarks.proactbench.embedded import judge

    return judge.answer(system, messages)


ASSISTANT = Role("assistant", "--model", "response", _assistant)
JUDGE = Role("judge", "--judge", "verdict", _judge)
