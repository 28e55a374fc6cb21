"""Other tools read what is published: the Hub's metadata, `datasets`, Croissant, and Markdown."""

import json
import re
from dataclasses import replace

import datasets
import pytest
import yaml
from builders.made_corpus import made_corpus, middle_share
from drivers.croissant import mlcroissant

from dspy_proact import Generation
from dspy_proact.publish.card import SPLIT, language_code, yaml_of
from dspy_proact.publish.markdown import unmarked
from dspy_proact.publish.publication import publish
from dspy_proact.publish.publishing import Owner

pytestmark = [
    pytest.mark.usefixtures("proactbench"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:rdflib"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:mlcroissant"),
]
OWNER = Owner(
    licence="cc-by-4.0",
    contact="Millbrook Library",
    url="https://example.org/corpus",
    terms="Output may be published.",
    date="2026-11-29",
)


@pytest.fixture(scope="module")
def public(tmp_path_factory):
    folder = tmp_path_factory.mktemp("formats") / "public"
    return publish(made_corpus(), folder, held_back=middle_share(made_corpus()), owner=OWNER).path


def rows(folder, name):
    return [json.loads(line) for line in (folder / name).read_text("utf-8").splitlines()]


def front_matter(folder):
    _, head, body = (folder / "README.md").read_text("utf-8").split("---\n", 2)
    return yaml.safe_load(head), body


# The Hub


def test_the_metadata_of_the_card_are_those_that_the_hub_reads(public):
    head, body = front_matter(public)
    assert head["license"] == "cc-by-4.0"
    assert head["language"] == ["en"]
    assert head["size_categories"] == ["n<1K"]
    assert {"benchmark", "synthetic", "dspy-proact", "proactbench"} <= set(head["tags"])
    assert head["annotations_creators"] == ["machine-generated"]
    assert [config["config_name"] for config in head["configs"]] == ["dialogues", "controls"]
    assert [config.get("default") for config in head["configs"]] == [True, None]
    for config in head["configs"]:
        ((split, path),) = [(files["split"], files["path"]) for files in config["data_files"]]
        assert split == SPLIT
        assert (public / path).is_file()
    assert body.lstrip().startswith("# Dialogues for Millbrook Lending Library\n")


def test_eval_yaml_is_of_the_form_of_the_hubs_benchmarks(public):
    """The form of hub-docs: name, description, framework, metrics by id, tasks by id with configuration and split."""
    read = yaml.safe_load((public / "eval.yaml").read_text("utf-8"))
    assert set(read) == {"name", "description", "evaluation_framework", "metrics", "tasks"}
    assert read["evaluation_framework"] == "dspy-proact"
    assert read["metrics"] == [{"id": "strict"}]
    assert read["tasks"] == [{"id": "dialogues", "config": "dialogues", "split": "test"}]
    configs = [config["config_name"] for config in front_matter(public)[0]["configs"]]
    assert read["tasks"][0]["config"] in configs
    assert all(isinstance(read[name], str) and read[name] for name in ("name", "description"))


def test_load_dataset_reads_the_rows_without_a_network(public, tmp_path):
    for config, name in ((None, "final_dialogues.jsonl"), ("controls", "controls.jsonl")):
        read = datasets.load_dataset(str(public), config, cache_dir=str(tmp_path))
        expected = rows(public, name)
        assert list(read) == [SPLIT]
        assert [row["unique_id_eval"] for row in read[SPLIT]] == [row["unique_id_eval"] for row in expected]
        assert [turn["user_message"] for turn in read[SPLIT][0]["turn_records"]] == [
            turn["user_message"] for turn in expected[0]["turn_records"]
        ]
        assert set(read[SPLIT]["canary"]) == {expected[0]["canary"]}


def test_without_controls_there_is_no_configuration_of_them(tmp_path):
    Generation(items=3, proof="none").run(tmp_path / "mine")
    folder = publish(tmp_path / "mine").path
    assert [config["config_name"] for config in front_matter(folder)[0]["configs"]] == ["dialogues"]
    assert not (folder / "controls.jsonl").exists()
    assert len(mlcroissant.Dataset(folder / "croissant.json").metadata.record_sets) == 1
    assert "No anchor test of these triggers" in (folder / "README.md").read_text("utf-8")


def test_what_the_owner_does_not_state_is_not_claimed(tmp_path):
    folder = publish(made_corpus(), tmp_path / "public").path
    card = (folder / "README.md").read_text("utf-8")
    assert front_matter(folder)[0]["license"] == "unknown"
    assert "- This corpus: its owner names no licence." in card
    assert "Their providers' terms may limit what output is used for; the owner states none." in card
    assert "Nothing: all of it is here, and may get into training data." in card
    described = json.loads((folder / "croissant.json").read_text("utf-8"))
    assert {"license", "url", "datePublished"}.isdisjoint(described)


