"""What the proofs in the files of tasks show, as a card says it of those that are published."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dspy_proact.benchmarks.probe.generation.corpus import SOLVABLE, SolvedShare
from dspy_proact.benchmarks.probe.generation.made import TaskProof
from dspy_proact.report.numbers import counted, interval, listed, share

UNKNOWN = "No answers to these tasks were made: whether they can be solved, and only from their evidence, is unknown."


def proof_sentences(outputs: Sequence[Mapping[str, Any]], testers: Sequence[str]) -> Iterator[str]:
    """Sentences on tasks, each with its denominators; a task that people have edited is in none of the shares.

    Args:
        outputs: `..._output.json` of each task.
        testers: Models of the fresh answers.
    """
    proofs = [
        (str(output["world_model"]["persona_id"]), TaskProof.model_validate(raw))
        for output in outputs
        if (raw := output["metadata"].get("proof")) and not output.get("edited")
    ]
    if not proofs:
        yield UNKNOWN
        return
    if edited := sum(bool(output.get("edited")) for output in outputs):
        yield f"{counted(edited, 'task')} that people edited {'is' if edited == 1 else 'are'} in no share below."
    fresh = SolvedShare.of([(person, proof.fresh) for person, proof in proofs])
    if fresh is None or fresh.share.value is None:
        yield f"No fresh answer to these {counted(len(proofs), 'task')} could be graded."
    else:
        repeats = sum(proof.repeats for _, proof in proofs)
        yield (
            f"From its evidence alone, {listed(testers) or 'a model'} solves {share(fresh.share.value)} % of "
            f"{counted(fresh.tasks, 'task')} of {counted(fresh.people, 'person', 'people')} by "
            f"{counted(fresh.graded, 'fresh answer')}, which decided nothing ({interval(fresh.share)}); "
            f"the bar is {100 * SOLVABLE:.0f} %."
        )
        if repeats:
            yield f"{repeats} of {fresh.graded + fresh.ungraded} fresh answers repeat one that decided, word for word."
    kept = (
        "2 of 3 answers, or the only one, solved it from its evidence, not without any item nor from one alone, and an "
        "adversary who saw no text did not"
    )
    yield f"A task was kept where {kept}: {len(proofs)} of these {counted(len(outputs), 'task')} were tested so."
