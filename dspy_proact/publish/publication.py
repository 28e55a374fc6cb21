"""The publication of a made corpus: what is published of it, what is held back, and the files of both.

What stands in them is a function of the corpus, the reviews and what the owner states: no time, path, endpoint, price
or name of a reviewer is in them.
"""

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dspy_proact.audit.audit import Audit
from dspy_proact.audit.check import AuditCheck
from dspy_proact.errors import RunError, UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.kept import versions, write_file
from dspy_proact.publish.card import CardFacts, card, eval_yaml, held_back_card
from dspy_proact.publish.croissant import croissant
from dspy_proact.publish.datasheet import datasheet
from dspy_proact.publish.parts import CorpusPart, ReviewSource, Source, threshold_of
from dspy_proact.publish.publishing import PUBLICATION, HeldBack, Owner, PublicationRecord, PublicData
from dspy_proact.report.numbers import counted

SUMS = "SHA256SUMS"
_LEFT = re.compile(r"(.+)\.\d+\.new")
"""What a write that was killed leaves beside a file."""


@dataclass(frozen=True)
class Publication:
    """What was written."""

    path: Path
    """Of the folder that is published."""
    held_back: Path | None
    """Of the folder that is not; None where nothing is held back."""
    record: PublicationRecord
    checks: Sequence[AuditCheck]
    """Of an audit of what is published."""
    items: tuple[str, str]
    """Noun of an item, and its plural."""
    notice: str
    """What must be done before it is published; empty where nothing is known."""


def publish(
    folder: str | Path,
    out: str | Path | None = None,
    *,
    reviews: ReviewSource = (),
    held_back: float | None = None,
    owner: Owner | None = None,
    benchmark: Benchmark[Any, Any] | str | None = None,
) -> Publication:
    """Write the folder of a corpus that is published, and beside it the one that is not.

    Args:
        folder: Of a corpus that `generate` made.
        out: The folder to be published; `FOLDER-published` where None. What is held back is beside it, in
            `OUT-held-back`.
        reviews: By people, or the file of them, a `Review` a line; rejected items are left out and edits applied.
        held_back: Share of the groups that is kept apart, in (0, 1); None for none.
        owner: What the owner states.
        benchmark: By its name, the path of its file, or itself; None for that of the corpus.

    Raises:
        RunError: The folder is no corpus or not finished, or the one to be written holds something else.
        UsageError: The benchmark publishes no corpora, reviews cannot be applied, or a part would be empty.
        CorpusError: A file was changed by hand, or is damaged.
    """
    folder, owner, share = Path(folder), owner or Owner(), held_back or 0.0
    path = Path(out) if out is not None else folder.with_name(f"{folder.name}-published")
    hidden_path = path.with_name(f"{path.name}-held-back")
    inner, outer = folder.resolve(), path.resolve()
    if inner == outer or inner in outer.parents or outer in inner.parents:
        raise UsageError(f"`out` {path}: holds the folder of the corpus or lies in it; name one beside it")
    if held_back is not None and not 0 < held_back < 1:
        raise UsageError(f"`held_back` {held_back:g}: must be a share between 0 and 1, such as 0.5")
    source = Source.of(folder, reviews, benchmark)
    declared, public, rest = source.declared, source.part("public", share), source.part("held back", share)
    if not public.keys or (held_back is not None and not rest.keys):
        raise UsageError(_empty_part(source, public, rest, share))
    description = source.publishing.describe(PublicData(source.claim.identity.brief, public.rows, source.models))
    record = _record(source, public, owner, owner.name or description.title)
    rest_files = _held_back_files(source, rest, owner, record.title) if rest.keys else {}
    if rest_files:
        sha256 = hashlib.sha256(rest_files[SUMS].encode()).hexdigest()
        held = HeldBack(share=share, groups=len(rest.groups), items=len(rest.keys), sha256=sha256)
        record = record.model_copy(update={"held_back": held})
    data = source.files(public)
    with TemporaryDirectory() as name:
        _write(Path(name, declared.name), data)
        audited = Audit(Path(name, declared.name), benchmark=declared).checks
    facts = CardFacts(record, description, owner, declared, source.publishing, source.models, audited, tuple(data))
    documents = {"README.md": card(facts), "datasheet.md": datasheet(facts), "eval.yaml": eval_yaml(facts)}
    documents |= {"croissant.json": croissant(facts, data, public.rows), PUBLICATION: _json(record)}
    files = _summed({**data, **documents}, public.canary)
    for target, wanted in ((path, files), (hidden_path, rest_files)):
        _require_free(target, wanted)
    for target, wanted in ((hidden_path, rest_files), (path, files)):
        _write(target, wanted)
    notice = source.publishing.notice(record.rows)
    return Publication(path, hidden_path if rest_files else None, record, audited, source.publishing.items, notice)


