"""The audit of recordings: rows that are left out, labels that are missing, and queries that are shown before."""

from recorded import event, person

from dspy_proact.audit.audit import Audit, benchmark_of_corpus

QUERY = "which glue holds wet oak in winter"


def checks(folder):
    return {check.name: check for check in Audit(folder).checks}


def rows(**of_last):
    return [event(number, number) for number in range(1, 6)] + [event(6, 6, help_=QUERY, **of_last)]


def test_a_sound_recording_fails_no_check_and_is_known_by_its_files(tmp_path):
    folder = person(tmp_path, "ann", rows(), e6="Knowledge Q&A")
    assert benchmark_of_corpus(str(folder)).name == "proagentbench"
    by_name = checks(folder)
    assert [name for name, check in by_name.items() if check.state == "failed"] == []
    assert by_name["intentions and queries"].state == "passed"
    assert by_name["queries in what is shown"].sentence.startswith("None of 1 query has half or more")
    assert by_name["balance"].sentence.startswith("Help was sought at 1 of 2 moments, 50%")


def test_an_intention_that_is_not_known_is_reported(tmp_path):
    (finding,) = checks(person(tmp_path, "ann", rows()))["intentions and queries"].findings
    assert (finding.key, finding.problem) == ("ann/6", "Its intention is not known.")


def test_a_query_that_stands_in_what_is_shown_before_it_is_reported(tmp_path):
    shown = [*rows()[:4], event(5, 5, event_summary=f"Asks a friend: {QUERY}?"), rows()[5]]
    check = checks(person(tmp_path, "ann", shown, e6="Knowledge Q&A"))["queries in what is shown"]
    assert (check.state, [finding.key for finding in check.findings]) == ("reported", ["ann/6"])


def test_a_row_that_cannot_be_used_fails_the_schema_and_the_others_are_checked(tmp_path):
    folder = person(tmp_path, "ann", [*rows(), event(7, 7, is_llm_event=2)], e6="Knowledge Q&A")
    check = checks(folder)["schema"]
    assert check.state == "failed"
    assert [finding.problem for finding in check.findings] == ["1 row cannot be used: is_llm_event is neither 0 nor 1."]
