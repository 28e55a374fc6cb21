"""A run or a results file of which a person looks at some cases; of a large run no more is read than they need."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from dspy_proact.cli.options.meant_key import LEFT_OUT, meant_key
from dspy_proact.cli.views.summary import is_results, summary_of
from dspy_proact.runs import CONTROL, Glance, RunFolder, RunIndex, controls_of

if TYPE_CHECKING:
    from dspy_proact.report import Outcome, Summary
    from dspy_proact.report.particulars import View
    from dspy_proact.runs import Manifest

_BATCH = 500
"""Cases that are read in full at once."""
_TAILS = 5, 9, 13
"""Characters that are kept of the end of a key, as many as it takes."""


class Looked:
    """What `show` reads.

    Args:
        path: Of a run's folder or of a results file.
        text: What is looked for in the texts, if anything.

    Attributes:
        glances: Of every case in every epoch, case by case.
        nouns: What its things are called.
        strata: All there are, that of control cases too.
        embedded: Whether a stand-in that measures nothing took part.

    Raises:
        UsageError: There is neither.
        RunError: The run is damaged.
        CorpusError: The results file is.
    """

    def __init__(self, path: Path, text: str | None = None):
        self.path, self._text = path, text
        self._index = None if is_results(path) else RunIndex.of(RunFolder(path), text)
        self._whole = None if self._index else summary_of(path)
        facts, manifest = self._facts()
        self.nouns, self.embedded = facts.nouns, facts.embedded
        self.strata = [*facts.strata, *(controls_of(manifest) if manifest else [])]
        self._own_labels, self._control_labels = facts.labels, manifest.control_labels if manifest else ()
        self.glances = self._index.glances if self._index else _glances(self._known)

    def _facts(self) -> "tuple[Manifest | Summary, Manifest | None]":
        """What knows the words, and the manifest where there is one."""
        return (self._known, self._known.manifest) if self._whole else (self._manifest, self._manifest)

    @property
    def _manifest(self) -> "Manifest":
        assert self._index, "read by its index where it is not read in full"
        return self._index.manifest

    @property
    def _known(self) -> "Summary":
        assert self._whole, "read in full where there is no index"
        return self._whole

    @property
    def benchmark(self) -> str:
        """Its name."""
        return self._index.manifest.identity.benchmark if self._index else self._known.benchmark

    @property
    def name(self) -> str:
        """Who answered."""
        return self._index.manifest.identity.assistant.name if self._index else self._known.model_name

    def summary(self, keys: Collection[str]) -> "Summary":
        """What it says of some cases alone, read and checked in full."""
        from dspy_proact.report import summarize

        if self._index:
            return summarize(self._index.part(keys))
        known = self._known
        own, controls = (
            tuple(outcome for outcome in outcomes if outcome.key in keys)
            for outcomes in (known.outcomes, known.controls.outcomes)
        )
        return replace(known, outcomes=own, controls=replace(known.controls, outcomes=controls))

    def outcomes(self, glances: Iterable[Glance]) -> "Iterator[Outcome]":
        """Of each of these, in their order."""
        rest = iter(glances)
        while some := list(islice(rest, _BATCH)):
            summary = self.summary({glance.key for glance in some})
            found = {(each.key, each.epoch): each for each in (*summary.outcomes, *summary.controls.outcomes)}
            yield from (found[glance.key, glance.epoch] for glance in some)

    def views(self, keys: Collection[str]) -> "dict[str, View]":
        """What the programs saw of some cases, by key."""
        if self._index:
            return {case.key: case.view for case in self._index.part(keys).cases()}
        outcomes = (*self._known.outcomes, *self._known.controls.outcomes)
        return {outcome.key: outcome.view for outcome in outcomes if outcome.key in keys}

    def excerpts(self, glances: Collection[Glance]) -> list[str]:
        """The response to each of these as it is read, in their order; empty where there is none."""
        if not self._index:
            outcomes = self.outcomes(glances)
            return [self._read(each.response or "") for each in outcomes]
        part = self._index.part({glance.key for glance in glances})
        for _ in part.cases():
            pass  # read for their marks alone: what a list says of a case is true of it
        answers = {
            (event.key.case, event.key.epoch): (event.text or "") if event.in_words else self._read(event.text or "")
            for event in part.events()
            if event.key.stage == "response"
        }
        return [answers.get((glance.key, glance.epoch), "") for glance in glances]

    def _read(self, answer: str) -> str:
        """An answer as its benchmark has it read; to ask it takes a fifth of the time of a list."""
        if not answer:
            return ""
        from dspy_proact.report import particulars_of

        return particulars_of(self.benchmark).answer(answer)

    def holding(self, glances: Iterable[Glance]) -> list[Glance]:
        """Those with the text in key or group, in what was said, in the response, or in what a verdict says of it."""
        if self._text is None:
            return list(glances)
        from dspy_proact.report import Reading

        text = self._text.casefold()
        likely = [each for each in glances if not self._index or each.key in self._index.holding]
        readings = (Reading.of(outcome, self.benchmark) for outcome in self.outcomes(likely))
        return [
            glance
            for glance, reading in zip(likely, readings, strict=True)
            if any(text in each.casefold() for each in (glance.key, reading.outcome.group, *reading.texts))
        ]

    def abridged(self, keys: Sequence[str], width: int) -> list[str]:
        """Some of its keys in so many characters, which tell them from all others where these suffice."""
        told = list(keys)
        for tail in _TAILS:
            head = width - len(LEFT_OUT) - tail
            told = [key if len(key) <= width else f"{key[:head]}{LEFT_OUT}{key[-tail:]}" for key in keys]
            ends = {(key[:head], key[-tail:]) for key in keys}
            alike = sum((key[:head], key[-tail:]) in ends for key in dict.fromkeys(each.key for each in self.glances))
            if alike == len(set(keys)):
                break
        return told

    @property
    def epochs(self) -> int:
        """How often every case was asked for."""
        return self.glances[-1].epoch if self.glances else 1

    def labels_of(self, stratum: str) -> Sequence[str]:
        """All labels that its cases may have, from best to worst."""
        return self._control_labels if stratum == CONTROL else self._own_labels

    @property
    def labels(self) -> Sequence[str]:
        """All there are, from best to worst; those of control cases after them."""
        return [*self._own_labels, *self._control_labels]

    def after(self, key: str) -> str | None:
        """The key of the next case; None after the last one."""
        keys = [*dict.fromkeys(glance.key for glance in self.glances), None]
        return keys[keys.index(key) + 1]

    def key(self, named: str) -> str:
        """The key that a person means; raises `UsageError` as `meant_key` does."""
        return meant_key(named, list(dict.fromkeys(each.key for each in self.glances)), self.nouns.case, str(self.path))


def _glances(summary: "Summary") -> list[Glance]:
    outcomes = [*summary.outcomes, *summary.controls.outcomes]
    places = {key: place for place, key in enumerate(dict.fromkeys(outcome.key for outcome in outcomes))}
    return sorted((outcome.glance for outcome in outcomes), key=lambda each: (places[each.key], each.epoch))
