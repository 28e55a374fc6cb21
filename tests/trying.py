"""The arguments of `dspy-proact try` against a server, with a corpus and conversations in the folder."""

import json
from pathlib import Path

from rows import jsonl, row

PROMPT = "Act on what the user disclosed."
QUOTE = "label the boxes today"
STAND_IN = "embedded stand-in"


def corpus(*each):
    path = Path("corpus.jsonl")
    path.write_text(jsonl(*(each or [row(unique_id_eval=f"d{number}") for number in range(4)])), encoding="utf-8")
    return path


def models(server, model="hosted_vllm/any", judge="openai/any"):
    bases = ["--model-api-base", server.assistant, "--judge-api-base", server.judge]
    return ["--model", model, "--judge", judge, *bases, "--retries", 0]


def against(server, *more, text=PROMPT):
    return ["try", *([] if text is None else [text]), *models(server), "--corpus", corpus(), *more]


def talk(text, name="talk.txt"):
    Path(name).write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return name


def is_prompted(sent):
    return sent.messages[0]["role"] == "system"
