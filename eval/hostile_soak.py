"""Corpora and answers made to do harm are data: read or refused, graded or unscored, shown and never obeyed.

    python eval/hostile_soak.py

10,000 rows with hostile texts in random fields are read, as many records of logs are read and redacted, and 10,000
hostile responses and verdicts go through runs. Nothing may crash, hang, or give the terminal a control character.
"""

import argparse
import io
import json
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from support.provider import Received, Scripted, SimulatedProvider, hostile

from dspy_proact import Evaluation, Gate, ModelSpec, ProactError, load_corpus, print_summary, summarize, transcript
from dspy_proact.benchmarks.proactbench.corpus.dialogues import sample_path
from dspy_proact.cli.views.transcript import print_transcript
from dspy_proact.files.chats import chats_in
from dspy_proact.files.personal_data import redact_chat
from dspy_proact.runs import RunFolder, Scope

SEED = 2
_PAIR = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello", "tool_calls": [{"name": "find"}]}]
_LANGCHAIN = {"lc": 1, "type": "constructor", "id": ["x", "AIMessage"], "kwargs": {"type": "ai", "content": "Hello"}}
_SPAN = {"mlflow.spanInputs": json.dumps({"messages": _PAIR[:1]}), "mlflow.spanOutputs": json.dumps("Hello")}
RECORDS: list[dict[str, Any]] = [
    {"messages": _PAIR, "conversation_id": "c", "created_at": "2026-11-29T10:00:00Z"},
    {"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}], "id": "1"},
    {"object": "response", "id": "r", "input": _PAIR[:1], "output": [{"type": "message", **_PAIR[1]}], "created_at": 1},
    {"info": {"trace_id": "t", "request_time": "2026-11-29T10:00:00Z"}, "data": {"spans": [{"attributes": _SPAN}]}},
    {
        "run_type": "llm",
        "id": "1",
        "inputs": {"messages": [[_LANGCHAIN]]},
        "outputs": {"generations": [[{"text": "x"}]]},
    },
    {"id": "o", "traceId": "t", "sessionId": "s", "startTime": "2026-11-29", "input": "Hi", "output": _PAIR[1]},
    {"role": "user", "text": "Hi, I am ann@x.example", "conversation_id": 1, "time": "2026-11-29", "name": "Ann"},
]
"""Logs in each of their forms."""
OBEYED = {"\x1b", "\x07", "\x00", "\u202e", "\x9b"}


def spoiled(value: Any, draw: random.Random) -> Any:
    """A JSON value with hostile text in place of one of its leaves or keys."""
    if isinstance(value, dict) and value:
        name = draw.choice(list(value))
        if draw.random() < 0.1:
            return {**value, hostile(draw): value[name]}
        return {**value, name: spoiled(value[name], draw)}
    if isinstance(value, list) and value:
        index = draw.randrange(len(value))
        return [*value[:index], spoiled(value[index], draw), *value[index + 1 :]]
    return draw.choice([hostile(draw), hostile(draw), None, -1, 10**20, [], {}])


def read_hostile(
    path: Path, count: int, rows: list[dict[str, Any]], draw: random.Random, read: Callable[[Path], str]
) -> tuple[int, str]:
    """Read files with hostile rows: how many were refused, and all that was said of them."""
    refused, text = 0, ""
    for _ in range(count):
        path.write_text(json.dumps(spoiled(draw.choice(rows), draw)) + "\n", encoding="utf-8")
        try:
            text += read(path)
        except ProactError as error:
            refused += 1
            text += str(error)
    return refused, text


def read_log(path: Path) -> str:
    """What is said of a log, and the texts of its conversations after redaction."""
    chats = chats_in(path)
    texts = [turn.text for chat in chats for turn in redact_chat(chat).chat.turns]
    return "".join([*texts, *map(str, (*chats.left_out, *chats.notes))])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="120 of each")
    count = 120 if parser.parse_args().quick else 10000
    draw = random.Random(SEED)
    rows = [json.loads(line) for line in sample_path().read_text(encoding="utf-8").splitlines()]

    def script(received: Received) -> Scripted:
        if received.role == "assistant" or draw.random() < 0.2:
            return Scripted(hostile(draw))
        fields = {"reasoning": hostile(draw), "evidence": [hostile(draw)], "grade": "PASS"}
        return Scripted(json.dumps(fields))

    with tempfile.TemporaryDirectory() as name, SimulatedProvider(script) as provider:
        refused, text = read_hostile(
            Path(name, "corpus.jsonl"), count, rows, draw, lambda path: repr(load_corpus(str(path)).ignored_fields)
        )
        refused_records, log_text = read_hostile(Path(name, "log.jsonl"), count, RECORDS, draw, read_log)
        corpus = load_corpus("sample")
        evaluation = Evaluation(
            corpus,
            ModelSpec(name="hosted_vllm/\x1b[31m[red]", api_base=provider.base("assistant")),
            ModelSpec(name="openai/any", api_base=provider.base("judge")),
            gate=Gate(retries=0),
        )
        evaluation.run(Path(name, "run"), Scope(epochs=-(-count // corpus.trigger_count)))
        summary, screen = summarize(RunFolder(Path(name, "run"))), io.StringIO()
        print_summary(summary, Console(file=screen, width=100))
        for outcome in summary.outcomes[:20]:
            print_transcript(transcript(RunFolder(Path(name, "run")), outcome.key), Console(file=screen, width=100))
    print(f"{count} hostile rows: {refused} refused with a sentence, the others read.")
    print(f"{count} hostile records of logs: {refused_records} refused with a sentence, the others read or left out.")
    print(f"{len(summary.outcomes)} hostile responses: {summary.count('scored')} scored, {summary.unscored_reasons}.")
    checks = {
        "every hostile response is accounted for": summary.complete,
        "no failure was unexpected": not any("unexpected" in reason for reason in summary.unscored_reasons),
        "the terminal was given nothing to obey": not set(text + log_text + screen.getvalue()) & OBEYED,
    }
    sys.exit("\n".join(f"not so: {check}" for check, held in checks.items() if not held) or 0)


if __name__ == "__main__":
    main()
