"""An audit as one value: what its first sentence may say, whose corpus it is, and which runs belong to it."""

import json
from typing import Any, ClassVar

import pytest
from builders.dialogues import jsonl, row
from builders.runs import run_of, trigger
from pydantic import BaseModel

from dspy_proact import Audit, Benchmark, cases_of, load_corpus
from dspy_proact.audit.audit import benchmark_of_corpus
from dspy_proact.audit.check import AuditCheck
from dspy_proact.errors import CorpusError, UsageError
from dspy_proact.evaluation.registry import benchmarks
from dspy_proact.runs import Case, CaseSet

BEYOND = "whether an answer that earns a score is one that people would want"


class Letter(BaseModel):
    lines: list[str]


class Letters(Benchmark[Letter, Letter]):
    """A benchmark of a person's own that declares nothing of audits."""

    name = "letters"
    labels: ClassVar[Any] = ("good", "bad")
    answer_type = Letter
    texts: ClassVar[tuple[str, ...]] = ()

    def read(self, corpus, settings, revision=None):
        cases = [Case(f"k{n}", "g", "all", Letter(lines=[text])) for n, text in enumerate(self.texts)]
        return CaseSet.of(str(corpus), cases)

    def program(self, settings, start, roles=None):
        raise AssertionError("an audit asks no model")

    async def grade(self, case, answer, ask):
        raise AssertionError("an audit grades nothing")


def letters(*texts):
    declared = Letters()
    vars(declared)["texts"] = texts
    return declared


def test_a_benchmark_that_declares_nothing_is_audited_by_the_texts_of_its_cases():
    audit = Audit("mine", benchmark=letters("a boat leaves at nine", "my aunt paints doors"))
    assert audit.headline.text == f"mine passes all 3 checks that can fail; {BEYOND} is not tested."
    assert [item.key for item in audit.corpus.items] == ["k0", "k1"]
    twins = Audit("mine", benchmark=letters("a boat leaves at nine", "A boat leaves at nine!"))
    assert twins.headline.text == "1 of 3 checks fails on mine: near duplicates among cases."
    assert f"{BEYOND[0].upper()}{BEYOND[1:]} is not tested." in twins.headline.caveats


@pytest.mark.parametrize(
    ("states", "text"),
    [
        ("", "Nothing can be concluded about mine: no check that can fail was possible."),
        ("rn", "Nothing can be concluded about mine: no check that can fail was possible."),
        ("p", f"mine passes the only check that can fail; {BEYOND} is not tested."),
        ("pprn", f"mine passes all 2 checks that can fail; {BEYOND} is not tested."),
        ("f", "The only check that can fail fails on mine: f0."),
        ("fp", "1 of 2 checks fails on mine: f0."),
        ("ffp", "2 of 3 checks fail on mine: f0 and f1."),
        ("ffff", "4 of 4 checks fail on mine: f0, f1 and 2 more."),
    ],
)
def test_the_headline_counts_only_checks_with_a_bar(states, text):
    audit = Audit("mine", benchmark=letters("x", "y"))
    names = {"f": "failed", "p": "passed", "r": "reported", "n": "not tested"}
    checks = [
        AuditCheck(name=f"{state}{number}", state=names[state], sentence="It is.", tested=1)
        for number, state in enumerate(states)
    ]
    vars(audit)["checks"] = checks
    assert audit.headline.text == text
    assert len(text.split()) <= 30


def test_the_headline_of_a_corpus_of_a_long_name_keeps_to_thirty_words():
    audit = Audit("a b c d e f g h i j", benchmark=letters("a boat leaves at nine", "my aunt paints doors"))
    assert audit.headline.text == f"This corpus passes all 3 checks that can fail; {BEYOND} is not tested."


