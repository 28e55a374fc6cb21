"""Whether a run whose requests a Ray cluster sends is that of one process, whatever ends its workers or its driver.

    python eval/ray_soak.py

Four workers on this machine, which Ray is told has four CPUs. A run, new verdicts of its answers, a
compile and a corpus must equal those of one process. Workers are killed (SIGKILL) at random moments: nothing may be
lost, and no more sent again than attempts failed. Runs with a limit, 64 calls in flight, at a provider that fails at
random while workers are killed, race for the last call or the last dollar: the provider counts whether one is exceeded.
Drivers are interrupted and killed, and the same command goes on. At 64 in flight and 1 s latency, runs take turns with
those of one process: the median ratio of their throughput must be at least .9.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from support.fast_server import serving
from support.made_corpora import as_stand_in, made_at
from support.provider import Faulty, Received, Script, Scripted, SimulatedProvider, healthy, refusal, slow
from support.scale import copied_sample
from support.synthetic_study import synthetic_items, synthetic_ratings

from dspy_proact import (
    Compile,
    Corpus,
    Evaluation,
    Gate,
    JudgeTarget,
    Limits,
    ModelSpec,
    Recipe,
    Rejudging,
    Responses,
    RunFolder,
)
from dspy_proact.calls import Price
from dspy_proact.errors import LimitReached
from dspy_proact.models.ray.cluster import import_ray, start_ray
from dspy_proact.report import summarize, summary_document
from dspy_proact.runs import latest

SEED, WIDTH, WORKERS = 20261129, 64, 4
LEAST = 0.9
"""Of one process's throughput; a quick check is too short to show it."""
LIMIT = 100
"""Tokens of an answer at most."""
PRICE = Price(prompt=1e-4, completion=2e-4)


class Cluster:
    """The cluster of this process, whose workers all gates of this program share."""

    def __init__(self) -> None:
        start_ray(num_cpus=WORKERS, include_dashboard=False)
        self.address: str = import_ray().get_runtime_context().gcs_address
        self._shared = Gate(engine="ray", concurrency=WIDTH).cluster

    def gate(self, **options: Any) -> Gate:
        """A gate whose requests the workers send."""
        gate = Gate(**{"engine": "ray", "concurrency": WIDTH, "backoff": 0.2, **options})
        gate.cluster = self._shared
        return gate


def workers_under(root: int) -> list[int]:
    """The processes of workers that descend from a process."""
    parents, workers = dict[int, int](), list[int]()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(path.name)] = int((path / "stat").read_text("utf-8").rpartition(")")[2].split()[1])
            if (path / "cmdline").read_bytes().startswith(b"ray::RayWorker"):
                workers.append(int(path.name))
        except OSError:  # it has ended
            continue

    def descends(process: int) -> bool:
        return process == root or (process in parents and descends(parents[process]))

    return [worker for worker in workers if descends(worker)]


