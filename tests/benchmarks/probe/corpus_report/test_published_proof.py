"""What a card says of the proofs of the tasks that are published, with denominators."""

import json

from builders.made_people import kept_proof, made_task_corpus

from dspy_proact.benchmarks.probe.corpus_report.published_proof import UNKNOWN, proof_sentences
from dspy_proact.benchmarks.probe.generation.files import corpus_of, files_of


def outputs(count, **options):
    """The right sides of tasks, as files hold them."""
    made = made_task_corpus(count, **options)
    corpus = corpus_of(made.brief, made.made, made.level, made.prompts, lambda person: person.persona)
    return [json.loads(text) for name, text in files_of(corpus).items() if name.endswith("_output.json")]


def test_the_share_is_of_fresh_answers_of_published_tasks_with_its_interval():
    first, kept = proof_sentences(outputs(6), ["openai/tester"])
    # All of six people: 1 - .025 ** (1 / 6) below 1 is 54.1.
    assert first == (
        "From its evidence alone, openai/tester solves 100.0 % of 18 tasks of 6 people by 54 fresh answers, which "
        "decided nothing (95 % 54.1 to 100.0); the bar is 80 %."
    )
    assert kept.endswith("18 of these 18 tasks were tested so.")


def test_a_task_that_people_edited_is_in_no_share():
    tasks = outputs(6)
    tasks[0]["edited"] = ["bottleneck.description"]
    edited, first, kept = proof_sentences(tasks, [])
    assert edited == "1 task that people edited is in no share below."
    assert "a model solves 100.0 % of 17 tasks" in first
    assert "17 of these 18 tasks" in kept


def test_drafts_and_answers_without_a_grade_show_nothing_and_repeats_are_counted():
    assert list(proof_sentences(outputs(2, level="none"), [])) == [UNKNOWN]
    first, _ = proof_sentences(outputs(2, proof=kept_proof(fresh=(None, None, None))), [])
    assert first == "No fresh answer to these 6 tasks could be graded."
    _, repeats, _ = proof_sentences(outputs(2, proof=kept_proof(repeats=1)), [])
    assert repeats == "6 of 18 fresh answers repeat one that decided, word for word."
