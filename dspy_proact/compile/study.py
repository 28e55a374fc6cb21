from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from dspy_proact.errors import StorageFault


class _Backend(JournalFileBackend):
    """Optuna's file, which ends the compile where it cannot be written, as everything else does that is kept."""

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        try:
            super().append_logs(logs)
        except (OSError, RuntimeError) as error:  # its lock says the latter
            raise StorageFault(f"{self._file_path}: cannot be written: {error}") from error


def study_of(
    directions: Sequence[Literal["maximize", "minimize"]], seed: int, journal: Path | None = None
) -> optuna.Study:
    """A seeded study, begun afresh.

    Args:
        directions: One an objective.
        seed: The same seed and objectives give the same trials.
        journal: A file in Optuna's own form, for its dashboard; what stood in it is overwritten and never read.
    """
    if journal is not None:
        journal.unlink(missing_ok=True)
    storage = None if journal is None else JournalStorage(_Backend(str(journal)))
    sampler = optuna.samplers.TPESampler(seed=seed)
    return optuna.create_study(storage=storage, directions=list(directions), sampler=sampler)


def journal(folder: Path | None, name: str) -> Path | None:
    """The file of a study in the folder of its compile; None where nothing is written down."""
    return folder / f"study-{name}.log" if folder else None
