from collections.abc import Sequence
from pathlib import Path

from dspy_proact.benchmarks.proactbench.corpus.ratings.bundled import SAMPLE, published_ratings, sample_study
from dspy_proact.benchmarks.proactbench.corpus.ratings.github import GITHUB, GitHub
from dspy_proact.benchmarks.proactbench.corpus.ratings.items_file import WANTED as WANTED_ITEMS
from dspy_proact.benchmarks.proactbench.corpus.ratings.items_file import items_of
from dspy_proact.benchmarks.proactbench.corpus.ratings.official import ITEMS, OfficialFolder
from dspy_proact.benchmarks.proactbench.corpus.ratings.rated_item import RatedItem
from dspy_proact.benchmarks.proactbench.corpus.ratings.ratings import Ratings, RatingsSource
from dspy_proact.benchmarks.proactbench.corpus.ratings.sheet import read_sheet
from dspy_proact.errors import CorpusError
from dspy_proact.files.text_file import read_bytes

_WANTED = (
    "published, sample, proactbench, a folder in the official layout, or a CSV or JSONL file of ratings or a folder"
)


def load_ratings(
    spec: str,
    items: Sequence[RatedItem] | None = None,
    *,
    items_path: str | Path | None = None,
    cache: Path | None = None,
    github: GitHub = GITHUB,
) -> Ratings:
    """Load the ratings that a person asked for.

    Args:
        spec: `published`, the bundled labels of the published study; `sample`, the bundled author ratings;
            `proactbench`, the published study in full, fetched once; a folder in the official layout; a CSV or JSONL
            file of ours; or a folder of such files, a rater each. A file or folder with one of these names is given as
            `./sample`.
        items: What the ratings of flat files are of, such as the cases of a run.
        items_path: A file of such items, in place of `items`.
        cache: The folder where `proactbench` is kept; needed for it alone.
        github: Where `proactbench` is fetched from.

    Raises:
        CorpusError: There are no such ratings, they are not valid, or they do not fit the items.
    """
    if not comes_with_items(spec):
        return _flat(spec, items, items_path)
    if items is not None or items_path is not None:
        raise CorpusError("these ratings come with what was rated; leave the run or the items out", source=spec)
    if spec == "published":
        return published_ratings()
    if spec == SAMPLE:
        return sample_study()
    if spec != "proactbench":
        return OfficialFolder.read(Path(spec)).ratings(spec)
    if cache is None:
        raise CorpusError("needs a folder to keep what is fetched; give one as cache", source=spec)
    return github.study(cache)


def comes_with_items(spec: str) -> bool:
    """Whether these ratings come with what they are of, which those of flat files do not."""
    return spec in {"published", SAMPLE, "proactbench"} or (Path(spec).is_dir() and not _sheets(Path(spec)))


def _sheets(folder: Path) -> list[Path]:
    """The flat files of a folder that is not in the official layout."""
    if (folder / ITEMS).is_file():
        return []
    return sorted(path for path in folder.glob("*") if path.suffix.lower() in {".csv", ".jsonl"} and path.is_file())


def _flat(spec: str, items: Sequence[RatedItem] | None, items_path: str | Path | None) -> Ratings:
    sheets = [str(path) for path in _sheets(Path(spec))] if Path(spec).is_dir() else [spec]
    contents = {sheet: read_bytes(sheet, _WANTED) for sheet in sheets}
    if items is not None and items_path is not None:
        raise CorpusError("give either the run or a file of items, not both", source=spec)
    if items_path is not None:
        path = str(items_path)
        contents[path] = read_bytes(path, WANTED_ITEMS)
        items = items_of(contents[path], path)
    if items is None:
        problem = "a file of ratings does not hold what was rated; give its run, or a file of its items"
        raise CorpusError(problem, source=spec)
    read = [read_sheet(contents[sheet], sheet, items) for sheet in sheets]
    given = [each for graded, _ in read for each in graded]
    return Ratings.of(
        spec, items, given, RatingsSource.of(spec, contents), ungraded=sum(ungraded for _, ungraded in read)
    )
