"""A study written down in Optuna's own form, for its dashboard; no compile reads what another wrote."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from dspy_proact.errors import StorageFault


def journal_at(path: Path) -> JournalStorage:
    """A journal that is begun afresh.

    Raises:
        StorageFault: It cannot be written, which ends a compile as everything does that cannot be kept.
    """
    with _kept(path):
        path.unlink(missing_ok=True)
        return JournalStorage(_File(str(path)))


@contextmanager
def _kept(path: Path | str) -> Generator[None]:
    try:
        yield
    except (OSError, RuntimeError) as error:  # Optuna's lock says the latter
        raise StorageFault(f"{path}: cannot be written: {error}") from error


class _File(JournalFileBackend):
    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        with _kept(self._file_path):
            super().append_logs(logs)

    def read_logs(self, log_number_from: int) -> Generator[dict[str, Any]]:
        with _kept(self._file_path):  # Optuna reads what it wrote
            yield from super().read_logs(log_number_from)
