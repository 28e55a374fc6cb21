"""Logs of a library's assistant, and roles that read them over HTTP: they do as a test says, and keep what they see."""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from support.provider import Received, Scripted, SimulatedProvider

from builders.scripted_making import library_brief
from dspy_proact import Gate, Generation, ModelSpec
from dspy_proact.benchmarks.proactbench.logs.making import ROLES
from dspy_proact.generation.generation import Generated
from dspy_proact.programs.embedded.fields import outputs_of, request_fields, unfenced

LISBON = "I fly to Lisbon on the ninth"
"""A fact that the user states in passing."""
CHAT = (
    f"{LISBON}. Which novels are in?",
    "Ishiguro is in.",
    "Put it aside please.",
    "It is put aside.",
    "Now it is overdue, since I was in Lisbon. Why did nobody renew it?",
    "I am sorry.",
)
"""User and assistant in turn: the user comes back to it at turn 3."""


def written_log(path: Path, *chats: Sequence[str]) -> Path:
    """A file of conversations in the form of OpenAI's messages."""
    rows = [
        {
            "conversation_id": f"c{number}",
            "created_at": f"2026-11-{15 + number}T10:00:00Z",
            "messages": [
                {"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(texts) if text
            ],
        }
        for number, texts in enumerate(chats, start=1)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def need(quote: str = LISBON, turn: int = 1, *more: tuple[str, int], **changes: Any) -> dict[str, Any]:
    """A need that rests on a fact, and on more of them."""
    facts = [
        {
            "fact": f"{words}, says the user.",
            "keys": [words.split()[-3]],
            "quote": words,
            "turn": at,
            "consequence": "The loan ends meanwhile.",
            "neutral": "I like tea.",
        }
        for words, at in ((quote, turn), *more)
    ]
    own = {"facts": facts, "need": f"A loan ends by {quote}.", "act": f"renews the loan, given {quote}"}
    basis = {"basis": "product", "basis_quote": "Loans are renewed before they end"}
    return {**own, "requested": "no", "served": False, **basis, "certainty": 0.8, **changes}


Answer = Callable[[Mapping[str, Any]], Any]
"""What a role writes, from the inputs of its question, which are read as JSON where they are."""


class LogScript:
    """What roles answer over HTTP, by the field that they are asked for: clean answers, unless a test says otherwise.

    Attributes:
        sent: All that each role was sent, a text a request.
    """

    def __init__(self, **answers: Answer):
        self.answers: dict[str, Answer] = {
            "reading": lambda _: {"private": [], "language": "English", "orders": []},
            "findings": lambda shown: findings(*([need()] if len(shown["conversation"]) == 1 else [])),
            "aftermath": lambda _: aftermath("open"),
            "rubric": lambda shown: rubric(shown["step"]),
            "audit": audit,
            "grade": lambda _: "FAIL",
            **answers,
        }
        self.sent = defaultdict[str, list[str]](list)

    def __call__(self, received: Received) -> Scripted:
        messages = [(message["role"], message["content"]) for message in received.body["messages"]]
        self.sent[received.role].append("\n".join(text for _, text in messages))
        if received.role == "judge":
            grade = self.answers["grade"]({})
            return Scripted(json.dumps({"reasoning": "It only answers.", "evidence": [], "grade": grade}))
        shown = {name: _read(text) for name, text in request_fields(messages).items()}
        (name,) = outputs_of(messages[0][1])
        return Scripted(json.dumps({name: self.answers[name](shown)}))

    def made(self, folder: Path, log: Path, proof: Any = "full", **options: Any) -> Generated:
        """A corpus of a log and of the library's brief."""
        with SimulatedProvider(self) as provider:
            return self.making(provider, log, proof, **options).run(folder)

    def making(self, provider: SimulatedProvider, log: Path, proof: Any = "full", **options: Any) -> Generation:
        """Not run yet."""
        roles = {name: ModelSpec(name="openai/any", api_base=provider.base(name)) for name in ROLES}
        gate = options.pop("gate", Gate(concurrency=8))
        model = ModelSpec(name="openai/any", api_base=provider.base("any"))
        return Generation(library_brief(), model, roles, proof=proof, gate=gate, logs=log, **options)


def _read(text: str) -> Any:
    try:
        value, _ = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return unfenced(text) or text
    return value


def findings(*needs: dict[str, Any], closes: bool = False) -> dict[str, Any]:
    return {"needs": list(needs), "closes": closes}


def aftermath(
    outcome: str, quote: str | None = None, turn: int | None = None, certainty: float = 0.9
) -> dict[str, Any]:
    return {"outcome": outcome, "quote": quote, "turn": turn, "reason": "So it is.", "certainty": certainty}


def rubric(step: Mapping[str, Any], act: str = "renews the loan before the flight") -> dict[str, Any]:
    criteria = {
        "pass_criteria": f"In this case it: {step['expects']}",
        "partial_criteria": "Names the date.",
        "fail_criteria": "Only answers.",
    }
    return {"type": step["trigger"], "anchors": step["needs"], **criteria, "act": act}


def audit(shown: Mapping[str, Any]) -> dict[str, Any]:
    """That a rubric is fair, with the sentences that hold a key of an anchor as grounds."""
    grounds = [
        {"anchor": anchor["id"], "quote": turn["user"], "turn": turn["turn"]}
        for anchor in shown["anchors"]
        for turn in shown["conversation"]
        if any(key in turn["user"] for key in anchor["keys"])
    ]
    flags = {"solvable": True, "asked_for": False, "one_artefact": False, "forbidden": False, "partial_distinct": True}
    return {"grounds": grounds, **flags, "consequence_true": "yes", "advice": ""}


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    """The lines of a file of a corpus."""
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]
