"""A run whose responses are judged again, over HTTP, with its corpus of two dialogues."""

from pathlib import Path
from typing import Any

from rows import jsonl, record, row
from server import Answer, Sent, healthy, verdict
from specs import spec, specs

from dspy_proact.benchmarks.evaluation import Evaluation, Rejudging
from dspy_proact.benchmarks.proactbench.benchmark import ProactBench
from dspy_proact.benchmarks.proactbench.corpus import Corpus, read_jsonl
from dspy_proact.benchmarks.responses import Responses
from dspy_proact.models import Gate
from dspy_proact.runs import Event, RunFolder, Scope

D1, D2 = "BP_TRAVEL_07_EVA__style3__0123456789abcdef0123456789abcdef", "second"
TURNS = [record(turn, user_message=f"Second question {turn}?") for turn in range(1, 6)]
TWO = (row(), row(unique_id_eval=D2, scenario_id="TRAVEL_08", turn_records=TURNS))


def corpus(folder: Path, *rows: dict[str, Any]) -> Corpus:
    """Two dialogues of two scenarios, each with a trigger a phase, unless rows are given."""
    (folder / "corpus.jsonl").write_text(jsonl(*(rows or TWO)), encoding="utf-8")
    return read_jsonl(folder / "corpus.jsonl")


def parent(folder: Path, server, name: str = "parent", of: Corpus | None = None, **asked: Any) -> RunFolder:
    """A run whose responses and verdicts came from the server; its requests are forgotten."""
    model, judge = spec("hosted_vllm/any", server.assistant), spec("hosted_vllm/first", server.judge)
    evaluation = Evaluation(of or corpus(folder), model, judge, gate=Gate(retries=0))
    evaluation.run(folder / name, Scope(**asked))
    server.sent.clear()
    return RunFolder(folder / name)


def rejudge(folder: Path, server, of: RunFolder | Responses, name: str = "child", **given: Any) -> RunFolder:
    """The responses judged by another judge; arguments of `run`, of `Rejudging`, its judge and its gate together."""
    responses = of if isinstance(of, Responses) else Responses.of_run(of, ProactBench())
    asked = {key: given.pop(key) for key in ("limit", "strata", "judge_epochs", "retry_unscored") if key in given}
    said = {key: given.pop(key) for key in ("params",) if key in given}
    judges = specs(given.pop("judge", "hosted_vllm/second"), server.judge, **said)
    prompt = given.pop("judge_prompt", "default")
    rejudging = Rejudging(responses, judges, judge_prompt=prompt, gate=Gate(retries=0, **given))
    rejudging.run(folder / name, Scope(**asked))
    return RunFolder(folder / name)


def responses_of(folder: RunFolder) -> dict[tuple[str, int], Any]:
    """What stands for each response: the answer, or the failure."""
    ended = [event for event in folder.events() if event.key.stage == "response"]
    return {(event.key.case, event.key.epoch): event.answer or event.failure for event in ended}


def verdicts_of(folder: RunFolder) -> list[Event]:
    return [event for event in folder.events() if event.key.stage == "verdict"]


def quoting(sent: Sent) -> Answer:
    """A judge of responses in results files."""
    return Answer(verdict("PARTIAL", ["the last boat leaves at four"]))


def by_turns(answers: dict[int, Answer]):
    """An assistant that answers so at these turns; a request of turn t has 2 t - 1 messages."""
    return lambda sent: answers.get((len(sent.messages) + 1) // 2) or healthy(sent)
