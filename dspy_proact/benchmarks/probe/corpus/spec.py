from dspy_proact.benchmarks.probe.corpus.corpus import TaskCorpus
from dspy_proact.benchmarks.probe.corpus.members import pairs_at
from dspy_proact.benchmarks.probe.corpus.sample import sample_folder
from dspy_proact.errors import CorpusError
from dspy_proact.files.hub import hub_commit, hub_folder

PROBE = "gilfastino/PROBE"
"""The official dataset on the Hugging Face hub."""
_FILES = ("*.zip", "*_input.json", "*_output.json")
_INSTEAD = "download its two zips and give the path of their folder"


def load_tasks(spec: str, revision: str | None = None, *, sanitize: bool = True, seed: int = 0) -> TaskCorpus:
    """Load the tasks that a person asked for; everything is validated before the first is handed out.

    Args:
        spec: `sample`, `probe`, `probe@REVISION`, or a path: a folder of the official files, one of the two official
            zips, or a folder that holds both. A folder with one of these names is given as `./sample`.
        revision: Used where `probe` pins none, such as the commit that a resumed run has recorded.
        sanitize: Whether tasks are handed out with opaque ids, in an order of chance and without stamps.
        seed: Of the ids and the order.

    Raises:
        CorpusError: There is no such corpus, it is not valid, or a revision is given for what has none.
    """
    name, at, pinned = spec.partition("@")
    if name == "probe":
        if at and not pinned:
            raise CorpusError("the revision after @ is empty; leave the @ out for the newest", source=spec)
        commit = hub_commit(PROBE, pinned or revision, _INSTEAD)
        path, revision = hub_folder(PROBE, commit, _FILES, _INSTEAD), commit
    elif revision is not None:
        raise CorpusError("only probe has revisions; leave the revision out", source=spec)
    else:
        path = str(sample_folder()) if spec == "sample" else spec
    named = name if name == "probe" else spec
    return TaskCorpus.of(pairs_at(path), name=named, revision=revision, sanitize=sanitize, seed=seed)
