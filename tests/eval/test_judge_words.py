"""The figures of eval/judge_words.py."""

import pytest
from script import ROOT, run

from dspy_proact.benchmarks.proactbench.corpus import judge_cases


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """The cells of both tables."""
    done = run(ROOT / "eval" / "judge_words.py", folder=tmp_path_factory.mktemp("words"))
    assert done.returncode == 0, done.stderr
    return [
        [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
        for table in done.stdout.split("\n\n")
    ]


def test_both_versions_are_counted_on_every_response_of_the_sample(tables):
    words, _ = tables
    counts = {(who, version): [int(cell.replace(",", "")) for cell in cells] for who, version, *cells in words}
    whos = ["judge, EMERGENT", "judge, CRITICAL", "judge, RECOVERY", "detector of offers"]
    assert [*counts] == [(who, version) for who in whos for version in ("first", "second")]
    assert sum(counts[who, "second"][0] for who in whos[:3]) == 147
    for who in whos:
        (n, first, _, texts, _), (m, second, ours, same, _) = counts[who, "first"], counts[who, "second"]
        assert (n, texts) == (m, same)
        assert texts < second < first
        assert ours <= 700


def test_the_worked_cases_are_printed_with_their_reasons(tables):
    _, cases = tables
    assert cases == [[case.rule, case.name, case.grade, case.why] for case in judge_cases()]
