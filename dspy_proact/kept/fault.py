from pydantic import ValidationError


def first_fault(error: ValidationError) -> str:
    """The first thing wrong with what was read, by its field where it is in one."""
    fault = error.errors()[0]
    where = ".".join(str(part) for part in fault["loc"])
    return f"field {where!r}: {fault['msg']}" if where else fault["msg"]
