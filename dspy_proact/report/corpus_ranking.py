"""A ranking of runs on one corpus, such as one that was made and published: what they must have alike to be ranked."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dspy_proact.errors import UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.checks import checked
from dspy_proact.evaluation.measured_run import MeasuredRun
from dspy_proact.evaluation.published import Published
from dspy_proact.report.numbers import counted, name_or
from dspy_proact.report.summary import Summary
from dspy_proact.runs import CorpusRecord, Identity

SCORE = "score"
"""Name of the mean score over what was scored."""
UNKNOWN_ORIGIN = "a results file does not say which judge, prompt and decoding made it"


def conditions_on(
    declared: Benchmark[Any, Any], runs: Sequence[Summary], corpus: str
) -> tuple[Published, CorpusRecord]:
    """What runs on a corpus have alike: the judges and the settings of the first; and the corpus.

    Raises a `UsageError` where there is no run, or one answers another corpus.
    """
    known, records, identities = dict[str, str](), list[CorpusRecord](), list[Identity]()
    for run in runs:
        if run.manifest is None:
            raise UsageError(f"{run.path}: {UNKNOWN_ORIGIN}, nor on which corpus; leave it out")
        identity = run.manifest.identity
        key = json.dumps(identity.settings, sort_keys=True, default=str)
        if key not in known:  # settings may decide how a corpus is read
            settings = declared.settings_type.model_validate(identity.settings)
            cases = checked(declared, "read", declared.read(corpus, settings))
            known[key] = cases.sha256
            records.append(cases.corpus)
        if identity.corpus != known[key]:
            raise UsageError(f"{run.path}: answers {run.manifest.corpus.name!r}, whose cases are not those of {corpus}")
        identities.append(identity)
    if not runs:
        raise UsageError("`corpus`: name runs on it, which are ranked among themselves")
    usual, nouns, (first, *_), (record, *_) = declared.published, declared.nouns, identities, records
    titles = dict(usual.columns) if usual else {}
    strata = [f"{titles[name]}: {name}" for name in declared.strata if titles.get(name, name) != name]
    notes = [f"{', '.join(strata)}."] if strata else []
    size = counted(record.cases, nouns.case, nouns.cases)
    notes.append(f"Runs on {size} of {name_or(Path(record.name).name, 'this corpus')}; no published score is of them.")

    def differences(run: MeasuredRun) -> Iterator[str]:
        return _differences(run.manifest.identity if run.manifest else first, first)

    return Published(lambda: (), differences, usual.headline if usual else SCORE, titles, tuple(notes)), record


def _differences(identity: Identity, first: Identity) -> Iterator[str]:
    """How the conditions of a run differ from those of the first, whatever its model and program."""
    if identity.judge_name != first.judge_name:
        yield f"judged by {identity.judge_name or 'none'}, and the first run by {first.judge_name or 'none'}"
    elif identity.judges != first.judges:
        yield "its judge has another prompt, or other parameters, than that of the first run"
    for name in sorted({*identity.settings, *first.settings}):
        if (own := identity.settings.get(name)) != (other := first.settings.get(name)):
            yield f"{name} is {json.dumps(own)}, and {json.dumps(other)} in the first run"
