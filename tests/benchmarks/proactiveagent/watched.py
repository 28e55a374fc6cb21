"""A server that plays agent and judge of ProactiveAgent, traces of a test, and runs on them."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fakes.server import Answer, Sent

from dspy_proact.benchmarks.proactiveagent.turns import ProactiveAgentSettings
from dspy_proact.evaluation.evaluation import Evaluation
from dspy_proact.models import Gate, ModelSpec
from dspy_proact.programs.embedded.fields import fields_of, unfenced, value_of
from dspy_proact.report import Summary, summarize
from dspy_proact.runs import RunFolder, Scope


def row(text: str, time: str = "1", **more: Any) -> dict[str, Any]:
    return {"observation": {"time": time, "event": text}, **more}


def traces_in(folder: Path, **traces: Sequence[dict[str, Any]]) -> Path:
    """A corpus in the official layout; a trace whose name begins with `code` is of coding."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in traces.items():
        (folder / f"{name}.json").write_text(json.dumps(rows), encoding="utf-8")
    kinds = {"real_coding": [], "real_writing": []}
    for name in traces:
        kinds["real_coding" if name.startswith("code") else "real_writing"].append(f"{name}.json")
    (folder / "splits.json").write_text(json.dumps({name: {"files": files} for name, files in kinds.items()}))
    return folder


def inputs_of(sent: Sent) -> dict[str, Any]:
    """The fields of a request, read as JSON where they are."""
    fields = fields_of(str(sent.messages[-1]["content"]))
    silent, proposal = value_of(fields.get("silent", "").lower(), False), unfenced(fields.get("proposal", ""))
    earlier = value_of(fields.get("earlier"), [])
    return {"events": value_of(fields["events"], []), "silent": silent, "proposal": proposal, "earlier": earlier}


def proposing(proposal: str | None) -> str:
    return json.dumps({"purpose": "to work", "proposal": proposal, "message": proposal and "Shall I?"})


def judging(accepted: bool, confidence: float = 0.5) -> str:
    return json.dumps({"reason": "because", "accepted": accepted, "confidence": confidence})


def script(agent: Callable[[str], str | None], judge: Callable[[str, str], bool]) -> Callable[[Sent], Answer]:
    """An agent that proposes by the last event, and a judge by the last event and the proposal, "" for silence."""

    def answer(sent: Sent) -> Answer:
        fields = inputs_of(sent)
        last = fields["events"][-1]["event"]
        if sent.role == "assistant":
            return Answer(proposing(agent(last)))
        assert fields["silent"] == (not fields["proposal"])
        return Answer(judging(judge(last, fields["proposal"])))

    return answer


def evaluated(server: Any, corpus: object, out: Path, scope: Scope = Scope(), **settings: Any) -> Summary:
    """A run with both models at the server."""
    models = [ModelSpec(name="hosted_vllm/any", api_base=base) for base in (server.assistant, server.judge)]
    if settings.get("baseline", "none") != "none":
        models[0] = ModelSpec(name="embedded")
    evaluation = Evaluation(
        str(corpus),
        *models,
        benchmark="proactiveagent",
        settings=ProactiveAgentSettings(**settings),
        gate=Gate(retries=0, concurrency=4),
    )
    evaluation.run(out, scope)
    return summarize(RunFolder(out))