def test_the_stand_in_is_named_wherever_it_took_part(public):
    for name in ("README.md", "datasheet.md"):
        assert "The embedded stand-in took part" in (public / name).read_text("utf-8")


CODES = {"German": "de", " english ": "en", "de": "de", "Klingon": None, "": None, "Bavarian German": None}


@pytest.mark.parametrize("language", CODES)
def test_a_language_has_its_code_or_none(language):
    assert language_code(language) == CODES[language]


@pytest.mark.parametrize("text", ["a: b", "#x", "- y", "é 😀", '"quoted"', "no", "1e3", "null", "a\\b"])
def test_a_text_in_yaml_is_read_back_as_it_was(text):
    assert yaml.safe_load(f"name: {yaml_of(text)}")["name"] == text


# Croissant


def test_croissant_is_valid_by_its_own_validator_and_without_a_warning(public):
    read = mlcroissant.Dataset(public / "croissant.json")
    assert not read.metadata.ctx.issues.errors
    assert not read.metadata.ctx.issues.warnings
    assert read.metadata.ctx.is_v1_1()
    assert read.metadata.license == ["cc-by-4.0"]


def test_croissant_reads_the_records_that_are_there(public):
    read = mlcroissant.Dataset(public / "croissant.json")
    for table, name in (("dialogues", "final_dialogues.jsonl"), ("controls", "controls.jsonl")):
        expected, records = rows(public, name), list(read.records(table))
        assert len(records) == len(expected)
        for record, row in zip(records, expected, strict=True):
            assert record[f"{table}/unique_id_eval"].decode() == row["unique_id_eval"]
            assert record[f"{table}/style_combination_index"] == row["style_combination_index"]
            messages = [turn["user_message"] for turn in row["turn_records"]]
            assert [message.decode() for message in record[f"{table}/user_messages"]] == messages


def test_croissant_has_the_hash_of_each_file_and_finds_one_that_was_changed(public, tmp_path):
    described = json.loads((public / "croissant.json").read_text("utf-8"))
    assert {file["@id"] for file in described["distribution"]} == {
        "final_dialogues.jsonl",
        "controls.jsonl",
        "items.jsonl",
    }
    for path in public.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    text = (tmp_path / "final_dialogues.jsonl").read_text("utf-8")
    (tmp_path / "final_dialogues.jsonl").write_text(text + "\n", encoding="utf-8")
    with pytest.raises(mlcroissant.GenerationError, match=r"Download\(final_dialogues.jsonl\)"):
        list(mlcroissant.Dataset(tmp_path / "croissant.json").records("dialogues"))


# Texts of others


def test_an_interval_keeps_its_brackets_as_round_ones_which_begin_no_link():
    assert unmarked("+2.5 [-1.0, +6.0] points") == "+2.5 (-1.0, +6.0) points"
    assert unmarked("[a](b)") == "(a)(b)"


HOSTILE = 'Evil | `x` </table> <script>alert(1)</script> [a](javascript:b) --- "q" \n---\nlicense: mit\n# Heading'


def test_what_a_brief_and_an_owner_write_ends_no_field_and_is_no_markup(tmp_path):
    settings = {"product.name": HOSTILE, "product.text": f"{HOSTILE}\n```\n# Heading"}
    mine = tmp_path / "mine"
    maker = Generation(items=2, proof="none")
    maker.run(mine)
    claim = json.loads((mine / "corpus.json").read_text())
    for name, text in settings.items():
        claim["identity"]["brief"]["product"][name.partition(".")[2]] = text
    claim["identity"]["brief"]["dialogue"]["language"] = HOSTILE
    (mine / "corpus.json").write_text(json.dumps(claim))
    owner = replace(OWNER, contact=HOSTILE, terms=HOSTILE)
    folder = publish(mine, tmp_path / "public", owner=owner).path
    head, body = front_matter(folder)
    assert head["license"] == "cc-by-4.0"
    assert "language" not in head
    for text in (body, (folder / "datasheet.md").read_text("utf-8")):
        outside = re.sub(r"`[^`\n]*`", "", "\n".join(line for line in text.split("\n") if not line.startswith("    ")))
        outside = re.sub(r"```python\n.*?```", "", outside, flags=re.DOTALL)
        assert "<" not in outside
        assert "](javascript" not in outside
        assert "\n# Heading" not in outside
        headings = re.findall(r"^# .*$", outside, re.MULTILINE)
        assert len(headings) == 1
    assert yaml.safe_load((folder / "eval.yaml").read_text("utf-8"))["evaluation_framework"] == "dspy-proact"
    assert not mlcroissant.Dataset(folder / "croissant.json").metadata.ctx.issues.errors


def test_words_of_a_line_have_no_markup_and_an_interval_stays_one():
    assert unmarked("+5.0 [-19.0, +29.0] points") == "+5.0 (-19.0, +29.0) points"
    assert unmarked("[x](javascript:1) <b>|`c`\x1b[31m\n# y") == "(x)(javascript:1)  b   c  x1b(31m   y"
