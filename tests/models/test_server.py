"""What an endpoint says of itself, and that no preset asks for more."""

import pytest
from drivers.client import JUDGE
from fakes.server import Answer

from dspy_proact.models import Gate, ModelSpec, open_model
from dspy_proact.models.endpoint import find_route
from dspy_proact.models.server import Server, find_server

VLLM = {"data": [{"id": "other", "max_model_len": 512}, {"id": "mine", "max_model_len": 4096}]}
LLAMA_CPP = {"data": [{"id": "model.gguf", "owned_by": "llamacpp", "meta": {"n_ctx_train": 131072}}]}
PROPS = {"default_generation_settings": {"n_ctx": 2048}, "total_slots": 1}


def of(running, name="hosted_vllm/mine", backend="auto"):
    return find_server(find_route(name, running.judge, backend))


SAYS = {
    "vLLM, with several models": ({"/v1/models": VLLM}, Server(4096, None)),
    "llama.cpp": ({"/v1/models": LLAMA_CPP, "/props": PROPS}, Server(2048, 1)),
    "TGI": ({"/v1/models": {"data": [{"id": "mine"}]}, "/info": {"max_total_tokens": 3000}}, Server(3000, None)),
    "a gateway": ({"/v1/models": {"data": [{"id": "mine", "context_length": 8192}]}}, Server(8192, None)),
    "one model of another name": ({"/v1/models": {"data": [{"id": "x", "max_model_len": 100}]}}, Server(100, None)),
    "several of other names": ({"/v1/models": {"data": [{"id": "x", "max_model_len": 100}, {"id": "y"}]}}, Server()),
    "nothing": ({}, Server()),
    "a text": ({"/v1/models": "models", "/props": ["props"]}, Server()),
    "counts that are none": (
        {"/v1/models": {"data": [{"id": "mine", "max_model_len": True}]}, "/props": {"n_ctx": -1, "total_slots": "4"}},
        Server(),
    ),
    "no JSON": ({"/v1/models": Answer(raw=b"<html>"), "/props": PROPS}, Server(2048, 1)),
    "deep JSON": ({"/v1/models": Answer(raw=b"[" * 100_000), "/props": PROPS}, Server(2048, 1)),
    "a failure": ({"/v1/models": Answer(status=500, raw=b"no"), "/props": PROPS}, Server(2048, 1)),
}


@pytest.mark.parametrize(("documents", "expected"), SAYS.values(), ids=SAYS)
def test_an_endpoint_says_its_context_and_its_slots(server, documents, expected):
    server.documents = documents
    assert of(server) == expected


@pytest.mark.parametrize("backend", ["auto", "litellm"])
def test_it_is_asked_once_with_the_key_of_the_calls(server, monkeypatch, backend):
    monkeypatch.setenv("HOSTED_VLLM_API_KEY", "a key of this test")
    monkeypatch.setenv("HOSTED_VLLM_OTHER_TOKEN", "no key of this protocol")
    server.documents = {"/v1/models": VLLM}
    assert (of(server, backend=backend), of(server, "hosted_vllm/other", backend)) == (Server(4096), Server(512))
    assert server.visits == [
        ("/judge/v1/models", "Bearer a key of this test"),
        ("/judge/props", "Bearer a key of this test"),
        ("/judge/info", "Bearer a key of this test"),
    ]


def test_a_redirect_is_not_followed(server):
    server.documents = {"/v1/models": Answer(status=302, headers={"Location": f"{server.assistant}/models"}, raw=b"")}
    assert of(server) == Server()
    assert "/assistant/v1/models" not in dict(server.visits)


def test_a_server_that_is_slow_or_sends_without_end_is_one_of_which_nothing_is_known(server, monkeypatch):
    monkeypatch.setattr("dspy_proact.models.server.LONGEST", 100)
    server.documents = {"/v1/models": Answer(raw=b" " * 101), "/props": PROPS}
    assert of(server) == Server()
    monkeypatch.setattr("dspy_proact.models.server._SECONDS", 0.01)
    server.documents = {"/v1/models": Answer(raw=b"{}", delay=0.2), "/props": PROPS}
    assert find_server(find_route("hosted_vllm/mine", server.assistant)) == Server()
    assert [path for path, _ in server.visits] == ["/judge/v1/models", "/assistant/v1/models"]


@pytest.mark.parametrize(
    ("name", "base"),
    [("hosted_vllm/a", "http://127.0.0.1:1/v1"), ("openai/gpt-4o", None), ("hosted_vllm/a", None)],
)
def test_of_an_endpoint_that_is_down_or_not_a_persons_own_nothing_is_known(name, base):
    assert find_server(find_route(name, base)) == Server()


@pytest.mark.parametrize("name", ["anthropic/claude-sonnet-4-5", "bedrock/any", "azure/any"])
def test_an_endpoint_of_another_protocol_is_not_asked(server, name):
    assert of(server, name) == Server()
    assert not server.visits


# What presets ask for


def sent(running, name="hosted_vllm/mine", **params):
    return open_model(ModelSpec(name=name, api_base=running.judge, params=params), JUDGE, Gate())


@pytest.mark.parametrize(
    ("context", "limit", "greater"),
    [
        *((2048, 512, None), (4096, 1024, None), (5000, 1928, None), (8192, 4096, None)),
        *((131_072, 32_768, 65_536), (80_000, 32_768, 40_000), (1, 1, None)),
    ],
)
def test_a_preset_asks_for_half_of_the_context_or_less_and_so_does_what_is_proposed(server, context, limit, greater):
    server.documents = {"/v1/models": {"data": [{"id": "mine", "max_model_len": context}]}}
    model = sent(server)
    assert (model.decoding["max_tokens"], model.caller.completion_limit, model.overridden) == (limit, limit, ())
    assert model.greater_limit == greater


def test_a_persons_own_limit_is_sent_as_it_is_and_the_endpoint_is_not_asked(server):
    server.documents = {"/v1/models": VLLM}
    assert sent(server, max_tokens=9999).decoding["max_tokens"] == 9999
    assert "max_tokens" not in sent(server, max_tokens=None).decoding
    assert not server.visits
