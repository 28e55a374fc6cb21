"""What memory a long table of answers takes: to read it row by row, and as answers to the cases of a corpus.

    python eval/answer_tables.py

Every form has the same rows. Each is read in a process of its own, whose peak is compared with that of a process that
imports and makes the same, and reads nothing. The program ends with 1 where reading takes more than 32 MiB, or an
answer more than 4 KiB beside its text.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from dspy_proact import Case, CaseSet, Responses
from dspy_proact.benchmarks.proactbench.types import JudgeView, Phase, Rubric, Turn
from dspy_proact.files.sheets import csv_text
from dspy_proact.files.tables import rows_in

TEXT = "You move on Friday, so the boxes should be labelled today; shall I print the labels? " * 12
_MIB = 2**20
MOST_READING, MOST_PER_ANSWER = 32 * _MIB, 4 * 1024
"""Bytes."""


def key(number: int) -> str:
    return f"dialogue-{number:07}__t5"


def write(path: Path, count: int) -> None:
    """A table in the form that the name ends in, written in parts."""
    if path.suffix == ".parquet":
        import pyarrow
        import pyarrow.parquet

        schema = pyarrow.schema([("key", pyarrow.string()), ("response", pyarrow.string())])
        with pyarrow.parquet.ParquetWriter(path, schema) as writer:
            for start in range(0, count, 10_000):
                numbers = range(start, min(count, start + 10_000))
                columns = [[key(number) for number in numbers], [f"{TEXT}{number}" for number in numbers]]
                writer.write_table(pyarrow.table(columns, schema=schema))
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write("key,response\n" if path.suffix == ".csv" else "")
        for number in range(count):
            row = {"key": key(number), "response": f"{TEXT}{number}"}
            file.write(csv_text([row.values()]) if path.suffix == ".csv" else f"{json.dumps(row)}\n")


def corpus(count: int) -> CaseSet:
    rubric = Rubric(phase=Phase.RECOVERY, pass_criteria="p", partial_criteria="q", fail_criteria="f")
    view = JudgeView(conversation=(Turn(user="I move on Friday.", assistant=None),), turn=1, rubric=rubric)
    return CaseSet.of("synthetic", (Case(key(number), f"g{number % 25}", "RECOVERY", view) for number in range(count)))


def child(mode: str, path: Path, count: int) -> None:
    """Do one thing with a table, and print seconds and the peak of the process in bytes."""
    cases = corpus(count) if mode.endswith("answers") else None
    rows = rows_in(path, "a table")
    next(rows)  # imports what reads the form
    begun, kept = time.perf_counter(), None
    if mode == "read":
        assert sum(1 for _ in rows) == count - 1
    elif mode == "answers":
        kept = Responses.of_rows(path, "mine", cases)
        assert len(kept.answers) == count
    elif cases:
        kept = Responses.of_rows((line.parse() for line in islice(rows, 10)), "mine", cases)
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    print(json.dumps([time.perf_counter() - begun, peak]))


def measured(mode: str, path: Path, count: int) -> tuple[float, int]:
    command = [sys.executable, __file__, "--child", mode, str(path), str(count)]
    seconds, peak = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return seconds, peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="3,000 rows")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        mode, path, count = options.child
        child(mode, Path(path), int(count))
        return
    count, faults = 3_000 if options.quick else options.rows, list[str]()
    print("| form | rows | MiB on disk | MiB to read | s | MiB as answers | bytes each beside its text | s |")
    print(f"|{'---|' * 8}")
    with TemporaryDirectory() as folder:
        for form in ("csv", "jsonl", "parquet"):
            path = Path(folder) / f"answers.{form}"
            write(path, count)
            (_, begun), (reading, peak), (_, before), (answering, after) = (
                measured(mode, path, count) for mode in ("begin", "read", "before answers", "answers")
            )
            read, per_answer = peak - begun, (after - before) / count - len(TEXT)
            cells = [form, f"{count:,}", f"{path.stat().st_size / _MIB:.1f}", f"{read / _MIB:.1f}", f"{reading:.1f}"]
            cells += [f"{(after - before) / _MIB:.1f}", f"{per_answer:,.0f}", f"{answering:.1f}"]
            print(f"| {' | '.join(cells)} |")
            faults += [f"{form}: reading takes {cells[3]} MiB"] if read > MOST_READING else []
            faults += [f"{form}: an answer takes {cells[6]} bytes"] if per_answer > MOST_PER_ANSWER else []
    sys.exit("\n".join(faults) or 0)


if __name__ == "__main__":
    main()
