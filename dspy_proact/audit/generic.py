"""The checks that serve any benchmark: what of a corpus can be read, what repeats in it, and what it covers.

Each gives an `AuditCheck`. A bar decides `passed` or `failed` only where what fails it is a fault in any corpus: a row
that cannot be used, an empty text, two texts in much the same words. Lengths, names and coverage have no bar.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

from dspy_proact.audit.auditing import AuditedCorpus, Auditing, AuditItem, part_of
from dspy_proact.audit.check import AuditCheck, Finding
from dspy_proact.plain_text import shortened
from dspy_proact.report.numbers import counted, listed
from dspy_proact.stats.diversity import Coverage, Lengths
from dspy_proact.stats.likeness import ALIKE, MOST_PAIRS, near_duplicates, words

NAME_GROUPS, NAME_SHARE = 3, 0.1
"""A name is shown as one that recurs if it stands in so many groups, and in more than this share of them."""


def generic_checks(corpus: AuditedCorpus, auditing: Auditing) -> Iterator[AuditCheck]:
    """All of them, in the order of reports."""
    yield _schema(corpus, auditing)
    yield _empty(corpus, auditing)
    for kind in _kinds(corpus.items, "compared"):
        yield _alike(corpus, kind)
    yield _names(corpus)
    for kind in _kinds(corpus.items, "texts"):
        yield _lengths(corpus, kind)
    if auditing.columns:
        yield _coverage(corpus, auditing)


def _kinds(items: Sequence[AuditItem], name: str) -> list[str]:
    """What texts of items are, in the order in which they first come."""
    return list(dict.fromkeys(kind for item in items for kind in getattr(item, name)))


def _schema(corpus: AuditedCorpus, auditing: Auditing) -> AuditCheck:
    """What of the corpus the reader cannot use, and which fields it does not know."""
    rows = counted(corpus.rows, "row")
    findings = [*corpus.unusable]
    findings += [
        Finding(key="", problem=f"{counted(count, 'row')} cannot be used: {shortened(reason)}.")
        for reason, count in corpus.left_out.items()
    ]
    unusable = len(corpus.unusable) + sum(corpus.left_out.values())
    unknown = [
        Finding(key="", problem=f"The field {shortened(name)} is unknown and is not read; it occurs {count:,} times.")
        for name, count in corpus.ignored_fields.items()
    ]
    read = f"{corpus.rows - unusable:,} of {rows} can be used" if unusable else f"All {rows} can be used"
    if corpus.rows == 1 and not unusable:
        read = "The only row can be used"
    fields = f"{counted(len(unknown), 'field')} {'is' if len(unknown) == 1 else 'are'} not known and not read"
    sentence = f"{read}, as {counted(len(corpus.items), *auditing.nouns)}{f'; {fields}' if unknown else ''}."
    state = "failed" if unusable else "reported" if unknown else "passed"
    return AuditCheck(name="schema", state=state, sentence=sentence, tested=corpus.rows, findings=(*findings, *unknown))


def _empty(corpus: AuditedCorpus, auditing: Auditing) -> AuditCheck:
    """Texts without a word."""
    texts = [(item.key, kind, text) for item in corpus.items for kind, of in item.texts.items() for text in of]
    if not texts:
        return AuditCheck.not_tested("empty texts", f"the {auditing.nouns[1]} have no texts")
    findings = [
        Finding(key=key, problem=f"Among its {kind} is a text without a word.")
        for key, kind, text in texts
        if not words(text)
    ]
    sentence = f"No text of {len(texts):,} is empty."
    if findings:
        sentence = f"{len(findings):,} of {len(texts):,} texts {'has' if len(findings) == 1 else 'have'} no word."
    return AuditCheck.judged("empty texts", sentence, len(texts), findings)


def _alike(corpus: AuditedCorpus, kind: str) -> AuditCheck:
    """Pairs of texts of a kind that are near duplicates."""
    texts = [(item.key, text) for item in corpus.items for text in item.compared.get(kind, ()) if words(text)]
    name, pairs = f"near duplicates among {kind}", len(texts) * (len(texts) - 1) // 2
    if not pairs:
        return AuditCheck.not_tested(name, f"it takes two {kind}, and the corpus has {len(texts) or 'none'}")
    near = near_duplicates([text for _, text in texts])
    findings = [
        Finding(
            key=texts[pair.second][0],
            problem=f"It shares {pair.likeness:.0%} of its three-word sequences with {texts[pair.first][0]}.",
        )
        for pair in near
    ]
    bar = f"half or more of their three-word sequences (Jaccard index of at least {ALIKE:g})"
    least = "At least " if len(near) == MOST_PAIRS else ""
    sentence = f"{least}{part_of(len(near), pairs, ('pair', 'pairs'), ('shares', 'share'))} {bar}."
    return AuditCheck.judged(name, sentence, pairs, findings)


def _names(corpus: AuditedCorpus) -> AuditCheck:
    """Names that come back from group to group, as those that a model invents do."""
    holders = defaultdict[str, set[str]](set)
    for item in corpus.items:
        for name in item.names:
            holders[name].add(item.group)
    groups = len({item.group for item in corpus.items})
    if not holders or groups < NAME_GROUPS:
        few = f"names are compared over {NAME_GROUPS} groups or more, and the corpus has {groups}"
        why = few if holders else "no names are known in it"
        return AuditCheck.not_tested("names", why)
    least = max(NAME_GROUPS, int(NAME_SHARE * groups) + 1)
    often = [(name, len(of)) for name, of in holders.items() if len(of) >= least]
    often.sort(key=lambda pair: -pair[1])
    findings = [
        Finding(key="", problem=f"{shortened(name)} stands in {count} of {groups} groups.") for name, count in often
    ]
    stand = part_of(len(often), len(holders), ("name", "names"), ("stands", "stand"))
    sentence = f"{stand} in at least {least} of {groups} groups."
    return AuditCheck.reported("names", sentence, len(holders), findings)


def _lengths(corpus: AuditedCorpus, kind: str) -> AuditCheck:
    """How long the texts of a kind are."""
    lengths = Lengths.of([text for item in corpus.items for text in item.texts.get(kind, ())])
    name = f"length of {kind}"
    if lengths is None:
        return AuditCheck.not_tested(name, f"there are no {kind}")
    sentence = (
        f"{lengths.count:,} texts of {lengths.least:,} to {lengths.most:,} words; median {lengths.median:g}, quartiles "
        f"{lengths.lower:g} and {lengths.upper:g}."
    )
    if lengths.count == 1:
        sentence = f"One text, of {counted(lengths.least, 'word')}."
    return AuditCheck.reported(name, sentence, lengths.count)


def _coverage(corpus: AuditedCorpus, auditing: Auditing) -> AuditCheck:
    """Which values of the columns, and which cells of two of them, no case has."""
    cells = [cell for item in corpus.items for cell in item.cells]
    if not cells:
        return AuditCheck.not_tested("coverage", "the corpus has no case")
    columns = {
        name: list(dict.fromkeys((*known, *sorted({cell.get(name, "") for cell in cells} - {""}))))
        for name, known in auditing.columns.items()
        if any(cell.get(name) for cell in cells)
    }
    coverage = Coverage(columns, [tuple(cell.get(name, "") for name in columns) for cell in cells])
    findings, shares = list[Finding](), list[str]()
    for name, values in columns.items():
        counts = Counter(cell.get(name, "") for cell in cells)
        empty = [value for value in values if not counts[value]]
        shares.append(f"{len(values) - len(empty)} of {len(values)} values of {name}")
        if empty:
            findings.append(Finding(key="", problem=f"No case has {name} {listed([*map(shortened, empty)])}."))
    for down, across in combinations([name for name, values in columns.items() if len(values) > 1], 2):
        total = len(columns[down]) * len(columns[across])
        if total > len(cells):  # a table of more cells than cases has empty ones whatever they are
            continue
        if empty := coverage.empty_cells(down, across):
            problem = f"{len(empty)} of {total} cells of {down} and {across} have no case."
            findings.append(Finding(key="", problem=problem))
    sentence = f"{counted(len(cells), 'case')} with {listed(shares)}."
    return AuditCheck.reported("coverage", sentence, len(cells), findings)
