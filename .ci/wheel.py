"""What is in the sdist and the wheel, and whether the README's commands run for a person who has the wheel alone.

`contents DIST` checks both files of a folder; `commands` takes the Python of an environment that has the wheel.
"""

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))


def contents(dist: Path) -> None:
    """The wheel holds the files of the package as they are tracked, and no other; the sdist all that are tracked."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    tracked = set(listed.splitlines())
    with zipfile.ZipFile(next(dist.glob("*.whl"))) as wheel:
        about, package = set(), set()
        for name in wheel.namelist():
            folder, _, rest = name.partition("/")
            (about if folder.endswith(".dist-info") else package).add(rest if folder.endswith(".dist-info") else name)
    notices = {"licenses/LICENSE", "licenses/NOTICE"}
    same("wheel", about, {"METADATA", "WHEEL", "RECORD", "entry_points.txt"} | notices)
    same("wheel", package, {name for name in tracked if name.startswith("dspy_proact/")})
    with tarfile.open(next(dist.glob("*.tar.gz"))) as sdist:
        names = {member.name.partition("/")[2] for member in sdist if member.isfile()}
    same("sdist", names, tracked | {"PKG-INFO"})


def same(kind: str, found: set[str], wanted: set[str]) -> None:
    """Ends the program where they differ, and names the difference."""
    if found != wanted:
        missing, more = sorted(wanted - found), sorted(found - wanted)
        sys.exit(f"{kind}: missing: {', '.join(missing) or 'nothing'}; not expected: {', '.join(more) or 'nothing'}")


def commands() -> None:
    """Each command of the README in one new folder; a server on this machine answers those that need one."""
    from fakes.local import LOCAL_SERVERS
    from fakes.server import Server

    readme = (ROOT / "README.md").read_text("utf-8")
    fence = r"^<!-- (?:command: run|command: page|run) -->\n```sh\n(.*?)```$"
    blocks = re.findall(fence, readme, re.DOTALL | re.MULTILINE)
    here = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    here["PATH"] = f"{Path(sys.executable).parent}:{here['PATH']}"
    with tempfile.TemporaryDirectory() as folder, Server() as server:
        LOCAL_SERVERS["vLLM"].play(server)
        for text in blocks:
            # The wheel is installed already; the checkout is not here.
            line = text.partition(" -e . && ")[2] or text.replace("http://localhost:8000/v1", server.base("local"))
            print(f"$ {line.strip()}", flush=True)
            subprocess.run(["bash", "-euc", line], cwd=folder, env=here, check=True, stdout=subprocess.DEVNULL)
        if not (Path(folder) / "page.html").stat().st_size or not server.sent:
            sys.exit("a command of the README wrote no page, or asked no server")


if __name__ == "__main__":
    contents(Path(sys.argv[2])) if sys.argv[1] == "contents" else commands()
