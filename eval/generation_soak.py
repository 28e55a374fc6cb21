"""A corpus whose making is killed again and again at full width ends as if it had not been.

    python eval/generation_soak.py --kills 50

Notes, a made-up benchmark, are made at a simulated provider, whose answers break rules now and then, at 32 calls in
flight, and killed (SIGKILL) at random moments: when as many requests have come as a seed draws, half of the time while
later ones get no answer. The same call goes on each time. At the end the files must be those of a corpus that nobody
killed, the time it was begun apart, no logged call may have been sent again, and the provider must have counted at most
32 calls a kill beyond it.
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

from support.notes_corpus import NotesBench, NotesScript
from support.provider import SimulatedProvider, killed, slow

from dspy_proact import Gate, Generation, ModelSpec

WIDTH, SEED = 32, 20261128
QUICK = 8  # notes


def faults(kind: str, text: str) -> str | None:
    """One answer in eight breaks a rule, by a hash of what it is about."""
    draw = hashlib.sha256(f"{kind} {text}".encode()).digest()[0] % 8
    broken = {"topic": {"topic": "forbidden"}, "line": {"line": "forbidden"}, "check": {"sound": False}}
    return json.dumps(broken.get(kind, {})) if draw == 0 else None


def makes(folder: Path, base: str, notes: int) -> None:
    """What is killed."""
    model = ModelSpec(name="openai/any", api_base=base)
    Generation(model=model, dialogues=notes, gate=Gate(concurrency=WIDTH), benchmark=NotesBench()).run(folder)


def begun(folder: Path, base: str, notes: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, __file__, "--out", folder, "--at", base, "--notes", str(notes)])


def content(folder: Path) -> dict[str, bytes]:
    """The files, without the time at which they were begun, and without the log."""
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in ("calls.jsonl", "lock")}
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
    parser.add_argument("--quick", action="store_true", help=f"2 kills of a corpus of {QUICK} notes")
    parser.add_argument("--notes", type=int, default=200, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--at", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.out:
        makes(options.out, options.at, options.notes)
        return

    kills, notes = (2, QUICK) if options.quick else (options.kills, options.notes)
    moment, done, script = random.Random(SEED), 0, NotesScript(faults)
    with tempfile.TemporaryDirectory() as name, SimulatedProvider(script) as provider:
        folder, base = Path(name), provider.base("any")
        makes(folder / "smooth", base, notes)
        needed = provider.received.total()
        again = partial(begun, folder / "killed", base, notes)
        while done < kills:
            after, pause = moment.randint(1, needed // kills), moment.uniform(0, 0.05)
            if not killed(provider, again, after, pause, script=slow(script, 0.005), stalls=done % 2 == 0):
                break
            done += 1
        provider.script = script
        makes(folder / "killed", base, notes)
        extra = provider.received.total() - 2 * needed
        smooth, broken = content(folder / "smooth"), content(folder / "killed")
        unequal = sorted(name for name in {*smooth, *broken} if smooth.get(name) != broken.get(name))
        twice = max(requests(folder / "killed").values()) - 1
    print(
        f"{needed} calls, {done} kills, {extra} further ones of at most {done * WIDTH}; logged calls that were sent "
        f"again: {twice}; unequal files: {', '.join(unequal) or 'none'}"
    )
    if unequal or not (done == kills and 0 <= extra <= done * WIDTH and not twice):
        sys.exit(1)


if __name__ == "__main__":
    main()
