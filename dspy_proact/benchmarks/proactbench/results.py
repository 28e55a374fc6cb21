"""The responses of a results file, with the corpus that it answers."""

import time
from collections.abc import Mapping

from dspy_proact.benchmarks.proactbench.cases import case_set_of
from dspy_proact.benchmarks.proactbench.corpus import Corpus, Results, ResultTrigger
from dspy_proact.benchmarks.proactbench.programs import usable
from dspy_proact.benchmarks.proactbench.types import Response
from dspy_proact.benchmarks.proactbench.views import JudgeView
from dspy_proact.benchmarks.responses import Responses
from dspy_proact.errors import ContentError, UsageError
from dspy_proact.runs import Case, Event, Failure, RoleIdentity, StageKey


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
