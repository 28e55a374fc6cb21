"""Whole flows at a server that refuses what a provider's family refuses: every request is accepted."""

import json
import re
from dataclasses import replace

import litellm
import pytest
from builders import assistants
from builders.judges import SMALL, models, on_disk, study
from fakes.server import Answer, Sent, error

pytestmark = pytest.mark.usefixtures("proactbench")
FAMILIES = (
    "openai/gpt-5.4",
    "openai/gpt-4o",
    "hosted_vllm/claude-opus-4-7",
    "xai/grok-4.5",
    "perplexity/sonar-pro",
    "mistral/mistral-small",
    "anthropic/claude-opus-4-7",
    "anthropic/claude-sonnet-4-5",
    "gemini/gemini-2.5-flash",
)
"""One of each preset, some whose providers refuse more, or answer more shortly, than OpenAI's, and two other forms."""
REFUSE_TEMPERATURE = ("openai/gpt-5.4", "hosted_vllm/claude-opus-4-7", "anthropic/claude-opus-4-7")
"""MIPROv2 sets one itself; in all else its requests are of the kinds that the other flows send."""
ALWAYS = {"messages", "model", "n", "stream", "stream_options", "max_tokens", "max_completion_tokens"}
ANTHROPIC = {"messages", "model", "system", "stream", "max_tokens", "temperature", "top_p", "output_config"}
GEMINI = {"contents", "systemInstruction", "generationConfig"}
GENERATION = {"temperature", "topP", "maxOutputTokens", "responseMimeType", "responseJsonSchema"}


def text_of(parts: object) -> str:
    return parts if isinstance(parts, str) else "".join(part["text"] for part in parts)


def in_openai_form(sent: Sent) -> tuple[Sent, list[str]]:
    """A request to Anthropic or Gemini in OpenAI's form, and its fields that are none of theirs."""
    body = sent.body
    if "contents" in body:
        unknown = [*body.keys() - GEMINI, *(generation := body["generationConfig"]).keys() - GENERATION]
        rows = [
            ("user" if content["role"] == "user" else "assistant", content["parts"]) for content in body["contents"]
        ]
        system, rest = body.get("systemInstruction", {}).get("parts", ""), {"max_tokens": generation["maxOutputTokens"]}
        schema = generation.get("responseJsonSchema")
    elif sent.path.endswith("/messages"):
        unknown = [*body.keys() - ANTHROPIC]
        rows = [(item["role"], item["content"]) for item in body["messages"]]
        system, rest = body.get("system", ""), {key: body[key] for key in body.keys() - {"messages", "system"}}
        schema = body.get("output_config", {}).get("format", {}).get("schema")
    else:
        return sent, []
    messages = [{"role": role, "content": text_of(text)} for role, text in [("system", system), *rows] if text]
    if schema is not None:
        rest["response_format"] = {"json_schema": {"schema": schema}}
    return replace(sent, body={**rest, "messages": messages}), [f"takes no {item}" for item in unknown]


def in_their_form(sent: Sent, answer: Answer) -> Answer:
    """An answer as the provider of a request gives it."""
    if "contents" in sent.body:
        content = {"role": "model", "parts": [{"text": answer.content}]}
        usage = {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18}
        document = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}
    elif sent.path.endswith("/messages"):
        content, usage = [{"type": "text", "text": answer.content}], {"input_tokens": 11, "output_tokens": 7}
        document = {"id": "x", "type": "message", "role": "assistant", "model": "m", "content": content, "usage": usage}
        document["stop_reason"] = "end_turn"
    else:
        return answer
    return Answer(raw=json.dumps(document).encode())


