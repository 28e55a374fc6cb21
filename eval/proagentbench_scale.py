"""What ProAgentBench at its published size takes of a machine: 28,528 events of 17 people.

    python eval/proagentbench_scale.py

Made recordings are read, planned and answered by `joint` with the graph as memory, a quarter after the other, with a
server in another process that answers at once. Printed are times a moment, and the most memory that the process had by
then.
"""

import argparse
import tempfile
import time
from pathlib import Path

from support.fast_server import serving
from support.recordings import EVENTS, PEOPLE, write_recordings
from support.scale import planned_and_run, tell

from dspy_proact import Gate, ModelSpec
from dspy_proact.benchmarks.proagentbench.corpus import load_corpus
from dspy_proact.benchmarks.proagentbench.moments import ProAgentBenchSettings
from dspy_proact.evaluation.evaluation import Evaluation

NAME, WIDTH = "openai/gpt-4o", 8
FIELDS = {"need_help": True, "intention": "Information Lookup", "query": "What is this?"}


def measure(folder: Path, port: int) -> None:
    settings, began = ProAgentBenchSettings(memory="graph"), time.perf_counter()
    corpus = load_corpus(str(folder / "corpus"), settings)
    moments, people = len(corpus.cases), len({case.group for case in corpus.cases})
    tell(f"{corpus.corpus.rows} events of {people} people read, {moments} moments", moments, "moment", began)
    agent = ModelSpec(name=NAME, api_base=f"http://127.0.0.1:{port}/0/0/assistant/v1")
    gate = Gate(concurrency=WIDTH, retries=0)
    evaluation = Evaluation(corpus, agent, gate=gate, benchmark="proagentbench", settings=settings)
    planned_and_run(evaluation, folder / "run", moments, "moment")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="200 events of 2 people")
    size = (200, 2) if parser.parse_args().quick else (EVENTS, PEOPLE)
    with tempfile.TemporaryDirectory() as name, serving({"assistant": (FIELDS, 1_500, 30)}) as port:
        write_recordings(Path(name, "corpus"), 0, *size)
        measure(Path(name), port)


if __name__ == "__main__":
    main()
