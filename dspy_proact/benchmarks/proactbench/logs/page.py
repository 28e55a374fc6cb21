"""One file that shows what logs show: what the assistant overlooked, the surest first, and what was taken out.

What people and models wrote is text: it is escaped, and Markdown of responses is rendered as elements.
"""

from typing import Any

from markupsafe import Markup

from dspy_proact.benchmarks.proactbench.logs.summary import LogSummary, TriggerInLog
from dspy_proact.benchmarks.proactbench.types import Grade
from dspy_proact.evidence import Passage
from dspy_proact.plain_text import encodable
from dspy_proact.publish.markdown import canary_of
from dspy_proact.report.made import short, written
from dspy_proact.report.numbers import counted
from dspy_proact.report.page.figures import PAGE, one_file, page_text, templates
from dspy_proact.report.page.rendered import marked

_HERE = "dspy_proact.benchmarks.proactbench.logs"
_SECTIONS = (
    ("overlooked", "Overlooked", "The logged response did not take up what the user mentioned, by the judge."),
    ("half", "Taken up in part", "The logged response went some of the way, by the judge."),
    ("ungraded", "Not graded", "Nobody has graded what the logged response made of these."),
    ("taken-up", "Taken up", "The logged response acted on what the user mentioned, by the judge."),
)
_GRADES = (Grade.FAIL, Grade.PARTIAL, None, Grade.PASS)
_TONES = {Grade.PASS: "best", Grade.PARTIAL: "middle", Grade.FAIL: "worst"}


def overlooked_page(summary: LogSummary) -> str:
    """The page of a corpus of logs, as HTML that needs no other file."""
    sections = [
        (*names, triggers)
        for names, grade in zip(_SECTIONS, _GRADES, strict=True)
        if (triggers := summary.graded(grade))
    ]
    own: dict[str, Any] = {
        function.__name__: function for function in (counted, excerpt, message, quoted, short, source, tone, written)
    }
    shown = {"summary": summary, "corpus": summary.corpus, "sections": sections}
    shown |= {"canary": canary_of(summary.corpus.made.identity)}
    style = page_text(PAGE, "page.css") + page_text(PAGE, "made.css") + page_text(_HERE, "overlooked.css")
    return encodable(one_file(templates(_HERE).get_template("overlooked.html"), style, "", **shown, **own))


def tone(one: TriggerInLog) -> str:
    """The class of a grade's badge; of none, none."""
    return _TONES[one.grade] if one.grade else ""


def source(summary: LogSummary, one: TriggerInLog) -> str:
    """Where the conversation stands in the log."""
    return summary.corpus.log.conversations[one.kept.slot - 1].chat.source


def excerpt(one: TriggerInLog) -> list[int]:
    """The turns that are shown, in order: those at which a fact was disclosed, and the trigger's own."""
    return sorted({fact.turn for fact in one.trigger.need.facts} | {one.trigger.turn})


def message(one: TriggerInLog, turn: int) -> Markup:
    """The user's message of a turn, with what discloses a fact marked."""
    text = one.mined.dialogue.turns[turn - 1].user
    quotes = [Passage(text).quote(fact.quote) for fact in one.trigger.need.facts if fact.turn == turn]
    return marked(text, [(of.start, of.end, "") for of in quotes if of.start is not None and of.end is not None])


def quoted(one: TriggerInLog) -> str:
    """What the judge quotes of the logged response, as it stands there; empty without a quote."""
    verdict, response = one.trigger.verdict, one.response
    spans = [(of.start, of.end) for of in verdict.evidence] if verdict else []
    return " … ".join(response[start:end] for start, end in spans if start is not None)
