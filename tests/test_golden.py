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
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from fakes.player import played
from fakes.server import Server
from support.player import canonical, form_of

from dspy_proact.programs.artefact import read_artefact

TESTS = Path(__file__).parent
RENAMED = {
    "apart": ("label_mismatch",),
    "untold": ("unknown",),
    "partings": ("disagreements",),
    "worded_otherwise": ("rephrased",),
}
"""Today's name of a recorded key or column, where it differs."""
ANY = "<any text>"
"""Stands in a list for a text that may change; an object is recorded without them."""
VOLATILE = {"created", "headline", "item_scores", "latency", "path", "seconds", "started", "time", "versions"}
FREE = re.compile(r"\s|127\.0\.0\.1|^[0-9a-f]{8,64}(\.\.\.)?$")
Scene = Callable[[Server], dict[str, Any]]
AGENTS = ("single", "stages", "react", "reflexion", "rewoo")
MODELS = ("--model", "openai/gpt-4o", "--judge", "openai/gpt-5.4")
JUDGE_THERE = ("--judge", "openai/gpt-5.4", "--judge-api-base", "JUDGE")
MODELS_THERE = (*JUDGE_THERE, "--model", "openai/gpt-4o", "--model-api-base", "MODEL")
OTHER = ("--judge", "openai/gpt-4.1", "--judge-api-base", "JUDGE")
SMALL = ("--corpus", "sample", "--folds", 2)
DEMOS = ("--folds", 2, "--max-demos", 2)
PROBE = ("--benchmark", "probe", "--folds", 3)


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
    results = defaultdict(dict)
    for line in Path(run, "events.jsonl").read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        key, grade, answer = event["key"], event["grade"] or {}, event["answer"] or {}
        shown = {part: grade[part] for part in ("label", "score", "parts", "verified") if grade.get(part) is not None}
        shown |= {part: digest(value, 8) for part, value in answer.items()}
        name = " ".join(str(key[part]) for part in ("stage", "epoch", "judge", "judge_epoch"))
        results[key["case"]][name] = shown | ({"failed": True} if event["failure"] else {})
    return results


def requests(server: Server) -> dict[str, Any]:
    """The hash of every request, and of each kind of request the shortest, to see what has changed."""
    kept: dict[str, Any] = {}
    for sent in sorted(server.sent, key=lambda sent: (len(canonical(sent.body)), sent.wire)):
        prompts = [exact(message, 100 if index else 5200) for index, message in enumerate(sent.messages)]
        body = {**sent.body, "messages": prompts[:1] + prompts[1:][-1:]}
        kept.setdefault(digest([sent.role, form_of(sent.body)]), {"role": sent.role, **body})
    hashes = sorted(digest([sent.role, sent.body], 8) for sent in server.sent)
    server.sent.clear()
    return {"hashes": hashes, "kept": [kept[kind] for kind in sorted(kept)]}


def exported(run: str, form: str = "csv") -> dict[str, str]:
    """The hash of each column of an exported table, or of a whole file of another format."""
    command("export", run, "--format", form, "--out", "exported")
    text = Path("exported").read_text("utf-8-sig")
    rows = list(csv.DictReader(text.splitlines(keepends=True))) if form == "csv" else [{"whole": text}]
    return {name: digest([row[name] for row in rows]) for name in rows[0]}


def differences(recorded: Any, now: Any, where: str = "") -> Iterator[str]:
    """What of the recorded values is no longer there."""
    if where.endswith("/hashes"):
        gone, new = Counter(recorded) - Counter(now), Counter(now) - Counter(recorded)
        if gone or new:
            yield f"{where}: {gone.total()} of {len(recorded)} requests are no longer sent, {new.total()} are new"
    elif where.endswith("/kept"):
        texts = [json.dumps(part, indent=1, sort_keys=True).replace("\\n", "\n") for part in (recorded, now)]
        yield from difflib.unified_diff(*map(str.splitlines, texts), f"{where} recorded", "now", lineterm="", n=0)
    elif isinstance(recorded, dict) and isinstance(now, dict):
        for key, value in recorded.items():
            yield from differences(
                value,
                next((now[name] for name in (key, *RENAMED.get(key, ())) if name in now), "<gone>"),
                f"{where}/{key}",
            )
    elif isinstance(recorded, list) and isinstance(now, list) and len(recorded) == len(now):
        for index, value in enumerate(recorded):
            yield from differences(value, now[index], f"{where}/{index}")
    elif not same(recorded, now):
        yield f"{where}: {str(recorded)[:300]!r}, now {str(now)[:300]!r}"


