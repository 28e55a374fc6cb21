"""What makes a run's numbers doubtful stands right below its headline: on the terminal, in JSON and on the page."""

import re
from dataclasses import replace

import pytest
from builders.riddles import SCORES, Riddle, answered, call, cases, graded, manifest, written
from drivers.terminal import printed
from fakes.server import Answer, healthy, verdict

from dspy_proact import Evaluation, Gate, ModelSpec, RunFolder, Scope, summarize
from dspy_proact.prompt_counts import PromptCounts
from dspy_proact.report.caveats import caveats, caveats_of_runs
from dspy_proact.report.page.page import page
from dspy_proact.report.summary_text import summary_document


def run(server, tmp_path, **script):
    server.script_roles(**script)
    models = (ModelSpec(name="hosted_vllm/any", api_base=base) for base in (server.assistant, server.judge))
    Evaluation("sample", *models, gate=Gate(retries=0)).run(tmp_path / "run", Scope(limit=4))
    return summarize(tmp_path / "run")


def counting(tokens, content=None):
    """An answer as ever, whose prompt is counted so; by characters where `tokens` is a function."""

    def script(sent):
        characters = sum(len(message["content"]) for message in sent.messages)
        counted = tokens(characters) if callable(tokens) else tokens
        usage = {"prompt_tokens": counted, "completion_tokens": 7} if counted is not None else None
        answer = healthy(sent)
        return replace(answer, usage=usage, content=content or answer.content)

    return script


