"""What a run at full size takes: time a case, quarter by quarter, and the most memory that the process had by then."""

import json
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from dspy_proact import Corpus, RunFolder, load_corpus
from dspy_proact.benchmarks.proactbench.corpus.dialogues import sample_path
from dspy_proact.evaluation.evaluation import Evaluation
from dspy_proact.runs import Observer, StageEvent


def copied_sample(triggers: int, folder: Path) -> Corpus:
    """Copies of ProactBench's sample in a file of the folder, cut to so many triggers."""
    rows, copied = [json.loads(line) for line in sample_path().read_text(encoding="utf-8").splitlines()], list[str]()
    left, number = triggers, 0
    while left > 0:
        row = rows[number % len(rows)]
        points = row["trigger_points"][:left]
        changes = {"unique_id_eval": f"{row['unique_id_eval']}-{number}", "trigger_points": points}
        copied.append(json.dumps(row | changes))
        left, number = left - len(points), number + 1
    (folder / "corpus.jsonl").write_text("\n".join(copied), encoding="utf-8")
    return load_corpus(str(folder / "corpus.jsonl"))


def tell(what: str, cases: int, noun: str, began: float) -> None:
    """Print the milliseconds a case since `began`, as of `time.perf_counter`."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 1024)
    item = 1000 * (time.perf_counter() - began) / cases
    print(f"{what}: {item:,.1f} ms a {noun}, at most {most:,.0f} MiB", flush=True)


def finished(command: Sequence[str]) -> tuple[float, float, float]:
    """Seconds and seconds of the processor that a command takes, and the most MiB that Linux counts for it."""
    (before, began), most = (os.times(), time.perf_counter()), 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            # By usage alone a child begins with the memory of its parent.
            status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
            most = max([most, *map(int, re.findall(r"VmHWM:\s+(\d+) kB", status))])
            time.sleep(0.02)
        assert process.returncode == 0, process.stderr and process.stderr.read()
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - began, used, most / 1024


def on_disk(run: Path) -> str:
    """The sizes of a run's logs."""
    logs = sorted(run.glob("*.jsonl"))
    return ", ".join(f"{path.name} {path.stat().st_size / 1e6:,.1f} MB" for path in logs)


class Quarters(Observer):
    """Tells of every quarter of the cases when it is done."""

    def __init__(self, cases: int, noun: str):
        self.cases, self.noun, self.done, self.began = cases, noun, 0, time.perf_counter()

    def ended(self, event: StageEvent, last: bool) -> None:  # noqa: ARG002 - the observer's
        self.done += last
        quarter = self.cases // 4
        if last and self.done % quarter == 0:
            tell(f"answered {self.done - quarter + 1} to {self.done}", quarter, self.noun, self.began)
            self.began = time.perf_counter()


def planned_and_run(evaluation: Evaluation, out: Path, cases: int, noun: str) -> None:
    """Plan and run it, and print what both took."""
    began = time.perf_counter()
    forecast = evaluation.forecast(out).assistant
    usd = f", at most USD {forecast.usd[1]:,.2f}" if forecast.usd else ""
    tell(f"planned ({forecast.prompt_tokens / cases:,.0f} tokens a {noun}{usd})", cases, noun, began)
    evaluation.run(out, observer=Quarters(cases, noun))
    print(f"on disk: {on_disk(out)}")
    print(f"{sum(event.grade is not None for event in RunFolder(out).events())} of {cases} graded")
