"""Runs whose requests are answered in batches, at a server of the tests."""

import asyncio
import json

import pytest
from fakes.server import healthy

from dspy_proact import Evaluation, Gate, Limits, ModelSpec, RunFolder, Scope
from dspy_proact.calls import Price
from dspy_proact.errors import Halt
from dspy_proact.models.batch import Batching

QUICK = Batching(sleep=lambda seconds: asyncio.sleep(seconds / 500))
"""A clock that runs 500 times as fast."""
PRICE = Price(prompt=1e-3, completion=2e-3)
OPENAI, ANTHROPIC = "hosted_vllm/any", "anthropic/any"
NAMES = pytest.mark.parametrize("name", [OPENAI, ANTHROPIC])


def at(server, name=OPENAI, *, batch=QUICK, retries=3, price=PRICE, backend="auto", **limits) -> Evaluation:
    """ProactBench's sample, of 49 triggers, at a server."""
    bases = (server.assistant, server.judge)
    models = (ModelSpec(name=name, api_base=base, params={"max_tokens": 50}, price=price) for base in bases)
    gate = Gate(retries=retries, backoff=0.0, limits=Limits(**limits), batch=batch, backend=backend)
    return Evaluation("sample", *models, gate=gate)


def results(path):
    """What each stage came to, and each request with its reply, whatever the order and the times."""
    events = RunFolder(path).events()
    stages = {event.key.model_dump_json(): (event.answer, event.grade, event.failure) for event in events}
    calls = (call for call in RunFolder(path).calls() if call.response)
    return stages, sorted(json.dumps([call.request, call.response], sort_keys=True) for call in calls)


def plain(server, path, name=OPENAI):
    """The results of a plain run on the same server; what that answered is not counted."""
    before, script = server.billed, server.script
    server.script = healthy
    at(server, name, batch=False).run(path)
    server.billed, server.script = before, script
    return results(path)


def halted(evaluation, path, scope=None, observer=None):
    with pytest.raises(Halt) as halt:
        evaluation.run(path, scope or Scope(), observer)
    return halt.value
