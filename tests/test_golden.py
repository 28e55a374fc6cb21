"""Golden runs: what a refactoring must not change, recorded from the command line.

Each scene runs a few commands of `python -m dspy_proact` and compares what comes of them with tests/golden/SCENE.json:
the numbers that are printed with `--json`, grade and parts of every case, the body of every request on the wire, the
instructions, demos and cuts of compiled programs, the tables that are exported.

A JSON object may gain keys. Every recorded value must still be there, floats to 1e-12. Sentences, times, paths and
hashes of identities may change; prompts may not. Where a key has got another name, say so in RENAMED.

To record anew after a change that is meant to alter results (name scenes to record only those):

    python tests/test_golden.py --record [SCENE...]

Some values depend on DSPy and LiteLLM; record with the versions of requirements.lock.
"""

import contextlib
import csv
import difflib
import hashlib
import io
import json
import math
import os
import re
import runpy
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from golden_player import canonical, form_of, played
from server import Server

ROOT = Path(__file__).parents[1]
GOLDEN = Path(__file__).parent / "golden"
RENAMED: dict[str, str] = {}
"""Today's name of a recorded key or column, where it differs."""
GONE = "<gone>"
ANY = "<any text>"
"""Stands in a list for a text that may change; an object is recorded without them."""
VOLATILE = {"created", "headline", "latency", "path", "seconds", "started", "time", "versions"}
FREE = re.compile(r"\s|127\.0\.0\.1|^[0-9a-f]{8,64}(\.\.\.)?$")
AGENTS = ("single", "stages", "react", "reflexion", "rewoo")
MODELS = ("--model", "openai/gpt-4o", "--judge", "openai/gpt-5.4")

# What is compared.


def digest(value: Any, length: int = 16) -> str:
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:length]


def facts(value: Any) -> Any:
    """What must stay of a JSON document: everything but sentences, local endpoints, hashes, times and paths."""
    if isinstance(value, dict):
        stays = {key: facts(part) for key, part in value.items() if key not in VOLATILE}
        return {key: part for key, part in stays.items() if part != ANY}
    if isinstance(value, list):
        return [facts(part) for part in value]
    return ANY if isinstance(value, str) and FREE.search(value) else value


def exact(value: Any, longest: int = 100) -> Any:
    """A value in full, but for long texts: beginning and hash."""
    if isinstance(value, dict):
        return {key: exact(part, longest) for key, part in value.items()}
    if isinstance(value, list):
        return [exact(part, longest) for part in value]
    if isinstance(value, str) and len(value) > longest:
        return f"{value[: longest // 2]} ... {digest(value)}"
    return value


def cases(run: str) -> dict[str, Any]:
    """Of each case of a run: hashes of what was answered, label, score and parts of what was graded."""
    found: dict[str, Any] = {}
    for line in Path(run, "events.jsonl").read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        key, grade, answer = event["key"], event["grade"] or {}, event["answer"] or {}
        shown = {part: grade[part] for part in ("label", "score", "parts", "verified") if grade.get(part) is not None}
        shown |= {part: digest(value, 8) for part, value in answer.items()}
        shown |= {"failed": True} if event["failure"] else {}
        name = " ".join(str(key[part]) for part in ("stage", "epoch", "judge", "judge_epoch"))
        found.setdefault(key["case"], {})[name] = shown
    return found


def requests(server: Server) -> dict[str, Any]:
    """The hash of every request, and of each kind of request the shortest, to see what has changed."""
    kept: dict[str, Any] = {}
    for sent in sorted(server.sent, key=lambda sent: (len(canonical(sent.body)), sent.said)):
        prompts = [exact(message, 300 if index else 5000) for index, message in enumerate(sent.messages)]
        body = {**sent.body, "messages": prompts[:1] + prompts[1:][-1:]}
        kept.setdefault(digest([sent.role, form_of(sent.body)]), {"role": sent.role, **body})
    hashes = sorted(digest([sent.role, sent.body], 8) for sent in server.sent)
    server.sent.clear()
    return {"hashes": hashes, "kept": [kept[kind] for kind in sorted(kept)]}


def columns(text: str) -> dict[str, str]:
    """The hash of each column of a CSV file."""
    rows = list(csv.DictReader(io.StringIO(text)))
    return {name: digest([row[name] for row in rows]) for name in rows[0]}


