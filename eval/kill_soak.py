"""A run that is killed again and again ends as if it had not been, and pays only for what was in flight.

    python eval/kill_soak.py --kills 200

One run of 600 triggers on a simulated provider is killed (SIGKILL) at random moments and begun again by the same
command. At the end its grades must equal an uninterrupted run's, and the provider must have counted at most the calls
in flight at each kill beyond those that the run needs.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from support.provider import SimulatedProvider, healthy, killed

from dspy_proact.benchmarks.proactbench.corpus.dialogues import sample_path
from dspy_proact.runs import RunFolder

IN_FLIGHT = 4
SEED = 20261121


def write_corpus(path: Path, triggers: int) -> None:
    rows = [json.loads(line) for line in sample_path().read_text(encoding="utf-8").splitlines()]
    copies = -(-triggers // sum(len(row["trigger_points"]) for row in rows))
    with path.open("w", encoding="utf-8") as file:
        for copy in range(copies):
            for row in rows:
                row["turn_records"][0]["user_message"] += " "  # so that no two copies ask the same
                file.write(json.dumps(row | {"unique_id_eval": f"{row['unique_id_eval']}-{copy}"}) + "\n")


def command(folder: Path, provider: SimulatedProvider, triggers: int) -> list[str]:
    roles = ["--model", "hosted_vllm/any", "--judge", "openai/any"]
    bases = ["--model-api-base", provider.base("assistant"), "--judge-api-base", provider.base("judge")]
    size = ["--corpus", str(folder.parent / "corpus.jsonl"), "--limit", str(triggers), "--concurrency", str(IN_FLIGHT)]
    return [sys.executable, "-m", "dspy_proact", "eval", *roles, *bases, *size, "--out", str(folder), "--json"]


def grades(folder: Path) -> dict[str, str]:
    return {event.key.case: event.grade.label for event in RunFolder(folder).events() if event.grade}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--quick", action="store_true", help="16 triggers and 1 kill")
    options = parser.parse_args()
    kills, triggers = (1, 16) if options.quick else (options.kills, 600)
    moment, needed, done = random.Random(SEED), 2 * triggers, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_corpus(folder / "corpus.jsonl", triggers)
        with SimulatedProvider(healthy) as provider:
            subprocess.run(command(folder / "whole", provider, triggers), check=True, capture_output=True)
            assert provider.received.total() == needed, provider.received
            again = partial(
                subprocess.Popen,
                command(folder / "killed", provider, triggers),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            while done < kills and killed(provider, again, moment.randint(1, needed // kills), moment.uniform(0, 0.05)):
                done += 1
            provider.script = healthy
            subprocess.run(command(folder / "killed", provider, triggers), check=True, capture_output=True)
            extra = provider.received.total() - 2 * needed
        same = grades(folder / "whole") == grades(folder / "killed")
    print(f"{triggers} triggers, {done} kills, {extra} extra calls of at most {done * IN_FLIGHT}; grades equal: {same}")
    if not (same and done == kills and extra <= done * IN_FLIGHT):
        sys.exit(1)


if __name__ == "__main__":
    main()
