"""A study written down in Optuna's own form, for its dashboard; it is never read."""

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
    path.unlink(missing_ok=True)
    return JournalStorage(_File(str(path)))


class _File(JournalFileBackend):
    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        try:
            super().append_logs(logs)
        except (OSError, RuntimeError) as error:  # its lock says the latter
            raise StorageFault(f"{self._file_path}: cannot be written: {error}") from error
