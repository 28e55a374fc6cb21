"""Models times prompts: every combination is a run, under one limit, and the table of them."""

import json
from collections import Counter
from pathlib import Path

from builders.dialogues import jsonl, row

from dspy_proact.runs import RunFolder

ANN, BEN, KIND = "hosted_vllm/ann", "hosted_vllm/ben", "openai/kind"
SHORT, LONG = "Take up what they mentioned.", "Take up what they mentioned, once, at the end."


def matrix(server, *more, models=(ANN, BEN), out="all", dialogues=1):
    """The command for 2 models x (bare, short, long) on three triggers a dialogue."""
    Path("corpus.jsonl").write_text(jsonl(*(row(unique_id_eval=f"d{n}") for n in range(dialogues))), encoding="utf-8")
    for name, text in (("short", SHORT), ("long", LONG)):
        Path(f"{name}.txt").write_text(text, encoding="utf-8")
    named = [word for name in models for word in ("--model", name)]
    bases = ["--model-api-base", server.assistant, "--judge", KIND, "--judge-api-base", server.judge]
    ways = ["--bare", "--system-prompt", "@short.txt", "--system-prompt", "@long.txt"]
    return ["eval", *named, *ways, *bases, "--corpus", "corpus.jsonl", "--retries", 0, "--out", out, *more]


def variant_of(sent):
    """The model of a request to an assistant, and its system prompt."""
    first = sent.messages[0]
    return sent.body["model"], first["content"] if first["role"] == "system" else None


EVERY = [(model, prompt) for model in ("ann", "ben") for prompt in (None, SHORT, LONG)]


def test_every_model_is_run_with_every_prompt_and_without_one(proact, server):
    status, out, _ = proact(*matrix(server, "--json"))
    assert (status, Counter(map(variant_of, server.of("assistant")))) == (0, dict.fromkeys(EVERY, 3))
    paths = [report["run"]["path"] for report in json.loads(out)]
    manifests = [RunFolder(path).manifest() for path in paths]
    assert [(m.identity.assistant.model.removeprefix("hosted_vllm/"), m.system_prompt) for m in manifests] == EVERY
    assert {str(path) for path in Path("all").iterdir()} == set(paths)
    again = proact(*matrix(server, "--json"))
    assert (again[0], again[1], len(server.sent)) == (0, out, 36)
