"""What a small model's answers are read as, by every reader, beside what a person reads in them.

    python eval/small_model.py

`small_model.jsonl` has 202 answers of SmolLM2-135M-Instruct (see NOTICE) to requests of every benchmark, with and
without a schema: loops, cut answers, broken JSON, echoes of the schema. `states` is what an answer states as it was
asked to, read by hand; null where it states nothing so, or where it is cut. None has thoughts. An instruction is read
from plain text too: a compile measures whatever is proposed.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dspy import AdapterParseError

from dspy_proact.benchmarks.proactbench.programs import Assistant, Judge, QuoteEvidence
from dspy_proact.benchmarks.proactiveagent.programs import ProposingAgent
from dspy_proact.benchmarks.proactivebench.programs import Looker
from dspy_proact.benchmarks.proactivebench.trajectory import ProactiveBenchSettings
from dspy_proact.benchmarks.proagentbench.programs import MomentAgent
from dspy_proact.benchmarks.probe.agents import AGENTS
from dspy_proact.compile.brief import ProposeInstruction
from dspy_proact.compile.instruction_reader import InstructionReader
from dspy_proact.models.thoughts import without_thoughts

ANSWERS = Path(__file__).with_suffix(".jsonl")
Reader = Callable[[str], Any]


def reader(adapter: Any, signature: Any, *fields: str) -> Reader:
    """Reads these fields of an answer; of one, its value alone."""

    def read(content: str) -> Any:
        values = [adapter.parse(signature, content)[name] for name in fields]
        return values if len(values) > 1 else values[0]

    return read


def readers() -> Mapping[str, Reader]:
    """By what is asked, how a run reads the answer."""
    judge, moment, agent = Judge(), MomentAgent(), AGENTS["single"]()
    proposing, looker = ProposingAgent(), Looker(ProactiveBenchSettings())
    solution = ("evidence", "bottleneck", "action", "parameters")
    return {
        "grade": reader(judge.wording(), judge.critical.signature, "grade"),
        "quotes": reader(judge.wording(), QuoteEvidence, "evidence"),
        "proposal": reader(proposing.wording(), proposing.question.signature, "proposal"),
        "moment": reader(moment.wording(), moment.question.signature, "need_help", "intention"),
        "solution": reader(agent.wording("a repair"), agent.predictors()[0].signature, *solution),
        "instruction": reader(InstructionReader(), ProposeInstruction, "improved_instruction"),
        "choice": reader(looker.wording(), looker.question.signature, "choice"),
        "reply": reader(Assistant().wording(), Assistant().predictors()[0].signature, "response"),
    }


def main() -> int:
    rows = [json.loads(line) for line in ANSWERS.read_text(encoding="utf-8").splitlines()]
    reading_as = readers()
    answers, stated, read, misread, elsewhere = (Counter[str]() for _ in range(5))
    for row in rows:
        kind = f"{row['asked']}{', with a schema' if row['schema'] else ''}"
        answers[kind] += 1
        meant = row.get("states", row["content"])
        stated[kind] += meant is not None
        for name, reading in reading_as.items():
            try:
                value = reading(row["content"])
            except AdapterParseError:
                continue
            if name == row["asked"]:
                read[kind] += 1
                misread[kind] += value != meant
            elsewhere[name] += name != row["asked"]
    print("| asked for | answers | state it | read | misread |\n|---|---|---|---|---|")
    for kind in answers:
        print(f"| {kind} | {answers[kind]} | {stated[kind]} | {read[kind]} | {misread[kind]} |")
    wrong = misread.total() - misread["instruction"]
    print(f"\nread: {read.total()} of {len(rows)}; misread, but for instructions: {wrong}")
    thoughts = sum(bool(without_thoughts(row["content"])[0]) for row in rows)
    print(f"grades read in answers that were asked for something else: {elsewhere['grade']}; thoughts: {thoughts}")
    return 1 if wrong or elsewhere["grade"] or thoughts else 0


if __name__ == "__main__":
    sys.exit(main())
