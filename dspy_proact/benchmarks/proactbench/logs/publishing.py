"""How a corpus of logs is published: the rows of any corpus of dialogues, and what its card says of their source.

Neither the page nor `redacted.jsonl` nor `calls.jsonl` is among the tables.
"""

from collections.abc import Mapping
from dataclasses import replace

from dspy_proact.benchmarks.proactbench.logs.roles import READING
from dspy_proact.benchmarks.proactbench.report import publishing as made
from dspy_proact.publish.publishing import Description, PublicData, Publishing
from dspy_proact.report.numbers import counted

METHOD = (
    "Conversations of a product's log were redacted by rules in code and then by a model, which alone saw the text "
    "after the rules; all others saw the redacted text. At each user message a finder read the turns up to it and "
    "named what the user had mentioned and not asked about, with quotes that code located. A planner wrote the rubric "
    "from the same turns, and an auditor checked it; neither saw the logged response. An auditor read what came after: "
    "a need that it refutes is no trigger. What breaks a rule is asked for again twice."
)
LIMITS = (
    "Rules and a model looked for what is private; neither finds everything. Read the conversations before you pass "
    "them on, and ask whether those who wrote them agreed to that.",
    "Models found the needs and wrote the rubrics: what nobody found is no trigger, so that nothing here says how "
    "often the assistant overlooks something.",
    "That a user came back to a need shows that it mattered; that a user did not shows nothing.",
)
UNTESTED = "No anchor test was made: whether a pass depends on what was mentioned, `dspy-proact audit` tests."
_INSTANCE = (
    "An instance is a conversation that took place between a user of a product and its assistant, redacted: user "
    "messages, responses, a system text where there was one, and at each trigger a rubric that was written without the "
    "response. Rubrics are the labels. A conversation is the unit of splitting and of clustering."
)
_COLLECTED = (
    "People wrote the user messages to a product, whose assistant answered them; names and numbers are marks. Whoever "
    "publishes it answers for their consent."
)


def _describe(data: PublicData) -> Description:
    described = made.describe(data)
    names = {"dialogues": "conversations", "personas": "", "parts of life": "", "control dialogues": "control turns"}
    counts = [(names.get(name, name), count) for name, count in described.counts]
    return replace(
        described,
        title=f"Logged conversations of {data.brief['product']['name']}",
        instance=_INSTANCE,
        counts=[(name, count) for name, count in counts if name],
        method=METHOD,
        proof=[UNTESTED],
        limits=LIMITS,
        attributions=("The conversations and the brief are of the product's owner.",),
        collected=_COLLECTED,
    )


def _notice(rows: Mapping[str, int]) -> str:
    """How many conversations are in it, and that somebody must read them."""
    controls = rows.get(made.CONTROLS, 0)
    count = counted(rows.get(made.DIALOGUES, 0) + controls, "conversation")
    within = f", {controls:,} of them for control turns" if controls else ""
    return (
        f"It holds {count} that people had{within}. Read all of it first: rules and a model looked for what is "
        "private, neither finds everything, and names, towns and numbers may be left."
    )


def publishing() -> Publishing:
    """How corpora of logs are published."""
    nouns = ("conversation", "conversations")
    return replace(
        made.publishing(), describe=_describe, items=nouns, groups=nouns, unhashed=(READING,), notice=_notice
    )
