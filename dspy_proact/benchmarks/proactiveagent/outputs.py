"""The authors' archive of what 15 published agents did, read to be judged again: each agent is a run of its own.

What must be known of it: the word "null" stands as a proposal in up to 67 of 227 turns of an agent, and the authors'
evaluator counted it as one; here it is silence. Where a turn holds an object with the corpus's own candidates, nothing
was answered (21 turns of Claude 3.5 Sonnet); the evaluator took the object's one name for the proposal, and here they
are unscored. With `upstream_rule` both are read as the evaluator read them, which gives all published counts. The
events are an earlier version of the corpus's, 227 where that has 233, and are taken as they stand here.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from dspy_proact.benchmarks.proactiveagent.corpus import NAME, Row, Trace, read_trace
from dspy_proact.benchmarks.proactiveagent.turns import Assistance, Kind, ProactiveAgentSettings, stripped
from dspy_proact.errors import CorpusError, UsageError
from dspy_proact.evaluation.responses import Responses, response_stage
from dspy_proact.files.archives import Archive
from dspy_proact.files.rows import elements, read_bytes, text_of
from dspy_proact.plain_text import encodable
from dspy_proact.runs import Case, CaseSet, Failure, RoleIdentity, Settings, StageEvent

OFFICIAL: dict[str, Kind] = {
    **{f"code_{number}.json": "coding" for number in range(11, 17)},
    **{f"writing_{number}.json": "writing" for number in range(11, 17)},
}
"""The traces of the published scores; the archive has further ones of some agents."""
_LARGEST = 256 << 20
"""Bytes of all that is read, unpacked; the official files have less than 40,000 each."""
_WANTED = "the authors' eval/traces.zip"


def read_outputs(path: Path, corpus: str | None = None, settings: Settings | None = None) -> tuple[Responses, ...]:
    """What each agent of an archive did on the official traces, in the order of their names, as the settings read it.

    Raises a `CorpusError` where it is no such archive, or a file in it is damaged or missing, and a `UsageError` where
    a corpus is named, which the archive holds already.
    """
    if corpus is not None:
        raise UsageError("`corpus`: the archive of outputs holds the events that they answer; leave it out")
    archive, files = Archive(path, _WANTED), dict[str, dict[str, bytes]]()
    source, left = archive.source, _LARGEST
    for name, size in archive.sizes.items():
        member = PurePosixPath(name)
        if member.name in OFFICIAL and len(member.parts) > 1:
            of_agent = files.setdefault(member.parts[-2], {})
            if member.name in of_agent:
                raise CorpusError("an agent of this name has such a file already", source=archive.source_of(name))
            of_agent[member.name] = archive.read(name, left)
            left -= size
    if not files:
        raise CorpusError(f"holds no outputs of an agent; give {_WANTED}", source=source)
    sha256 = hashlib.sha256(read_bytes(source, _WANTED)).hexdigest()
    upstream = settings is not None and ProactiveAgentSettings.of(settings).upstream_rule
    return tuple(_responses(source, sha256, agent, files[agent], upstream) for agent in sorted(files))


def _responses(source: str, sha256: str, agent: str, files: dict[str, bytes], upstream: bool) -> Responses:
    where, settings = f"{source}, {agent}", ProactiveAgentSettings(upstream_rule=upstream)
    if missing := sorted(OFFICIAL.keys() - files.keys()):
        raise CorpusError(f"lacks {missing[0]}; an agent answers all {len(OFFICIAL)} traces", source=where)
    cases, stages, ignored = list[Case](), list[StageEvent](), Counter[str]()
    for name, data in sorted(files.items()):
        file = f"{where}/{name}"
        trace: Trace = read_trace(file, data, OFFICIAL[name], ignored)
        for number, element in enumerate(elements(text_of(data, file), file), start=1):
            case = trace.case(number, settings.window)
            done = assistance_of(Row.of(element), upstream)
            failure = None if done else Failure(kind="content", reason="missing", detail="the archive holds no output")
            cases.append(case)
            stages.append(response_stage(case.key, done, failure))
    return Responses(
        name=where,
        parent=hashlib.sha256(f"{sha256} {agent}".encode()).hexdigest(),
        identity=RoleIdentity(model=agent, program="published", prompt="", decoding={}),
        case_set=CaseSet.of(f"{NAME} outputs", cases, rows=len(files), ignored_fields=ignored),
        stages=tuple(stages),
        embedded=False,
        benchmark=NAME,
        settings=settings.model_dump(mode="json"),
    )


def assistance_of(row: Row, upstream: bool = False) -> Assistance | None:
    """What an agent did at a turn; None where the row holds no output of it."""
    if not isinstance(row.agent_response, list | dict if upstream else list):
        return None
    proposals: Sequence[Any] = [*row.agent_response]  # of an object its names
    # One agent answered with a call of a tool, which the evaluator showed to its judge as it stands.
    texts = (text if isinstance(text, str) or text is None else json.dumps(text, sort_keys=True) for text in proposals)
    further = row.other_infomation if isinstance(row.other_infomation, dict) else {}
    purpose, message = (encodable(str(further.get(name) or "")) for name in ("Purpose", "Response"))
    kept = tuple(encodable(plain) for text in texts if (plain := (text or "" if upstream else stripped(text))))
    return Assistance(purpose=purpose, proposals=kept, message=message)
