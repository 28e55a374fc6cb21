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
import time
from pathlib import Path

from support.provider import SimulatedProvider, healthy, slow

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


def kill_at_random(
    folder: Path, provider: SimulatedProvider, triggers: int, life: float, moment: random.Random
) -> bool:
    """Begin the run and kill it once it works; False when it ended before."""
    process = subprocess.Popen(
        command(folder, provider, triggers), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    seen = provider.received.total()
    while provider.received.total() == seen and process.poll() is None:
        time.sleep(0.01)
    time.sleep(moment.uniform(0, 2 * life))
    ended = process.poll() is not None
    process.kill()
    process.wait()
    return not ended


def grades(folder: Path) -> dict[str, str]:
    return {event.key.case: event.grade.label for event in RunFolder(folder).events() if event.grade}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--quick", action="store_true", help="16 triggers and 1 kill")
    asked = parser.parse_args()
    kills, triggers = (1, 16) if asked.quick else (asked.kills, 600)
    moment, needed, done = random.Random(SEED), 2 * triggers, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_corpus(folder / "corpus.jsonl", triggers)
        with SimulatedProvider(healthy) as provider:
            subprocess.run(command(folder / "whole", provider, triggers), check=True, capture_output=True)
            assert provider.received.total() == needed, provider.received
        life = 0.5
        # So slow that the run outlives the kills: a life of this length completes a share of 1 / (2 x kills).
        pause = 2 * kills * life * IN_FLIGHT / needed
        with SimulatedProvider(slow(healthy, min(pause, life))) as provider:
            while done < kills and kill_at_random(folder / "killed", provider, triggers, life, moment):
                done += 1
            provider.script = healthy
            subprocess.run(command(folder / "killed", provider, triggers), check=True, capture_output=True)
            extra = provider.received.total() - needed
        same = grades(folder / "whole") == grades(folder / "killed")
    print(f"{triggers} triggers, {done} kills, {extra} extra calls of at most {done * IN_FLIGHT}; grades equal: {same}")
    if not (same and done == kills and extra <= done * IN_FLIGHT):
        sys.exit(1)


if __name__ == "__main__":
    main()