def test_a_server_that_cuts_prompts_is_named_with_the_option_below_the_headline(server, tmp_path, proactbench):
    summary = run(server, tmp_path, assistant=counting(lambda size: size // 4), judge=counting(64))
    (line,) = caveats(summary)
    assert re.match(r"judge hosted_vllm/any: the server seems to cut prompts\. .* for 4 of 4 \(.*, 64 tokens\)", line)
    assert "num_ctx" in line
    _, *below = printed(summary, width=1000).splitlines()
    assert line in below[:3]
    assert [*summary_document(summary)][:2] == ["headline", "claim"]
    assert summary_document(summary)["claim"]["caveats"][-1] == line
    top = page([summary]).partition("</header>")[0]
    assert top.count("seems to cut prompts") == 1
    assert top.index("</h1>") < top.index("seems to cut prompts")


def test_a_server_that_counts_no_tokens_is_not_said_to_count_none(server, tmp_path, proactbench):
    summary = run(server, tmp_path, assistant=counting(None), judge=counting(lambda size: size // 4))
    (line,) = caveats(summary)
    assert line.startswith("assistant: the server counts no tokens")
    text = printed(summary, width=1000)
    assert "assistant: 4 calls, the server counts no tokens, cost unknown" in text
    assert " 0 tokens" not in text
    usage = summary_document(summary)["usage"]["assistant"]
    assert [usage[name] for name in ("prompt_tokens", "cached_tokens", "completion_tokens")] == [None] * 3
    assert usage["reason"]


def test_a_judge_that_seldom_quotes_the_response_is_named(server, tmp_path, proactbench):
    invented = counting(lambda size: size // 4, verdict("PASS", ["a zebra on the boat"]))
    summary = run(server, tmp_path, assistant=counting(lambda size: size // 4), judge=invented)
    (line,) = caveats(summary)
    of = "0 of 4 verdicts of PASS or PARTIAL"
    assert line == f"Few verdicts of hosted_vllm/any quote the response: {of}."


def test_half_of_the_verdicts_are_enough_and_a_fail_that_quotes_nothing_counts_in_none(tmp_path):
    def summary(name, *verified):
        best, middle, worst, *_ = SCORES
        labels = [best, middle, best, middle, best, worst]
        keys = "abcdef"[: len(verified)]
        graded_cases = zip(keys, labels, verified, strict=True)
        events = [answered(key, call()) for key in keys]
        events += [graded(key, label, verified=is_there) for key, label, is_there in graded_cases]
        return summarize(written(tmp_path / name, manifest(), cases(*keys), events))

    assert caveats(summary("half", True, False, None, True, False, False)) == []
    assert caveats(summary("few", False, False, False, None, None, False)) == []
    (line,) = caveats(summary("fewer", True, False, False, False, None, True))
    assert line.endswith(f"quote the response: 1 of 4 verdicts of {' or '.join([*SCORES][:2])}.")


def test_cases_with_the_same_content_under_several_keys_are_counted_once_each(tmp_path):
    """Of a, b, c and d, b and d say what a says."""

    def summary(name, *texts):
        made = [replace(case, view=Riddle(text=text)) for case, text in zip(cases(*"abcd"), texts, strict=True)]
        events = [event for key in "abcd" for event in (answered(key, call()), graded(key, next(iter(SCORES))))]
        return summarize(written(tmp_path / name, manifest(), made, events))

    (line,) = caveats(summary("twice", "Who?", "Who?", "What?", "Who?"))
    assert line == "Duplicates: 2 of 4 cases with the same content as an earlier one, such as 'b' and 'a'; all count."
    once = summary("once", "1", "2", "3", "4")
    assert caveats(once) == []
    twice = summary("again", "Who?", "Who?", "What?", "Who?")
    assert caveats_of_runs({"A": twice, "B": once, "C": twice}) == [f"A and C: {line}"]


COUNTS = {
    "in full": ([(4_000, 1_000), (40_000, 10_000)], False),
    "many characters a token": ([(40_000, 3_400)], False),
    "cut at 2,048": ([(4_000, 1_000), (40_000, 2_048), (30_000, 2_048)], True),
    "all cut": ([(40_000, 2_048)], True),
    "what a cache holds is not counted, but of the first": ([(40_000, 10_000), (40_000, 90), (39_000, 100)], False),
    "all of a prompt is in the cache": ([(40_000, 1)], False),
    "what is cached is counted apart": ([(40_000, 90, 9_900)], False),
}


@pytest.mark.parametrize(("counts", "are_cut"), COUNTS.values(), ids=COUNTS)
def test_prompts_are_cut_where_no_prompt_as_long_has_a_count_that_can_be_its(counts, are_cut):
    for order in (counts, counts[::-1]):
        prompts = PromptCounts()
        for characters, tokens, *cached in order:
            prompts.add(call(characters=characters, prompt_tokens=tokens, cached_tokens=sum(cached)))
        assert prompts.are_cut is are_cut
        assert not prompts.lack_images


@pytest.mark.parametrize(
    ("counts", "alike"),
    [
        ([(9_000, 2_048), (12_000, 2_048), (15_000, 2_048), (4_000, 1_000)], True),
        ([(9_000, 2_048), (15_000, 2_048)], False),  # two may be chance
        ([(9_000, 2_048), (9_100, 2_048), (9_200, 2_048)], False),
        ([(9_000, 2_048), (12_000, 2_048), (15_000, 2_048), (12_000, 3_000)], False),
    ],
)
def test_prompts_of_several_lengths_that_have_the_most_tokens_end_where_the_context_does(counts, alike):
    for order in (counts, counts[::-1]):
        prompts = PromptCounts()
        for characters, tokens in order:
            prompts.add(call(characters=characters, prompt_tokens=tokens))
        assert (prompts.end_alike, prompts.are_cut) == (alike, False)


@pytest.mark.parametrize(
    ("counts", "lacking"),
    [
        ([(1_200, 1, 290), (1_200, 3, 300)], True),
        ([(1_200, 1, 290), (1_200, 1, 550)], False),  # what is in the cache is not counted
        ([(1_200, 1, 360)], False),
        ([(1_200, 0, 290)], False),
    ],
)
def test_images_are_dropped_where_no_count_can_hold_them(counts, lacking):
    prompts = PromptCounts()
    for characters, images, tokens in counts:
        prompts.add(call(characters=characters, images=images, prompt_tokens=tokens))
    assert (prompts.lack_images, prompts.are_cut) == (lacking, False)


def test_the_characters_of_a_prompt_are_those_of_its_texts(server, tmp_path, proactbench):
    run(server, tmp_path, assistant=lambda sent: Answer("Label the boxes."))
    sizes = [sum(len(message["content"]) for message in sent.messages) for sent in server.sent]
    logged = [attempt for record in RunFolder(tmp_path / "run").call_usage() for attempt in record.attempts]
    assert sorted(attempt.characters for attempt in logged) == sorted(sizes)
