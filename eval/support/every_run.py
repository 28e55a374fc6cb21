"""Runs of every benchmark of the package, and of one with further roles, on a simulated provider."""

import hashlib
import json
import sys
from pathlib import Path

from support.player import play
from support.provider import Received, Scripted, SimulatedProvider

RUNS = {
    "proactbench": (),
    "proactbench app": (),
    **{f"probe {agent}": ("--set", f"agent={agent}") for agent in ("react", "reflexion", "rewoo", "stages")},
    "probe embedder": ("--set", "agent=react", "--set", "embedder=hosted_vllm/any"),
    "proactivebench": (),
    "proactiveagent history": ("--set", "history=2"),
    "proagentbench": (),
    "errands": (),
}
"""Options beside the benchmark, which is the first word of a name; `app` tests an application that asks the model."""
_TESTS = Path(__file__).parents[2] / "tests"
sys.path.append(str(_TESTS))  # which the file of errands imports from
_UNJUDGED = ("proactivebench", "proagentbench", "errands")


def reply(received: Received) -> Scripted:
    """A model of any role: the same request is always answered alike."""
    if texts := received.body.get("input"):
        vectors = [[*hashlib.sha256(text.encode()).digest()[:8]] for text in texts]
        rows = [{"index": index, "embedding": vector} for index, vector in enumerate(vectors)]
        document = {"object": "list", "model": "any", "data": rows, "usage": {"prompt_tokens": 7, "total_tokens": 7}}
        return Scripted(raw=json.dumps(document).encode())
    return Scripted(play(received.body))


def command(name: str, folder: Path, provider: SimulatedProvider, limit: int, width: int) -> list[str]:
    """The arguments of a run into a folder, of so many cases and calls in flight; PROBE's tasks lie beside it."""
    benchmark, *_ = name.split()
    declared = f"{_TESTS / 'builders' / 'benchmarks.py'}:Errands" if name == "errands" else benchmark
    options = ["--benchmark", declared, *RUNS[name], "--limit", str(limit), "--concurrency", str(width)]
    if name.endswith(" app"):
        app = folder.with_name("relay.py")
        source = (_TESTS / "fakes" / "relay.py").read_text("utf-8")
        app.write_text(f"{source}\n\nos.environ['RELAY'] = {provider.base('assistant')!r}\n", "utf-8")
        options += ["--app", f"{app}:answer"]
    else:
        options += ["--model", "hosted_vllm/any", "--model-api-base", provider.base("assistant")]
    if benchmark not in _UNJUDGED:
        options += ["--judge", "openai/gpt-4o", "--judge-api-base", provider.base("judge")]
    options += ["--corpus", str(folder.with_name("tasks")) if benchmark == "probe" else "sample"]
    for role in ("user", "desk") if name == "errands" else ():
        options += ["--role", f"{role}=hosted_vllm/any", "--role-api-base", f"{role}={provider.base(role)}"]
    if "embedder" in name:
        options += ["--set", f"embedder_api_base={provider.base('embedder')}"]
    return ["eval", *options, "--retries", "0", "--out", str(folder), "--json"]
