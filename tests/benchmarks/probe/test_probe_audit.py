"""The audit of tasks: those that are left out, items that say the same, and names that people share."""

import pytest
from probe_files import corpus_document, document, email, event, files, in_folder, in_zips, right, world

from dspy_proact.audit.audit import Audit, benchmark_of_corpus


def checks(folder):
    return {check.name: check for check in Audit(folder).checks}


@pytest.mark.parametrize("put", [in_folder, in_zips])
def test_tasks_are_known_by_their_files(tmp_path, put):
    assert benchmark_of_corpus(put(tmp_path, files())).name == "probe"


def test_a_task_that_cannot_be_used_fails_the_schema_and_the_others_are_checked(tmp_path):
    bad = files(outputs=right(true_positive_ids=["nothing"]), key="bottleneck_000_02_ada_brook")
    check = checks(in_folder(tmp_path, files() | bad))["schema"]
    assert (check.state, check.sentence) == ("failed", "1 of 2 rows can be used, as 1 task.")
    (finding,) = check.findings
    assert "true_positive_ids" in finding.problem


def test_items_of_a_task_that_say_the_same_fail_and_what_is_evidence_is_named(tmp_path):
    body = "The seal for the old pump is here and waits at the gate for Ada."
    items = [email(body=body), event(), document(), email("email_2", body=body)]
    folder = in_folder(tmp_path, files(corpus_document(data_points=items)))
    check = checks(folder)["near duplicates among items"]
    assert check.state == "failed"
    assert check.findings[0].problem.endswith("of their three-word sequences; one of them is evidence.")
    other = email(
        "email_2", body="Flour went up again, says the market letter of this Monday morning.", subject="Prices"
    )
    clean = in_folder(tmp_path / "clean", files(corpus_document(data_points=[*items[:3], other])))
    assert checks(clean)["near duplicates among items"].state == "passed"


def test_a_name_that_three_people_share_is_reported(tmp_path):
    for number in range(3):
        own = world(persona_id=f"p-{number}", persona_full_name=f"Own Name{number}")
        outputs = right(bottleneck={"description": f"{number} waits for {number} and {number}{number}."})
        key = f"bottleneck_00{number}_01_own"
        in_folder(tmp_path, files(corpus_document(world_model=own), outputs, key))
    problems = [finding.problem for finding in checks(tmp_path)["names"].findings]
    assert "Brook Mill stands in 3 of 3 groups." in problems
    assert not any("Own Name" in problem for problem in problems)


def test_no_sentence_repeats_its_state():
    untested = [check.sentence for check in Audit("sample", benchmark="probe").of_state("not tested")]
    assert len(untested) > 5
    assert not [sentence for sentence in untested if "not tested" in sentence.lower()]
