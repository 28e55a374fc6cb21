"""Servers that people run themselves: the commands of docs/local.md, and what is said where one lacks something."""

import os
import re
import shlex
from dataclasses import replace

import pytest
from drivers.script import ROOT
from fakes.local import LOCAL_SERVERS

from dspy_proact import RunFolder, summarize
from dspy_proact.models.server import _documents

pytestmark = pytest.mark.usefixtures("proactbench")
PAGE = (ROOT / "docs" / "local.md").read_text(encoding="utf-8")
COMMANDS = {
    name: shlex.split(re.search(r"^dspy-proact ((?:.*\\\n)*.*)$", text, re.MULTILINE)[1].replace("\\\n", " "))
    for name, _, text in (section.partition("\n") for section in PAGE.split("\n## ")[1:])
    if "dspy-proact eval" in text
}
"""The command of each section, by its heading."""
KINDS = pytest.mark.parametrize("kind", LOCAL_SERVERS)


def command(server, kind, *more):
    """The command of the page for a kind of server, with the server here in place of the one there."""
    words = COMMANDS.get(kind, COMMANDS["vLLM"])
    here = [re.sub(r"http://localhost:\d+/v1", server.base("local"), word) for word in words]
    assert here != words
    return [*here, "--out", "run", *map(str, more)]


def scored(folder="run"):
    return summarize(RunFolder(folder)).count("scored")


def test_the_page_has_a_command_for_each_kind_with_its_usual_port():
    ports = {name: {word[17:-3] for word in words if word.startswith("http")} for name, words in COMMANDS.items()}
    assert ports == {"llama.cpp": {"8080"}, "Ollama": {"11434"}, "LM Studio": {"1234"}, "vLLM": {"8000"}}


@KINDS
def test_the_command_of_the_page_scores_the_sample(proact, server, kind):
    LOCAL_SERVERS[kind].play(server)
    status, _, err = proact(*command(server, kind))
    assert (status, scored()) == (0, 49), err


SAYING = [kind for kind, local in LOCAL_SERVERS.items() if local.says_context(local).keys() & {"/props", "/info"}]
SAYING += ["vLLM", "an older vLLM"]


@pytest.mark.parametrize("kind", SAYING)
def test_with_a_context_of_4096_tokens_a_quarter_is_requested_and_every_prompt_of_the_sample_fits(proact, server, kind):
    replace(LOCAL_SERVERS[kind], context=4096).play(server)
    status, _, err = proact(*command(server, kind, "--limit", 8))
    assert (status, scored(), {sent.body["max_tokens"] for sent in server.sent}) == (0, 8, {1024}), err


@pytest.mark.parametrize("kind", SAYING)
def test_with_a_context_of_2048_tokens_what_is_too_long_is_told_with_both_numbers(proact, server, kind):
    replace(LOCAL_SERVERS[kind], context=2048).play(server)
    status, _, err = proact(*command(server, kind, "--limit", 8))
    failures = [event.failure for event in RunFolder("run").events() if event.failure]
    assert (status, {sent.body["max_tokens"] for sent in server.sent}) == (3, {512}), err
    assert {failure.reason for failure in failures} == {"too_long"}
    for failure in failures:
        assert re.match(r"the context has 2,048 tokens and \d,\d+ were requested", failure.detail), failure.detail


def test_a_run_of_a_server_that_has_another_context_now_is_continued_as_the_refusal_says(proact, server):
    replace(LOCAL_SERVERS["vLLM"], context=4096).play(server)
    assert proact(*command(server, "vLLM", "--limit", 2))[0] == 0
    LOCAL_SERVERS["vLLM"].play(server)
    _documents.cache_clear()  # as another process would begin
    status, _, err = proact(*command(server, "vLLM", "--limit", 2))
    assert (status, len(server.sent)) == (2, 4)
    assert "differs in assistant.decoding.max_tokens (1024 there, 4096 here), judge.decoding.max_tokens" in err
    options = re.findall(r"--\w+-param max_tokens=\d+", err)
    status, _, err = proact(*command(server, "vLLM", "--limit", 3, *" ".join(options).split()))
    assert (status, scored(), len(server.sent)) == (0, 3, 6), err


@pytest.mark.parametrize("kind", ["vLLM", "an older vLLM", "TGI"])
def test_a_context_that_no_request_fits_and_that_the_server_does_not_say_ends_the_run_with_the_option(
    proact, server, kind
):
    replace(LOCAL_SERVERS[kind], context=4096, says_context=lambda _: {}).play(server)
    status, _, err = proact(*command(server, kind, "--limit", 8))
    assert status == 2
    text = " ".join(err.split())
    assert "the context has 4,096 tokens" in text
    assert re.search(r"--model-param max_tokens=\d+ fits", text), text


@KINDS
def test_a_server_that_refuses_a_schema_is_asked_without_and_this_is_said(proact, server, kind):
    replace(LOCAL_SERVERS[kind], refuses_schema=True).play(server)
    status, _, err = proact(*command(server, kind, "--limit", 4))
    text = " ".join(err.split())
    assert (status, scored()) == (0, 4), err
    assert len(re.findall(r"--judge \S+: a JSON schema \(response_format\) is refused, and is omitted", text)) == 1, (
        text
    )
    key = [*RunFolder("run").cases()][-1].key
    assert (
        "sent without response_format, which the provider had refused"
        in proact("show", "run", "--case", key, "--transcript")[1]
    )


@pytest.mark.timeout(1800)
def test_a_server_of_ones_own_answers_every_call(proact):
    """Of the address in DSPY_PROACT_SERVER; a verdict that cannot be read is the model's affair."""
    if not (base := os.environ.get("DSPY_PROACT_SERVER")):
        pytest.skip("needs a server: set DSPY_PROACT_SERVER to its address, such as http://localhost:8080/v1")
    name = f"hosted_vllm/{os.environ.get('DSPY_PROACT_SERVER_MODEL', 'any')}"
    at = ["--model", name, "--model-api-base", base, "--judge", name, "--judge-api-base", base]
    status, _, err = proact("eval", "--corpus", "sample", "--limit", 2, "--keep-going", *at, "--out", "run")
    assert status in (0, 3), err
    events = [*RunFolder("run").events()]
    assert {event.key.case for event in events} == {case.key for case in RunFolder("run").cases()}
    assert not [event.failure for event in events if event.failure and event.failure.kind == "provider"]


def test_thoughts_in_the_text_of_an_answer_reach_no_judge(proact, server):
    replace(LOCAL_SERVERS["vLLM"], thinks=True).play(server)
    status, _, err = proact(*command(server, "vLLM", "--limit", 4))
    assert (status, scored(), len(server.sent)) == (0, 4, 8), err
    assert "lamp" not in "".join(sent.text for sent in server.sent)


SHORTCOMINGS = {
    "prompts cut in silence": (replace(LOCAL_SERVERS["Ollama"], context=1024), "the server seems to cut prompts"),
    "usage missing": (replace(LOCAL_SERVERS["LM Studio"], counts=False), "the server counts no tokens"),
}


@pytest.mark.parametrize(("local", "sentence"), SHORTCOMINGS.values(), ids=SHORTCOMINGS)
def test_what_a_server_leaves_unsaid_stands_below_the_headline(proact, server, local, sentence):
    local.play(server)
    status, out, err = proact(*command(server, "vLLM", "--limit", 12))
    assert (status, scored()) == (0, 12), err
    assert sentence in " ".join(out.split()), out
    assert not re.search(r"\b0 tokens", out)
