"""What ProAgentBench at its published size takes of a machine: 28,528 events of 17 people.

    python eval/proagentbench_scale.py

Made recordings are read, planned and answered by `joint` with the graph as memory, a quarter after the other, with a
server in another process that answers at once. Printed are times a moment, and the most memory that the process had by
then.
"""

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from support.recordings import EVENTS, PEOPLE, write_recordings

from dspy_proact import Gate, ModelSpec, RunFolder
from dspy_proact.benchmarks.evaluation import Evaluation
from dspy_proact.benchmarks.proagentbench.corpus import load_corpus
from dspy_proact.benchmarks.proagentbench.moments import ProAgentBenchSettings
from dspy_proact.runs import Event, Observer

NAME, WIDTH = "openai/gpt-4o", 8
SAID = {"need_help": True, "intention": "Information Lookup", "query": "What is this?"}


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while head := await reader.readuntil(b"\r\n\r\n"):
        await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]))
        message = {"role": "assistant", "content": json.dumps(SAID)}
        whole = {"choices": [{"index": 0, "finish_reason": "stop", "message": message}], "id": "x", "model": "any"}
        body = json.dumps(whole | {"usage": {"prompt_tokens": 1_500, "completion_tokens": 30}}).encode()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))


async def serve() -> None:
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # clients hang up
    server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=2**22)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def told(what: str, moments: int, began: float) -> None:
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 1024)
    print(
        f"{what}: {1000 * (time.perf_counter() - began) / moments:,.1f} ms a moment, at most {most:,.0f} MiB",
        flush=True,
    )


class Quarters(Observer):
    """Tells of every quarter of the moments when it is done."""

    def __init__(self, moments: int):
        self.moments, self.done, self.began = moments, 0, time.perf_counter()

    def ended(self, event: Event, last: bool) -> None:  # noqa: ARG002 - the observer's
        self.done += last
        quarter = self.moments // 4
        if last and self.done % quarter == 0:
            told(f"answered {self.done - quarter + 1} to {self.done}", quarter, self.began)
            self.began = time.perf_counter()


def measure(folder: Path, port: str) -> None:
    settings, began = ProAgentBenchSettings(memory="graph"), time.perf_counter()
    corpus = load_corpus(str(folder / "corpus"), settings)
    moments, people = len(corpus.cases), len({case.group for case in corpus.cases})
    told(f"{corpus.corpus.rows} events of {people} people read, {moments} moments", moments, began)
    agent, gate = ModelSpec(name=NAME, api_base=f"http://127.0.0.1:{port}/v1"), Gate(concurrency=WIDTH, retries=0)
    evaluation = Evaluation(corpus, agent, gate=gate, benchmark="proagentbench", settings=settings)
    began = time.perf_counter()
    forecast = evaluation.forecast(folder / "run")
    told(f"planned ({forecast.assistant.prompt_tokens / moments:,.0f} tokens a moment)", moments, began)
    evaluation.run(folder / "run", observer=Quarters(moments))
    print(f"{sum(event.grade is not None for event in RunFolder(folder / 'run').events())} of {moments} graded")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="200 events of 2 people")
    parser.add_argument("--serve", action="store_true", help="be the server")
    if (asked := parser.parse_args()).serve:
        asyncio.run(serve())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_recordings(folder / "corpus", 0, *((200, 2) if asked.quick else (EVENTS, PEOPLE)))
        with subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout
            measure(folder, server.stdout.readline().strip())
            server.kill()


if __name__ == "__main__":
    main()