def differences(recorded: Any, now: Any, where: str = "") -> Iterator[str]:
    """What of the recorded values is no longer there."""
    if where.endswith("/hashes"):
        gone, new = Counter(recorded) - Counter(now), Counter(now) - Counter(recorded)
        if gone or new:
            yield f"{where}: {gone.total()} of {len(recorded)} requests are no longer sent, {new.total()} are new"
    elif where.endswith("/kept"):
        lines = [
            json.dumps(part, indent=1, sort_keys=True).replace("\\n", "\n").splitlines() for part in (recorded, now)
        ]
        yield from difflib.unified_diff(*lines, f"{where} recorded", "now", lineterm="", n=0)
    elif isinstance(recorded, dict) and isinstance(now, dict):
        for key, value in recorded.items():
            yield from differences(value, now.get(RENAMED.get(key, key), GONE), f"{where}/{key}")
    elif isinstance(recorded, list) and isinstance(now, list) and len(recorded) == len(now):
        for index, pair in enumerate(zip(recorded, now, strict=True)):
            yield from differences(*pair, f"{where}/{index}")
    elif not same(recorded, now):
        yield f"{where}: {str(recorded)[:300]!r}, now {str(now)[:300]!r}"


def same(recorded: Any, now: Any) -> bool:
    if isinstance(recorded, float) and isinstance(now, float):
        return math.isclose(recorded, now, rel_tol=1e-12, abs_tol=1e-12) or (math.isnan(recorded) and math.isnan(now))
    return (recorded == ANY and isinstance(now, str)) or (type(recorded) is type(now) and recorded == now)


# The scenes.


def command(*arguments: object, ends: tuple[int, ...] = (0,)) -> str:
    """Run `python -m dspy_proact ARGUMENTS` in this process and return what it prints."""
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["dspy-proact", *map(str, arguments)]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as end,
    ):
        runpy.run_module("dspy_proact", run_name="__main__")
    assert (end.value.code or 0) in ends, f"{arguments}: exit status {end.value.code}\n{out.getvalue()}{err.getvalue()}"
    return out.getvalue()


def printed(*arguments: object, ends: tuple[int, ...] = (0,)) -> Any:
    return facts(json.loads(command(*arguments, "--json", ends=ends)))


def judged(*arguments: object, out: str = "run", verb: str = "eval") -> dict[str, Any]:
    """The cases of a new run."""
    command(verb, *arguments, "--out", out, ends=(0, 3))
    return cases(out)


def evaluated(*arguments: object, out: str = "run", verb: str = "eval") -> dict[str, Any]:
    """Report and cases of a new run."""
    return {"cases": judged(*arguments, out=out, verb=verb), "report": printed("report", out)}


def exported(run: str, form: str) -> str:
    command("export", run, "--format", form, "--out", "exported")
    return Path("exported").read_text(encoding="utf-8")


def at(server: Server, *models: str) -> tuple[str, ...]:
    return (*models, "--model-api-base", server.assistant, "--judge-api-base", server.judge)


def proactbench_embedded(server: Server) -> dict[str, Any]:
    judge = ("--judge", "embedded", "--judge-program", ROOT / "optimize/programs/judge-embedded.json")
    return {
        "eval": evaluated("--controls"),
        "rejudge": evaluated("run", *judge, "--controls", out="again", verb="rejudge"),
        "epochs": evaluated("--limit", 6, "--epochs", 2, out="twice"),
        "compare": printed("compare", "run", "again"),
        "leaderboard": [row for row in printed("leaderboard", "run")["models"] if not row["published"]],
        "csv": columns(exported("run", "csv")),
        "official": digest(exported("run", "proactbench")),
    }


def proactbench_http(server: Server) -> dict[str, Any]:
    found = {"eval": evaluated(*at(server, *MODELS), "--corpus", "sample", "--limit", 9, "--controls")}
    found["eval requests"] = requests(server)
    judge = ("--judge", "openai/gpt-4.1", "--judge-api-base", server.judge)
    found["rejudge"] = judged("run", *judge, "--controls", out="again", verb="rejudge")
    return {**found, "rejudge requests": requests(server)}


def probe_embedded(server: Server) -> dict[str, Any]:
    runs = {}
    for setting in (*(f"agent={agent}" for agent in AGENTS), "baseline=bm25", "oracle=evidence"):
        do = evaluated if setting in {"agent=single", "agent=react", "baseline=bm25"} else judged
        runs[setting] = do("--benchmark", "probe", "--set", setting, out=setting)
    judge = ("--judge", "embedded", "--set", "upstream_rule=true")
    return {
        **runs,
        "rejudge": judged("agent=single", *judge, out="again", verb="rejudge"),
        "compare": printed("compare", "agent=single", "oracle=evidence"),
        "leaderboard": printed("leaderboard", "agent=single")["runs"],
        "csv": columns(exported("agent=react", "csv")),
    }


def probe_http(agent: str) -> Callable[[Server], dict[str, Any]]:
    def scene(server: Server) -> dict[str, Any]:
        probe = ("--benchmark", "probe", "--corpus", "sample", "--set", f"agent={agent}")
        found = {"eval": judged(*at(server, *MODELS), *probe), "eval requests": requests(server)}
        if agent == "single":
            judge = ("--judge", "openai/gpt-4.1", "--judge-api-base", server.judge)
            found["rejudge"] = judged("run", *judge, out="again", verb="rejudge")
            found["rejudge requests"] = requests(server)
        return found

    return scene


