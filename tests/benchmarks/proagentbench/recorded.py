"""Databases of a test in the published schema, a server that plays the agent, and runs on them."""

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from fakes.server import Answer, Sent

from dspy_proact.benchmarks.proagentbench.corpus import DATABASE, INTENTION_FILE
from dspy_proact.benchmarks.proagentbench.moments import ProAgentBenchSettings
from dspy_proact.evaluation.evaluation import Evaluation
from dspy_proact.models import Gate, ModelSpec
from dspy_proact.programs.embedded.fields import fields_of, outputs_of, unfenced, value_of
from dspy_proact.report import Summary, summarize
from dspy_proact.runs import RunFolder, Scope

BEGIN = datetime(2025, 3, 3, 9)
SCHEMA = (
    "CREATE TABLE events (id INTEGER, start_time TEXT, end_time TEXT, app_name TEXT, window_title TEXT,"
    " is_llm_event INTEGER, event_summary TEXT, conversation TEXT)"
)


def event(id_: int, minute: float, *, app: str = "Editor", help_: str | None = None, **inputs: Any) -> dict[str, Any]:
    """An event of 50 seconds that begins at a minute; with help, for which this was asked."""
    start = BEGIN + timedelta(minutes=minute)
    requests = None if help_ is None else json.dumps({"user_queries": [help_]})
    row = {
        "id": id_,
        "start_time": str(start),
        "end_time": str(start + timedelta(seconds=50)),
        "app_name": app if help_ is None else "Browser",
        "window_title": f"title {id_}",
        "is_llm_event": int(help_ is not None),
        "event_summary": f"summary {id_}",
        "conversation": requests,
    }
    return row | inputs


def person(folder: Path, name: str, rows: Sequence[Mapping[str, Any]], **intentions: str) -> Path:
    """The database of a person, and intentions by the number of the event, as in `e3="Translation"`."""
    database = folder / name / DATABASE
    database.parent.mkdir(parents=True)
    with sqlite3.connect(database) as connection:
        connection.execute(SCHEMA)
        for row in rows:
            marks = ", ".join("?" * len(row))
            connection.execute(f"INSERT INTO events ({', '.join(row)}) VALUES ({marks})", [*row.values()])
    connection.close()
    if intentions:
        lines = [
            json.dumps({"event_id": int(id_[1:]), "user_intention": intention}) for id_, intention in intentions.items()
        ]
        (database.parent / INTENTION_FILE).write_text("\n".join(lines), encoding="utf-8")
    return folder


def inputs_of(sent: Sent) -> dict[str, Any]:
    """The fields of a request, read."""
    fields = fields_of(str(sent.messages[-1]["content"]))
    document = {"activity": value_of(fields["activity"], []), "current": value_of(fields["current"], {})}
    return document | ({"memory": unfenced(fields["memory"])} if "memory" in fields else {})


def saying(sent: Sent, help_: bool, intention: str = "Translation", query: str = "") -> Answer:
    """The fields that a request asks for."""
    fields = {"reasoning": "", "need_help": help_, "intention": intention, "query": query}
    return Answer(json.dumps({name: fields[name] for name in outputs_of(str(sent.messages[0]["content"]))}))


def acting_at(decides: Callable[[str], bool], **text: str) -> Callable[[Sent], Answer]:
    """An agent that helps by the title of the current window."""
    return lambda sent: saying(sent, decides(inputs_of(sent)["current"]["window_title"]), **text)


def evaluated(
    server: Any, corpus: object, out: Path, scope: Scope = Scope(), keep_inputs: bool = False, **settings: Any
) -> Summary:
    """A run with the agent at the server."""
    model = ModelSpec(name="hosted_vllm/any", api_base=server.assistant)
    if settings.get("baseline", "none") != "none":
        model = ModelSpec(name="embedded")
    Evaluation(
        str(corpus),
        model,
        benchmark="proagentbench",
        settings=ProAgentBenchSettings(**settings),
        gate=Gate(retries=0, concurrency=4),
        keep_inputs=keep_inputs,
    ).run(out, scope)
    return summarize(RunFolder(out))
