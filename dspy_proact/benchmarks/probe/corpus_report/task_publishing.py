"""How a made corpus of PROBE is published: its tasks in the official layout, and what its card says of them."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from dspy_proact.benchmarks.probe.generation.corpus import SolvedShare
from dspy_proact.evaluation.reviewing import value_text
from dspy_proact.publish.publishing import (
    CANARY_FIELD,
    HELD_BACK_FIELD,
    DataTable,
    Description,
    PublicData,
    Publishing,
    Row,
)
from dspy_proact.report.numbers import counted, percent

INPUTS, OUTPUTS, TASKS, AUDITS = "inputs", "outputs", "tasks", "audits"
_TASKS_FILE = "tasks.jsonl"
_DIFFICULTIES = ("easy", "medium", "hard")
_INPUT, _OUTPUT = "_input.json", "_output.json"
PURPOSE = "Measures whether an assistant, unasked, finds the one bottleneck in a person's documents and resolves it."
INSTANCE = (
    "An instance is a task: a person's world, items, and actions, of which one resolves the bottleneck. The tasks of a "
    "person share the items that are no evidence, and the actions. Labels are the evidence, the bottleneck with its "
    "facets, and the action with its parameters, each with the passage that states it. Personas are the units of "
    "splitting, and people of clustering in runs."
)
METHOD = (
    "A planner writes a person's world, the bottlenecks, the actions and the plan of the evidence; a writer each item, "
    "then the parameters, with the item and the passage that state each, then the other items by strategy; an auditor "
    "checks bottlenecks, actions, evidence and other items, after rules in code. Ids, order, times and lengths were "
    "drawn by code from one distribution for all items. What breaks a rule is asked for again twice, then the stage "
    "before is repeated, then the attempt is dropped."
)
_USES = (
    "For measuring agents in this line of work, and for compiling one; for no claim about agents as such.",
    "A model that was trained on it has no score on it that could be trusted.",
)
_LIMITS = (
    "A proof asks models, and not people, whether a task can be solved, and from what.",
    "The people and their work are written by models: real documents are longer, and wrong more often.",
)


def _key(file: str, _: Row) -> str:
    return file.rpartition("/")[2].removesuffix(_INPUT).removesuffix(_OUTPUT)


def _person(_: str, row: Row) -> str:
    return str(row["world_model"]["persona_id"])


def _persona(file: str, row: Row) -> str:
    """Of whom several people may be made: their id is the persona's, and a hash."""
    return _person(file, row).rpartition("-")[0]


def rows_of(texts: Mapping[str, str]) -> Mapping[str, str]:
    """The tasks as rows: what is given and what is right are texts of JSON, since their fields differ by kind."""
    rows = list[str]()
    for name, text in texts.items():
        if name.endswith(_INPUT):
            task, right = json.loads(text), json.loads(texts[f"{name.removesuffix(_INPUT)}{_OUTPUT}"])
            marks = {mark: task.pop(mark) for mark in (CANARY_FIELD, HELD_BACK_FIELD) if mark in task}
            right = {field: value for field, value in right.items() if field not in marks}
            world = task["world_model"]
            names = {"task": _key(name, task), "person": world["persona_id"], "difficulty": world["context_difficulty"]}
            rows.append(value_text({**names, "input": value_text(task), "output": value_text(right), **marks}))
    return {_TASKS_FILE: "".join(f"{row}\n" for row in rows)} if rows else {}


def describe(data: PublicData) -> Description:
    """What card, datasheet and metadata say, with counts of what is published."""
    inputs, outputs, work = data.rows[INPUTS], data.rows[OUTPUTS], data.brief["work"]
    people = {_person("", row): row for row in inputs}
    difficulties = Counter(row["world_model"]["context_difficulty"] for row in inputs)
    kinds = Counter(item["type"] for row in inputs for item in row["data_points"])
    bundled = data.brief["people"]["personas"] == "invented"
    return Description(
        title=f"Tasks of people at {work['name']}",
        language=data.brief["tasks"]["language"],
        purpose=PURPOSE,
        instance=INSTANCE,
        counts=[
            ("tasks", f"{len(inputs):,}"),
            *((f"tasks, {name}", f"{difficulties[name]:,}") for name in _DIFFICULTIES if name in difficulties),
            ("people", f"{len(people):,}"),
            ("personas", f"{len({_persona('', row) for row in inputs}):,}"),
            *((f"items, {name}", f"{count:,}") for name, count in sorted(kinds.items())),
            ("pieces of evidence", f"{sum(len(row['true_positive_ids']) for row in outputs):,}"),
            ("actions", f"{sum(len(row['world_model']['available_actions']) for row in people.values()):,}"),
        ],
        method=METHOD,
        proof=[*_proof(inputs, data.rows.get(AUDITS, ()), {row["task"] for row in data.rows[TASKS]})],
        uses=_USES,
        limits=_LIMITS,
        attributions=(
            "Personas: invented, bundled with dspy-proact, Apache-2.0."
            if bundled
            else "Personas: of the person who wrote the brief, who must be entitled to publish them.",
            "The brief is of the person who wrote it. No text or profile of the published PROBE is in it.",
        ),
        product=work["text"],
    )


def _proof(inputs: Sequence[Row], audits: Sequence[Row], keys: set[str]) -> Iterator[str]:
    """How often fresh answers, which selected nothing, solved the tasks that are published from their evidence."""
    proofs = [(row["persona"], row["proof"]) for row in audits if row["task"] in keys and row.get("proof")]
    fresh = SolvedShare.of([(persona, tuple(proof["fresh"])) for persona, proof in proofs if proof["fresh"]])
    if fresh is None:
        yield "No fresh answers to these tasks were made: whether their evidence solves them is unknown."
        return
    if fresh.share.value is None:
        yield "No fresh answer to these tasks could be graded: whether their evidence solves them is unknown."
        return
    repeats = sum(int(proof["repeats"]) for _, proof in proofs)
    rest = "95 % interval clustered by persona" if fresh.share.low is not None else fresh.share.reason
    yield (
        f"{fresh.tasks} of {counted(len(inputs), 'task')} have fresh answers from the evidence alone, which decided "
        f"nothing: {fresh.solved} of {counted(fresh.graded, 'answer')} of {counted(fresh.personas, 'persona')} "
        f"solve them, {percent(fresh.share)} % of a task's on average ({rest})."
    )
    if repeats:
        of = counted(fresh.graded + fresh.ungraded, "fresh answer")
        yield f"{repeats} of {of} {'repeats' if repeats == 1 else 'repeat'}, word for word, one that decided."


def publishing() -> Publishing:
    """How corpora of PROBE are published."""
    return Publishing(
        tables=(
            DataTable(INPUTS, f"tasks/*{_INPUT}", "what a task gives", _key, _persona, _person),
            DataTable(OUTPUTS, f"tasks/*{_OUTPUT}", "what is right in it", _key, _persona, _person),
            DataTable(
                AUDITS,
                "audits.jsonl",
                "what was tested",
                lambda _, row: str(row["task"]),
                lambda _, row: str(row["person"]).rpartition("-")[0],
                private=True,
            ),
            DataTable(
                TASKS,
                _TASKS_FILE,
                "a task; `input` and `output` are the JSON of its two files in `tasks/`",
                lambda _, row: str(row["task"]),
                lambda _, row: str(row["person"]).rpartition("-")[0],
            ),
        ),
        describe=describe,
        metric="task",
        further=rows_of,
        items=("task", "tasks"),
        groups=("persona", "personas"),
    )
