"""A stand-in for MLflow 3.18: what a scorer of ours takes of it, with its signatures, and a small `evaluate`.

Written to a folder of its own and imported from there. Where MLflow is installed, tests run with it too.
"""

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

INSTALLED = importlib.util.find_spec("mlflow") is not None
FILES = {
    "__init__": "",
    "entities": """
from dataclasses import dataclass


class AssessmentSourceType:
    LLM_JUDGE = "LLM_JUDGE"


@dataclass
class AssessmentSource:
    source_type: str
    source_id: str | None = "default"


class Feedback:
    def __init__(self, name="feedback", value=None, error=None, source=None, trace_id=None, metadata=None, span_id=None,
                 create_time_ms=None, last_update_time_ms=None, rationale=None, overrides=None, valid=True):
        if error is None and value is None:
            raise ValueError("a value or an error")
        if not all(isinstance(text, str) for item in (metadata or {}).items() for text in item):
            raise TypeError("metadata are texts")
        self.name, self.value, self.source, self.metadata, self.rationale = name, value, source, metadata, rationale
        self.error = error
""",
    "genai": '''
import inspect
from concurrent.futures import ThreadPoolExecutor

from mlflow.entities import Feedback


def scorer(
    func=None, *, name=None, description=None, aggregations=None, pass_if=None, timeout=None, session_level=None
):
    """The scorer, which is called by name with those of inputs, outputs and expectations that it takes."""
    func.name = name
    return func


def evaluate(data, scorers):
    """The feedback of each scorer to each row, in threads; a scorer that raises has an error."""
    def scored(pair):
        row, one = pair
        known = {name: row.get(name) for name in ("inputs", "outputs", "expectations")}
        try:
            return one(**{name: known[name] for name in inspect.signature(one).parameters if name in known})
        except Exception as error:
            return Feedback(name=one.name, error=error)

    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(scored, [(row, one) for row in data for one in scorers]))
''',
}


@contextmanager
def stand_in(folder: Path) -> Iterator[None]:
    """Inside, `mlflow` is the stand-in; afterwards nothing of it is left in this process."""
    package = folder / "mlflow"
    package.mkdir(parents=True)
    for name, text in FILES.items():
        (package / f"{name}.py").write_text(text)
    hidden = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "mlflow"}
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name.split(".")[0] == "mlflow"]:
            del sys.modules[name]
        sys.modules.update(hidden)