def figures(server: Server) -> dict[str, Any]:
    """What is bundled: published figures, shipped programs; and forecasts."""
    probe = ("--benchmark", "probe")
    dry = ("--corpus", "sample", "--dry-run")
    agree = printed("agree")
    programs = sorted(ROOT.glob("optimize/programs/*.json"))
    assistants = [path for path in programs if path.name.startswith("assistant")]
    return {
        "leaderboard": printed("leaderboard"),
        "leaderboard probe": printed("leaderboard", *probe),
        "agree": {**agree, "partings": [[row["item"], row["difference"]] for row in agree["partings"]]},
        "agree sample": printed("agree", "--ratings", "sample"),
        "agree probe": printed("agree", *probe),
        "eval forecast": printed("eval", *MODELS, *dry, "--controls"),
        "eval forecast probe": printed("eval", *MODELS, *dry, *probe),
        "judge forecast": printed("optimize", "judge", "--judge", "openai/gpt-5-mini", "--dry-run"),
        "assistant forecast": printed("optimize", "assistant", *MODELS, "--report-judge", "openai/gpt-4.1", *dry),
        "cards": {path.name: printed("optimize", "show", path) for path in programs},
        "prompts": {path.name: exact(command("optimize", "show", path, "--as-prompt")) for path in assistants},
    }


def compiled(
    *arguments: object, http: bool = False, optimizers: tuple[str, ...] = ("search", "gepa")
) -> Callable[[Server], dict[str, Any]]:
    """A compile with each optimizer: card, and what the file holds of the program."""

    def scene(server: Server) -> dict[str, Any]:
        found = {}
        for optimizer in optimizers:
            more = [{"JUDGE": server.judge, "MODEL": server.assistant}.get(part, part) for part in arguments]
            small = ("--optimizer", optimizer, "--trials", 3, "--seed", 1)
            card = printed("optimize", *more, *small, "--out", optimizer)
            (file,) = (path for path in Path(optimizer).glob("*.json") if "state" in path.read_text()[:4000])
            made = json.loads(file.read_text(encoding="utf-8"))
            program = {name: made[name] for name in ("state", "states", "cuts", "votes") if name in made}
            found[optimizer] = {"card": card, "folds": made["card"]["fold_scores"], "program": exact(program)}
            if http:
                found[optimizer]["requests"] = requests(server)
        return found

    return scene


PROBE = ("--benchmark", "probe", "--folds", 3)
AT_JUDGE = ("--judge", "openai/gpt-5.4", "--judge-api-base", "JUDGE")
AT_MODEL = ("--model", "openai/gpt-4o", "--model-api-base", "MODEL", *AT_JUDGE)
SCENES: dict[str, Callable[[Server], dict[str, Any]]] = {
    "proactbench_embedded": proactbench_embedded,
    "proactbench_http": proactbench_http,
    "probe_embedded": probe_embedded,
    **{f"probe_http_{agent}": probe_http(agent) for agent in AGENTS},
    "figures": figures,
    "judge_compiled": compiled("judge", "--folds", 2),
    "judge_votes": compiled("judge", "--folds", 2, "--votes", 2, "--max-demos", 2, optimizers=("search",)),
    "assistant_compiled": compiled("assistant", "--corpus", "sample", "--folds", 2),
    "probe_judge_compiled": compiled("judge", *PROBE),
    "probe_agent_compiled": compiled("assistant", *PROBE, "--set", "agent=stages"),
    "judge_http": compiled("judge", "--folds", 2, *AT_JUDGE, http=True),
}


def play(scene: str) -> dict[str, Any]:
    """Run a scene in an empty folder, against a server of its own."""
    environment = {"COLUMNS": "80", "OPENAI_API_KEY": "none", "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        mock.patch.dict(os.environ, environment),
        Server(played) as server,
    ):
        return json.loads(json.dumps(SCENES[scene](server)))


@pytest.mark.parametrize("scene", SCENES)
def test_what_was_recorded_is_still_so(scene):
    recorded = json.loads((GOLDEN / f"{scene}.json").read_text(encoding="utf-8"))
    found = list(differences(recorded, play(scene)))
    assert not found, "\n".join([f"{len(found)} differences:", *found[:60]])


def record(scenes: list[str]) -> None:
    GOLDEN.mkdir(exist_ok=True)
    for scene in scenes or SCENES:
        text = json.dumps(play(scene), indent=0, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
        (GOLDEN / f"{scene}.json").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    assert sys.argv[1:2] == ["--record"], __doc__
    record(sys.argv[2:])
