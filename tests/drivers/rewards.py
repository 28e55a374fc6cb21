"""Rewards of completions, as a trainer asks for them."""

import asyncio

from dspy_proact import Gate, Limits, ModelSpec, reward


def at(server, folder, **more):
    """A reward on all of the sample, by the server's judge."""
    limits, retries = more.pop("limits", Limits()), more.pop("retries", 0)
    gate = Gate(retries=retries, backoff=0.0, concurrency=4, limits=limits)
    judge = ModelSpec(name=more.pop("judge", "openai/j"), api_base=server.judge)
    return reward("proactbench", judge, **{"split": None, "gate": gate, "out": folder / "rewards", **more})


def of(rewarding, keys, completions):
    """What a trainer gets, which passes its prompts and columns of its own too."""
    more = {"stratum": ["any"] * len(keys), "trainer_state": None}
    return asyncio.run(rewarding(prompts=["any"] * len(keys), completions=completions, key=keys, **more))
