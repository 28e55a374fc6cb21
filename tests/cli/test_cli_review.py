"""`label serve --review` and `label export` of reviews: what they refuse, and what a review is begun with."""

import json
import shutil
from contextlib import closing
from pathlib import Path

import pytest
from drivers.terminal import unwrapped
from support.visitor import key

from dspy_proact.errors import UsageError
from dspy_proact.evaluation.registry import benchmark_named
from dspy_proact.label.review import open_review
from dspy_proact.label.reviews import CorpusItem, ReviewStore, ReviewSubmission
from dspy_proact.label.study import Design


@pytest.fixture
def corpus(tmp_path, proactbench):
    from dspy_proact.benchmarks.proactbench.corpus.dialogues import sample_path

    return Path(shutil.copy(sample_path(), tmp_path / "mine.jsonl"))


def begun(corpus, **design):
    file = corpus.with_name("mine.reviews.db")
    made = Design(**{"ratings": 2, "raters": 2, "repeated": 0.0, "kind": "reviews", "shared": 0.2, **design})
    return file, open_review(file, benchmark_named("proactbench"), corpus, made)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--review", "--each", 3], "--each: has no effect with --review"),
        (["--review", "--pairs"], "--pairs: has no effect with --review"),
        (["--review", "--raters", 1, "--double-share", 0.5], "--double-share: one person cannot review an item twice"),
        (["--review", "--draw", 99], "99 cannot be drawn: there are 16 items"),
        (["--review", "--benchmark", "probe"], "an object is expected|there is no file of a task|not JSON|zip"),
        (["--review", "--benchmark", "proactiveagent"], "proactiveagent: declares no way to review its corpora"),
        (["--double-share", 0.5], "--double-share: has an effect with --review alone"),
    ],
)
def test_what_makes_no_review_is_refused_and_leaves_no_file(refused, corpus, options, problem):
    import re

    assert re.search(problem, refused("label", "serve", corpus, "--port", 0, *options))
    assert [path.name for path in corpus.parent.iterdir() if path.suffix in (".db", ".links")] == []


def test_a_review_takes_one_corpus_that_is_there(refused, corpus):
    assert "--review takes one CORPUS" in refused("label", "serve", corpus, corpus, "--review")
    assert "--review takes one CORPUS" in refused("label", "serve", "nowhere", "--review")


def test_a_review_that_was_begun_keeps_its_design_and_its_texts(refused, corpus):
    file, collection = begun(corpus)
    assert [len(collection.reviewed), len(collection.store.units())] == [16, 16]
    collection.store.close()
    assert f"--double-share: {file} was begun already" in refused(
        "label", "serve", corpus, "--review", "--double-share", 0.4
    )
    row, *rest = corpus.read_text().splitlines(keepends=True)
    changed = json.loads(row)
    changed["turn_records"][0]["user_message"] += " Now."
    corpus.write_text(json.dumps(changed) + "\n" + "".join(rest))
    assert "is with another text of the corpus; put it back as it was" in refused("label", "serve", corpus, "--review")
    with pytest.raises(UsageError, match="with another text"):
        begun(corpus)


def test_reviews_are_exported_a_line_each_and_no_command_takes_them_for_ratings(proact, refused, corpus):
    file, collection = begun(corpus, ratings=1, shared=0.0)
    entry = CorpusItem(collection.reviewed[0].item)
    with closing(collection.store) as store:
        assert isinstance(store, ReviewStore)
        rater = store.add_rater("Ann")
        store.assign(rater.number, lambda: [(entry.key, False)])
        store.give(
            rater.number, ReviewSubmission(entry.key, "edit", key(), edits={"turns.1.user": "Hi."}, happens="yes")
        )
        store.adjudicate(ReviewSubmission(entry.key, "reject", key(), reason="After all."))
    _, _, err = proact("label", "export", file, "--out", corpus.with_name("reviews.jsonl"))
    assert (unwrapped(err).startswith("1 review in "), "Next:" in err) == (True, False), (
        "what nobody made is not published"
    )
    review, decided = map(json.loads, corpus.with_name("reviews.jsonl").read_text().splitlines())
    assert (review["reviewer"], review["item"], review["edits"]) == ("Ann", entry.case, {"turns.1.user": "Hi."})
    assert (decided["reviewer"], decided["verdict"], decided["decision"]) == ("owner", "reject", True)
    assert "--official: has no effect on reviews" in refused("label", "export", file, "--official", "folder")
    assert "holds reviews of a corpus" in refused("agree", "--ratings", file)
    assert "holds reviews of a corpus" in refused("label", "import", file, corpus)


def test_what_was_made_is_published_with_its_reviews_and_rated_by_people_only_in_a_run(proact, refused, tmp_path):
    mine = tmp_path / "mine"
    made = ["generate", "--benchmark", "probe", "--items", 1, "--proof", "none", "--out", mine]
    assert proact(*made)[0] == 0
    assert f"{mine}: is a corpus; people review it with --review" in unwrapped(refused("label", "serve", mine))
    design = Design(ratings=1, raters=1, repeated=0.0, kind="reviews")
    open_review(file := tmp_path / "mine.reviews.db", benchmark_named("probe"), mine, design).store.close()
    _, _, err = proact("label", "export", file, "--out", out := tmp_path / "reviews.jsonl")
    assert f"0 reviews in {out}. Next: dspy-proact generate publish {mine} --reviews {out}" in unwrapped(err)
