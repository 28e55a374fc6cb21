"""Whole flows at a server that refuses what a provider's family refuses: every request is accepted."""

import json
import re

import litellm
import pytest
from server import Answer, Sent, error
from tuning import SMALL, models, on_disk, study

pytestmark = pytest.mark.usefixtures("proactbench")
FAMILIES = (
    "openai/gpt-5.4",
    "openai/gpt-4o",
    "hosted_vllm/claude-opus-4-7",
    "xai/grok-4.5",
    "perplexity/sonar-pro",
    "mistral/mistral-small",
)
"""One of each preset, and some whose providers refuse more, or answer more shortly, than OpenAI's do."""
ALWAYS = {"messages", "model", "n", "stream", "stream_options", "max_tokens", "max_completion_tokens"}


def faults(name: str, body: dict) -> list[str]:
    """What the provider of a model would refuse in a request, by litellm's list and by OpenAI's rules."""
    provider, _, model = name.partition("/")
    row = litellm.model_cost.get(name) or litellm.model_cost[model]
    found = [
        f"takes no {each}" for each in body.keys() - ALWAYS - {*litellm.get_supported_openai_params(model, provider)}
    ]
    limits = [body[each] for each in ("max_tokens", "max_completion_tokens") if each in body]
    if len(limits) != 1 or limits[0] > row["max_output_tokens"]:
        found.append(f"output of {limits}, at most {row['max_output_tokens']}")
    if re.match(r"gpt-5|o\d", model):
        found += ["takes no max_tokens"] * ("max_tokens" in body) + ["takes no top_p"] * ("top_p" in body)
        found += ["takes no other temperature than 1"] * (body.get("temperature", 1) != 1)
    if "claude-opus-4-7" in model:
        found += [f"takes no {each}" for each in ("temperature", "top_p") if each in body]
    if (schema := (body.get("response_format") or {}).get("json_schema")) is not None:
        found += lax(schema["schema"])
    return found


def lax(schema: object) -> list[str]:
    """The objects of a schema that a strict one may not have: open ones, and those with optional fields."""
    if isinstance(schema, list):
        return [each for inner in schema for each in lax(inner)]
    if not isinstance(schema, dict):
        return []
    found = [each for inner in schema.values() for each in lax(inner)]
    if schema.get("type") == "object":
        fields = set(schema.get("properties", {}))
        if schema.get("additionalProperties") is not False or fields != set(schema.get("required", [])):
            found.append(f"an object of {sorted(fields)} is not strict")
    return found


@pytest.fixture(params=FAMILIES)
def family(request, server):
    """A model of a family at a server that refuses; what was refused."""
    refused: list[str] = []

    def script(sent: Sent) -> Answer:
        if found := faults(request.param, sent.body):
            refused.extend(f"{sent.role} {each}" for each in found)
            return error(400, json.dumps(found))
        return models(sent) if sent.role != "assistant" else Answer("Label the boxes today. You could ask Ann.")

    server.script = script
    return request.param, refused


def test_every_request_of_every_verb_is_accepted(proact, server, tmp_path, family):
    name, refused = family
    assistant = ("--model", name, "--model-api-base", server.assistant)
    judge = ("--judge", name, "--judge-api-base", server.judge)
    proposer = ("--proposer", name, "--proposer-api-base", server.proposer)
    report = ("--report-judge", name, "--report-judge-api-base", server.report)
    few = ("--corpus", "sample", "--limit", 2)
    ratings = on_disk(tmp_path, study())
    flows = {
        "eval": ("eval", *few, "--controls", *assistant, *judge, "--out", "run"),
        "rejudge": ("rejudge", "run", *judge, "--votes", 2, "--out", "again"),
        "try": ("try", "Offer help.", "--corpus", "sample", *assistant, *judge),
        "agree": ("agree", *ratings, *judge),
        "optimize judge": ("optimize", "judge", *ratings, *judge, *proposer, *SMALL, "--out", "judge"),
        "optimize assistant": (
            *("optimize", "assistant", "--corpus", "sample", *SMALL, "--optimizer", "miprov2", "--out", "assistant"),
            *(*assistant, *judge, *report, *proposer),
        ),
    }
    for flow, words in flows.items():
        before = len(server.sent)
        status, _, err = proact(*words, "--retries", 0)
        assert not refused, flow
        assert status in (0, 3), (flow, err)
        assert len(server.sent) > before, flow
