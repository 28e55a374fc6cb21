"""A disk without room, as far as a test can have one."""

import resource
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def file_size_limit(size: int) -> Generator[None]:
    """Inside, no file of this process grows beyond so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
