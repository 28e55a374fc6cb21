"""Corpora that are made at a simulated provider, which answers as the embedded stand-in does."""

import json
from importlib.resources import files
from pathlib import Path

from dspy_proact import Gate, Generation, ModelSpec
from dspy_proact.benchmarks.proactbench.generation import making as proactbench
from dspy_proact.benchmarks.proactbench.generation.brief import brief_of
from dspy_proact.benchmarks.proactbench.logs import making as logs
from dspy_proact.benchmarks.probe.generation import making as probe
from support.provider import Received, Scripted

CHARACTERS_A_TOKEN = 4
ROLES = {"proactbench": proactbench.ROLES, "logs": logs.ROLES, "probe": probe.ROLES}
"""By benchmark, of its logs too."""


def as_stand_in(received: Received, most: int | None = None, benchmark: str = "proactbench") -> Scripted:
    """What the stand-in of a role answers; tokens are counted as four characters each.

    Args:
        received: The request.
        benchmark: Of which a corpus is made.
        most: Characters up to which responses of assistants are filled with sentences that take up nothing.
    """
    messages = [(message["role"], message["content"]) for message in received.body["messages"]]
    system = "".join(text for role, text in messages if role == "system")
    stand_in = ROLES[benchmark][received.role].stand_in
    assert stand_in, "every role has one"
    answer = stand_in(system, [message for message in messages if message[0] != "system"])
    if most and received.role in ("assistant", "tester"):
        answer = _filled(answer, most)
    prompt = sum(len(text) for _, text in messages)
    counts = {"prompt_tokens": prompt, "completion_tokens": len(answer)}
    return Scripted(answer, usage={name: count // CHARACTERS_A_TOKEN for name, count in counts.items()})


def made_at(base: str, items: int, gate: Gate, benchmark: str = "proactbench", log: Path | None = None) -> Generation:
    """A corpus of the bundled brief, with full proof; the provider answers each role at an address of its own.

    `base` is the provider's address of the role `any`; `log` is what a corpus of `logs` is made of, the bundled one by
    default.
    """
    model = ModelSpec(name="openai/any", api_base=base)
    roles = {
        name: ModelSpec(name="openai/any", api_base=base.replace("/any/", f"/{name}/")) for name in ROLES[benchmark]
    }
    if benchmark == "logs":
        return Generation(brief_of(None), model, roles, items=items, gate=gate, logs=log or logs.SAMPLE)
    return Generation(None, model, roles, items=items, gate=gate, benchmark=benchmark)


def repeated_log(path: Path, count: int) -> Path:
    """A log of so many conversations, the bundled ones again and again under other identifiers and first words."""
    bundled = files("dspy_proact.benchmarks.proactbench").joinpath("data/logs/chats.jsonl").read_text("utf-8")
    usable = [chat for chat in map(json.loads, bundled.splitlines()) if len(chat["messages"]) > 1]
    lines = list[str]()
    for number in range(count):
        chat = json.loads(json.dumps(usable[number % len(usable)]))
        first = next(message for message in chat["messages"] if message["role"] == "user")
        first["content"] = f"Request {number + 1}. {first['content']}"
        lines.append(json.dumps({**chat, "conversation_id": f"c{number + 1}"}))
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


_FILLING = (
    "It is written on the sheet by the entrance as well.",
    "Nothing else has to be done on your side for that.",
    "The form on the website shows the same steps in the same order.",
    "Whoever is at the counter can confirm it in a minute.",
    "A message is sent as soon as that has gone through.",
    "You can read it again in your account under the same heading.",
)


def _filled(text: str, most: int) -> str:
    """The text with sentences after it, up to so many characters; which comes first follows from its length."""
    number = len(text)
    while len(text) + 1 + len(sentence := _FILLING[number % len(_FILLING)]) <= most:
        text, number = f"{text} {sentence}", number + 1
    return text
