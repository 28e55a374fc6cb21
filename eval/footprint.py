"""How much memory a run of many triggers takes.

    python eval/footprint.py --triggers 100000

The sample, copied, is read and run on the embedded models; printed is the most that the process ever had, by
Linux's own count of this program alone (getrusage would count who started it, too).
"""

import argparse
import json
import re
import tempfile
from pathlib import Path

from dspy_proact import Evaluation, RunFolder, load_corpus
from dspy_proact.benchmarks.proactbench.corpus.dialogues import sample_path


def write_corpus(path: Path, triggers: int) -> None:
    rows = [json.loads(line) for line in sample_path().read_text(encoding="utf-8").splitlines()]
    with path.open("w", encoding="utf-8") as file:
        copy = written = 0
        while written < triggers:
            row = rows[copy % len(rows)]
            file.write(json.dumps(row | {"unique_id_eval": f"{row['unique_id_eval']}-{copy}"}) + "\n")
            copy, written = copy + 1, written + len(row["trigger_points"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--triggers", type=int, default=100_000)
    triggers = parser.parse_args().triggers
    with tempfile.TemporaryDirectory() as name:
        write_corpus(Path(name, "corpus.jsonl"), triggers)
        corpus = load_corpus(str(Path(name, "corpus.jsonl")))
        Evaluation(corpus).run(Path(name, "run"))
        graded = sum(event.grade is not None for event in RunFolder(Path(name, "run")).events())
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (kilobytes,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
    most = int(kilobytes) / 1024
    print(f"{corpus.trigger_count} triggers, {graded} verdicts: at most {most:,.0f} MiB")


if __name__ == "__main__":
    main()
