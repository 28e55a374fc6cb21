"""What an answer may do on its way, on the routes of several providers."""

import pytest
from asking import WAYS, answers, ask, assistant, gate
from server import Answer
from support.provider import Scripted, SimulatedProvider

from dspy_proact.errors import ProviderError, SetupFault
from dspy_proact.models.clients import LONGEST

EVERYONES = pytest.mark.parametrize(
    ("name", "backend"),
    [
        (name, backend)
        for name in ("hosted_vllm/any", "openai/any", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash")
        for backend in ("auto", "litellm")
    ],
)


class Base:
    """The endpoint of a simulated provider, as `assistant` asks for it."""

    def __init__(self, provider):
        self.assistant = provider.base("assistant")


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for provider in ("OPENAI", "HOSTED_VLLM", "ANTHROPIC", "GEMINI"):
        monkeypatch.setenv(f"{provider}_API_KEY", "sk-canary-wren")


@EVERYONES
@WAYS
@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(server, name, backend, way, status):
    with SimulatedProvider(lambda received: Scripted("a stranger's answer")) as stranger:
        answers(server, Answer(status=status, raw=b"", headers={"Location": f"{stranger.base('stranger')}/x"}))
        outcome = ask(assistant(server, name, gate(backend, retries=3)), way)
        assert not stranger.received
    assert isinstance(outcome.error, SetupFault)
    assert f"HTTP {status}" in str(outcome.error)
    assert "redirect" in str(outcome.error)
    assert "--model-api-base" in str(outcome.error)
    assert len(server.sent) == len(outcome.calls) == 1


@EVERYONES
def test_a_lost_connection_is_one_request(name, backend):
    with SimulatedProvider(lambda received: Scripted(cut=0)) as lost:
        outcome = ask(assistant(Base(lost), name, gate(backend, retries=1)))
        assert isinstance(outcome.error, ProviderError)
        assert len(outcome.calls) == lost.received.total() == 2


LONG = Scripted("x" * (LONGEST + 1))


@EVERYONES
@WAYS
def test_a_body_is_read_up_to_a_bound(name, backend, way):
    with SimulatedProvider(lambda received: LONG) as endless:
        outcome = ask(assistant(Base(endless), name, gate(backend, retries=0)), way)
    assert isinstance(outcome.error, ProviderError)
    assert "16 MiB" in outcome.error.detail