def _held_back_files(source: Source, rest: CorpusPart, owner: Owner, title: str) -> dict[str, str]:
    """The files of the part that is not published."""
    record = _record(source, rest, owner, title)
    own = {**source.files(rest), PUBLICATION: _json(record), "README.md": held_back_card(record)}
    return _summed(own, rest.canary)


def _empty_part(source: Source, public: CorpusPart, rest: CorpusPart, share: float) -> str:
    """That one part would be empty, and by which shares neither is."""
    groups, where = public.groups | rest.groups, "held back" if public.keys else "published"
    digest = source.claim.identity.digest()
    thresholds = sorted(threshold_of(digest, group) for group in groups)
    low, high = (
        (math.ceil(1000 * thresholds[0]) / 1000, math.floor(1000 * thresholds[-1]) / 1000) if thresholds else (1.0, 0.0)
    )
    between = f"name a share from {low:g} to {high:g}" if low < high else "make a larger corpus"
    of = counted(len(groups), *source.publishing.groups)
    return f"`held_back` {share:g}: none of {of} would be {where}, which a hash decides; {between}"


def _record(source: Source, part: CorpusPart, owner: Owner, title: str) -> PublicationRecord:
    return PublicationRecord(
        part=part.name,
        title=title,
        benchmark=source.declared.name,
        canary=part.canary,
        corpus=source.claim.identity.digest(),
        licence=owner.licence,
        rows={name: len(rows) for name, rows in part.rows.items() if name not in source.publishing.private},
        groups=len(part.groups),
        items=len(part.keys),
        reviews=source.reviewed.counts if source.reviewed else None,
        dspy_proact=versions()["dspy-proact"],
    )


def _json(record: PublicationRecord) -> str:
    return record.model_dump_json(indent=2) + "\n"


def _summed(files: Mapping[str, str], canary: str) -> dict[str, str]:
    """The files with the one that has their hashes, as `sha256sum -c` reads it, which skips lines with #."""
    sums = [f"{hashlib.sha256(text.encode()).hexdigest()}  {name}" for name, text in sorted(files.items())]
    return {**files, SUMS: "\n".join([f"# Canary GUID {canary}", *sums]) + "\n"}


def _require_free(folder: Path, files: Mapping[str, str]) -> None:
    """Raise a `RunError` where a folder holds anything but these files."""
    for path in sorted(folder.rglob("*")) if folder.exists() else ():
        name = path.relative_to(folder).as_posix()
        if path.is_dir() and not path.is_symlink():
            continue
        if (left := _LEFT.fullmatch(name)) and left[1] in files:
            path.unlink()
        elif path.is_symlink() or name not in files or path.read_bytes() != files[name].encode():
            raise RunError(f"{path}: is not of this publication; delete the folder, or name another with `out`")


def _write(folder: Path, files: Mapping[str, str]) -> None:
    """Write the files that are not there."""
    for name, text in files.items():
        with suppress(OSError):  # writing says what is wrong
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if not (folder / name).is_file():
            write_file(folder / name, text)
