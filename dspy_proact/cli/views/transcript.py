"""What `show --transcript` and `--show-prompt` print: requests as messages, and replies as they came."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

import click
from rich.console import Console

from dspy_proact.calls import Call, LoggedCall, StageKey, part_text
from dspy_proact.cli.options.arguments import flags_in_hand, with_options
from dspy_proact.cli.views.message import print_json
from dspy_proact.evaluation.replay import Prompt
from dspy_proact.evaluation.transcript import StageTranscript
from dspy_proact.kept import Request
from dspy_proact.models import EMBEDDER
from dspy_proact.report.terminal import Sheet, in_a_line, readable

_NOT_KEPT = "vectors and the texts that they are of are not kept"


def print_transcript(stages: Sequence[StageTranscript], console: Console | None = None) -> None:
    """Print the calls of a case; messages that the request before had too are counted."""
    sheet = Sheet(console)
    for stage in stages:
        sheet.line(in_a_line(_stage(stage.key)), "bold reverse")
        for note in filter(None, (stage.problem, stage.left_out)):
            sheet.line(in_a_line(f"Note: {with_options(note, flags_in_hand())}"), "yellow")
        before: Request = {}
        for exchange in stage.exchanges:
            call, request = exchange.call, exchange.request
            again = f", beginning {call.begun}" if call.begun > 1 else ""
            sheet.line(in_a_line(f"request {call.number}{again}, {call.role}"), "bold underline")
            if request:
                _print_request(sheet, request, before)
                before = request
            else:
                sheet.line(_NOT_KEPT if call.role == EMBEDDER else "cannot be rendered", "yellow")
            _print_reply(sheet, call)


def transcript_document(case: str, key: str, epoch: int, stages: Sequence[StageTranscript]) -> dict[str, Any]:
    """The calls of a case, as JSON, under the benchmark's noun for a case.

    `request` is null where it cannot be rendered, which `problem` explains; `reply` and `failure` are null without one.
    """
    return {
        case: key,
        "epoch": epoch,
        "stages": [
            {"stage": stage.key.stage, "judge": stage.key.judge, "judge_epoch": stage.key.judge_epoch}
            | {"problem": stage.problem or None, "left_out": stage.left_out or None}
            | {"exchanges": [_exchange_document(exchange.call, exchange.request) for exchange in stage.exchanges]}
            for stage in stages
        ],
    }


def print_prompts(prompts: Sequence[Prompt], as_json: bool) -> None:
    """Print what each model is sent first; in JSON `request` is null where it is not known."""
    if as_json:
        print_json([dataclasses.asdict(prompt) for prompt in prompts])
        return
    sheet = Sheet()
    for prompt in prompts:
        sheet.line(in_a_line(f"{prompt.role} {prompt.model} is sent first, about {prompt.case}:"), "bold reverse")
        if prompt.request:
            _print_request(sheet, prompt.request, {})
        else:
            sheet.line("not known before there is a response", "yellow")
            sheet.line()
    click.echo("No calls were made.")


def _stage(key: StageKey) -> str:
    again = f", verdict {key.judge_epoch}" if key.judge_epoch > 1 else ""
    return key.stage if key.stage == "response" else f"verdict of {key.judge or 'the benchmark itself'}{again}"


def _exchange_document(call: LoggedCall, request: Request | None) -> dict[str, Any]:
    fields = call.model_dump(mode="json", exclude={"key", "request", "messages", "response", "mark"})
    return {"sha256": call.request, **fields, "request": request, "reply": call.response}


def _print_request(sheet: Sheet, request: Request, before: Request) -> None:
    """Print a request, without the messages that it begins with and the one before had too."""
    values = {"model": request["model"], **request.get("config", {})}
    sheet.line(in_a_line(", ".join(f"{name}={json.dumps(value)}" for name, value in values.items())))
    if tools := request.get("tools"):
        sheet.line("tools", "bold")
        sheet.text(readable(json.dumps(tools, ensure_ascii=False)))
    messages: list[Mapping[str, Any]] = list(request["messages"])
    alike = before.get("system") == request.get("system")
    pairs = zip(messages, before.get("messages", ()) if alike else (), strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    if same:
        sheet.line(f"messages 1 to {same} as in the request before", "italic")
    elif system := request.get("system"):
        sheet.line("system", "bold")
        sheet.text(readable(system if isinstance(system, str) else "\n".join(part_text(part)[1] for part in system)))
    for message in messages[same:]:
        for part in message["parts"]:
            kind, text = part_text(part)
            sheet.line(in_a_line(message["role"] if kind == "text" else f"{message['role']}: {kind}"), "bold")
            sheet.text(readable(text))
    sheet.line()


def _print_reply(sheet: Sheet, call: LoggedCall) -> None:
    attempts = call.attempts or call.reused
    for attempt in attempts[:-1]:
        sheet.line(in_a_line(f"attempt failed: {attempt.error}"), "yellow")
    for omitted in {attempt.omitted: None for attempt in attempts if attempt.omitted}:
        sheet.line(in_a_line(f"sent without {omitted}, which the provider had refused"), "yellow")
    reason = attempts[-1].finish_reason if call.response and attempts else None
    ended = "cut at the token limit" if reason == "length" else reason or "none"
    thoughts = ["thoughts taken out of its text"] if any(attempt.thoughts for attempt in attempts) else []
    parts = [ended, *map(_usage, attempts[-1:]), *thoughts, *(["reused"] if call.reused else [])]
    sheet.line(in_a_line(f"reply: {', '.join(parts)}"), "bold underline")
    for kind, text in map(part_text, call.parts):
        sheet.line(in_a_line(kind), "bold")
        sheet.text(readable(text))
    if failure := call.failure:
        sheet.line(in_a_line(f"{failure.kind} failure, {failure.reason}:"), "red")
        sheet.text(readable(failure.detail), "red")
    sheet.line()


def _usage(attempt: Call) -> str:
    counts = attempt.prompt_tokens, attempt.completion_tokens
    tokens = "" if None in counts else "{:,} tokens in, {:,} out, ".format(*counts)
    cost = "" if attempt.usd is None else f"USD {attempt.usd:.4g}, "
    return f"{tokens}{cost}{attempt.latency:.1f} s"
