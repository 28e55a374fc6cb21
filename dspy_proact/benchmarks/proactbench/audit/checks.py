"""Checks of a corpus of dialogues that ask no model: its triggers, its rubrics, its control turns, its planted facts.

A check fails where what it shows is a fault whatever the dialogues are about. The turns of the published schedule are
targets, and words that a rubric shares with a message prove nothing: both are reported alone.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from dspy_proact.audit.auditing import part_of
from dspy_proact.audit.check import AuditCheck, Finding
from dspy_proact.benchmarks.proactbench.audit.rows import AuditedDialogue, AuditedRows
from dspy_proact.benchmarks.proactbench.cases import OWN_ROW, controls_of
from dspy_proact.benchmarks.proactbench.corpus.dialogues import CONTROLS_FILE, trigger_key
from dspy_proact.benchmarks.proactbench.types import Dialogue, Phase, Trigger
from dspy_proact.evidence import Passage, words_of
from dspy_proact.plain_text import shortened
from dspy_proact.report.numbers import counted
from dspy_proact.stats.likeness import ALIKE, grams, likeness

WINDOWS = {Phase.EMERGENT: range(1, 4), Phase.CRITICAL: range(4, 8), Phase.RECOVERY: range(8, 11)}
"""Turns at which the published schedule has triggers of a phase (arXiv 2605.09228)."""
MOST_IN_A_PHASE = 2
"""Triggers, likewise."""
_PHASES = list(Phase)
_QUOTED = re.compile(r"[\"\u201c\u201e\u00ab]([^\"\u201c\u201d\u201e\u00ab\u00bb]{2,})[\"\u201d\u201c\u00bb]")
_LEAST_QUOTED = 3
"""Words of a quote that is looked for: fewer stand in any conversation, or in none by chance."""
Triggers = Sequence[tuple[str, tuple[Dialogue, Trigger]]]
"""By its key, each trigger with its dialogue."""


def dialogue_checks(rows: AuditedRows) -> Iterator[AuditCheck]:
    """All of them, in the order of reports."""
    triggers = list(rows.corpus.triggers.items())
    yield _windows(rows)
    yield _order(rows)
    yield _criteria(triggers)
    yield _rubric_words(triggers)
    yield _quotes(triggers)
    yield _controls(rows)
    yield _twins(rows)
    yield _anchors(rows)
    yield _swaps(rows)


def _windows(rows: AuditedRows) -> AuditCheck:
    """Triggers at turns that the published schedule does not name, and phases with too many in a dialogue."""
    triggers, findings = list(rows.corpus.triggers.items()), list[Finding]()
    for key, (_, trigger) in triggers:
        window = WINDOWS[trigger.rubric.phase]
        if trigger.turn not in window:
            turns = f"turns {window[0]} to {window[-1]}"
            problem = f"{trigger.rubric.phase} at turn {trigger.turn}; the schedule has {turns}."
            findings.append(Finding(key=key, problem=problem))
    outside = len(findings)
    for one in rows.dialogues:
        counts = Counter(trigger.rubric.phase for trigger in one.dialogue.triggers)
        findings += [
            Finding(key=one.key, problem=f"{count} {phase} triggers; the schedule has at most {MOST_IN_A_PHASE}.")
            for phase, count in counts.items()
            if count > MOST_IN_A_PHASE
        ]
    within = part_of(len(triggers) - outside, len(triggers), ("trigger", "triggers"), ("is", "are"))
    sentence = f"{within} at turns of the published schedule, which is a target and no rule."
    return AuditCheck.reported("windows", sentence, len(triggers), findings)


def _order(rows: AuditedRows) -> AuditCheck:
    """Phases that come back: after RECOVERY the task is done, and nothing can emerge."""
    findings, tested, mixed = list[Finding](), 0, set[str]()
    for one in rows.dialogues:
        tested += len(one.dialogue.triggers) > 1
        for before, after in pairwise(one.dialogue.triggers):
            if _PHASES.index(after.rubric.phase) < _PHASES.index(before.rubric.phase):
                kinds = f"{after.rubric.phase} at turn {after.turn} follows {before.rubric.phase} at {before.turn}"
                findings.append(Finding(key=trigger_key(one.key, after.turn), problem=f"{kinds}."))
                mixed.add(one.key)
    if not tested:
        return AuditCheck.not_tested("order of phases", "no dialogue has two triggers")
    nouns = "dialogue with several triggers", "dialogues with several triggers"
    sentence = f"{part_of(len(mixed), tested, nouns)} a phase that comes back after a later one."
    return AuditCheck.judged("order of phases", sentence, tested, findings)


def _criteria(triggers: Triggers) -> AuditCheck:
    """Rubrics of which two criteria say the same, so that no judge can tell the grades from one another."""
    findings = list[Finding]()
    for key, (_, trigger) in triggers:
        rubric = trigger.rubric
        texts = {"PASS": rubric.pass_criteria, "PARTIAL": rubric.partial_criteria, "FAIL": rubric.fail_criteria}
        findings += [
            Finding(key=key, problem=f"{one} and {other} share {alike:.0%} of their three-word sequences.")
            for one, other in combinations(texts, 2)
            if (alike := likeness(texts[one], texts[other])) >= ALIKE
        ]
    count = len({finding.key for finding in findings})
    has = part_of(count, len(triggers), ("rubric", "rubrics"))
    sentence = f"{has} two criteria in much the same words."
    return AuditCheck.judged("criteria", sentence, len(triggers), findings)


def _rubric_words(triggers: Triggers) -> AuditCheck:
    """Triggers whose user message has three words in a row of the PASS criterion."""
    findings = list[Finding]()
    for key, (dialogue, trigger) in triggers:
        shared = grams(trigger.rubric.pass_criteria) & grams(dialogue.turns[trigger.turn - 1].user)
        if runs := sorted(" ".join(run) for run in shared if len(run) > 1):
            shown = " and ".join(repr(run) for run in runs[:2])
            findings.append(Finding(key=key, problem=f"The message and the PASS criterion share {shown}."))
    sentence = (
        f"{part_of(len(findings), len(triggers), ('trigger', 'triggers'))} three words in a row of the PASS criterion "
        "in the user's message, which alone is no fault: in a trial 10 of 15 sound triggers had, and no planted leak."
    )
    return AuditCheck.reported("rubric words in user turns", sentence, len(triggers), findings)


def _quotes(triggers: Triggers) -> AuditCheck:
    """Quotes in rubrics that the user has not said by then; it fails where one stands only in a later turn."""
    late, absent, quotes = list[Finding](), list[Finding](), 0
    for key, (dialogue, trigger) in triggers:
        before = Passage("\n".join(turn.user for turn in dialogue.turns[: trigger.turn]))
        replies = Passage("\n".join(turn.assistant or "" for turn in dialogue.turns[: trigger.turn - 1]))
        after = Passage("\n".join(turn.user for turn in dialogue.turns[trigger.turn :]))
        for quote in _QUOTED.findall(trigger.rubric.pass_criteria):
            if len(words_of(quote)) < _LEAST_QUOTED:
                continue
            quotes += 1
            if any(passage.quote(quote).start is not None for passage in (before, replies)):
                continue
            if after.quote(quote).start is not None:
                problem = f"Its rubric quotes {shortened(quote)!r}, which the user says only later."
                late.append(Finding(key=key, problem=problem))
            else:
                problem = f"Its rubric quotes {shortened(quote)!r}, which nobody says; it may be of a response."
                absent.append(Finding(key=key, problem=problem))
    if not quotes:
        return AuditCheck.not_tested("quotes in rubrics", f"no PASS criterion quotes {_LEAST_QUOTED} words or more")
    sentence = (
        f"Of {counted(quotes, 'quote')} in PASS criteria, {quotes - len(late) - len(absent)} stand in the conversation "
        f"up to the trigger, {len(late) or 'none'} only in a later message."
    )
    check = AuditCheck.judged("quotes in rubrics", sentence, quotes, [*late, *absent])
    return check if late or not absent else check.model_copy(update={"state": "reported"})


def _controls(rows: AuditedRows) -> AuditCheck:
    """Turns at which nothing is to be taken up, without which a corpus rewards whoever always offers something."""
    cases = controls_of(rows.corpus)
    own = sum(OWN_ROW in case.meta for case in cases)
    none = "It has no control turn: a response that always offers something costs nothing on it."
    turns = counted(len(cases), "control turn")
    sentence = f"It has {turns}, {own or 'none'} of them in {CONTROLS_FILE}." if cases else none
    findings = [] if cases else [Finding(key="", problem=none)]
    return AuditCheck.judged("control turns", sentence, len(rows.corpus.dialogues), findings)


def _twins(rows: AuditedRows) -> AuditCheck:
    """Dialogues of one blueprint, persona and style: an audit that one of them passed may have been the other's."""
    held = defaultdict[tuple[str, str, int], list[str]](list)
    for one in rows.dialogues:
        origin = one.dialogue.origin
        held[origin.persona, origin.blueprint, origin.style].append(one.key)
    findings = [
        Finding(key=key, problem=f"It has blueprint, persona and style of {keys[0]}.")
        for keys in held.values()
        for key in keys[1:]
    ]
    if len(rows.dialogues) < 2:
        return AuditCheck.not_tested("blueprint twins", "it takes two dialogues")
    repeat = part_of(len(findings), len(rows.dialogues), ("dialogue", "dialogues"), ("repeats", "repeat"))
    sentence = f"{repeat} blueprint, persona and style."
    return AuditCheck.judged("blueprint twins", sentence, len(rows.dialogues), findings)


