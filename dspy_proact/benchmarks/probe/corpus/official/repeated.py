from collections.abc import Iterator

from dspy_proact.plain_text import shown


def repeated(path: str, ids: list[str], field: str = ".id") -> Iterator[tuple[str, str]]:
    """Field and problem wherever an id of a list stands there already; `field` is its own path in an element."""
    first: dict[str, int] = {}
    for index, each in enumerate(ids):
        if (before := first.setdefault(each, index)) != index:
            yield f"{path}[{index}]{field}", f"{shown(each)} is at [{before}] already; an id stands once"
