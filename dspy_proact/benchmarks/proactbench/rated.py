"""The items of a study of raters, to be graded by a judge."""

import hashlib
import json
from collections.abc import Sequence

from dspy_proact.benchmarks.proactbench.corpus import RatedItem, Ratings
from dspy_proact.benchmarks.proactbench.results import response_stage
from dspy_proact.benchmarks.responses import Responses
from dspy_proact.errors import UsageError
from dspy_proact.runs import Case, CaseSet, CorpusRecord, RoleIdentity


def responses_of_ratings(ratings: Ratings) -> Responses:
    """The items that somebody rated; a judge's grades and the ratings themselves stay behind.

    Their run is that of the study's items, rated or not: ratings that come later add to what is graded, and what was
    graded before is not paid for again.

    Raises:
        UsageError: An item is known by its ratings only, so that there is nothing to grade.
    """
    rated = [item for item in ratings.items if ratings.by_item[item.key]]
    lacking = [item.key for item in rated if item.view is None or item.response is None]
    if lacking:
        raise UsageError(
            f"{ratings.name}: no conversation or no response of {len(lacking)} items is known, {lacking[0]!r} the "
            "first, so that no judge can grade them; leave --judge out, or name ratings that come with what was rated, "
            "such as --ratings proactbench"
        )
    sha256 = _sha256(ratings.items)
    return Responses(
        name=ratings.name,
        parent=sha256,
        identity=RoleIdentity(model=_model(ratings.items), program="unknown", prompt="", decoding={}),
        case_set=CaseSet(tuple(case_of(item) for item in rated), _record(ratings), sha256),
        stages=tuple(response_stage(item.key, item.response, "the item has no response") for item in rated),
        embedded=_model(ratings.items) == "embedded",
        benchmark="proactbench",
    )


def case_of(item: RatedItem) -> Case:
    """The case of an item that can be graded."""
    assert item.view is not None, "asked of items that can be graded only"
    meta = {"persona": item.persona, "turn": item.view.turn, "response_model": item.model}
    return Case(key=item.key, group=item.scenario, stratum=item.phase, view=item.view, meta=meta)


def _record(ratings: Ratings) -> CorpusRecord:
    count = len(ratings.items)
    return CorpusRecord(name=ratings.name, revision=ratings.source.commit, rows=count, cases=count, ignored_fields={})


def _model(items: Sequence[RatedItem]) -> str:
    """Who wrote the responses."""
    named = {item.model for item in items if item.model}
    return "several models" if len(named) > 1 else next(iter(named), "unknown")


def _sha256(items: Sequence[RatedItem]) -> str:
    """64 hex digits over what a judge sees of the items."""
    shown = [item.model_dump(mode="json", exclude={"judge"}) for item in items]
    canonical = json.dumps(shown, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()