def _anchors(rows: AuditedRows) -> AuditCheck:
    """Planted facts whose quote the user does not say at their turn, and triggers that rest on none or on a later one.

    Made corpora alone say what was planted.
    """
    findings, tested = list[Finding](), 0
    for one in rows.dialogues:
        if one.unreadable:
            findings.append(Finding(key=one.key, problem=f"What was planted cannot be read: {one.unreadable}."))
        turns = one.dialogue.turns
        for anchor in one.anchors:
            tested += 1
            message = turns[anchor.turn - 1].user if 1 <= anchor.turn <= len(turns) else ""
            if not anchor.quote.strip() or Passage(message).quote(anchor.quote).start is None:
                problem = f"{anchor.id}: its quote does not stand in the user's message of turn {anchor.turn}."
                findings.append(Finding(key=one.key, problem=problem))
        findings += _needs(one)
    if not tested and not findings:
        return AuditCheck.not_tested(
            "planted facts", "the rows do not say what was planted; those that `generate` makes do"
        )
    faults = counted(len(findings), "fault") if findings else "no fault"
    sentence = f"{counted(tested, 'planted fact')}, each with its quote and turn: {faults}."
    return AuditCheck.judged("planted facts", sentence, tested, findings)


def _needs(one: AuditedDialogue) -> Iterator[Finding]:
    """What is wrong with the facts that triggers of a dialogue rest on."""
    disclosed = {anchor.id: anchor.turn for anchor in one.anchors}
    for trigger in one.dialogue.triggers:
        needs, key = one.needs.get(trigger.turn), trigger_key(one.key, trigger.turn)
        if needs is None:
            continue
        if not needs:
            yield Finding(key=key, problem="It rests on no planted fact.")
        for name in needs:
            if name not in disclosed:
                yield Finding(key=key, problem=f"It rests on {name}, which is nowhere disclosed.")
            elif disclosed[name] > trigger.turn:
                yield Finding(key=key, problem=f"It rests on {name}, disclosed only at turn {disclosed[name]}.")
        least = MOST_IN_A_PHASE if trigger.rubric.phase is Phase.CRITICAL else 1
        if 0 < len(needs) < least:
            yield Finding(key=key, problem="CRITICAL joins two facts or more, and it rests on one.")


