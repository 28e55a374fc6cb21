from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from dspy_proact.report.particulars import Particulars

_ROOMS = {each.name for each in iter_modules([str(Path(__file__).parent)]) if each.ispkg}


@cache
def particulars_of(benchmark: str) -> Particulars:
    """What a benchmark says of its own in reports: the `PARTICULARS` of the room of its name, where there is one."""
    if benchmark not in _ROOMS:
        return Particulars()
    return import_module(f"dspy_proact.report.{benchmark}.particulars").PARTICULARS
