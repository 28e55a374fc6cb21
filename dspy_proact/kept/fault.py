from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json


def require_finite(data: bytes) -> None:
    """Raise a `ValueError` where JSON that was read holds a NaN or an infinity, also where any value is taken."""
    try:
        _: Any = from_json(data, allow_inf_nan=False)
    except ValueError as error:
        raise ValueError(f"a number that is not finite: {error}") from error


def first_fault(error: ValidationError) -> str:
    """The first thing wrong with what was read, by its field where it is in one."""
    fault = error.errors()[0]
    where, said = ".".join(str(part) for part in fault["loc"]), fault["msg"].removeprefix("Value error, ")
    return f"field {where!r}: {said}" if where else said