def _swaps(rows: AuditedRows) -> AuditCheck:
    """Controls that were made by taking a trigger's facts out, and still have words by which these are known."""
    dialogues = {one.key: one for one in rows.dialogues}
    findings, tested = list[Finding](), 0
    for control in rows.controls:
        origin = dialogues.get(control.key.rpartition("__swap")[0])
        turn = control.control_turn or 0
        if origin is None or turn not in origin.needs:
            continue
        tested += 1
        gone = [anchor for anchor in origin.anchors if anchor.id in origin.needs[turn]]
        texts = (f"{one.user}\n{one.assistant or ''}" for one in control.dialogue.turns[: turn - 1])
        conversation = "\n".join([*texts, control.dialogue.turns[turn - 1].user])
        words = f" {' '.join(words_of(conversation))} "
        findings += [
            Finding(key=control.key, problem=f"It still holds {key!r} of the fact {anchor.id} that was taken out.")
            for anchor in gone
            for key in anchor.keys
            if words_of(key) and f" {' '.join(words_of(key))} " in words
        ]
    if not tested:
        return AuditCheck.not_tested("swapped controls", "no control is a trigger's conversation without its facts")
    count = len({finding.key for finding in findings})
    hold = part_of(count, tested, ("swapped control", "swapped controls"), ("still holds", "still hold"))
    return AuditCheck.judged("swapped controls", f"{hold} words of a fact that was taken out.", tested, findings)
