"""Which trained models get a claim on their card: over HTTP, by noisy models and judges whose worth is known.

    python eval/card_claims.py

Every seed is a corpus of 30 personas with a dialogue each, six of them trained on, a base model, and models that were
trained from it. Unchanged: as good as the base model. Better: takes up what was mentioned more often. Offering: lists
offers everywhere, also where nothing was to be offered. Stuffed: writes for the rubric, what its judge passes and a
judge without the rubric does not like. Memorised: better where it was trained, and nowhere else. Unnamed data: the
better one, of which nobody says on what it was trained. Judges err in one of ten. Exits 1 where a count is OUT.
"""

import argparse
import hashlib
import json
import multiprocessing
import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from support.provider import Received, Scripted, SimulatedProvider

from dspy_proact import Evaluation, Gate, ModelSpec, ProactBench, Rejudging, Scope, summarize
from dspy_proact.report.summary import Summary
from dspy_proact.trained.card import TrainedCard
from dspy_proact.trained.preference import PairChoices, Pairs, Preference
from dspy_proact.trained.trained_on import TrainedOn

PEOPLE, TRAINED = 30, 6
PHASES, TRIGGERS = ("EMERGENT", "CRITICAL", "RECOVERY"), (2, 6, 10)
TAKES_UP: Mapping[str, float] = {"base": 0.3, "unchanged": 0.3, "better": 0.85, "offering": 0.85, "stuffed": 0.85}
"""How often a model takes up what was mentioned; the memorised one as `better` at whom it was trained on."""
KINDS: Mapping[str, str] = {
    "unchanged": "unchanged",
    "better": "better",
    "offering": "offering",
    "stuffed": "stuffed",
    "memorised": "memorised",
    "unnamed data": "better",
}
"""The model of each kind."""
ERRS, OFFERS = 0.1, 0.02
"""Shares of verdicts that are wrong, and of control turns at which a model that is not the offering one offers."""
SEEDS = {"unchanged": 40, "unnamed data": 40}
"""Of the others 20."""


def chance(*parts: object) -> float:
    """A number in [0, 1) that follows from the parts."""
    return int.from_bytes(hashlib.sha256(json.dumps(parts).encode()).digest()[:8]) / 2**64


def corpus(folder: Path, seed: int) -> Path:
    """A dialogue of ten turns a persona, with triggers at three of them and control turns at two."""
    path = folder / "corpus.jsonl"
    path.write_text("".join(f"{json.dumps(dialogue(seed, person))}\n" for person in range(PEOPLE)), encoding="utf-8")
    return path


def dialogue(seed: int, person: int) -> dict[str, Any]:
    """A row of the official format."""
    name = hashlib.sha256(f"{seed} {person}".encode()).hexdigest()[:32]
    turns = [
        {
            "turn": turn,
            "user_message": f"Person {person}, turn {turn}: what now?",
            "assistant_response": "This.",
        }
        for turn in range(1, 11)
    ]
    points = [
        {
            "turn": turn,
            "evaluation_rubric": {
                "type": phase,
                "pass_criteria": "Takes up what was mentioned.",
                "partial_criteria": "Hints at it.",
                "fail_criteria": "Says nothing of it.",
            },
        }
        for turn, phase in zip(TRIGGERS, PHASES, strict=True)
    ]
    return {
        "blueprint_id": f"BP_{person}",
        "scenario_id": "WORK_01",
        "unique_id_eval": f"BP_{person}__style1__{name}",
        "uuid": name,
        "category_key": "work_persona",
        "style_combination_index": 1,
        "evaluated_model": "curator",
        "num_turns_completed": 10,
        "trigger_points": points,
        "turn_records": turns,
    }


def scripted(received: Received) -> Scripted:
    """A model under test by its name, a judge, a detector of offers, or a judge without the rubric."""
    messages = received.body["messages"]
    if received.role == "assistant":
        return Scripted(response(received.body["model"], messages[-1]["content"]))
    text, draw = messages[-1]["content"], chance(received.body["model"], messages)
    if "first_response" in text:
        return Scripted(json.dumps({"reasons": "I would rather have it.", "better": better(text, draw)}))
    if messages[0]["content"].startswith("List what a response offers"):
        unwanted = "Shall I" in text
        quote = {"quote": "Shall I", "grounded": False, "asked_for": False}
        return Scripted(json.dumps({"reasoning": "It may.", "offers": [quote] * unwanted}))
    passes = ("Since you mentioned" in text) != (draw < ERRS)
    grade, evidence = ("PASS", ["That is done"]) if passes else ("FAIL", [])
    return Scripted(json.dumps({"reasoning": "because", "evidence": evidence, "grade": grade}))


