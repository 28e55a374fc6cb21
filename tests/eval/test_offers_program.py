"""eval/offers.py sets the detector of offers beside the sample's raters."""

import pytest
from drivers.script import ROOT, run
from drivers.terminal import table_rows
from fakes.server import Answer, Server, offers

PROGRAM = ROOT / "eval" / "offers.py"


def tables(printed: str) -> list[list[list[str]]]:
    """The cells of each table's rows, without heading and rule."""
    return [table_rows(block)[2:] for block in printed.strip().split("\n\n")[:-1]]


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What it prints of the stand-in."""
    done = run(PROGRAM, folder=tmp_path_factory.mktemp("eval"))
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_raters_agree_with_each_other_as_the_sample_says(embedded: str):
    agreement, _, rates = tables(embedded)
    # Equal words: 35 + 43 + 33 = 111 of 135 pairs. Of all words 65 of 135 are unwanted, so that by chance
    # (65² + 70²) / 135² = 0.5007 would be equal: kappa (0.8222 - 0.5007) / 0.4993 = 0.644.
    assert agreement[0][:2] == ["a rater, another", "45"]
    assert agreement[0][2].startswith("0.64 [")
    assert agreement[0][3].startswith("0.82 [")
    # 19, 29 and 17 of 45.
    assert [(who, n, share[:4]) for who, n, share in rates[:3]] == [
        ("A", "45", "0.42"),
        ("B", "45", "0.64"),
        ("C", "45", "0.38"),
    ]


def test_the_tables_agree_with_each_other(embedded: str):
    agreement, confusion, rates = tables(embedded)
    assert [row[0] for row in agreement] == ["a rater, another", "the detector, a rater", "the detector, most raters"]
    held, unwanted = ([int(count) for count in row[1:]] for row in confusion)
    assert sum(held) + sum(unwanted) == 45
    assert agreement[2][3].startswith(f"{(held[0] + unwanted[1]) / 45:.2f} [")
    shares = {who: share[:4] for who, _, share in rates}
    assert shares["the detector"] == f"{(held[1] + unwanted[1]) / 45:.2f}"
    assert shares["most raters"] == f"{sum(unwanted) / 45:.2f}"
    assert embedded.endswith("embedded: 45 of 45 responses could be read by the detector.\n")


def test_a_judge_at_an_endpoint_is_asked_and_what_it_does_not_answer_is_left_out(tmp_path, server: Server):
    # Finds nothing anywhere, and one of the responses cannot be read.
    server.script = lambda sent: Answer("prose" if "Piano tuning from 1 June" in sent.text else offers())
    printed = run(PROGRAM, "--judge", "hosted_vllm/any", "--judge-api-base", server.judge, folder=tmp_path).stdout
    _, confusion, rates = tables(printed)
    assert "hosted_vllm/any: 44 of 45 responses could be read by the detector." in printed
    assert [row[2] for row in confusion] == ["0", "0"]
    assert rates[-1][:2] == ["the detector", "44"]
    assert rates[-1][2].startswith("0.00 [0.00, ")
    assert len(server.sent) == 46  # that one is asked once more