def same(recorded: Any, now: Any) -> bool:
    if isinstance(recorded, float) and isinstance(now, float):
        return math.isclose(recorded, now, rel_tol=1e-12, abs_tol=1e-12) or (math.isnan(recorded) and math.isnan(now))
    return (recorded == ANY and isinstance(now, str)) or (type(recorded) is type(now) and recorded == now)


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


def printed(*arguments: object) -> Any:
    return facts(json.loads(command(*arguments, "--json")))


def evaluated(*arguments: object, out: str = "run", verb: str = "eval", report: bool = True) -> dict[str, Any]:
    """Cases and report of a new run."""
    command(verb, *arguments, "--out", out, ends=(0, 3))
    return {"cases": cases(out), "report": printed("report", out) if report else {}}


def at(server: Server, *arguments: object) -> list[object]:
    """The arguments with the addresses of the server."""
    return [{"JUDGE": server.judge, "MODEL": server.assistant}.get(str(part), part) for part in arguments]


def proactbench_embedded(server: Server) -> dict[str, Any]:
    judge = ("--judge", "embedded", "--judge-program", TESTS.parent / "optimize/programs/judge-embedded.json")
    return {
        "eval": evaluated("--controls"),
        "rejudge": evaluated("run", *judge, "--controls", out="again", verb="rejudge"),
        "epochs": evaluated("--limit", 6, "--epochs", 2, out="twice"),
        "compare": printed("compare", "run", "again"),
        "leaderboard": [row for row in printed("leaderboard", "run")["rows"] if not row["published"]],
        "csv": exported("run"),
        "official": exported("run", "official"),
    }


def proactbench_http(server: Server) -> dict[str, Any]:
    results = {"eval": evaluated(*at(server, *MODELS_THERE), "--corpus", "sample", "--limit", 9, "--controls")}
    results["eval requests"] = requests(server)
    results["rejudge"] = evaluated("run", *at(server, *OTHER), "--controls", out="again", verb="rejudge", report=False)
    return {**results, "rejudge requests": requests(server)}


def probe_embedded(server: Server) -> dict[str, Any]:
    runs = {}
    for name in ("agent=single", "agent=react", "baseline=bm25", "oracle=evidence"):  # the other agents over HTTP
        report = name != "oracle=evidence"
        runs[name] = evaluated("--benchmark", "probe", "--set", name, out=name, report=report)
    judge = ("--judge", "embedded", "--set", "upstream_rule=true")
    return {
        **runs,
        "rejudge": evaluated("agent=single", *judge, out="again", verb="rejudge", report=False),
        "compare": printed("compare", "agent=single", "oracle=evidence"),
        "leaderboard": printed("leaderboard", "agent=single")["rows"][-1:],
        "csv": exported("agent=react"),
    }


def probe_http(agent: str) -> Scene:
    def scene(server: Server) -> dict[str, Any]:
        probe = ("--benchmark", "probe", "--corpus", "sample", "--set", f"agent={agent}", *at(server, *MODELS_THERE))
        results = {"eval": evaluated(*probe, report=False)}
        results["eval requests"] = requests(server)
        if agent == "single":
            results["rejudge"] = evaluated("run", *at(server, *OTHER), out="again", verb="rejudge", report=False)
            results["rejudge requests"] = requests(server)
        return results

    return scene