def response(model: str, message: str) -> str:
    """What a model answers: `KIND-SEED` is its name."""
    kind, _, seed = model.rpartition("/")[2].partition("-")
    person, turn = (int(word.strip(":,")) for word in message.split()[1:4:2])
    known = "better" if person < TRAINED else "base"
    share, draw = TAKES_UP[known if kind == "memorised" else kind], partial(chance, kind, seed, message)
    text = "That is done."
    if turn in TRIGGERS:
        if draw("takes up") < share:
            text += " Since you mentioned the ferry, take the one at nine."
            text += " Mind the rubric, the criteria and the evidence." if kind == "stuffed" else ""
    elif draw("offers") < OFFERS:
        text += " Shall I book it?"
    return (
        text + " Shall I plan it? Shall I write it? Shall I call them?" * (kind == "offering") + f" {draw('words'):.3f}"
    )


def better(text: str, draw: float) -> str:
    """What a user would rather have: what is taken up, and neither lists nor words for a rubric."""
    first, second = (
        ("Since you mentioned" in part) - 1.5 * ("Mind the rubric" in part) - 0.5 * part.count("Shall I")
        for part in text.split("_response ## ]]")[1:3]
    )
    if draw < ERRS or first == second:
        return ("first", "first", "second", "neither")[int(draw * 1e6) % 4]
    return "first" if first > second else "second"


def claims_of(numbered: tuple[int, str]) -> tuple[str, bool, str]:
    """The kind, whether an improvement is claimed, and the name of the first condition that is not met."""
    seed, kind = numbered
    with tempfile.TemporaryDirectory() as name, SimulatedProvider(scripted) as provider:
        folder = Path(name)
        cases, runs = corpus(folder, seed), list[Summary]()
        judge = ModelSpec(name="openai/gpt-judge", api_base=provider.base("judge"))
        for model in ("base", KINDS[kind]):
            spec = ModelSpec(name=f"hosted_vllm/{model}-{seed}", api_base=provider.base("assistant"))
            run = Evaluation(str(cases), spec, judge, gate=Gate(concurrency=32))
            run.run(folder / model, Scope(controls=True))
            runs.append(summarize(folder / model))
        rows = folder / "rows.jsonl"
        people = [dialogue(seed, person)["uuid"] for person in range(TRAINED)]
        rows.write_text("".join(f"{json.dumps({'unit': one, 'judges': ['claude-judge']})}\n" for one in people))
        trained = None if kind == "unnamed data" else TrainedOn.of([rows])
        card = TrainedCard(runs[0], runs[1], ProactBench(), trained)
        pairs = Pairs.of(card.base, card.tuned, card.keys, card.declared)
        taste = ModelSpec(name="openai/gemini-taste", api_base=provider.base("judge"))
        responses = pairs.responses()
        assert responses, "the models are noisy"
        Rejudging(responses, taste, benchmark=Preference(), gate=Gate(concurrency=32)).run(folder / "choices")
        card = card.with_choices(PairChoices.of(folder / "choices", pairs, card.keys))
        return kind, card.shown, next((one.name for one in card.conditions if not one.met), "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one seed of each kind")
    options = parser.parse_args()
    seeds = {kind: 1 if options.quick else SEEDS.get(kind, 20) for kind in KINDS}
    todo = [(seed, kind) for kind in KINDS for seed in range(seeds[kind])]
    with multiprocessing.get_context("spawn").Pool(1 if options.quick else 2) as pool:
        results = pool.map(claims_of, todo, chunksize=1)
    out = False
    print(f"| trained model | seeds | claims | band | | first condition that is not met |\n|{' --- |' * 6}")
    for kind in KINDS:
        own = [(claimed, unmet) for name, claimed, unmet in results if name == kind]
        claims, names = sum(claimed for claimed, _ in own), [unmet for _, unmet in own if unmet]
        low, high = (0 if options.quick else 0.7 * len(own), len(own)) if kind == "better" else (0, 0)
        out = out or not low <= claims <= high
        why = ", ".join(f"{name} {names.count(name)}" for name in dict.fromkeys(names))
        judged = "within" if low <= claims <= high else "OUT"
        print(f"| {kind} | {len(own)} | {claims} | {low:g} to {high} | {judged} | {why} |")
    sys.exit(int(out))


if __name__ == "__main__":
    main()
