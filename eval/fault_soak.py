"""A run against a provider that fails at random loses nothing, and heals.

    python eval/fault_soak.py

600 triggers against 20 % rate limits, 10 % server errors, 5 % hangs, 5 % unreadable verdicts and 3 % empty responses;
then the same command against the provider in health. Every trigger must end scored or unscored with a reason, the
second command must mend every failure of the provider and no other, and the planted key, which the provider repeats in
its errors, must be in no file and not on the terminal.
"""

import argparse
import io
import json
import os
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from support.provider import Faulty, Scripted, SimulatedProvider, healthy, refusal

from dspy_proact import Evaluation, Gate, ModelSpec, RunFolder, Scope, Summary, load_corpus, print_summary, summarize
from dspy_proact.benchmarks.proactbench.corpus.dialogues import sample_path

KEY = "sk-planted-0123456789abcdef"
FAILING = [
    (refusal(429, f"slow down, {KEY}"), 0.20),
    (refusal(500, f"oops, {KEY}"), 0.10),
    (Scripted(stall=True), 0.05),
]
SHARES = {
    "assistant": [*FAILING, (Scripted(""), 0.03)],
    "judge": [*FAILING, (Scripted("I would say PASS."), 0.05)],
}
SEED = 1


def write_corpus(path: Path) -> None:
    rows = [json.loads(line) for line in sample_path().read_text(encoding="utf-8").splitlines()]
    copies = [row | {"unique_id_eval": f"{row['unique_id_eval']}-{copy}"} for copy in range(13) for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in copies), encoding="utf-8")


def leaks(folder: Path, summary: Summary) -> list[str]:
    """Where the key is."""
    screen = io.StringIO()
    print_summary(summary, Console(file=screen, width=100))
    texts = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    return [name for name, text in {**texts, "the terminal": screen.getvalue()}.items() if KEY in text]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="60 triggers, tried again at once")
    triggers, backoff = (60, 0.01) if parser.parse_args().quick else (600, 1.0)
    os.environ["OPENAI_API_KEY"] = KEY
    with tempfile.TemporaryDirectory() as name, SimulatedProvider(Faulty(healthy, SHARES, SEED)) as provider:
        folder = Path(name, "run")
        write_corpus(Path(name, "corpus.jsonl"))
        corpus = load_corpus(str(Path(name, "corpus.jsonl")))
        roles = [ModelSpec(name="openai/any", api_base=provider.base(role)) for role in ("assistant", "judge")]
        gate = Gate(concurrency=64, timeout=1, retries=2, backoff=backoff)
        Evaluation(corpus, *roles, gate=gate).run(folder, Scope(limit=triggers))
        first, kinds = summarize(RunFolder(folder)), failures(folder)
        provider.script = healthy
        # With all the time that an answer takes on a busy machine: what fails now is a fault of ours.
        Evaluation(corpus, *roles, gate=Gate(concurrency=64)).run(folder, Scope(limit=triggers))
        second = summarize(RunFolder(folder))
        leaked = leaks(folder, second)
    lost, kept = kinds.count("provider"), kinds.count("content")
    print(f"{triggers} triggers: {first.count('scored')} scored, unscored {first.unscored_reasons}.")
    print(f"{lost} failures of the provider and {kept} of content; after the second command {second.unscored_reasons}.")
    checks = {
        "every trigger is accounted for": first.count("scored") + first.count("unscored") == triggers,
        "nothing is pending": first.complete and second.complete,
        "at least one trigger in 30 met a failure of the provider": lost >= triggers / 30,
        "the failures of content are left and no other": second.count("unscored") == kept,
        f"the key is nowhere, not in {leaked}": not leaked,
    }
    sys.exit("\n".join(f"not so: {check}" for check, held in checks.items() if not held) or 0)


def failures(folder: Path) -> list[str]:
    return [event.failure.kind for event in RunFolder(folder).events() if event.failure]


if __name__ == "__main__":
    main()
