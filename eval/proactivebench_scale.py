"""What ProactiveBench at its published size takes of a machine: 7,557 entries of seven environments, images in zips.

    python eval/proactivebench_scale.py

A made corpus in the published layout is read, planned and played, a quarter after the other, 64 samples at a time, with
a server in another process that chooses option A at once: a move in some samples, in others the end. Then the same run
is resumed. Printed are times a sample, how many images were decoded, and the most memory that the process had by then.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.fast_server import serving
from support.picture_corpus import write_pictures
from support.scale import planned_and_run, tell

from dspy_proact import Gate, ModelSpec, images
from dspy_proact.benchmarks.proactivebench.benchmark import ProactiveBench
from dspy_proact.benchmarks.proactivebench.trajectory import ProactiveBenchSettings
from dspy_proact.evaluation.evaluation import Evaluation

NAME, WIDTH = "openai/gpt-4o", 64
FIELDS = {"choice": "A"}


@contextmanager
def counted(what: str) -> Iterator[None]:
    """Print how many images are decoded meanwhile."""
    prepare, count = images.prepare, 0

    def counting(*args: Any, **more: Any) -> images.Upload:
        nonlocal count
        count += 1
        return prepare(*args, **more)

    images.prepare = counting
    try:
        yield
    finally:
        images.prepare = prepare
    print(f"{count} images decoded when {what}")


def measure(folder: Path, port: int) -> None:
    model = ModelSpec(name=NAME, api_base=f"http://127.0.0.1:{port}/0/0/assistant/v1")
    for what in ("played", "resumed"):
        began = time.perf_counter()
        cases = ProactiveBench().read(folder / "corpus", ProactiveBenchSettings())
        samples = len(cases.cases)
        tell(f"{samples} samples read", samples, "sample", began)
        evaluation = Evaluation(cases, model, gate=Gate(concurrency=WIDTH, retries=0), benchmark="proactivebench")
        with counted(what):
            planned_and_run(evaluation, folder / "run", samples, "sample")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="4 entries of each environment")
    most = 4 if parser.parse_args().quick else None
    with tempfile.TemporaryDirectory() as name, serving({"assistant": (FIELDS, 1_000, 10)}) as port:
        Path(name, "corpus").mkdir()
        write_pictures(Path(name, "corpus"), most)
        measure(Path(name), port)


if __name__ == "__main__":
    main()
