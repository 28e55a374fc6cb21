"""A corpus whose making is killed again and again at full width ends as if it had not been.

    python eval/generation_soak.py --kills 50
    python eval/generation_soak.py --kills 50 --of probe

Dialogues of ProactBench, what logs like its bundled ones show, or people with tasks of PROBE, are made at a simulated
provider, which answers as the stand-in does; or notes of a made-up benchmark, by answers that break rules now and then.
The making has 32 calls in flight and is killed (SIGKILL) at random moments: when as many requests have come as a seed
draws, half of the time while later ones get no answer. The same call goes on each time. At the end the files must be
those of a corpus that nobody killed, the time it was begun apart, no logged call may have been sent again, and the
provider must have counted at most 32 calls a kill beyond it.
"""

import argparse
import hashlib
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path

from support.made_corpora import as_stand_in, made_at, repeated_log
from support.notes_corpus import NotesBench, NotesScript
from support.provider import SimulatedProvider, killed, slow

from dspy_proact import Gate, Generation, ModelSpec

WIDTH, SEED, LOG = 32, 20261128, "chats.jsonl"
ITEMS = {"proactbench": (20, 2), "logs": (60, 2), "probe": (6, 1), "notes": (60, 8)}
"""By what is made, how many items, and how many of a quick check."""


def faults(kind: str, text: str) -> str | None:
    """One answer in eight breaks a rule, by a hash of what it is about."""
    draw = hashlib.sha256(f"{kind} {text}".encode()).digest()[0] % 8
    broken = {"topic": {"topic": "forbidden"}, "line": {"line": "forbidden"}, "check": {"sound": False}}
    return json.dumps(broken.get(kind, {})) if draw == 0 else None


def making(base: str, items: int, of: str, folder: Path) -> Generation:
    """What is killed, in a folder that holds the log of `logs`."""
    gate = Gate(concurrency=WIDTH)
    if of != "notes":
        return made_at(base, items, gate, of, folder / LOG)
    model = ModelSpec(name="openai/any", api_base=base)
    return Generation(None, model, items=items, gate=gate, benchmark=NotesBench())


def begun(folder: Path, base: str, items: int, of: str) -> "subprocess.Popen[bytes]":
    how = ["--out", folder, "--at", base, "--items", str(items), "--of", of]
    return subprocess.Popen([sys.executable, __file__, *how])


def content(folder: Path) -> dict[str, bytes]:
    """The files, without the time at which they were begun, and without the log."""
    paths = (path for path in folder.rglob("*") if path.is_file() and path.name not in ("calls.jsonl", "lock"))
    files = {str(path.relative_to(folder)): path.read_bytes() for path in paths}
    claim = json.loads(files["corpus.json"])
    assert claim.pop("created")
    return {**files, "corpus.json": json.dumps(claim).encode()}


def requests(folder: Path) -> Counter[str]:
    """How often each call that was answered stands in the log."""
    lines = (json.loads(line) for line in (folder / "calls.jsonl").read_text(encoding="utf-8").splitlines())
    return Counter(line["request"] for line in lines if line["response"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--quick", action="store_true", help="2 kills of the smallest corpus")
    parser.add_argument("--of", choices=ITEMS, default="proactbench", help="notes are of a made-up benchmark")
    parser.add_argument(
        "--items", type=int, help="to make: 20 dialogues by default, 60 conversations, 6 people, or 60 notes"
    )
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--at", help=argparse.SUPPRESS)
    options = parser.parse_args()
    kills, of = 2 if options.quick else options.kills, options.of
    items = options.items or ITEMS[of][options.quick]
    if options.out:
        making(options.at, items, of, options.out.parent).run(options.out)
        return

    moment, done = random.Random(SEED), 0
    script = NotesScript(faults) if of == "notes" else partial(as_stand_in, benchmark=of)
    with tempfile.TemporaryDirectory() as name, SimulatedProvider(script) as provider:
        folder, base = Path(name), provider.base("any")
        repeated_log(folder / LOG, items)
        task = making(base, items, of, folder)
        expected = task.forecast()
        task.run(folder / "smooth")
        needed, tokens = provider.received.total(), provider.tokens
        again = partial(begun, folder / "killed", base, items, of)
        while done < kills:
            after, pause = moment.randint(1, needed // kills), moment.uniform(0, 0.05)
            if not killed(provider, again, after, pause, script=slow(script, 0.005), stalls=done % 2 == 0):
                break
            done += 1
        provider.script = script
        making(base, items, of, folder).run(folder / "killed")
        extra = provider.received.total() - 2 * needed
        smooth, broken = content(folder / "smooth"), content(folder / "killed")
        unequal = sorted(name for name in {*smooth, *broken} if smooth.get(name) != broken.get(name))
        twice = max(requests(folder / "killed").values()) - 1
    foreseen = expected.prompt_tokens + expected.completion_tokens
    print(f"forecast: {expected.calls} calls and {foreseen:,} tokens; the provider counted {needed} and {tokens:,}")
    print(
        f"{needed} calls, {done} kills, {extra} further ones of at most {done * WIDTH}; logged calls that were sent "
        f"again: {twice}; unequal files: {', '.join(unequal) or 'none'}"
    )
    if unequal or not (done == kills and 0 <= extra <= done * WIDTH and not twice):
        sys.exit(1)


if __name__ == "__main__":
    main()
