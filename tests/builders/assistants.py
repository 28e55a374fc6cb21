"""Small corpora to tune an assistant on, with planted words, and models at a server with a path for each role."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fakes.server import Answer, Sent, Server, is_about_offers, offers, verdict

from builders.dialogues import Row, jsonl, record, row, rubric, trigger_point
from builders.item_scores import of_assistant
from builders.judges import NO_PRICE, NUMBER, filed, provenance
from dspy_proact import Assistant, AssistantTarget, Case, Compile, Corpus, ProactBench, Recipe, Settings
from dspy_proact.benchmarks.proactbench.embedded import assistant, judge
from dspy_proact.benchmarks.proactbench.tuning import HINT, PROPOSALS
from dspy_proact.benchmarks.proactbench.types import Phase, Rubric, Turn
from dspy_proact.models import Gate, ModelSpec
from dspy_proact.programs.artefact import Artefact
from dspy_proact.programs.card import Card
from dspy_proact.programs.card_rows import CardRow
from dspy_proact.programs.embedded import proposer
from dspy_proact.programs.item_scores import ItemScores

KEY, SCENARIO, PERSONA = "narwhal", "IBEX", "okapi"
"""Stand in every key, scenario and persona, and nowhere else."""
SECRET = "quokka"
"""Begins the planted words of rubrics, a word of its own in each criterion."""
OFFER = "I suggest packing the lantern before Friday."
"""What pushy stand-ins put forward."""
LATE_OFFER = "Shall we fetch the lantern on Sunday?"
"""What timely ones put forward."""
PUSHY = "Always offer a next step that nobody asked for."
TIMELY = "Look ahead, but only when the user is done."
_TRIGGERS: Mapping[int, Phase] = {2: Phase.EMERGENT, 6: Phase.RECOVERY}
"""Of a dialogue of six turns: turn 4 alone lies two turns from any."""


DECLARED: Any = ProactBench()


# Corpora


def token(persona: int) -> str:
    """A word that stands in everything that is said in the dialogue of one persona."""
    return f"zebra{persona}x"


def curated(persona: int, turn: int) -> str:
    """A word that stands in the curated response at one turn."""
    return f"capybara{persona}t{turn}"


def secret(persona: int, turn: int, criterion: int) -> str:
    """A word that stands in one criterion of one rubric: letters only, so that it can be inflected."""
    return SECRET + "bcdfghjk"[persona] + "bcdfghjk"[turn] + "mnp"[criterion]


def dialogue(persona: int, triggers: Mapping[int, Phase] = _TRIGGERS, turns: int = 6) -> Row:
    """A dialogue of one persona; the last message closes the matter."""
    lines = [
        f"I move on {day} with my lantern, says {token(persona)}."
        for day in ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    ]
    lines[turns - 1] = f"Thanks, that's everything, says {token(persona)}."
    records = [
        record(
            turn, user_message=lines[turn - 1], assistant_response=f"Noted, {token(persona)}; {curated(persona, turn)}."
        )
        for turn in range(1, turns + 1)
    ]
    return row(
        unique_id_eval=f"{KEY}{persona}",
        uuid=f"{PERSONA}{persona}",
        scenario_id=f"{SCENARIO}_{persona:02d}",
        turn_records=records,
        trigger_points=[_trigger(persona, turn, phase) for turn, phase in triggers.items()],
    )


def _trigger(persona: int, turn: int, phase: Phase) -> Row:
    words = [secret(persona, turn, criterion) for criterion in range(3)]
    criteria = {
        "pass_criteria": f"Packs the lantern by a {words[0]} and says so.",
        "partial_criteria": f"Mentions the lantern beside a {words[1]}.",
        "fail_criteria": f"Leaves the {words[2]} alone.",
    }
    return trigger_point(turn, evaluation_rubric=rubric(phase, **criteria))


def corpus(personas: int | Iterable[int] = 4, triggers: Mapping[int, Phase] = _TRIGGERS, turns: int = 6) -> Corpus:
    """A dialogue a persona, each with a trigger of EMERGENT, a control turn and one of RECOVERY."""
    chosen = range(personas) if isinstance(personas, int) else personas
    rows = [dialogue(persona, triggers, turns) for persona in chosen]
    return Corpus.of(jsonl(*rows).splitlines(), name="a corpus", source="here")


FEW: Any = {"triggers": {4: Phase.RECOVERY}, "turns": 4}
"""How the dialogues of `few` are made."""


TIPS = PROPOSALS["assistant"].tips
ASSISTANT_OPTIMIZERS = ("bootstrap", "miprov2", "gepa", "search")


def items_of(read: Corpus) -> tuple[Case, ...]:
    """The triggers of a corpus and then its control turns, as a compile has them."""
    return DECLARED.read(read, Settings()).cases


def of_phases(items: Sequence[Case], phases: Sequence[str]) -> list[Case]:
    """Those of some phases."""
    return [item for item in items if item.stratum in phases]


def few(personas: int | Iterable[int] = 4) -> Corpus:
    """A dialogue a persona, each with a control turn and a trigger of RECOVERY and of no other phase."""
    return corpus(personas, **FEW)


def without_controls(personas: int = 4) -> Corpus:
    """Triggers at both of two turns."""
    return corpus(personas, {1: Phase.EMERGENT, 2: Phase.RECOVERY}, turns=2)


def on_disk(folder: Path, personas: int | Iterable[int] = 4, **more: Any) -> list[str]:
    """The options that name a corpus, once it is written to a folder."""
    chosen = range(personas) if isinstance(personas, int) else personas
    text = jsonl(*(dialogue(persona, **more) for persona in chosen))
    (folder / "corpus.jsonl").write_text(text, encoding="utf-8")
    return ["--corpus", str(folder / "corpus.jsonl")]


# Compiles

NAMES = {
    "model": "openai/student",
    "judge": "openai/tuner",
    "report_judge": "openai/reporter",
    "proposer": "openai/writer",
}


def recipe(optimizer: Any = "search", folds: int = 2, trials: int = 3, seed: int = 0, max_demos: int = 2) -> Recipe:
    """A small one."""
    return Recipe(optimizer=optimizer, trials=trials, max_demos=max_demos, folds=folds, seed=seed)


def bases(server: Server) -> dict[str, str]:
    """Where the server hears each role."""
    return {
        "model_api_base": server.assistant,
        "judge_api_base": server.judge,
        "report_judge_api_base": server.report,
        "proposer_api_base": server.proposer,
    }


def at_server(server: Server) -> dict[str, ModelSpec]:
    """The four models where the server hears them."""
    return {name: ModelSpec(name=NAMES[name], api_base=bases(server)[f"{name}_api_base"]) for name in NAMES}


def at(
    server: Server,
    read: Corpus,
    how: Recipe,
    phases: Sequence[Phase] = (Phase.RECOVERY,),
    guards: Mapping[Any, float] | None = None,
    system_prompt: str | None = None,
    start: Path | None = None,
    gate: Gate | None = None,
    **models: ModelSpec | str | None,
) -> Compile:
    """A compile whose four models are at the server, unless others are given."""
    named: Any = at_server(server) | models
    begun: Any = {"system_prompt": system_prompt, "start": start}
    return Compile(AssistantTarget(read, **named, strata=phases, margins=guards, **begun), how, gate or Gate(retries=0))


def command_at(server: Server, **others: str) -> list[str]:
    """The options that name the same four models, or others in their place."""
    named = [(f"--{name.replace('_', '-')}", value) for name, value in (NAMES | bases(server) | others).items()]
    return [part for pair in named for part in pair] + ["--retries", "0"]


# Stand-ins


def prompt_of(sent: Sent) -> tuple[str, list[tuple[str, str]]]:
    """The system message of a request, and the others."""
    output = [(str(message["role"]), str(message["content"])) for message in sent.messages]
    return "".join(text for role, text in output if role == "system"), [item for item in output if item[0] != "system"]


def models(sent: Sent) -> Answer:
    """The embedded model in every role."""
    answer = {"assistant": assistant, "proposer": proposer.answer}.get(sent.role, judge)
    return Answer(answer(*prompt_of(sent)))


def done(sent: Sent) -> bool:
    """Whether the user closes the matter."""
    return "that's everything" in str(sent.messages[-1]["content"])


def obedient(*instructions: str, timely: str = "PASS") -> Callable[[Sent], Answer]:
    """Models that do as they are told, and a proposer that proposes these instructions in turn, over and over.

    The assistant offers something at every turn where it is told `PUSHY` or hinted at, or shown an offer as a worked
    example; at last turns where it is told `TIMELY`; otherwise nothing. The judges pass what offers something, give
    what is offered at the right time the grade that is asked for here, and find every offer where none is wanted.
    """

    def answer(sent: Sent) -> Answer:
        last = str(sent.messages[-1]["content"])
        if sent.role == "assistant":
            system, _ = prompt_of(sent)
            if PUSHY in system or HINT in system or OFFER in system:
                return Answer(f"Good luck. {OFFER}")
            return Answer(f"Good luck. {LATE_OFFER}" if TIMELY in system and done(sent) else "Good luck.")
        if sent.role == "proposer":
            return Answer(proposed(sent, instructions[_tip(sent) % len(instructions)]))
        results = [offer for offer in (OFFER, LATE_OFFER) if offer in last]
        if is_about_offers(sent):
            return Answer(offers(*results))
        return Answer(verdict(timely if LATE_OFFER in results else "PASS" if results else "FAIL", results))

    return answer


def _tip(sent: Sent) -> int:
    """Place of the tip of a request among those of our search; 0 where it has none."""
    requests = str(sent.messages[-1]["content"])
    return next((index for index, tip in enumerate(PROPOSALS["assistant"].tips) if tip in requests), 0)


def proposed(sent: Sent, instruction: str) -> str:
    """An answer of a proposer, in the form that is asked for, with this instruction."""
    like = proposer.answer(*prompt_of(sent))
    if like.startswith("```"):
        return f"```\n{instruction}\n```"
    if like.startswith("{"):
        answers = json.loads(like)
        return json.dumps({name: instruction if "instruction" in name else text for name, text in answers.items()})
    head, _, rest = like.partition("_instruction ## ]]\n") if "_instruction ## ]]" in like else ("", "", like)
    return f"{head}_instruction ## ]]\n{instruction}\n\n[[ ## completed ## ]]" if head else rest


# Artefacts


def card_row(name: str, title: str | None = None, **changes: Any) -> CardRow:
    """A row by hand."""
    of: dict[str, Any] = {"name": name, "title": title or name, "count": 20, "total": 20, "low98": 0.1, "p": 0.01}
    return CardRow(**(of | dict.fromkeys(("before", "after", "difference"), NUMBER) | changes))


def card(scores: ItemScores | None = None, **changes: Any) -> Card:
    """A card of scores by hand, by default of an assistant that does better after."""
    of: dict[str, Any] = {
        "nouns": DECLARED.nouns,
        "item_scores": scores or of_assistant(),
        "guards": {"offers": 0.05},
        "price": NO_PRICE,
        "provenance": provenance(
            "a corpus",
            assistant="openai/student",
            judge="openai/tuner",
            report_judge="openai/reporter",
            proposer="openai/writer",
        ),
    }
    return Card(**(of | changes))


def demo(persona: int = 0) -> dict[str, Any]:
    """A worked example of one persona."""
    history = [Turn(user=f"I move on Monday, says {token(persona)}.", assistant="Noted.")]
    text = f"Thanks, that's everything, says {token(persona)}."
    return {"augmented": True, "history": history, "user_message": text, "response": f"Good luck. {OFFER}"}


def artefact(instruction: str | None = PUSHY, demos: int = 1, changes: Any = None, **scores: Any) -> Artefact:
    """A compiled assistant by hand; `scores` are of its cases."""
    compiled = Assistant(instruction)
    compiled.reply.demos = [demo(persona) for persona in range(demos)]
    return filed(compiled, "assistant", card(of_assistant(**scores), **(changes or {})))


def criteria(read: Corpus) -> list[Rubric]:
    """Every rubric of a corpus."""
    return [trigger.rubric for dialogue in read.dialogues for trigger in dialogue.triggers]


def compiled_assistant(of: Artefact) -> Assistant:
    """The assistant of an artefact."""
    return of.put_into(Assistant(), "assistant.json")
