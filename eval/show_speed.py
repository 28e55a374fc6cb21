"""How long it takes to list the failures of a large run, and to export one: whole commands, imports included.

    python eval/show_speed.py

Lines of a run of the sample are copied, with longer responses and other keys, until there are 10,000 triggers for the
list, and 1,000 for each form of an export.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from dspy_proact import Evaluation, RunFolder, load_corpus
from dspy_proact.runs import StageEvent

WORDS = " There is more to it, and it can wait until you are back." * 15


def longer(event: StageEvent, copy: int) -> StageEvent:
    """The event of another case, as long as those of real models are."""
    key = event.key.model_copy(update={"case": renamed(event.key.case, copy)})
    answer = event.answer and {**event.answer, "text": event.answer["text"] + WORDS}
    return event.model_copy(update={"key": key, "answer": answer})


def renamed(key: str, copy: int) -> str:
    """Another dialogue's key, with the turn at its end."""
    dialogue, _, turn = key.rpartition("__t")
    return f"{dialogue}-{copy}__t{turn}"


def write(path: Path, records: Iterable[object]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n" for record in records)


def enlarge(small: RunFolder, large: Path, triggers: int) -> int:
    """Write the run that is listed; its triggers."""
    manifest, cases, events = small.manifest(), list(small.cases()), list(small.events())
    copies = range(-(-triggers // len(cases)))
    large.mkdir()
    # Listing a run of the stand-in imports more than listing that of a real model.
    manifest_json = manifest.model_copy(update={"embedded": False}).model_dump_json()
    (large / "manifest.json").write_text(manifest_json, encoding="utf-8")
    (large / "calls.jsonl").touch()  # which is not listed
    named = (case.model_copy(update={"key": renamed(case.key, copy)}) for copy in copies for case in cases)
    write(large / "cases.jsonl", (case.marked(manifest.identity.corpus).model_dump() for case in named))
    write(large / "events.jsonl", (longer(event, copy).model_dump() for copy in copies for event in events))
    return len(copies) * len(cases)


def ended(*words: object) -> tuple[float, float, int, str]:
    """Seconds, seconds of the processor and megabytes that a command takes, and what it prints."""
    command = [sys.executable, "-m", "dspy_proact", *map(str, words)]
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout
        text = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, text
    memory = used.ru_maxrss >> (20 if sys.platform == "darwin" else 10)
    return time.perf_counter() - started, used.ru_utime + used.ru_stime, memory, text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="100 and 50 triggers, once")
    triggers, few, rounds = (100, 50, 1) if parser.parse_args().quick else (10_000, 1_000, 5)
    with TemporaryDirectory() as name:
        small = Evaluation(load_corpus("sample"), model="embedded", judge="embedded").run(Path(name) / "small")
        large = Path(name) / "large"
        count = enlarge(RunFolder(small.path), large, triggers)
        size = sum(path.stat().st_size for path in large.glob("*.jsonl")) / 1e6
        took = [ended("show", large, "--grade", "FAIL") for _ in range(rounds)]
        total, processor = median(item[0] for item in took), median(item[1] for item in took)
        print(took[0][3])
        print(f"{count:,} triggers, {size:,.0f} MB: {total:.2f} s, {processor:.2f} s of the processor", end=", ")
        print(f"{max(item[2] for item in took)} MB of memory; medians of {rounds}")
        count = enlarge(RunFolder(small.path), Path(name) / "export", few)
        for form in ("csv", "parquet", "eval", "every-eval-ever"):
            words = ("export", Path(name) / "export", "--format", form, "--out", Path(name) / "exported")
            took = [ended(*words) for _ in range(rounds)]
            total, processor = median(item[0] for item in took), median(item[1] for item in took)
            print(f"{count:,} triggers as {form}: {total:.2f} s, {processor:.2f} s of the processor")


if __name__ == "__main__":
    main()
