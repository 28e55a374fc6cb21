"""What PROBE at its published size takes of a machine: 1,000 tasks of 80 items and 108,000 tokens each.

    python eval/probe_scale.py

Made tasks are read, planned and answered by `single`, a quarter after the other, with a server in another process that
answers at once. Printed are times a task, and the most memory that the process had by then.
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

from support.probe_tasks import Size, write_synthetic

from dspy_proact import Gate, ModelSpec, RunFolder
from dspy_proact.benchmarks.evaluation import Evaluation
from dspy_proact.benchmarks.probe.corpus import load_tasks
from dspy_proact.benchmarks.probe.scoring import FacetGrades
from dspy_proact.runs import Event, Observer

NAME, WIDTH = "openai/gpt-4o", 8
TAKEN = {"action": "act_1", "parameters": {"to": "somebody"}}
SOLUTION = {"reasoning": "so", "evidence": ["item_0"], "bottleneck": "Work waits for an answer. " * 8, **TAKEN}
VERDICT = {"reasoning": "so", **dict.fromkeys(FacetGrades.model_fields, "missing"), "judgment": "INCORRECT"}


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while head := await reader.readuntil(b"\r\n\r\n"):
        await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]))
        said = VERDICT if b"/judge/" in head[:40] else SOLUTION
        message = {"role": "assistant", "content": json.dumps(said)}
        whole = {"choices": [{"index": 0, "finish_reason": "stop", "message": message}], "id": "x", "model": "any"}
        body = json.dumps(whole | {"usage": {"prompt_tokens": 108_000, "completion_tokens": 230}}).encode()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))


async def serve() -> None:
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # clients hang up
    server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=2**22)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def told(what: str, tasks: int, began: float) -> None:
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 1024)
    print(f"{what}: {1000 * (time.perf_counter() - began) / tasks:,.0f} ms a task, at most {most:,.0f} MiB", flush=True)


class Quarters(Observer):
    """Tells of every quarter of the tasks when it is done."""

    def __init__(self, tasks: int):
        self.tasks, self.done, self.began = tasks, 0, time.perf_counter()

    def ended(self, event: Event, last: bool) -> None:  # noqa: ARG002 - the observer's
        self.done += last
        quarter = self.tasks // 4
        if last and self.done % quarter == 0:
            told(f"answered {self.done - quarter + 1} to {self.done}", quarter, self.began)
            self.began = time.perf_counter()


def measure(folder: Path, port: str, tasks: int) -> None:
    began = time.perf_counter()
    corpus = load_tasks(str(folder))
    cases = corpus.case_set.cases
    told(f"{len(cases)} tasks of {len({case.group for case in cases})} people read", tasks, began)
    at = f"http://127.0.0.1:{port}"
    agent, judge = (ModelSpec(name=NAME, api_base=f"{at}/{role}/v1") for role in ("assistant", "judge"))
    evaluation = Evaluation(corpus, agent, judge, gate=Gate(concurrency=WIDTH, retries=0), benchmark="probe")
    began = time.perf_counter()
    forecast = evaluation.forecast(folder / "run")
    tokens, usd = forecast.assistant.prompt_tokens / tasks, (forecast.assistant.usd or (0, 0))[1]
    told(f"planned ({tokens:,.0f} tokens a task, at most USD {usd:,.2f})", tasks, began)
    evaluation.run(folder / "run", observer=Quarters(tasks))
    print(f"{sum(event.grade is not None for event in RunFolder(folder / 'run').events())} of {tasks} graded")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="8 small tasks")
    parser.add_argument("--serve", action="store_true", help="be the server")
    if (asked := parser.parse_args()).serve:
        asyncio.run(serve())
    tasks, size = (8, Size(items=10, words=30, actions=4)) if asked.quick else (1000, Size())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_synthetic(folder, 0, tasks, size, zipped=True)
        command = [sys.executable, __file__, "--serve"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout
            measure(folder, server.stdout.readline().strip(), tasks)
            server.kill()


if __name__ == "__main__":
    main()
