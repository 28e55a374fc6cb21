"""A finished run of any size: copies of a small run's lines, by the classes that write a run."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from dspy_proact import Evaluation, RunFolder, Scope, load_corpus
from dspy_proact.calls import LoggedCall, Price, StageKey
from dspy_proact.kept import CallLog
from dspy_proact.runs import CaseRecord, Manifest, RunWriter

WORDS = " There is more to it, and it can wait until you are back." * 15
"""What makes the stand-in's responses as long as those of real models."""
JUDGE = "openai/gpt-5.4"
_PRICE = Price(prompt=1e-6, completion=4e-6)


def small_run(folder: Path, *, epochs: int = 1, controls: bool = False) -> RunFolder:
    """A run of the sample by the stand-in, of which large ones are copies."""
    evaluation = Evaluation(load_corpus("sample"), model="embedded", judge="embedded")
    return RunFolder(evaluation.run(folder, Scope(epochs=epochs, controls=controls)).path)


def enlarge(small: RunFolder, folder: Path, cases: int, *, model: str = "openai/gpt-4o", shift: int = 0) -> int:
    """Write a run of at least so many cases as if real models had answered; how many they are, controls included.

    Copies have scenarios and words of their own. `shift` moves answers and grades to other cases of their stratum.
    """
    records, events, calls = list(small.cases()), list(small.events()), list(small.calls())
    moved = _moved(records, shift)
    copies = -(-cases // len(records))
    with ExitStack() as stack:
        writer = stack.enter_context(RunWriter(folder, _manifest(small.manifest(), model, copies)))
        log = CallLog(folder / "calls.jsonl", writer.manifest().identity.digest(), lambda _: False)
        stack.enter_context(log)
        writer.copy_cases(_copied_cases(records, copies))
        for copy in range(copies):
            for event in events:
                key = _key(event.key, copy, moved)
                answer = event.answer and {**event.answer, "text": f"{event.answer['text']}{WORDS} ({copy})"}
                writer.record(event.model_copy(update={"key": key, "answer": answer}))
            for call in calls:
                assert call.key
                log.add(_longer(call, copy).model_copy(update={"key": _key(call.key, copy, moved), "mark": ""}))
    return copies * len(records)


def _manifest(manifest: Manifest, model: str, copies: int) -> Manifest:
    identity, corpus = manifest.identity, manifest.corpus
    assistant = identity.assistant.model_copy(update={"model": model})
    judges = tuple(judge.model_copy(update={"model": JUDGE}) for judge in identity.judges)
    return manifest.model_copy(
        update={
            "identity": identity.model_copy(update={"assistant": assistant, "judges": judges}),
            "corpus": corpus.model_copy(update={"cases": copies * corpus.cases, "rows": copies * corpus.rows}),
            "embedded": False,  # to show a stand-in's run imports more
            "assistant_price": _PRICE,
            "judge_prices": {JUDGE: _PRICE},
        }
    )


def _copied_cases(records: list[CaseRecord], copies: int) -> Iterator[tuple[str, CaseRecord]]:
    """In words of their own, and without marks, which the writer makes."""
    for copy in range(copies):
        for record in records:
            conversation = [
                {who: text and f"{text} ({copy})" for who, text in turn.items()} for turn in record.view["conversation"]
            ]
            about = {"key": renamed(record.key, copy), "group": f"{record.group}-{copy}", "mark": None}
            about |= {"view": {**record.view, "conversation": conversation}}
            yield "", record.model_copy(update=about)


def _moved(records: list[CaseRecord], shift: int) -> dict[str, str]:
    """The case that has the results of another, by the other's key."""
    of_stratum = dict[str, list[str]]()
    for record in records:
        of_stratum.setdefault(record.stratum, []).append(record.key)
    return {key: keys[(index + shift) % len(keys)] for keys in of_stratum.values() for index, key in enumerate(keys)}


def _key(key: StageKey, copy: int, moved: dict[str, str]) -> StageKey:
    judge = key.judge and JUDGE
    return key.model_copy(update={"case": renamed(moved[key.case], copy), "judge": judge})


def renamed(key: str, copy: int) -> str:
    """Another dialogue's key, with the turn at its end."""
    dialogue, _, turn = key.rpartition("__t")
    return f"{dialogue}-{copy}__t{turn}"


def _longer(call: LoggedCall, copy: int) -> LoggedCall:
    """A call whose reply is as long as the answer that was made of it."""
    if call.role != "assistant" or call.response is None:
        return call
    message: dict[str, Any] = call.response["message"]
    parts = [{**part, "text": f"{part['text']}{WORDS} ({copy})"} for part in message["parts"]]
    return call.model_copy(update={"response": {**call.response, "message": {**message, "parts": parts}}})
