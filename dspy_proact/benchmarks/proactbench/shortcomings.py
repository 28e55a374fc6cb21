"""What a response lacks, in words of this file alone: a judge's reasons are read for them and never shown.

A judge has the rubric in sight, so that any of its words may be the rubric's. Here its reasons only choose among
sentences that are made of what every judge is told, whatever the rubric (`programs/judge.txt` and its like).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from dspy_proact.benchmarks.proactbench.types import Phase


@dataclass(frozen=True)
class Shortcoming:
    """A way to fall short."""

    name: str
    """By which it is counted."""
    meaning: str
    """A sentence without full stop."""
    words: re.Pattern[str]
    """How reasons speak of it: beginnings of words."""


def _shortcoming(name: str, meaning: str, *words: str) -> Shortcoming:
    negated = r"(?<!\bnot )(?<!\bnor )(?<!n't )(?<!\bhardly )(?<!\bnot a )"
    return Shortcoming(name, meaning, re.compile(rf"{negated}\b(?:{'|'.join(words)})", re.IGNORECASE))


_NOT = r"(?:never|not|nor|no|neither|doesn't|does not|fails to) (?:\w+ ){0,2}"
_OF_PHASE: Mapping[Phase, Shortcoming] = {
    Phase.CRITICAL: _shortcoming(
        "joins nothing",
        "it uses one disclosed fact, or sets several side by side, and joins no two into a conclusion or an act",
        r"(?:single|one|lone) (?:\w+ )?(?:anchor|fact|clue|detail)|side by side|in isolation|separate|solely",
        rf"{_NOT}(?:join|connect|combin|link|synthesi|brought together)|nothing (?:is )?(?:joined|connected|combined)",
        r"(?:no|without a) (?:second|further|other) (?:anchor|fact|clue|detail)",
    ),
    Phase.RECOVERY: _shortcoming(
        "inside the topic",
        "it stays inside the finished topic, its delivery, use and upkeep, and opens no direction outside it",
        r"(?:inside|within) the|same (?:\w+ )?(?:topic|task|job|subject|matter|thing)|still (?:about|the)",
        r"(?:finished|closed|completed) (?:topic|task|job)|close to the|tweak|tidier|(?:topic|task|job) itself",
        r"logistics|no new (?:direction|topic|purpose)|on[- ]topic|next time",
    ),
}
_OF_ALL = (
    _shortcoming(
        "waved away",
        "it takes the matter up and then leaves it",
        r"leav(?:es|ing) (?:it|them|that|this) (?:\w+ )?(?:there|alone|open|off|out|at that)|left (?:open|there)",
        r"wav(?:es|ed|ing) (?:\w+ )?(?:away|off|aside)|dismiss|shrug|expressly|deliberately",
    ),
    _shortcoming(
        "hints only",
        "it only hints, in a question, a remark or a joke, and leaves the conclusion unsaid",
        r"hint|nod(?:s|ded)?\b|veiled|implie[sd]|implicit|coy|oblique|allu[ds]|glanc|wink|teas(?:es|ed|ing)|quip|joke|pun\b",
        r"playful|banter|in passing|touch(?:es|ed)? |unsaid|unstated|unexplained|remark|observ(?:es|ation)",
        r"(?:only|merely|just) (?:asks|a question|notices?|mentions?|notes?)",
    ),
    _shortcoming(
        "names no act",
        "it names no act: what to do, and with what or whom, or when or where, is left open",
        r"nothing (?:\w+ )?(?:propos|conclud|offer|follow|suggest|recommend|to (?:check|do|act))|vague|deferred",
        r"(?:no|neither|without|nor|lacks?|lacking) (?:an? |any |the |(?:stated|first|concrete|specific|clear) )*"
        r"(?:\w+ or )?(?:next )?(?:step|act|plan|wording|arrangement|remed|estimate|figure|solution|advice|propos"
        r"|suggest|conclu|result|consequence|offer|alternative|check|warning|way|measure|means|saying|giving)",
        r"offer(?:s|ing)? nothing|(?:does|gives) nothing|some ?day|some (?:evening|time)|for (?:some|another) time",
        rf"{_NOT}(?:suggest|propos|recommend|offer|conclude|draw|say what)|stops short|only caution|open offer",
    ),
    _shortcoming(
        "generic",
        "it is generic: it would fit anybody, and hangs on no detail of this conversation",
        r"generic|general|stock\b|standard|boilerplate|any(?:one|body)\b|for any |common(?:place)?\b|textbook|routine",
        rf"tied to no|unrelated|ungrounded|{_NOT}(?:tied|grounded)|(?:no|without|none of it) (?:\w+ )?(?:need|detail)",
    ),
    _shortcoming(
        "recaps only",
        "it only does what was asked, recaps, praises or says goodbye",
        r"recap|summar|paraphras|restat|repeat|recit|echo|prais|congrat|compliment|admir|farewell|pleasantr|small talk",
        r"cheer|good wishes|kind words|sign[- ]off|acknowledg|(?:only|merely|simply|just) (?:answers|does|deliver)",
        r"as (?:asked|requested)|what was asked",
    ),
    _shortcoming(
        "wrong",
        "what it says is wrong, made up, or would do harm",
        r"wrong|unsound|misread|mislead|misdirect|harm|error|mistak|invent|incorrect|inaccura|danger|unusable|made up",
    ),
    _shortcoming(
        "uses nothing disclosed",
        "it uses nothing of what the user disclosed without asking, or misses what matters in it",
        r"ignor|unused|untouched|unseen|unnoticed|unaddressed|overlook|forg[eo]t|miss(?:es|ed|ing)?\b|absent|nowhere|neglect",
        rf"{_NOT}(?:consider|mention|tak(?:es?|en) up|appear|thought|notice|used?\b|named|address|pick|engage|refer)",
        r"plays? no part|nothing (?:\w+ )?(?:of|about|from)|without (?:\w+ )?(?:notic|mention|consider|using)|unaware",
    ),
)


def shortcomings_in(reasons: str, phase: Phase) -> list[Shortcoming]:
    """Those that a judge's reasons speak of, the most definite first; none where they speak of no known one."""
    own = [_OF_PHASE[phase]] if phase in _OF_PHASE else []
    return [shortcoming for shortcoming in (*own, *_OF_ALL) if shortcoming.words.search(reasons)]
