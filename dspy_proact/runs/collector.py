"""The garbage collector of a process that makes many values and few circles of them."""

import gc
from collections.abc import Generator
from contextlib import contextmanager

_THRESHOLDS = (50_000, 20, 100)


@contextmanager
def rare_collections() -> Generator[None]:
    """Inside, what is there already is not searched for garbage, and what is new is more rarely."""
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    gc.freeze()
    if before[0]:  # a collector that a person has turned off stays off
        gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        if not frozen:
            gc.unfreeze()
