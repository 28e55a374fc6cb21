"""The datasheet of made tasks, and their card: what is stated, with its denominators; texts of others do nothing."""

from dataclasses import replace

import pytest
from builders.made_people import GATES, kept_proof, made_task_corpus
from markdown_it import MarkdownIt

from dspy_proact.audit.check import AuditCheck
from dspy_proact.benchmarks.probe.corpus_report.task_datasheet import datasheet
from dspy_proact.benchmarks.probe.corpus_report.task_publishing import publishing
from dspy_proact.benchmarks.probe.corpus_report.task_summary import TaskSummary
from dspy_proact.publish.markdown import canary_of
from dspy_proact.publish.publishing import PublicData

ATTACK = " ``` | </td><script>alert(1)</script>\n\n# Heading\n`x` [a](javascript:alert(2)) \u202e"
SECTIONS = [
    *("Motivation", "Composition", "How it was made", "Proof", "Checks", "Diversity"),
    *("What was dropped, and why", "Uses and limits", "Licence and attribution"),
]


@pytest.fixture(scope="module")
def sheet():
    return datasheet(TaskSummary(made_task_corpus(6, wanted=7)))


def test_it_begins_with_what_was_shown_and_has_all_sections(sheet):
    assert sheet.startswith(
        "# Datasheet: tasks for `Kelderwick Seed Bank`\n\n6 of 7 people, 18 tasks; from the evidence"
    )
    assert [line[3:] for line in sheet.splitlines() if line.startswith("## ")] == SECTIONS
    assert sheet.count(canary_of("ab" * 32)) == 2


def test_counts_and_shares_have_their_denominators(sheet):
    assert "| people | 6 of 7 wanted |" in sheet
    assert "| tasks, medium | 18 |" in sheet
    # Three items of each task; six others of each person; three actions that resolve and two more.
    assert "| items of the evidence | 54 |" in sheet
    assert "| items that are no evidence | 36 |" in sheet
    assert "| actions | 30 |" in sheet
    # Nobody solved by shortcut: of six people 1 - .025 ** (1 / 6) = 45.9.
    assert "| no text: the adversary | 18 | 6 | 0 of 18 | 0.0 [0.0–45.9] | 45.9 |" in sheet
    assert "| the evidence alone, fresh | 18 | 6 | 54 of 54 |" in sheet
    assert "18 versions of tasks were tested, and 18 kept" in sheet
    assert "at least 2 of 3 answers from the evidence solved it" in sheet


def test_a_light_proof_and_drafts_are_described_as_they_are():
    assert "the one answer from the evidence solved it, none from less did" in datasheet(
        TaskSummary(made_task_corpus(2, level="light"))
    )
    drafts = datasheet(TaskSummary(made_task_corpus(2, level="none")))
    assert "None was made: whether these tasks can be solved, and only from their evidence, is unknown." in drafts
    assert "Fresh answers" not in drafts


def test_checks_stand_with_their_state_and_sentence(sheet):
    assert "| metadata: ids | not tested | These are 18 tasks. |" in sheet
    assert "| solvable | passed |" in sheet
    bounds = AuditCheck(name="x", state="reported", sentence="It is +6.3 [-22.3, +34.9] points.", tested=1)
    assert "| It is +6.3 (-22.3, +34.9) points. |" in datasheet(TaskSummary(made_task_corpus(2, gates=(bounds,))))
    assert "None was made." in datasheet(TaskSummary(made_task_corpus(2, level="none", gates=())))
    assert len(GATES) == 2


def test_what_was_dropped_is_counted_and_the_weakest_are_named():
    weak = kept_proof(fresh=(True, False, False))
    sheet = datasheet(TaskSummary(made_task_corpus(2, weak=weak)))
    assert "2 bottlenecks are no task of the corpus." in sheet
    assert "| `plan: Item 2 states nothing.` | 2 |" in sheet
    assert "To be reviewed first: person 1 task 3, person 2 task 3." in sheet


def test_personas_of_the_owner_are_the_owners():
    corpus = made_task_corpus(1)
    own = corpus.brief.people.model_copy(update={"personas": ["A baker."]})
    brief = corpus.brief.model_copy(update={"people": own})
    assert "Personas: invented, bundled" in datasheet(TaskSummary(corpus))
    assert "Personas: of the person who wrote the brief" in datasheet(TaskSummary(replace(corpus, brief=brief)))


def test_texts_of_others_are_code_and_no_markup():
    tokens = (
        MarkdownIt("commonmark", {"html": True})
        .enable("table")
        .parse(datasheet(TaskSummary(made_task_corpus(2, attack=ATTACK))))
    )
    flat = [*tokens, *(child for token in tokens for child in token.children or ())]
    assert not [token for token in flat if token.type in {"html_block", "html_inline", "link_open", "fence"}]
    headings = [tokens[index + 1].content for index, token in enumerate(tokens) if token.type == "heading_open"]
    assert headings[1:] == SECTIONS


def test_the_datasheet_of_tasks_is_a_function_of_the_corpus(sheet):
    assert sheet == datasheet(TaskSummary(made_task_corpus(6, wanted=7)))


def audit_of(task, fresh, repeats=0):
    return {"task": task, "persona": "p", "person": "p-1", "proof": {"fresh": fresh, "repeats": repeats}}


def described(*audits):
    world = {"persona_id": "p-1", "context_difficulty": "easy", "available_actions": []}
    inputs = [{"world_model": world, "data_points": []} for _ in audits]
    rows = {"inputs": inputs, "outputs": [], "audits": audits, "tasks": [{"task": audit["task"]} for audit in audits]}
    brief = {"work": {"name": "W", "text": "T"}, "people": {"personas": "invented"}, "tasks": {"language": "English"}}
    return publishing().describe(PublicData(brief, rows, {})).proof


def test_fresh_answers_that_repeat_those_that_decided_are_counted_on_the_card():
    proof = described(audit_of("a", [True, True], 2), audit_of("b", [True, None]))
    assert proof[0].startswith("2 of 2 tasks have fresh answers from the evidence alone, which decided nothing: 3 of 3")
    assert proof[1] == "2 of 4 fresh answers repeat, word for word, one that decided."
    assert len(described(audit_of("a", [True, False]))) == 1


def test_fresh_answers_none_of_which_could_be_graded_show_nothing():
    (sentence,) = described(audit_of("a", [None, None]))
    assert sentence == "No fresh answer to these tasks could be graded: whether their evidence solves them is unknown."
