"""Files of a corpus that somebody has crafted are published as what they are, or refused."""

import hashlib
import json
import shutil

import pytest
from builders.made_corpus import ITEMS

from dspy_proact import Generation
from dspy_proact.errors import CorpusError, RunError
from dspy_proact.publish.publication import publish
from dspy_proact.publish.publishing import PublicationRecord

pytestmark = pytest.mark.usefixtures("proactbench")


def crafted(mine, name, data):
    """A file of the corpus with other contents, and with the hash of these in its claim."""
    claim = json.loads((mine / "corpus.json").read_text())
    (mine / name).write_bytes(data)
    claim["files"][name] = [hashlib.sha256(data).hexdigest()]
    (mine / "corpus.json").write_text(json.dumps(claim))


def test_a_row_with_ends_of_lines_of_unicode_is_one_row(mine, tmp_path):
    """As a model may write them; JSON leaves them as they are, and str.splitlines splits there."""
    text = (
        (mine / "final_dialogues.jsonl")
        .read_text("utf-8")
        .replace('"user_message": "', '"user_message": "A\u2028\x85', 1)
    )
    crafted(mine, "final_dialogues.jsonl", text.encode())
    items = (mine / "items.jsonl").read_text("utf-8").replace('"role":"', '"role":"A\u2028', 1)
    crafted(mine, "items.jsonl", items.encode())
    public = publish(mine, tmp_path / "public").path
    assert "A\u2028\x85" in (public / "final_dialogues.jsonl").read_text("utf-8")
    record = PublicationRecord.model_validate_json((public / "publication.json").read_bytes())
    assert record.items == ITEMS


@pytest.mark.parametrize(
    ("name", "line", "match"),
    [
        ("final_dialogues.jsonl", b"\xff", f"line {ITEMS + 1}: not UTF-8"),
        ("final_dialogues.jsonl", b"{", f"line {ITEMS + 1}: not JSON"),
        ("final_dialogues.jsonl", b"[1]", f"line {ITEMS + 1}: a line must hold one JSON object"),
        ("final_dialogues.jsonl", b'{"a": 1}', "the field is missing"),
        ("final_dialogues.jsonl", b'{"a": ' + b"[" * 10_000 + b"]" * 10_000 + b"}", "levels deep"),
        ("controls.jsonl", b'{"a": NaN}', "NaN is not JSON"),
        ("items.jsonl", b'{"key": "k"}', f"line {ITEMS + 1}, field 'slot': is no item: Field required"),
    ],
)
def test_a_file_that_no_run_could_read_is_refused_with_its_line_whatever_its_hash(mine, tmp_path, name, line, match):
    crafted(mine, name, (mine / name).read_bytes() + line + b"\n")
    with pytest.raises(CorpusError, match=match):
        publish(mine, tmp_path / "public")
    assert not (tmp_path / "public").exists()


def test_a_claim_that_names_a_file_outside_of_its_folder_is_refused(tmp_path):
    """Its pattern would fit, and it would be written outside of the published folder."""
    mine = tmp_path / "mine"
    Generation(items=1, proof="none", benchmark="probe").run(mine)
    name = next(path.name for path in (mine / "tasks").glob("*_input.json"))
    shutil.copy(mine / "tasks" / name, tmp_path / "x_input.json")
    crafted(mine, "tasks/../../x_input.json", (tmp_path / "x_input.json").read_bytes())
    with pytest.raises(RunError, match=r"no file of a corpus can be called 'tasks/\.\./\.\./x_input\.json'"):
        publish(mine, tmp_path / "far" / "public")
    assert not (tmp_path / "far").exists()