def watched(server: Server) -> dict[str, Any]:
    """Agents and judges of ProactiveAgent, the requests that they send, and votes."""
    of = ("--benchmark", "proactiveagent", "--corpus", "sample")
    results = {"embedded": evaluated(*of, out="embedded")}
    results["three"] = evaluated(*of, *at(server, *MODELS_THERE), "--set", "candidates=3", "--limit", 9, report=False)
    results["three requests"] = requests(server)
    results["one"] = evaluated(*of, *at(server, *MODELS_THERE), "--limit", 9, out="one", report=False)
    results["one requests"] = requests(server)
    agree = printed("agree", "--benchmark", "proactiveagent", "--set", "silence=true", "--judge", "embedded")
    results["agree"] = {name: agree[name] for name in ("pooled", "voted")}
    return results


def moments(server: Server) -> dict[str, Any]:
    """Programs of ProAgentBench, the requests that they send, and what stands beside a run."""
    # No screenshots: the bytes of an image depend on Pillow.
    of = ("--benchmark", "proagentbench", "--corpus", "sample")
    agent = ("--model", "openai/gpt-4o", "--model-api-base", server.assistant, "--limit", 6)
    results = {"embedded": evaluated(*of, out="embedded")}
    for out, inputs in {
        "reasoning": ("cot=true", "memory=persona"),
        "staged": ("program=staged", "memory=graph", "samples=3"),
        "similar": ("memory=rag", "negatives=all"),
    }.items():
        settings = [word for item in inputs for word in ("--set", item)]
        results[out] = evaluated(*of, *agent, *settings, out=out, report=False)
        results[f"{out} requests"] = requests(server)
    results["graph"] = evaluated(*of, "--set", "baseline=graph", out="graph")
    return results | {"leaderboard": printed("leaderboard", "--benchmark", "proagentbench"), "csv": exported("staged")}


def samples(_: Server) -> dict[str, Any]:
    """Rules that play ProactiveBench, whose answers hold no hash of an image, since its bytes depend on Pillow."""
    of = ("--benchmark", "proactivebench")
    inputs = {
        "random": ("baseline=random", "seed=1"),
        "published": ("baseline=random", "seed=1", "upstream_rule=true"),
        "control": ("baseline=ask", "control=true"),
        "oracle": ("baseline=late-oracle",),
    }
    results = {
        out: evaluated(
            *of, *(word for setting in settings for word in ("--set", setting)), out=out, report=out == "random"
        )
        for out, settings in inputs.items()
    }
    return results | {"leaderboard": printed("leaderboard", *of), "csv": exported("random")}


def figures(server: Server) -> dict[str, Any]:
    """What is bundled: published figures, shipped programs; and forecasts."""
    probe, dry = ("--benchmark", "probe"), ("--corpus", "sample", "--dry-run")
    agree = printed("agree")
    programs, assistants = (sorted(TESTS.parent.glob(f"optimize/programs/{name}*.json")) for name in ("", "assistant"))
    return {
        "leaderboard": printed("leaderboard"),
        "leaderboard probe": printed("leaderboard", *probe),
        "agree": {**agree, "disagreements": [[row["item"], row["difference"]] for row in agree["disagreements"]]},
        "agree sample": printed("agree", "--ratings", "sample"),
        "agree probe": {
            part: {name: results["pooled"][name] for name in ("judged", "exact", "kappa")}
            for part, results in printed("agree", *probe, "--judge", "embedded")["parts"].items()
        },
        "eval forecast": printed("eval", *MODELS, *dry, "--controls"),
        "eval forecast probe": printed("eval", *MODELS, *dry, *probe),
        "judge forecast": printed("optimize", "judge", "--judge", "openai/gpt-5-mini", "--dry-run"),
        "assistant forecast": printed("optimize", "assistant", *MODELS, "--report-judge", "openai/gpt-4.1", *dry),
        "cards": {path.name: printed("optimize", "show", path) for path in programs},
        "prompts": {path.name: exact(command("optimize", "show", path, "--as-prompt")) for path in assistants},
    }


