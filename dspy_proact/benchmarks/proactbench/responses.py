"""Responses in files: of a results file, with the corpus that it answers, and those that people rated."""

import hashlib
import json
import time
from collections.abc import Mapping, Sequence

from dspy_proact.benchmarks.proactbench.cases import case_set_of
from dspy_proact.benchmarks.proactbench.corpus import Corpus, RatedItem, Ratings, Results, ResultTrigger
from dspy_proact.benchmarks.proactbench.programs import usable
from dspy_proact.benchmarks.proactbench.types import Response
from dspy_proact.benchmarks.proactbench.views import JudgeView
from dspy_proact.benchmarks.responses import Responses
from dspy_proact.errors import ContentError, UsageError
from dspy_proact.runs import Case, CaseSet, CorpusRecord, Event, Failure, RoleIdentity, StageKey


def responses_of_results(results: Results, corpus: Corpus) -> Responses:
    """Those of a results file, which holds no history: the corpus gives it.

    Triggers of the corpus that the file lacks are kept, as responses that are absent.

    Raises:
        UsageError: The file answers another corpus.
    """
    case_set = case_set_of(corpus, controls=False)
    corpus.require((trigger.key for trigger in results.triggers), results.name)
    _require_same(results, {case.key: case for case in case_set.cases}, corpus.name)
    given = {trigger.key: trigger for trigger in results.triggers}
    return Responses(
        name=results.name,
        parent=results.sha256,
        identity=RoleIdentity(model=results.model, program="unknown", prompt="", decoding={}),
        case_set=case_set,
        stages=tuple(_stage(case, given.get(case.key)) for case in case_set.cases),
        embedded=results.model == "embedded",
        benchmark="proactbench",
    )


def _require_same(results: Results, cases: Mapping[str, Case], corpus: str) -> None:
    """Raise a `UsageError` where triggers of a file are not those of the corpus."""
    for trigger in results.triggers:
        view = cases[trigger.key].view
        assert isinstance(view, JudgeView), "made from a corpus"
        asked = view.conversation[-1].user
        if trigger.rubric != view.rubric or trigger.user_message not in (None, asked):
            raise UsageError(
                f"{results.name}: the trigger {trigger.key!r} is worded otherwise in the corpus {corpus!r}; "
                "name the version of the corpus that it answers with --corpus"
            )


def response_stage(case: str, text: str | None, absent: str) -> Event:
    """The response stage that a response in a file stands for, or why there is none that can be graded.

    Args:
        case: Its key.
        text: None where there is none.
        absent: What is said then.
    """
    answer = failure = None
    try:
        if text is None:
            raise ContentError("no_response", absent)
        answer = Response(text=usable(text)).model_dump()
    except ContentError as error:
        failure = Failure(kind="content", reason=error.reason, detail=error.detail)
    key = StageKey(case=case, epoch=1, stage="response")
    return Event(key=key, answer=answer, failure=failure, calls=(), time=time.time())


def _stage(case: Case, trigger: ResultTrigger | None) -> Event:
    if trigger is None:
        missing = Failure(kind="content", reason="absent", detail="the results file does not have this trigger")
        return response_stage(case.key, None, "").model_copy(update={"failure": missing})
    return response_stage(case.key, trigger.response, "the results file has no response to this trigger")


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
