"""What a command refuses, in a sentence that names what is wrong, before a call and with nothing written."""

import shlex
from pathlib import Path

import pytest
from builders import assistants, judges
from builders.dialogues import jsonl, row
from builders.results import corpus_with, file_with, result_row
from builders.runs import answered, failed, graded, manifest, run_of, trigger, written
from drivers.terminal import unwrapped

from dspy_proact.cli.options.labels import FILES
from dspy_proact.programs.artefact import write_artefact

NOWHERE = "http://127.0.0.1:9/v1"
"""Whatever were asked there would not be reached, which is another failure."""
JUDGE = f"--judge hosted_vllm/second --judge-api-base {NOWHERE} --retries 0"
MODELS = f"--model hosted_vllm/any --model-api-base {NOWHERE} --judge openai/any --judge-api-base {NOWHERE} --retries 0"
TRY = f"try {MODELS} --corpus few.jsonl"
EVERY = f"eval {MODELS} --corpus few.jsonl --out both"
CASES = f"try --judge-cases --judge openai/any --judge-api-base {NOWHERE} --retries 0"
SHOW = "optimize show assistant.json"
AGREE = [
    ("agree --ratings nothing.csv", "nothing.csv"),
    ("agree --run a --ratings bad.csv", "line 2, field 'item': 'nowhere' is none of the 4 items"),
    ("agree --run a", "--run: name ratings of it with --ratings FILE"),
    ("agree --run a --items items.jsonl --ratings bad.csv", "--run and --items are mutually exclusive"),
    ("agree --items items.jsonl", "--items: name ratings of it with --ratings FILE"),
    ("agree --ratings sample --exclude published", "raters are excluded by their agreement with a judge"),
    ("agree --min-ratings 0", "--min-ratings"),
    ("agree --ratings sample --dry-run", "--dry-run: has no effect without --judge"),
    ("agree --ratings sample --judge-program judge.json", "--judge-program: has no effect without --judge"),
    ("agree --judge-prompt official", "--judge-prompt: has no effect without --judge"),
    ("agree --max-usd 3", "--max-usd: has no effect without --judge"),
]
EVAL = [
    (f"{EVERY} --model nonsense/ben", "'nonsense/ben'"),
    (f"{EVERY} --model hosted_vllm/ben --max-usd 1 --judge-price 1,1", "--max-usd needs a price for --model"),
    (f"{EVERY} --model hosted_vllm/any", "--model: each model is named once; --epochs N has it answer every"),
    (f"{EVERY} --judge openai/any", "name each judge once; --votes N has each of them grade a response N times"),
]
ABSURD = [
    ("--timeout nan", "timeout"),
    ("--fail-under nan", "fail-under"),
    ("--fail-under 0.9", "--fail-under 0.9: is in points of 100, from 1 to 100, or 0"),
    ("--min-kappa nan", "min-kappa"),
    ("--model-param temperature", "model-param"),
    ("--model-param =1", "model-param"),
    ("--model-param temperature=NaN", "model-param"),
    (f"--model-param messages=[] --model hosted_vllm/any --model-api-base {NOWHERE}", "--model-param"),
    ("--model nonsense/model", "model 'nonsense/model': no provider of that name"),
    ("--model openai/gpt-4o", "--model openai/gpt-4o"),
    ("--bare", "--bare: has no effect without --system-prompt or --program"),
    ("--system-prompt x --system-prompt x", "--system-prompt: 'x' is named twice; name each once"),
    ("--system-prompt kind --system-prompt ' '", "--system-prompt: one of several is empty; --bare tests the model"),
    ("--min-kappa 0.2", "--min-kappa"),
    ("--program assistant.json --program ./assistant.json", "--program: 'assistant.json' is named twice"),
    ("--judge-program assistant.json", "assistant.json: a compiled assistant, where a judge is"),
    ("--system-prompt @missing.txt", "missing.txt: cannot be read: No such file or directory"),
    *((f"--system-prompt {text}", "cannot be read") for text in ("@.", "@a\0b")),
    *((f"--system-prompt {text}", "the system prompt is empty; leave it out for") for text in ("@blank", "''", "' '")),
]
EXPORT = [
    ("export a --format csv --out a/events.jsonl", "lies in the folder of a run, a compile or a corpus"),
    ("export a --format csv --out nowhere/file", "Error: nowhere/file: cannot be written"),
    ("export a --format csv --out b", "is a directory"),
    ("export a --format csv", "Error: exports: cannot be made: "),
    *((f"export {path} --format csv", "no run here") for path in ("missing", "few.jsonl", ".")),
]
OPTIMIZE = [
    ("--system-prompt ' '", "the system prompt is empty; leave it out for the bare model"),
    ("--start assistant.json --system-prompt 'Be kind.'", "--start has a prompt of its own"),
    ("--start judge.json", "judge.json: a compiled judge, where an assistant is asked for"),
    ("--phase CRITICAL", "none of the 12 triggers is of CRITICAL"),
    ("--phase CRITICAL", "or name another phase with --stratum"),
    ("--optimizer labeled", "labeled"),
    ("--guard kindness", "--guard kindness: is no row of the card; they are "),
    ("--guard offers=much", "'much' is not a margin, such as offers=0.05"),
    ("--guard phases=nan", "'nan' is not a margin"),
    (f"--proposer-api-base {NOWHERE}", "--proposer-api-base: name the model"),
    (f"--model-api-base {NOWHERE}", "takes no endpoint"),
    ("--proposer openai/gpt-5.4", "--proposer openai/gpt-5.4: no key"),
    ("--report-judge openai/gpt-5.4", "--report-judge openai/gpt-5.4: no key"),
]
EDITED = "edited.json: was changed after its compile had written it: its checksum is that of other contents. Compile it"
COMPILED = [
    ("optimize show edited.json", EDITED),
    ("eval --program edited.json", EDITED),
    ("optimize assistant --corpus missing.jsonl", "missing.jsonl: there is no such file"),
    ("optimize judge --start assistant.json", "assistant.json: a compiled assistant, where a judge is"),
    ("try --program judge.json", "judge.json: a compiled judge, where an assistant is asked for"),
    (f"rejudge b {JUDGE} --judge-program three.json --judge-prompt official", "has a prompt of its own; leave"),
    (f"rejudge b {JUDGE} --judge-program three.json --votes 2", "asks for 3 verdicts on each response; leave --votes"),
]
OPTIMIZE_SHOW = [
    ("optimize show demos.json --as-prompt --no-demos", "says nothing beside its worked examples; leave --no-demos"),
    ("optimize show bare.json --as-prompt", "bare.json: says nothing to its model; the compile kept the bare chat"),
    ("optimize show judge.json --as-prompt --no-demos", "judge.json: a compiled judge, which is no system prompt; use"),
    (f"{SHOW} --no-demos", "--no-demos is about the prompt that --as-prompt prints; name that too, or leave it out"),
    (f"{SHOW} --diff --as-prompt", "leave it out, or leave --diff out"),
    (f"{SHOW} --diff --explain", "--explain is about the card; leave it out"),
    (f"{SHOW} --diff --no-demos", "that --as-prompt prints; leave it out"),
]
REJUDGE = [
    (f"rejudge b {JUDGE} --corpus sample", "--corpus is for results files; a run knows its corpus"),
    (f"rejudge owing {JUDGE}", "no response in it yet"),
    (f"rejudge b {JUDGE} --judge hosted_vllm/second", "name each judge once"),
    (f"rejudge b {JUDGE} --out other", "other: holds another run, which differs in"),
    (f"rejudge b {JUDGE} --out b", "b: holds another run, which differs in judge.decoding"),
    (f"rejudge results.jsonl {JUDGE}", "a results file holds no conversations; name the corpus that it answers with"),
    (f"rejudge dropped.jsonl {JUDGE}", "--corpus"),
    (f"rejudge corpus.jsonl {JUDGE}", "as in a corpus: this is no results file"),
    (f"rejudge b {JUDGE} --controls", "--controls: among these responses is none at a control turn"),
]
REPORT = [
    ("report a --html page.html --json", "--html and --json are mutually exclusive"),
    ("report a --html page.html --corpus sample", "--html and --corpus are mutually exclusive"),
    ("report a --html page.html --by colour", "nothing to group by 'colour'"),
    ("report a --by curated_response", "nothing to group by 'curated_response'"),
    ("report a a --html page.html", "a: given twice; name each run once"),
    ("report a --html gone/page.html", "there is no folder 'gone'; create it first"),
    ("report a --html b", "File 'b' is a directory"),
    ("report c --html old.html", "c: no run here"),
    ("report a --html a/events.jsonl", "a/events.jsonl: lies in the folder of a run, a compile or a corpus"),
    ("report a --html notes.txt", "notes.txt: exists and is not a page; name another file"),
    ("report results.jsonl --html ./results.jsonl", "results.jsonl: is the input; name another file"),
    ("report a --corpus sample", "--corpus is for results files"),
    ("report results.jsonl --corpus corpus.jsonl", "3 of its 3 triggers are not in the corpus 'corpus.jsonl'"),
    ("report a --html page.html --ratings sample", "--html and --ratings are mutually"),
    ("report a --ratings nowhere.csv", "nowhere.csv"),
    (f"compare a b{' --ratings bad.csv' * 3}", "given 3 times: the same ratings cannot"),
]
PLANS = [
    ("label plan --ratings sample", "--ratings: give the RUN that these ratings are of"),
    *((f"label plan --width {width}", "--width") for width in ("0", "0.01", "50", "nan")),
    ("label plan b", "b: no plan, for a corrected score takes 12 scored triggers in 5 scenarios"),
]
SHEETS = [
    ("label sheet", "takes what is to be rated: either RUN or --items FILE"),
    ("label sheet a --items items.jsonl", "either RUN or --items FILE"),
    ("label sheet results.jsonl", "a results file has no conversations"),
    ("label sheet --items items.jsonl --draw 5", "--draw and --items are mutually exclusive"),
    ("label sheet --items items.jsonl --disputed", "--disputed and --items are mutually exclusive"),
    ("label sheet a --draw 2-0-00000000 --disputed", "mutually exclusive; give a number"),
    ("label sheet b --disputed", "no two verdicts on one response differ"),
    ("label sheet a --draw 3", "3 cannot be drawn of 2 scored triggers"),
    ("label sheet a --draw some", "'some' is neither a number of responses nor a draw"),
    ("label sheet a --draw 0", "'0' is neither a number"),
    ("label sheet a --draw 2-0-00000000", "--draw 2-0-00000000: was drawn from other cases or grades"),
    ("label sheet a --out notes.csv", "notes.csv: exists with other contents, which may have been filled in"),
    ("label sheet a --out notes.csv/x.csv", "notes.csv/x.csv: cannot be written: File exists"),
    ("label sheet a --out s.jsonl", "--out s.jsonl: what is written is CSV; name a file that ends with .csv"),
    ("label sheet a --out a/x.csv", "lies in the folder of a run, a compile or a corpus"),
]
SHOWN = [
    ("show a --grade pasd", "--grade pasd: is none of PASS, PARTIAL, FAIL, unscored"),
    ("show a --phase x", "--stratum x: is none of EMERGENT, CRITICAL, RECOVERY"),
    ("show a --search ' '", "--search: the text is empty"),
    ("show a --trigger d1 --grade pass", "--trigger and --grade are mutually exclusive"),
    ("show a --trigger d1__t9", "has no such trigger; did you mean d1__t2?"),
    ("show a --trigger zork", "a has no such trigger"),
    ("show a --trigger d", "--trigger d: is ambiguous: d1__t2, d2__t2, d3__t2 and 1 more; give more of it"),
    ("show a --trigger d1 --epoch 2", "a has 1"),
    ("show a --transcript", "--transcript: has no effect without --trigger"),
    ("show a --trigger d1 --transcript --beside b", "--transcript and --beside are mutually exclusive"),
    ("show a --trigger d1 --transcript", "no call on the case 'd1__t2' in epoch 1 is logged"),
    ("show results.jsonl --trigger d1 --transcript", "a file has no calls"),
    ("eval --show-prompt", "--show-prompt: has no effect without --dry-run"),
]
TRIED = [
    (f"{TRY} TEXT --case d0__t55", "did you mean d0__t5"),
    (f"{TRY} TEXT --case zzz", "`dspy-proact try --list`"),
    (f"{TRY} TEXT --case d", "--case d: is ambiguous: d0__t"),
    (f"{TRY} TEXT --case d0__t5 --phase recovery", "--case and --phase are mutually exclusive"),
    (f"{TRY} TEXT --program best.json", "TEXT and --program are mutually exclusive"),
    (f"{TRY} TEXT --judge-program judge.json", "--judge-program: has no effect without --judge-cases"),
    (f"{TRY} TEXT --list", "--list and TEXT are mutually exclusive"),
    (f"{TRY} --list --whole", "--list and --model-api-base are mutually exclusive"),
    (f"{TRY} ''", "the prompt is empty"),
    (f"{TRY} '\udcff'", "is not text in the encoding utf-8; write it so"),
    (f"{TRY} TEXT --model openai/one", "--model: takes one model here, and 2 are given"),
    (f"{TRY} TEXT --judge openai/one", "--judge: takes one model here, and 2 are given"),
    (f"{TRY} --conversation talk.txt", "--conversation and --corpus are mutually exclusive"),
    (f"{CASES} --model openai/any", "--judge-cases and --model are mutually exclusive"),
    (f"{CASES} --phase recovery", "--judge-cases and --phase are mutually exclusive"),
    (f"{CASES} --list", "--judge-cases and --list are mutually exclusive"),
    (f"{CASES} 'Be proactive.'", "--judge-cases and TEXT are mutually exclusive"),
    (f"{CASES} --judge-program nowhere.json", "nowhere.json: cannot be read"),
]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Runs, files of every kind, and compiled programs."""
    folder = tmp_path_factory.mktemp("world")
    first, second, third, fourth = (trigger(f"d{number}") for number in range(1, 5))
    both = ("openai/j", "openai/k")
    events = [
        *(answered(first), *(graded(first, judge=judge) for judge in both)),
        *(answered(second), graded(second, "FAIL", judge=both[0]), graded(second, judge=both[1])),
        failed(third, "empty"),
    ]
    written(folder / "a", manifest(*both), [first, second, third, fourth], events)
    run_of(folder / "b", [(first, "PASS")])
    run_of(folder / "other", [(trigger("x"), "PASS")], corpus_sha256="dd")
    written(folder / "owing", manifest(), [first])
    file_with(folder)
    nothing = result_row(trigger_points=[], turn_records=[], trigger_stats={}, num_trigger_points=0)
    file_with(folder, nothing, name="dropped.jsonl")
    corpus_with(folder, row(unique_id_eval="other"))
    write_artefact(folder / "judge.json", judges.artefact())
    write_artefact(folder / "assistant.json", assistants.artefact())
    edited = (folder / "assistant.json").read_text("utf-8").replace(assistants.PUSHY, "Be kind.")
    (folder / "edited.json").write_text(edited, "utf-8")
    write_artefact(folder / "demos.json", assistants.artefact(None, 1))
    write_artefact(folder / "bare.json", assistants.artefact(None, 0))
    write_artefact(folder / "three.json", judges.artefact(votes=3, cuts=(0.5, 1.5)))
    texts = {
        "blank": " \n\t\n",
        "tuned.jsonl": jsonl(*map(assistants.dialogue, range(4))),
        "bad.csv": "item,annotator,grade\nnowhere,ann,PASS\n",
        "items.jsonl": FILES[1].example,
        "few.jsonl": jsonl(*(row(unique_id_eval=f"d{number}") for number in range(4))),
        "old.html": "<!doctype html>",
        **dict.fromkeys(("notes.txt", "notes.csv", "exports"), "mine"),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def contents(folder):
    return {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")}


@pytest.mark.parametrize(
    ("command", "message"),
    [
        *((f"eval --corpus few.jsonl --judge embedded {more}", message) for more, message in ABSURD),
        *((f"optimize assistant --corpus tuned.jsonl --out out {more}", message) for more, message in OPTIMIZE),
        *(*AGREE, *EVAL, *EXPORT, *COMPILED, *OPTIMIZE_SHOW, *REJUDGE, *REPORT, *PLANS, *SHEETS, *SHOWN, *TRIED),
    ],
)
def test_what_cannot_be_is_refused_by_name(refused, world, monkeypatch, command, message):
    monkeypatch.chdir(world)
    before = contents(world)
    err = refused(*shlex.split(command))
    assert message in unwrapped(err)
    assert err.count("Error:") == 1
    assert contents(world) == before


PROBE = [
    ("turns=3", "turns: has no effect with agent=single; these do: baseline, agent,"),
    ("agent=react trials=3", "trials: has no effect with agent=react; these do: baseline, embedder,"),
    ("agent=react embedder_price=1", "embedder_price: has no effect with embedder=none; these do:"),
    ("take=3", "take: has no effect with baseline=none; these do: baseline, agent,"),
    ("baseline=kind take=3", "take: has no effect with baseline=kind; these do: baseline, sanitize, "),
    ("baseline=bm25 agent=react", "agent: has no effect with baseline=bm25; these do: baseline, sanitize, "),
    ("sanitize=false seed=3", "seed: has no effect with sanitize=false; these do: baseline,"),
    ("oracle=bottleneck upstream_rule=true", "upstream_rule: has no effect with oracle=bottleneck;"),
    ("turns=0", "turns=0: turns takes a whole number from 1 to 200, by default 20: Tool calls"),
    ("embedder_price=dear", "embedder_price takes a number from 0 to 1000000 or none, by default none: "),
]
PROACTIVEAGENT = [
    ("rate=0.5", "rate: has no effect with baseline=none"),
    ("baseline=never candidates=2", "candidates: has no effect with baseline=never"),
    ("baseline=never history=2", "history: has no effect with baseline=never"),
    ("silence=true", "silence: has no effect with eval"),
    ("candidates=4", "candidates"),
]
PROAGENTBENCH = [
    ("rate=0.5", "rate: has no effect with baseline=none"),
    *(
        (f"baseline=graph {setting}", f"{setting.partition('=')[0]}: has no effect with baseline=graph")
        for setting in ("program=staged", "samples=2", "memory=graph", "cot=true")
    ),
]
SETTINGS = {"probe": PROBE, "proactiveagent": PROACTIVEAGENT, "proagentbench": PROAGENTBENCH}
ELSEWHERE = [
    ("probe", "eval --stratum brutal", "--stratum brutal: is none of easy, "),
    ("probe", "eval --judge-prompt official", "--judge-prompt: probe has no choice of judge prompts"),
    ("probe", "optimize assistant --max-demos 9", "--max-demos: probe has no worked examples; leave it out"),
    *((name, "eval --system-prompt x", f"--system-prompt: {name} has no system prompt") for name in SETTINGS),
    ("proactiveagent", "try 'Be kind.'", "proactiveagent has no system prompt"),
    ("proactiveagent", "eval --corpus .", "holds no splits.json"),
    ("proactiveagent", "try --set history=2", "a trial does not ask for"),
    ("proagentbench", "eval --judge openai/gpt-4o", "--judge"),
    ("proagentbench", "eval --corpus .", "holds no recordings"),
]


@pytest.mark.parametrize(
    ("name", "command", "message"),
    [
        *ELSEWHERE,
        *(
            (name, f"eval --set {' --set '.join(words.split())}", message)
            for name, rows in SETTINGS.items()
            for words, message in rows
        ),
    ],
)
def test_what_has_no_effect_on_a_benchmark_or_is_not_in_it_is_refused(request, refused, name, command, message):
    request.getfixturevalue(name)
    assert message in unwrapped(refused(*shlex.split(command), "--benchmark", name))
    assert not list(Path().iterdir())