def faults(name: str, body: dict) -> list[str]:
    """What the provider of a model would refuse in a request, by litellm's list and by OpenAI's rules."""
    provider, _, model = name.partition("/")
    row = litellm.model_cost.get(name) or litellm.model_cost[model]
    results = []
    if provider not in ("anthropic", "gemini"):
        known = ALWAYS | {*litellm.get_supported_openai_params(model, provider)}
        results = [f"takes no {item}" for item in body.keys() - known]
    limits = [body[item] for item in ("max_tokens", "max_completion_tokens") if item in body]
    if len(limits) != 1 or limits[0] > row["max_output_tokens"]:
        results.append(f"output of {limits}, at most {row['max_output_tokens']}")
    if re.match(r"gpt-5|o\d", model):
        results += ["takes no max_tokens"] * ("max_tokens" in body) + ["takes no top_p"] * ("top_p" in body)
        results += ["takes no other temperature than 1"] * (body.get("temperature", 1) != 1)
    if "claude-opus-4-7" in model:
        results += [f"takes no {item}" for item in ("temperature", "top_p") if item in body]
    if (schema := (body.get("response_format") or {}).get("json_schema")) is not None:
        results += lax(schema["schema"])
    if provider == "anthropic" and body["messages"][-1]["role"] != "user":
        results.append("takes no prefilled answer")
    return results


def lax(schema: object) -> list[str]:
    """The objects of a schema that a strict one may not have: open ones, and those with optional fields."""
    if isinstance(schema, list):
        return [item for inner in schema for item in lax(inner)]
    if not isinstance(schema, dict):
        return []
    results = [item for inner in schema.values() for item in lax(inner)]
    if schema.get("type") == "object":
        fields = set(schema.get("properties", {}))
        if schema.get("additionalProperties") is not False or fields != set(schema.get("required", [])):
            results.append(f"an object of {sorted(fields)} is not strict")
    return results


@pytest.fixture(params=FAMILIES)
def family(request, server, monkeypatch):
    """A model of a family at a server that refuses; what was refused."""
    refused: list[str] = []

    def script(sent: Sent) -> Answer:
        plain, unknown = in_openai_form(sent)
        if results := [*unknown, *faults(request.param, plain.body)]:
            refused.extend(f"{sent.role} {item}" for item in results)
            return error(400, json.dumps(results))
        reply = models(plain) if sent.role != "assistant" else Answer("Label the boxes today. You could ask Ann.")
        return in_their_form(sent, reply)

    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    monkeypatch.setenv("GEMINI_API_KEY", "none")
    server.script = script
    return request.param, refused


def test_every_request_of_every_verb_is_accepted(proact, server, tmp_path, family):
    name, refused = family
    assistant = ("--model", name, "--model-api-base", server.assistant)
    judge = ("--judge", name, "--judge-api-base", server.judge)
    proposer = ("--proposer", name, "--proposer-api-base", server.proposer)
    report = ("--report-judge", name, "--report-judge-api-base", server.report)
    few = ("--corpus", "sample", "--limit", 2)
    ratings, corpus = on_disk(tmp_path, study()), assistants.on_disk(tmp_path)
    flows = {
        "eval": ("eval", *few, "--controls", *assistant, *judge, "--out", "run"),
        "rejudge": ("rejudge", "run", *judge, "--votes", 2, "--out", "again"),
        "try": ("try", "Offer help.", "--corpus", "sample", "--phase", "RECOVERY", *assistant, *judge),
        "agree": ("agree", *ratings, *judge),
        "optimize judge": ("optimize", "judge", *ratings, *judge, *proposer, *SMALL, "--out", "judge"),
        "optimize assistant": (
            *("optimize", "assistant", *corpus, *SMALL, "--optimizer", "miprov2", "--out", "assistant"),
            *(*assistant, *judge, *report, *proposer),
        ),
    }
    if name not in REFUSE_TEMPERATURE:
        del flows["optimize assistant"]
    if name != FAMILIES[0]:  # they send what `eval` sends
        del flows["rejudge"], flows["try"], flows["agree"]
    for flow, words in flows.items():
        before = len(server.sent)
        status, _, err = proact(*words, "--retries", 0)
        assert not refused, flow
        assert status in (0, 3), (flow, err)
        assert len(server.sent) > before, flow