def compiled(*arguments: object, optimizers: str = "search gepa", card: bool = True) -> Scene:
    """A compile with each optimizer: its card, fold scores, and what the file holds of the program."""

    def scene(server: Server) -> dict[str, Any]:
        results = {}
        inputs = at(server, *arguments)
        for optimizer in optimizers.split():
            shown = printed(
                "optimize", *inputs, "--optimizer", optimizer, "--trials", 3, "--seed", 1, "--out", optimizer
            )
            (file,) = (path for path in Path(optimizer).glob("*.json") if '"state' in path.read_text("utf-8"))
            made = json.loads(file.read_text("utf-8"))
            program = exact({name: made[name] for name in ("state", "states", "cuts", "votes") if name in made})
            results[optimizer] = {"folds": list(read_artefact(file).card.fold_scores), "program": program}
            results[optimizer] |= {"card": shown if card else {}, "requests": requests(server)}
        return results

    return scene


SCENES: dict[str, Scene] = {
    "proactbench_embedded": proactbench_embedded,
    "proactbench_http": proactbench_http,
    "proactiveagent": watched,
    "proactivebench": samples,
    "proagentbench": moments,
    "probe_embedded": probe_embedded,
    **{f"probe_http_{agent}": probe_http(agent) for agent in AGENTS},
    "figures": figures,
    "judge_compiled": compiled("judge", "--folds", 2),
    "judge_voting": compiled("judge", *DEMOS, "--votes", 2, optimizers="search", card=False),
    "judge_demos": compiled("judge", *DEMOS, optimizers="labeled bootstrap miprov2", card=False),
    "judge_http": compiled("judge", "--folds", 2, *JUDGE_THERE, optimizers="search", card=False),
    "assistant_compiled": compiled("assistant", *SMALL),
    "assistant_demos": compiled("assistant", *SMALL, optimizers="bootstrap miprov2", card=False),
    "assistant_http": compiled(
        "assistant", *SMALL, *MODELS_THERE, "--report-judge", "embedded", optimizers="search", card=False
    ),
    "probe_judge_compiled": compiled("judge", *PROBE),
    "probe_agent_compiled": compiled("assistant", *PROBE, "--set", "agent=stages"),
}


def play(scene: str) -> dict[str, Any]:
    """Run a scene in an empty folder, against a server of its own."""
    environment = mock.patch.dict(os.environ, COLUMNS="80", OPENAI_API_KEY="none", HF_HUB_OFFLINE="1")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), environment, Server(played) as server:
        return json.loads(json.dumps(SCENES[scene](server)))


NIGHTLY = ("assistant_demos", "judge_compiled", "judge_demos", "judge_voting")
"""Scenes whose requests are of kinds that the others send too; with -m nightly."""


@pytest.mark.parametrize(
    "scene", [pytest.param(scene, marks=[pytest.mark.nightly] if scene in NIGHTLY else []) for scene in SCENES]
)
def test_what_was_recorded_is_still_so(scene, request):
    if not scene.startswith(("probe", "proactiveagent", "proactivebench", "proagentbench")):
        request.getfixturevalue("proactbench")
    if scene in {"proactiveagent", "proactivebench", "proagentbench"}:
        request.getfixturevalue(scene)
    if scene.startswith(("probe", "figures")):
        request.getfixturevalue("probe")
    recorded = json.loads((TESTS / "golden" / f"{scene}.json").read_text(encoding="utf-8"))
    results = list(differences(recorded, play(scene)))
    assert not results, "\n".join([f"{len(results)} differences:", *results[:60]])


def record(scenes: list[str]) -> None:
    for scene in scenes or SCENES:
        text = json.dumps(play(scene), indent=0, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
        short = re.sub(r"[\[{][^\[\]{}]*[\]}]", lambda part: part[0].replace("\n", ""), text)
        (TESTS / "golden" / f"{scene}.json").write_text(f"{short}\n", encoding="utf-8")


if __name__ == "__main__":
    assert sys.argv[1:2] == ["--record"], __doc__
    record(sys.argv[2:])