@contextmanager
def killing(moment: random.Random, most: int, shortest: float, longest: float) -> Iterator[list[int]]:
    """Inside, workers of this process are killed at random moments; the list grows by each."""
    over, killed = threading.Event(), list[int]()

    def kill() -> None:
        while len(killed) < most and not over.wait(moment.uniform(shortest, longest)):
            if len(workers := workers_under(os.getpid())) > WORKERS // 2:  # the others are being started again
                killed.append(moment.choice(workers))
                os.kill(killed[-1], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


def evaluation(provider: SimulatedProvider, corpus: Corpus | str, gate: Gate) -> Evaluation:
    specs = (
        ModelSpec(name="openai/any", api_base=provider.base(role), price=PRICE, params={"max_tokens": LIMIT})
        for role in ("assistant", "judge")
    )
    return Evaluation(corpus, *specs, gate=gate)


def result(folder: Path) -> tuple[Any, ...]:
    """What a run came to: its stages, and its report without what its path and the clock say."""
    ended = latest(RunFolder(folder).events())
    report = summary_document(summarize(folder))
    stages = {key: (event.answer, event.grade, event.failure) for key, event in ended.items()}
    return stages, {**report, "run": None, "usage": None}


def attempts(folder: Path) -> tuple[int, int]:
    """Attempts on disk that were answered, and those that failed on the way."""
    calls = [attempt for call in RunFolder(folder).call_usage() for attempt in call.attempts]
    failed = sum(attempt.error is not None for attempt in calls)
    return len(calls) - failed, failed


def equal_results(cluster: Cluster, folder: Path) -> None:
    """Each command that calls models does on the cluster what it does in one process."""
    gates: dict[str, Callable[[], Gate]] = {"plain": lambda: Gate(concurrency=WIDTH), "cluster": cluster.gate}
    outcomes = dict[str, list[Any]]()
    with SimulatedProvider(healthy) as provider:
        model = ModelSpec(name="openai/any", api_base=provider.base("judge"))
        study = synthetic_ratings(SEED, synthetic_items(SEED, 24, 8))
        for name, gate in gates.items():
            run, again, compiled, made = (folder / f"{kind} {name}" for kind in ("run", "again", "compiled", "made"))
            provider.script = healthy
            evaluation(provider, "sample", gate()).run(run)
            Rejudging(Responses.of_run(RunFolder(run)), model, gate=gate()).run(again)
            recipe = Recipe(optimizer="search", trials=2, max_demos=4, folds=2)
            Compile(JudgeTarget(study, model, model), recipe, gate()).run(compiled)
            provider.script = as_stand_in
            made_at(provider.base("any"), 2, gate()).run(made)
            artefact = (compiled / "judge.json").read_text("utf-8")
            corpora = sorted(path.read_bytes() for path in made.glob("*dialogues*.jsonl"))
            assert corpora, list(made.iterdir())
            outcomes[name] = [result(run), result(again), without_times(artefact), corpora]
    for what, one, other in zip(("eval", "rejudge", "optimize", "generate"), *outcomes.values(), strict=True):
        assert one == other, f"{what} differs"
    print("eval, rejudge, optimize judge and generate on the cluster equal those of one process", flush=True)


def without_times(artefact: str) -> str:
    """An artefact without the lines that the clock decides."""
    return "\n".join(line for line in artefact.splitlines() if '"created"' not in line and '"checksum"' not in line)


def soak_kills(cluster: Cluster, folder: Path, kills: int, corpus: Corpus, seconds: float) -> None:
    """Workers are killed during runs, so often in all."""
    moment, done, number, lost, failed_calls = random.Random(SEED), 0, 0, 0, 0
    with SimulatedProvider(healthy) as provider:
        evaluation(provider, corpus, Gate(concurrency=WIDTH)).run(folder / "unkilled")
        needed, expected = provider.received.total(), result(folder / "unkilled")
        provider.script = slow(healthy, seconds)
        while done < kills:
            provider.received.clear()
            run, number = folder / f"killed {number}", number + 1
            with killing(moment, kills - done, 0.5, 4.0) as killed:
                evaluation(provider, corpus, cluster.gate()).run(run)
            answered, failed = attempts(run)
            again = provider.received.total() - needed
            assert result(run) == expected, "answers, grades or report differ"
            assert answered == needed, f"{answered} answers on disk, and {needed} are needed"
            assert 0 <= again <= failed <= len(killed) * WIDTH, f"{again} sent again, {failed} attempts failed"
            done, lost, failed_calls = done + len(killed), lost + again, failed_calls + failed
    print(
        f"{done} workers killed during {number} runs of {needed:,} calls: nothing lost, {lost} calls sent again, of "
        f"{failed_calls} attempts that failed",
        flush=True,
    )


def dear(received: Received) -> Scripted:
    """A healthy answer that is billed nearly as much as it can be: a token for almost each character of the request."""
    tokens = sum(len(message["content"]) for message in received.body["messages"])
    answer = healthy(received)
    return replace(answer, usage={"prompt_tokens": tokens, "completion_tokens": LIMIT}, delay=0.1)


def soak_limits(cluster: Cluster, folder: Path, races: int, corpus: Corpus) -> None:
    """Runs that reach a limit of calls, and of money, while requests fail and workers are killed."""
    moment, used = random.Random(SEED), list[float]()
    faults = [(refusal(503), 0.05), (Scripted(cut=0), 0.05), (Scripted(cut=120), 0.05)]
    with SimulatedProvider(healthy) as provider:
        for number in range(2 * races):
            bills = list[float]()
            provider.script = billing(Faulty(dear, {"assistant": faults, "judge": faults}, number), bills)
            limits = Limits(usd=moment.uniform(50, 100)) if number % 2 else Limits(calls=moment.randint(150, 350))
            gate = cluster.gate(limits=limits, retries=2, backoff=0.05, patience=1000)
            with killing(moment, 1, 0.2, 1.5), suppress(LimitReached):
                evaluation(provider, corpus, gate).run(folder / f"race {number}")
            spent = sum(bills) if limits.usd else len(bills)
            share = spent / (limits.usd or limits.calls or 0)
            assert share <= 1 + 1e-9, f"{spent} spent of {limits}"
            used.append(share)
    print(
        f"{races} races for calls and {races} for dollars: no limit exceeded; used at least {min(used[::2]):.0%} of "
        f"the calls and {min(used[1::2]):.0%} of the dollars",
        flush=True,
    )


def billing(script: Script, bills: list[float]) -> Script:
    """The script, with what each reply costs: one that is lost on the way was written, and is billed too."""

    def reply(received: Received) -> Scripted:
        answer = script(received)
        usage = dear(received).usage or {}
        cost = PRICE.of(usage["prompt_tokens"], usage["completion_tokens"], 0, 0) or 0.0
        bills.append(cost if answer.status == 200 else 0.0)
        return answer

    return reply


def soak_drivers(folder: Path, engine: str, number: int) -> None:
    """The command is interrupted by Ctrl-C at its terminal, then killed, and then goes on to its end."""
    expected, out = folder / f"whole {number}", folder / f"driven {number}"
    with SimulatedProvider(healthy) as provider:
        models = [
            word
            for flag, role in (("--model", "assistant"), ("--judge", "judge"))
            for word in (
                flag,
                "openai/any",
                f"{flag}-api-base",
                provider.base(role),
                f"{flag}-param",
                f"max_tokens={LIMIT}",
            )
        ]
        plain = [
            sys.executable,
            "-m",
            "dspy_proact",
            "eval",
            "--corpus",
            "sample",
            *models,
            "--concurrency",
            "8",
            "--json",
        ]
        subprocess.run([*plain, "--out", str(expected)], check=True, capture_output=True)
        needed, lost = provider.received.total(), 0
        provider.received.clear()
        provider.script, command = slow(healthy, 0.5), [*plain, "--out", str(out), "--engine", engine]
        for sent in (signal.SIGINT, signal.SIGKILL, None):
            before = provider.received.total()
            process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            while sent and process.poll() is None and provider.received.total() < before + 20:
                time.sleep(0.05)
            workers = workers_under(process.pid)
            if sent == signal.SIGINT:
                os.killpg(process.pid, sent)  # as a terminal does, to whatever Ray has started in its session
            elif sent:
                process.kill()
            out_text, messages = process.communicate()
            wanted = {signal.SIGINT: 130, signal.SIGKILL: -signal.SIGKILL, None: 0}[sent]
            assert process.returncode == wanted, (process.returncode, messages.decode())
            assert sent or out_text.startswith(b"{"), out_text  # no word of Ray's stands before the result
            end = time.monotonic() + 60
            while any(Path(f"/proc/{worker}").exists() for worker in workers):
                assert time.monotonic() < end, "a worker outlives its driver"
                time.sleep(0.1)
            before, lost = lost, provider.received.total() - sum(attempts(out))
            assert lost <= before + (8 if sent == signal.SIGKILL else 0), f"{lost - before} calls were lost"
        assert result(out) == result(expected), "answers, grades or report differ"
        print(f"--engine {engine.partition(':')[0]}: Ctrl-C, kill, end: {needed} calls, {lost} lost", flush=True)


def compare_speed(cluster: Cluster, folder: Path, triggers: int, rounds: int, seconds: float) -> float:
    """Runs on the cluster take turns with those of one process: the median ratio of their throughput."""
    corpus, ratios, costs = copied_sample(triggers, folder), list[float](), list[tuple[float, float]]()
    gates: tuple[Callable[[], Gate], ...] = (lambda: Gate(concurrency=WIDTH), cluster.gate)
    with serving() as port:
        specs = [
            ModelSpec(name="openai/gpt-4o", api_base=f"http://127.0.0.1:{port}/{seconds}/{seconds}/{role}/v1")
            for role in ("assistant", "judge")
        ]
        for number in range(rounds):
            taken, cost = list[float](), list[float]()
            for gate in gates if number % 2 else gates[::-1]:
                began, before = time.perf_counter(), sum(os.times()[:2])
                Evaluation(corpus, *specs, gate=gate()).run(folder / f"{number} {len(taken)}")
                taken.append(time.perf_counter() - began)
                cost.append(1000 * (sum(os.times()[:2]) - before) / (2 * triggers))
            plain, ours = (0, 1) if number % 2 else (1, 0)
            ratios.append(taken[plain] / taken[ours])
            costs.append((cost[plain], cost[ours]))
    plain, ours = (median(column) for column in zip(*costs, strict=True))
    print(
        f"{triggers} triggers, {WIDTH} in flight, {seconds:g} s: {median(ratios):.2f} of one process's throughput "
        f"(median of {rounds}); the driver takes {ours:.2f} ms of CPU a call, one process {plain:.2f}",
        flush=True,
    )
    return median(ratios)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two kills, two races, one turn")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--races", type=int, default=20)
    options = parser.parse_args()
    os.environ["OPENAI_API_KEY"] = "none"
    quick = options.quick
    with tempfile.TemporaryDirectory() as name:
        folder, cluster = Path(name), Cluster()
        corpus = copied_sample(100 if quick else 1000, folder)
        equal_results(cluster, folder)
        soak_kills(cluster, folder, 2 if quick else options.kills, corpus, 0.5 if quick else 1.0)
        soak_limits(cluster, folder, 1 if quick else options.races, corpus)
        for number, engine in enumerate(("ray", f"ray={cluster.address}")):
            soak_drivers(folder, engine, number)
        ratio = compare_speed(cluster, folder, 64 if quick else 640, 1 if quick else 3, 0.2 if quick else 1.0)
        assert quick or ratio >= LEAST, "one process does more"


if __name__ == "__main__":
    main()
