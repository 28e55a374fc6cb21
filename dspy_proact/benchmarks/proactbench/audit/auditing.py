"""What an audit of ProactBench goes by: a dialogue is an item, its triggers fill the table of coverage."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from dspy_proact.audit.auditing import AuditedCorpus, Auditing, AuditItem
from dspy_proact.audit.check import AuditCheck
from dspy_proact.benchmarks.proactbench.audit.checks import dialogue_checks
from dspy_proact.benchmarks.proactbench.audit.rows import AuditedRows, read_rows
from dspy_proact.benchmarks.proactbench.cases import case_set_of
from dspy_proact.benchmarks.proactbench.corpus.dialogues import FILE
from dspy_proact.benchmarks.proactbench.types import Dialogue, Phase
from dspy_proact.evaluation.benchmark import lazily

_STYLES, _TURNS = range(1, 25), range(1, 11)
_NAME = re.compile(r"(?<=[\w,;:)\u2019'\u2013-] )[A-Z\u00c0-\u00de][\w\u2019'-]*\w")
"""A word with a capital letter that begins no sentence."""
_WORD = re.compile(r"\w+")
_MOST_CAPITAL = 0.12
"""Share of words with a capital letter that begin no sentence: 4 % in the sample; in German all nouns have one."""
_NO_NAMES = frozenset(
    """
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september
    october november december english french german spanish italian
    """.split()  # noqa: SIM905 - a list of words is read as words
)
_MARK = b'"trigger_points"'
_BEGINNING = 1 << 20


def auditing() -> Auditing:
    """How corpora of dialogues are audited."""
    return Auditing(
        read=_read,
        recognizes=_recognizes,
        nouns=("dialogue", "dialogues"),
        beyond="whether a pass depends on what the user disclosed",
        columns={
            "phase": tuple(Phase),
            "domain": (),
            "style": tuple(map(str, _STYLES)),
            "turn": tuple(map(str, _TURNS)),
        },
        checks=_checks,
        testing=lazily("dspy_proact.benchmarks.proactbench.audit.testing", "testing"),
    )


def _checks(corpus: AuditedCorpus) -> Iterable[AuditCheck]:
    assert isinstance(corpus.content, AuditedRows), "it was read here"
    return dialogue_checks(corpus.content)


def _read(spec: str, revision: str | None) -> AuditedCorpus:
    rows = read_rows(spec, revision)
    known = _names([one.dialogue for one in rows.dialogues])
    items = [_item(one.dialogue, known[one.key]) for one in rows.dialogues]
    return AuditedCorpus.of(case_set_of(rows.corpus), items, rows, rows.unusable)


def _item(dialogue: Dialogue, names: Sequence[str]) -> AuditItem:
    messages = [turn.user for turn in dialogue.turns]
    rubrics = [trigger.rubric for trigger in dialogue.triggers]
    origin, last = dialogue.origin, len(dialogue.turns)
    cell = {"domain": origin.life_domain} | ({"style": str(origin.style)} if origin.style else {})
    # The last response may be missing.
    replies = [turn.assistant or "" for number, turn in enumerate(dialogue.turns, 1) if turn.assistant or number < last]
    criteria = [text for rubric in rubrics for text in rubric.model_dump(exclude={"phase"}).values()]
    return AuditItem(
        key=origin.dialogue,
        group=origin.persona,
        texts={"user messages": messages, "curated responses": replies, "criteria": criteria},
        compared={"conversations": ["\n".join(messages)], "rubrics": [rubric.pass_criteria for rubric in rubrics]},
        names=names,
        cells=[
            {"phase": str(trigger.rubric.phase), "turn": str(trigger.turn), **cell} for trigger in dialogue.triggers
        ],
    )


def _names(dialogues: Sequence[Dialogue]) -> dict[str, list[str]]:
    """By dialogue, the words of its user that are names: capital wherever they stand in the corpus.

    None where many words are capital that begin no sentence, as all nouns are in German.
    """
    texts = {one.origin.dialogue: "\n".join(turn.user for turn in one.turns) for one in dialogues}
    capital, words = (sum(len(of.findall(text)) for text in texts.values()) for of in (_NAME, _WORD))
    if capital > _MOST_CAPITAL * words:
        return {key: [] for key in texts}
    small = Counter(word for text in texts.values() for word in re.findall(r"\b[a-z\u00df-\u00ff][\w\u2019'-]*", text))

    def names(text: str) -> Iterator[str]:
        for match in _NAME.finditer(text):
            word = re.sub(r"[\u2019'](?:s|m|d|ve|ll|re)$", "", match.group())
            if len(word) > 1 and word.casefold() not in _NO_NAMES and not small[word.casefold()] and not word.isupper():
                yield word

    return {key: list(dict.fromkeys(names(text))) for key, text in texts.items()}


def _recognizes(path: Path) -> bool:
    """Whether it is a file of rows in the official layout, or a folder with one."""
    file = path / FILE if path.is_dir() else path
    if not file.is_file():
        return False
    with file.open("rb") as opened:
        return _MARK in opened.readline(_BEGINNING)
