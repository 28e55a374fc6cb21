"""What is published of a made corpus, what is held back, and what never stands in either."""

import hashlib
import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from builders.made_corpus import ITEMS, made_corpus, middle_share

from dspy_proact import Evaluation, Generation, ProactBench, Scope
from dspy_proact.compile.assistant_target import AssistantTarget
from dspy_proact.errors import CorpusError, RunError, UsageError
from dspy_proact.evaluation.reviewing import Review
from dspy_proact.generation.generation import CorpusClaim
from dspy_proact.kept import CORPUS_CLAIM, Claim
from dspy_proact.publish.parts import public_name, read_reviews, threshold_of
from dspy_proact.publish.publication import publish
from dspy_proact.publish.publishing import Owner, PublicationRecord
from dspy_proact.runs import RunFolder

pytestmark = pytest.mark.usefixtures("proactbench")


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def rows(folder, name="final_dialogues.jsonl"):
    return [json.loads(line) for line in (folder / name).read_text("utf-8").splitlines()]


def checked(folder):
    command = ["sha256sum", "--strict", "-c", "SHA256SUMS"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return done.returncode, done.stderr


def record(folder):
    return PublicationRecord.model_validate_json((folder / "publication.json").read_bytes())


def reviews_of(mine, *verdicts, reviewer="wilhelmina-ottoline"):
    """Reviews of the first items, by verdict; an edit adds a word to the first message."""
    reviews = list[Review]()
    for item, verdict in zip(ProactBench().corpus.reviewing().items(mine), verdicts, strict=False):
        field = next(field for field in item.fields if field.name.endswith(".user"))
        edits = {field.name: f"{field.text} Cheerio."} if verdict == "edit" else {}
        reason = "It reads like a test." if verdict == "reject" else ""
        answers = {"happens": "yes", "reads_like_test": "no"}
        review = {"reviewer": reviewer, "item": item.key, "mark": item.mark, "verdict": verdict, "reason": reason}
        reviews.append(Review.model_validate({**review, "edits": edits, **answers}))
    return reviews


# Two parts


def test_every_dialogue_is_in_one_part_with_its_controls_and_who_wrote_it_and_no_persona_is_in_both(both, mine):
    public, hidden = both
    keys = [[row["unique_id_eval"] for row in rows(folder)] for folder in both]
    assert sorted(keys[0] + keys[1]) == sorted(row["unique_id_eval"] for row in rows(mine))
    assert all(keys)
    for folder, own in zip(both, keys, strict=True):
        assert {row["key"] for row in rows(folder, "items.jsonl")} == set(own)
        controls = [row["unique_id_eval"].partition("__swap")[0] for row in rows(folder, "controls.jsonl")]
        assert set(controls) <= set(own)
    assert sum(len(rows(folder, "controls.jsonl")) for folder in both) == len(rows(mine, "controls.jsonl"))
    personas = [{row["uuid"] for row in rows(folder)} for folder in both]
    assert not personas[0] & personas[1]
    assert hidden.name == "public-held-back"
    assert record(public).items + record(hidden).items == ITEMS


def test_no_text_of_a_dialogue_that_is_held_back_stands_in_the_published_folder(both):
    public, hidden = both
    published = b"\n".join(contents(public).values()).decode()
    secrets = {
        text
        for row in rows(hidden)
        for text in (
            row["unique_id_eval"],
            row["uuid"],
            *(anchor["quote"] for anchor in row["anchors"]),
            *(anchor["fact"] for anchor in row["anchors"]),
        )
    }
    # The stand-in draws from a bank, so that dialogues share facts: what no public row has is hidden.
    shared = (public / "final_dialogues.jsonl").read_text("utf-8")
    secrets = {text for text in secrets if json.dumps(text, ensure_ascii=False)[1:-1] not in shared}
    assert len(secrets) >= 2 * len(rows(hidden))
    assert [text for text in secrets if json.dumps(text, ensure_ascii=False)[1:-1] in published] == []


def test_which_personas_are_held_back_stays_when_the_corpus_grows(tmp_path):
    """A persona that was published would be of no use held back later, since models may know it by then."""
    few, many = tmp_path / "few", tmp_path / "many"
    Generation(items=6, proof="none").run(few)
    Generation(items=9, proof="none").run(many)
    parts = []
    for folder in (few, many):
        made = publish(folder, held_back=middle_share(few))
        parts.append([{row["uuid"] for row in rows(path)} for path in (made.path, made.held_back)])
    (public, hidden), (more_public, more_hidden) = parts
    assert public < more_public or hidden < more_hidden
    assert public <= more_public
    assert hidden <= more_hidden


def test_a_hash_holds_back_about_the_share_that_is_asked_for_and_more_of_a_larger_one_holds_all_of_a_smaller():
    groups = [f"group {number}" for number in range(4000)]
    held = {share: {group for group in groups if threshold_of("corpus", group) < share} for share in (0.1, 0.5)}
    # Of 4,000, 400 and 2,000 are expected, with standard deviations of 19 and 32; four of these are allowed for.
    assert abs(len(held[0.1]) - 400) < 76
    assert abs(len(held[0.5]) - 2000) < 128
    assert held[0.1] < held[0.5]
    assert held[0.5] != {group for group in groups if threshold_of("another", group) < 0.5}


def test_the_hash_that_the_card_publishes_is_that_of_the_folder_which_sha256sum_checks(both):
    public, hidden = both
    published = record(public).held_back
    assert published is not None
    assert published.sha256 == hashlib.sha256((hidden / "SHA256SUMS").read_bytes()).hexdigest()
    assert published.sha256 in (public / "README.md").read_text("utf-8")
    assert published.sha256 in (public / "datasheet.md").read_text("utf-8")
    for folder in both:
        named = {line.split("  ")[1] for line in (folder / "SHA256SUMS").read_text().splitlines()[1:]}
        assert named == contents(folder).keys() - {"SHA256SUMS"}
        assert checked(folder) == (0, b"")
    row = (hidden / "final_dialogues.jsonl").read_text("utf-8")
    (hidden / "final_dialogues.jsonl").write_text(row.replace("a", "e", 1), encoding="utf-8")
    assert checked(hidden)[0] == 1


def test_a_canary_of_its_own_stands_in_every_file_and_every_row_of_each_part(both):
    canaries = [record(folder).canary for folder in both]
    assert len(set(canaries)) == 2
    for folder, canary, other in zip(both, canaries, reversed(canaries), strict=True):
        for name, data in contents(folder).items():
            assert canary.encode() in data, name
            assert other.encode() not in data, name
            if name.endswith(".jsonl"):
                assert {row["canary"] for row in rows(folder, name)} == {canary}


def test_no_program_is_tuned_on_what_is_held_back_and_a_run_on_it_is_made_and_marked(both, tmp_path):
    public, hidden = both
    AssistantTarget(str(public))
    for corpus in (
        hidden,
        hidden / "final_dialogues.jsonl",
        shutil.copy(hidden / "final_dialogues.jsonl", tmp_path / "x"),
    ):
        with pytest.raises(UsageError, match="is held back, so that nothing has learned it, and no program is tuned"):
            AssistantTarget(str(corpus))
    Evaluation(str(hidden)).run(tmp_path / "run", Scope(limit=2))
    assert RunFolder(tmp_path / "run").manifest().corpus.held_back
    assert not Evaluation(str(public)).case_set.corpus.held_back


def test_one_row_that_is_held_back_among_others_is_enough_to_refuse_a_compile(both, tmp_path):
    public, hidden = both
    mixed = tmp_path / "mixed.jsonl"
    text = (public / "final_dialogues.jsonl").read_text("utf-8")
    mixed.write_text(text + (hidden / "final_dialogues.jsonl").read_text("utf-8").splitlines()[0], encoding="utf-8")
    with pytest.raises(UsageError, match="is held back"):
        AssistantTarget(str(mixed))


def test_what_is_published_has_the_dialogues_that_were_made(mine, tmp_path):
    before = Evaluation(str(mine)).case_set
    published = Evaluation(str(publish(mine, tmp_path / "public").path)).case_set
    assert published.sha256 == before.sha256
    assert published.corpus.ignored_fields == before.corpus.ignored_fields == {}


# Reviews


def test_rejected_dialogues_are_left_out_and_edits_stand_beside_the_original(mine, tmp_path):
    reviews = reviews_of(mine, "reject", "edit", "accept")
    keys = [row["unique_id_eval"] for row in rows(mine)]
    public = publish(mine, tmp_path / "public", reviews=reviews).path
    assert [row["unique_id_eval"] for row in rows(public)] == keys[1:]
    assert not any(row["unique_id_eval"].startswith(keys[0]) for row in rows(public, "controls.jsonl"))
    assert keys[0] not in (public / "items.jsonl").read_text("utf-8")
    (edit,) = rows(public, "edits.jsonl")
    before = rows(mine)[1]["turn_records"][0]["user_message"]
    assert (edit["item"], edit["before"], edit["after"]) == (keys[1], before, f"{before} Cheerio.")
    assert rows(public)[0]["turn_records"][0]["user_message"] == f"{before} Cheerio."
    counts = record(public).reviews
    assert counts is not None
    assert (counts.reviewed, counts.accepted, counts.edited, counts.rejected) == (3, 1, 1, 1)
    card = (public / "README.md").read_text("utf-8")
    assert "1 person reviewed 3 of 8 items as models wrote them: 1 accepted, 1 edited, 1 rejected and left out." in card
    assert "No item was reviewed by two people, so that their agreement is unknown." in card
    assert "Nobody has reviewed" not in card


def test_how_far_reviewers_agree_counts_items_that_several_reviewed_and_not_what_the_owner_decided(mine, tmp_path):
    first, second = reviews_of(mine, "accept", "accept", "accept"), reviews_of(mine, "accept", "reject", reviewer="ben")
    with pytest.raises(UsageError, match="reviewers decided differently on"):
        publish(mine, tmp_path / "public", reviews=[*first, *second])
    decision = first[1].model_copy(update={"reviewer": "owner", "decision": True, "happens": None})
    public = publish(mine, tmp_path / "public", reviews=[*first, *second, decision]).path
    counts = record(public).reviews
    assert counts is not None
    # Three items are accepted; two of them were reviewed twice, and the two agreed on the first only.
    assert (counts.reviewers, counts.accepted, counts.twice, counts.agreeing) == (2, 3, 2, 1)
    assert "Of 2 that two or more reviewed, 1 were decided alike by all." in (public / "README.md").read_text("utf-8")


def test_an_edit_of_a_dialogue_that_is_held_back_stands_in_that_part_alone(mine, tmp_path):
    made = publish(mine, tmp_path / "public", reviews=reviews_of(mine, *["edit"] * ITEMS), held_back=middle_share(mine))
    for folder in (made.path, made.held_back):
        assert {edit["item"] for edit in rows(folder, "edits.jsonl")} == {row["unique_id_eval"] for row in rows(folder)}


def test_without_reviews_the_card_says_that_nobody_has_reviewed_it(mine, tmp_path):
    public = publish(mine, tmp_path / "public").path
    for name in ("README.md", "datasheet.md", "croissant.json"):
        assert "Nobody has reviewed it." in (public / name).read_text("utf-8")
    assert "edits.jsonl" not in contents(public)


def test_a_file_of_reviews_is_read_line_by_line_and_a_bad_line_is_named(mine, tmp_path):
    reviews = reviews_of(mine, "accept", "reject")
    path = tmp_path / "reviews.jsonl"
    path.write_text("".join(f"{review.model_dump_json()}\n" for review in reviews), encoding="utf-8")
    assert list(read_reviews(path)) == reviews
    path.write_text(reviews[0].model_dump_json() + '\n{"reviewer": "ann"}\n', encoding="utf-8")
    with pytest.raises(CorpusError, match=r"reviews.jsonl, line 2, field 'item': is no review"):
        publish(mine, tmp_path / "public", reviews=path)
    with pytest.raises(
        UsageError, match=r"mine.reviews.db: is a study; name the file of reviews that `label export` writes"
    ):
        publish(mine, tmp_path / "public", reviews=tmp_path / "mine.reviews.db")
    assert not (tmp_path / "public").exists()


# What never stands in it


def test_no_path_endpoint_key_price_time_or_reviewer_stands_in_what_is_published(tmp_path, monkeypatch):
    """An attacker reads all bytes: each secret is a word of its own, put where a corpus could take it from."""
    secret = {name: f"zq{name}secret" for name in ("home", "brief", "personas", "reviewer", "key", "model", "host")}
    home = tmp_path / secret["home"]
    (home / secret["brief"]).mkdir(parents=True)
    monkeypatch.setenv("OPENAI_API_KEY", secret["key"])
    monkeypatch.chdir(home)
    mine = Path(shutil.copytree(made_corpus(), home / "mine"))
    _as_if_made_by(mine, f"hosted_vllm//srv/{secret['model']}/qwen", f"http://{secret['host']}:8000/v1")
    reviews = [
        *reviews_of(mine, "edit", "reject", "accept", reviewer=secret["reviewer"]),
        *reviews_of(mine, "edit", "reject", "accept", reviewer="ben"),
    ]
    made = publish("mine", "public", held_back=middle_share(mine), reviews=reviews, owner=Owner(licence="cc-by-4.0"))
    everything = b"\n".join(contents(made.path).values())
    assert made.held_back is not None
    for word in (*secret.values(), str(tmp_path), made.held_back.name, "/srv/", "hosted_vllm//"):
        assert word.encode() not in everything, word
    assert b"hosted_vllm/qwen" in everything
    claim = json.loads((mine / "corpus.json").read_text())
    for name in ('"usd"', '"prompt_tokens": 2', "calls.jsonl", claim["created"]):
        assert name.encode() not in everything, name


def _as_if_made_by(mine, model, endpoint):
    """The corpus with another name of its model, wherever files have it."""
    claim = Claim(mine, CORPUS_CLAIM, CorpusClaim, "corpus").read()
    identities = {
        role: tuple(one.model_copy(update={"model": model, "endpoint": endpoint}) for one in of)
        for role, of in claim.identity.models.items()
    }
    files = dict[str, tuple[str, ...]]()
    for name in claim.files:
        path = mine / name
        text = path.read_text("utf-8").replace('"embedded"', json.dumps(model))
        path.write_text(text, encoding="utf-8")
        files[name] = (hashlib.sha256(text.encode()).hexdigest(),)
    identity = claim.identity.model_copy(update={"models": identities})
    changed = claim.model_copy(update={"identity": identity, "files": files})
    (mine / "corpus.json").write_text(changed.model_dump_json(), encoding="utf-8")


NAMES = {
    "openai/gpt-5": "openai/gpt-5",
    "openrouter/openai/gpt-5": "openrouter/openai/gpt-5",
    "embedded": "embedded",
    "hosted_vllm//home/ann/qwen": "hosted_vllm/qwen",
    "hosted_vllm/./models/qwen/": "hosted_vllm/qwen",
    "hosted_vllm/~/models/qwen": "hosted_vllm/qwen",
    "hosted_vllm/C:\\Users\\Ann\\qwen": "hosted_vllm/qwen",
    "hosted_vllm/models\\qwen": "hosted_vllm/qwen",
    "/home/ann/qwen": "qwen",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_model_has_its_name_without_folders_of_a_machine(name):
    assert public_name(name) == NAMES[name]


# Twice, and where something else is


def test_publishing_twice_writes_the_same_bytes_wherever_the_corpus_lies(mine, tmp_path):
    reviews, owner = (
        reviews_of(mine, "edit", "reject"),
        Owner("cc-by-4.0", "A name", "Ann", "https://x.org", "t", "2026-11-29"),
    )
    first = publish(mine, tmp_path / "first", reviews=reviews, held_back=middle_share(mine), owner=owner)
    elsewhere = Path(shutil.copytree(mine, tmp_path / "below" / "other"))
    second = publish(elsewhere, tmp_path / "second", reviews=reviews, held_back=middle_share(mine), owner=owner)
    assert contents(first.path) == contents(second.path)
    assert contents(first.held_back) == contents(second.held_back)
    times = {path: path.stat().st_mtime_ns for path in first.path.iterdir()}
    publish(mine, tmp_path / "first", reviews=reviews, held_back=middle_share(mine), owner=owner)
    assert {path: path.stat().st_mtime_ns for path in first.path.iterdir()} == times


def test_a_publication_that_was_killed_is_completed(both, mine, tmp_path):
    expected = [contents(folder) for folder in both]
    for folder in both:
        (folder / "README.md").unlink()
        (folder / "final_dialogues.jsonl").rename(folder / "final_dialogues.jsonl.123.new")
    publish(mine, tmp_path / "public", held_back=middle_share(mine))
    assert [contents(folder) for folder in both] == expected


@pytest.mark.parametrize("part", [0, 1], ids=["public", "held back"])
def test_a_folder_with_anything_else_is_refused_and_left_as_it_is(both, mine, tmp_path, part):
    changed = both[part] / "README.md"
    for path, text in ((changed, "My own card.\n"), (both[part] / "more.txt", "x")):
        before = contents(tmp_path)
        path.write_text(text)
        with pytest.raises(RunError, match=f"{path.name}: is not of this publication; delete the folder"):
            publish(mine, tmp_path / "public", held_back=middle_share(mine))
        assert {**contents(tmp_path), path.relative_to(tmp_path).as_posix(): b""} == {
            **before,
            path.relative_to(tmp_path).as_posix(): b"",
        }
        path.write_bytes(before.get(path.relative_to(tmp_path).as_posix(), b"")) if path == changed else path.unlink()


def test_more_of_a_corpus_is_another_publication(mine, tmp_path):
    publish(mine, tmp_path / "public")
    Generation(items=ITEMS + 1, proof="light").run(mine)
    with pytest.raises(RunError, match="is not of this publication"):
        publish(mine, tmp_path / "public")


@pytest.mark.parametrize("out", [".", "public", "..", "../mine"])
def test_it_is_not_written_into_the_folder_of_the_corpus_or_around_it(mine, out):
    with pytest.raises(UsageError, match="holds the folder of the corpus or lies in it"):
        publish(mine, mine / out)


def test_what_was_changed_by_hand_or_is_no_finished_corpus_is_not_published(mine, tmp_path):
    path = mine / "final_dialogues.jsonl"
    path.write_text(path.read_text("utf-8") + "\n", encoding="utf-8")
    with pytest.raises(CorpusError, match="was changed since it was made"):
        publish(mine, tmp_path / "public")
    claim = json.loads((mine / "corpus.json").read_text())
    (mine / "corpus.json").write_text(json.dumps({**claim, "items": 0}))
    with pytest.raises(RunError, match="is not finished; repeat the command"):
        publish(mine, tmp_path / "public")
    with pytest.raises(RunError, match="no corpus here"):
        publish(tmp_path, tmp_path.with_name("public"))
    assert not (tmp_path / "public").exists()


def test_a_card_speaks_of_no_proof_where_nothing_was_tested(tmp_path):
    Generation(items=1, proof="none").run(tmp_path / "mine")
    text = (publish(tmp_path / "mine").path / "README.md").read_text("utf-8")
    assert "whether a pass depends on the facts is unknown" in text
    assert "The proof shows" not in text


def test_a_part_without_an_item_is_refused(mine, tmp_path):
    for share, where in ((1e-9, "held back"), (1 - 1e-9, "published")):
        with pytest.raises(UsageError, match=f"none of 8 personas would be {where}, which a hash decides") as refused:
            publish(mine, tmp_path / "public", held_back=share)
    low, high = map(float, str(refused.value).rpartition("name a share from ")[2].split(" to "))
    assert 0 < low < high < 1
    for number, share in enumerate((low, high)):
        assert publish(mine, tmp_path / f"of-{number}", held_back=share).held_back
    for share in (0, 1, -1, float("nan")):
        with pytest.raises(UsageError, match="must be a share between 0 and 1"):
            publish(mine, tmp_path / "public", held_back=share)
    assert not (tmp_path / "public").exists()


def test_a_benchmark_that_publishes_none_is_refused(mine, tmp_path):
    with pytest.raises(UsageError, match="of 'proactbench', whose corpora probe cannot publish"):
        publish(mine, tmp_path / "public", benchmark="probe")


def test_counts_are_of_what_is_published(both):
    public, _ = both
    phases = Counter(point["evaluation_rubric"]["type"] for row in rows(public) for point in row["trigger_points"])
    card = (public / "README.md").read_text("utf-8")
    assert f"| dialogues | {len(rows(public))} |" in card
    assert f"| triggers | {phases.total()} |" in card
    for phase, count in phases.items():
        assert f"| triggers, {phase} | {count} |" in card
    passed = [
        proof["fresh"] or {}
        for row in rows(public)
        for proof in row["proof"]
        if proof["turn"] in {point["turn"] for point in row["trigger_points"]}
    ]
    tested = sum(bool(fresh) for fresh in passed)
    assert tested
    assert f"Anchor test: {tested} of {phases.total()} triggers have fresh answers" in card
