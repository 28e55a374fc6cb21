"""A real Jupyter kernel: what the pages show in Python runs in it too, shows its tables, and can be stopped."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from builders.attack import harmless
from drivers.script import ROOT
from fakes.server import Answer, Sent, Server, healthy
from jupyter_client.kernelspec import NATIVE_KERNEL_NAME
from jupyter_client.manager import KernelManager
from test_docs import fences

pytestmark = pytest.mark.usefixtures("proactbench")
PATIENCE = 60.0
"""Seconds after which a cell that hangs fails its test."""


@dataclass
class Cell:
    """What a cell said."""

    printed: str = ""
    warned: str = ""
    """On standard error."""
    shown: dict[str, str] = field(default_factory=dict)
    """Its result, by media type."""
    error: str | None = None
    """Name and text of what it raised."""


class Notebook:
    """A kernel in a folder of its own."""

    def __init__(self, manager: KernelManager, folder: Path):
        self.manager, self.folder = manager, folder
        self._client = manager.client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=PATIENCE)
        self._process = int(self.run("import os; os.getpid()").shown["text/plain"])

    def run(self, code: str, on_print: Callable[[], None] = lambda: None) -> Cell:
        """Run a cell to its end; the other is called whenever it prints."""
        cell = Cell()

        def heard(message: dict[str, Any]) -> None:
            text = message["content"]
            match message["msg_type"]:
                case "stream" if text["name"] == "stderr":
                    cell.warned += text["text"]
                case "stream":
                    cell.printed += text["text"]
                    on_print()
                case "execute_result":
                    cell.shown = text["data"]
                case "error":
                    cell.error = f"{text['ename']}: {text['evalue']}"

        self._client.execute_interactive(code, output_hook=heard, timeout=PATIENCE, allow_stdin=False)
        return cell

    def interrupt(self) -> None:
        """Send what the stop button sends, in any thread."""
        os.kill(self._process, signal.SIGINT)

    def close(self) -> None:
        self._client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    folder = tmp_path_factory.mktemp("notebook")
    own = {name: str(folder / name.lower()) for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR")}
    keyless = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_BASE_URL"))}
    manager = KernelManager(kernel_name=NATIVE_KERNEL_NAME)
    manager.start_kernel(cwd=str(folder), env=keyless | own)
    opened = Notebook(manager, folder)
    try:
        yield opened
    finally:
        opened.close()


def test_the_blocks_of_the_page_on_python_run_in_cells_and_a_summary_is_shown_as_a_table(notebook: Notebook):
    blocks = [
        fence.text for fence in fences((ROOT / "docs" / "python.md").read_text("utf-8")) if fence.language == "python"
    ]
    *earlier, last = [notebook.run(text) for text in blocks]
    assert [cell.error for cell in (*earlier, last)] == [None] * len(blocks)
    assert "RECOVERY" in harmless(last.shown["text/html"])
    assert last.shown["text/plain"].startswith("Summary(embedded judged by embedded, 12/12 scored")


@pytest.mark.parametrize("way", ["evaluation.run", "await evaluation.arun"])
def test_the_stop_button_ends_a_run_in_order(notebook: Notebook, server: Server, way: str):
    """What is in flight when it is pressed is awaited and kept: the third response ends when the cell says so."""
    stopping, out = threading.Event(), f"runs/{way.partition('.')[2]}"

    async def pressing(sent: Sent) -> Answer:
        if len(server.of("assistant")) == 3:
            notebook.interrupt()
            await asyncio.to_thread(stopping.wait, PATIENCE)
        return healthy(sent)

    server.script = pressing
    made = notebook.run(f"""
        from dspy_proact import Evaluation, Gate, ModelSpec, RunFolder, load_corpus
        from dspy_proact.runs import Observer

        class Said(Observer):
            def interrupted(self):
                print("stopping")

        model = ModelSpec(name="hosted_vllm/any", api_base={server.assistant!r})
        judge = ModelSpec(name="hosted_vllm/any", api_base={server.judge!r})
        evaluation = Evaluation(load_corpus("sample"), model, judge, gate=Gate(concurrency=1))
    """)
    assert made.error is None
    cell = notebook.run(f"{way}({out!r}, observer=Said())", stopping.set)
    assert (cell.error, cell.printed) == ("Interrupted: interrupted", "stopping\n")
    # Two triggers with their verdicts, and the third response.
    assert notebook.run(f"len(list(RunFolder({out!r}).events()))").shown["text/plain"] == "5"
    server.script = healthy
    again = notebook.run(f"({way}({out!r})).unscored")
    assert (again.error, again.shown["text/plain"]) == (None, "0")


def test_a_run_and_a_compile_without_an_observer_show_how_far_they_are(notebook: Notebook):
    cell = notebook.run("""
        from dspy_proact import Compile, Evaluation, JudgeTarget, Recipe, Scope, load_corpus, load_ratings
        run = Evaluation(load_corpus("sample")).run("runs/shown", Scope(limit=5))
    """)
    assert (cell.error, cell.printed) == (None, "")
    assert "5/5" in cell.warned
    cell = notebook.run("""
        recipe = Recipe(optimizer="labeled", folds=2)
        compiled = Compile(JudgeTarget(load_ratings("sample"), "embedded", "embedded"), recipe).run("compiled")
    """)
    assert (cell.error, cell.printed) == (None, "")
    assert " calls" in cell.warned
