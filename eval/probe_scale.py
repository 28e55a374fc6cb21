"""What PROBE at its published size takes of a machine: 1,000 tasks of 80 items and 108,000 tokens each.

    python eval/probe_scale.py

Made tasks are read, planned and answered by `single`, a quarter after the other, with a server in another process that
answers at once. Printed are times a task, and the most memory that the process had by then.
"""

import argparse
import tempfile
import time
from pathlib import Path

from support.fast_server import serving
from support.probe_tasks import Size, write_synthetic
from support.scale import planned_and_run, tell

from dspy_proact import Gate, ModelSpec
from dspy_proact.benchmarks.probe.corpus import load_tasks
from dspy_proact.benchmarks.probe.scoring import ESSENTIAL, FURTHER
from dspy_proact.evaluation.evaluation import Evaluation

NAME, WIDTH = "openai/gpt-4o", 8
TAKEN = {"action": "act_1", "parameters": {"to": "somebody"}}
SOLUTION = {"reasoning": "so", "evidence": ["item_0"], "bottleneck": "Work waits for an answer. " * 8, **TAKEN}
VERDICT = {"reasoning": "so", **dict.fromkeys((*ESSENTIAL, *FURTHER), "missing"), "judgment": "INCORRECT"}


ANSWERS = {"assistant": (SOLUTION, 108_000, 230), "judge": (VERDICT, 108_000, 230)}


def measure(folder: Path, port: int, tasks: int) -> None:
    began = time.perf_counter()
    corpus = load_tasks(str(folder))
    cases = corpus.cases
    tell(f"{len(cases)} tasks of {len({case.group for case in cases})} people read", tasks, "task", began)
    at = f"http://127.0.0.1:{port}/0/0"
    agent, judge = (ModelSpec(name=NAME, api_base=f"{at}/{role}/v1") for role in ANSWERS)
    evaluation = Evaluation(corpus, agent, judge, gate=Gate(concurrency=WIDTH, retries=0), benchmark="probe")
    planned_and_run(evaluation, folder / "run", tasks, "task")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="8 small tasks")
    tasks, size = (8, Size(items=10, words=30, actions=4)) if parser.parse_args().quick else (1000, Size())
    with tempfile.TemporaryDirectory() as name, serving(ANSWERS) as port:
        write_synthetic(Path(name), 0, tasks, size, zipped=True)
        measure(Path(name), port, tasks)


if __name__ == "__main__":
    main()