@pytest.mark.usefixtures("proactbench")
def test_the_benchmark_is_found_by_files_by_name_and_by_runs(tmp_path):
    file = tmp_path / "mine.jsonl"
    file.write_text(jsonl(row()), encoding="utf-8")
    assert benchmark_of_corpus(str(file)).name == "proactbench"
    assert benchmark_of_corpus("proactbench@1a2b").name == "proactbench"
    assert benchmark_of_corpus("sample").name == "proactbench"
    file.write_text('{"a": 1}\n', encoding="utf-8")
    with pytest.raises(UsageError, match="is of no known benchmark, judging by its files; name its bench"):
        benchmark_of_corpus(str(file))
    with pytest.raises(UsageError, match="no such file or folder, and no corpus of that name"):
        benchmark_of_corpus(str(tmp_path / "absent"))
    with pytest.raises(UsageError, match="no such file or folder"):
        benchmark_of_corpus("a\0b")


@pytest.mark.usefixtures("proagentbench")
def test_a_published_corpus_that_cannot_be_had_is_refused_with_what_can_be_audited():
    with pytest.raises(UsageError, match=r"no published corpus.*`sample` with `benchmark=proagentbench`"):
        Audit("proagentbench")


@pytest.mark.usefixtures("proactbench")
def test_without_a_network_the_published_corpus_is_refused_in_one_sentence():
    with pytest.raises(UsageError, match="`sample` with `benchmark=proactbench`"):
        Audit("proactbench")


@pytest.mark.usefixtures("proactbench")
def test_a_run_on_another_corpus_is_refused(tmp_path):
    run_of(tmp_path / "run", [(trigger("elsewhere"), "PASS")])
    with pytest.raises(UsageError, match="1 of its 1 case are not in the corpus sample, the first is"):
        Audit("sample", [tmp_path / "run"])


@pytest.mark.usefixtures("proactbench")
def test_with_runs_it_has_every_case_the_most_suspect_first(tmp_path):
    cases = cases_of(load_corpus("sample"))
    for number in range(6):
        # Models get better one by one; the first trigger goes the other way, and the second nobody passes.
        grades = ["PASS" if index < 8 * (number + 1) else "FAIL" for index in range(len(cases))]
        grades[0] = "FAIL" if number > 2 else "PASS"
        run_of(tmp_path / str(number), zip(cases, grades, strict=True), model=f"openai/m{number}")
    audit = Audit("sample", sorted(tmp_path.iterdir()))
    assert audit.suspects[0].key == cases[0].key
    assert audit.suspects[0].figures.flags == ("negative",)
    (caveat,) = [line for line in audit.headline.caveats if "flag" in line]
    assert caveat.startswith(f"The answers of 6 models flag {len(audit.items.flagged)} of 49 triggers: read them;")
    assert {"difficulty", "discrimination", "reliability"} <= {check.name for check in audit.checks}
    keys = [item["key"] for item in audit.document["items"]["items"]]
    assert keys == [item.key for item in audit.suspects]
    assert audit.suspects[0].key in audit.to_html()


@pytest.mark.usefixtures("proactbench")
def test_its_json_has_every_check_and_finding_and_its_page_says_the_same(tmp_path):
    file = tmp_path / "mine.jsonl"
    bad = {**row(), "unique_id_eval": "<script>alert(1)</script>"}
    file.write_text(jsonl(row(), bad), encoding="utf-8")
    audit = Audit(file)
    document = json.loads(json.dumps(audit.document, allow_nan=False))
    assert [check["name"] for check in document["checks"]] == [check.name for check in audit.checks]
    assert document["headline"] == audit.headline.text
    assert {"value", "low", "high", "count", "caveats"} <= document["claim"].keys()
    page = audit.to_html()
    for check in audit.checks:
        assert check.name in page
    assert audit.headline.text.replace("'", "&#39;") in page
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)" in page


@pytest.mark.usefixtures("proactbench")
def test_a_corpus_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "x.jsonl").write_bytes(b"PK\x03\x04")
    with pytest.raises(CorpusError, match="a zip"):
        Audit(tmp_path / "x.jsonl", benchmark="proactbench")


@pytest.mark.parametrize("name", sorted(benchmarks()))
def test_no_sample_fails_a_check(name):
    assert Audit("sample", benchmark=name).of_state("failed") == []
