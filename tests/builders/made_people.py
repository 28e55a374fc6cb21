"""People with made tasks of PROBE, without a model: a pool whose inspection waits for a paper that somebody has."""

from dataclasses import replace
from typing import Any

from dspy_proact.audit.check import AuditCheck
from dspy_proact.benchmarks.probe.generation.brief import bundled_brief
from dspy_proact.benchmarks.probe.generation.corpus import TaskCorpus, proof_of
from dspy_proact.benchmarks.probe.generation.made import (
    LostTask,
    MadeDistractor,
    MadeItem,
    MadePerson,
    MadeTask,
    TaskProof,
)
from dspy_proact.benchmarks.probe.generation.values import (
    ActionAudit,
    Colleague,
    DistractorOrder,
    DraftAction,
    DraftBottleneck,
    DraftFacets,
    DraftItem,
    DraftWorld,
    EvidenceReview,
    FilledParameter,
    ItemKind,
    LedgerEntry,
    Parameter,
    PlannedItem,
    ShownFacet,
    Stated,
)
from dspy_proact.generation.attempt import Authorship
from dspy_proact.generation.maker import Dropped, Kept, Made
from dspy_proact.types import RoleIdentity

KINDS: tuple[ItemKind, ...] = ("email", "event", "document")
HOLDERS = ("Rolf Dahl", "Mona Vik", "Ines Roth", "Pablo Cid")
"""By task, who has what it waits for."""
PAPERS = ("water report", "boiler log", "lift permit", "roof plan")
DAYS = ("2026-03-20", "2026-03-24", "2026-03-26", "2026-03-30")
FILLERS = ("The canteen has a new menu.", "Please water the plants.", "The printer works again.", "Lunch at noon.")


def made_world(number: int = 1, secret: str = "") -> DraftWorld:
    """A person at work; the secret stands in what a task does not show."""
    return DraftWorld(
        full_name=f"Eva Lund {number}",
        occupation="manager of a swimming pool",
        about="Runs a pool with two halls.",
        relationships=[
            Colleague(name=name, type="colleague", department="Pool", relationship_context="Works in the hall.")
            for name in HOLDERS
        ],
        company_name=f"Lake Baths {number}",
        department="Operations",
        team_size=12,
        reporting_to=HOLDERS[0],
        key_meetings=["Monday round"],
        work_style="plans early",
        communication_preferences=["short e-mails"],
        current_priorities=["open the outdoor hall in April", "train the guards"],
        pain_points=["papers in many folders"],
        systems=[f"PoolDesk{secret}", "rota"],
    )


def made_actions(tasks: int, secret: str = "") -> tuple[DraftAction, ...]:
    """One for each task, and two for none."""
    resolving = [
        DraftAction(
            id=f"request_{PAPERS[index].replace(' ', '_')}",
            type="request_access",
            description=f"Ask whoever has it for the {PAPERS[index]}.",
            constraints=[],
            parameters=[
                Parameter(name="holder", kind="text", description="Who has it"),
                Parameter(name="due", kind="date", description="By when"),
            ],
            resolves=f"b{index + 1}{secret}",
        )
        for index in range(tasks)
    ]
    others = [
        DraftAction(
            id=id_,
            type="send_email",
            description="Write to somebody.",
            constraints=[],
            parameters=[Parameter(name="to", kind="text", description="Addressee")],
            resolves=None,
        )
        for id_ in ("write_note", "write_to_all")
    ]
    return (*resolving, *others)


def made_task(number: int = 1, items: int = 3, secret: str = "", proof: TaskProof | None = None) -> MadeTask:
    """The task of this number, from 1 to 4; the secret stands in everything that no solver may see."""
    holder, paper, day = HOLDERS[number - 1], PAPERS[number - 1], DAYS[number - 1]
    texts = (
        f"The inspection of hall {number} cannot begin without the {paper}.",
        f"Inspection of hall {number}; last day to send papers is {day}.",
        f"The {paper} lies with {holder}, who waits for a request.",
        f"Nobody has written about the {paper} since the spring, and hall {number} stays shut.",
        f"Hall {number} has the {paper} of another year in its folder.",
    )[:items]
    evidence = tuple(
        MadeItem(
            id=f"item_{number}{index}aa",
            kind=KINDS[index % 3],
            time=f"2026-03-1{index}T09:0{number}:00",
            end=f"2026-03-1{index}T10:0{number}:00" if KINDS[index % 3] == "event" else "",
            item=DraftItem(title=f"Hall {number}, {index}", author="Ole Berg", people=["Eva"], location="", text=text),
            stated=(Stated(what=f"what_task{secret}", quote=f"{text[:20]}{secret}"),),
        )
        for index, text in enumerate(texts)
    )
    facets = DraftFacets(
        who_blocked=f"Eva Lund{secret}",
        who_blocker=holder + secret,
        what_task=f"inspection of hall {number}{secret}",
        why_root_cause=f"{paper} not requested{secret}",
        when_deadline=day + secret,
        where_system=None,
        how_mechanism=None,
        impact_scope=None,
    )
    return MadeTask(
        number=number,
        bottleneck=DraftBottleneck(
            id=f"b{number}{secret}",
            description=f"The inspection of hall {number} waits for the {paper} that {holder} has.{secret}",
            facets=facets,
            ledger=[LedgerEntry(id=f"f{number}{secret}", what=f"last day{secret}", kind="date", value=day + secret)],
            resolution=f"Request the {paper}.{secret}",
        ),
        action=f"request_{paper.replace(' ', '_')}",
        audit=ActionAudit(resolving=[f"request{secret}"], reason=f"It sets it going.{secret}"),
        plan=tuple(
            PlannedItem(
                number=index,
                kind=item.kind,
                role=f"a note{secret}",
                states=f"a part{secret}",
                facets=["what_task"],
                parameters=[f"holder{secret}"],
            )
            for index, item in enumerate(evidence, start=1)
        ),
        evidence=evidence,
        parameters=(
            FilledParameter(name="holder", value=holder + secret, item=items, quote=texts[-1] + secret),
            FilledParameter(name="due", value=day + secret, item=min(2, items), quote=f"{day}{secret}"),
        ),
        review=EvidenceReview(
            shown=[ShownFacet(facet="what_task", item=1, quote=texts[0] + secret)],
            sufficient_alone=[],
            other_problems=[],
            values=[],
            unnatural=[],
            advice=f"Nothing.{secret}",
        ),
        proof=proof,
    )


def made_person(
    number: int = 1, *tasks: MadeTask, distractors: int = 4, secret: str = "", lost: tuple[LostTask, ...] = ()
) -> MadePerson:
    """A person of these tasks, or of two."""
    tasks = tasks or (made_task(1, secret=secret), made_task(2, secret=secret))
    noise = tuple(
        MadeDistractor(
            id=f"item_{number}{index}bb",
            kind=KINDS[index % 3],
            time=f"2026-03-0{1 + index % 9}T08:00:00",
            end=f"2026-03-0{1 + index % 9}T09:00:00" if KINDS[index % 3] == "event" else "",
            item=DraftItem(
                title=f"Note {index}",
                author="Ole Berg",
                people=["Eva", "Ida"],
                location="",
                text=FILLERS[index % len(FILLERS)],
            ),
            order=DistractorOrder(
                number=index + 1,
                kind=KINDS[index % 3],
                strategy=f"office life{secret}",
                near=f"b1{secret}",
                template=None,
                words=5,
            ),
            why_not=f"It is about nothing.{secret}",
        )
        for index in range(distractors)
    )
    return MadePerson(
        persona=f"p{number}{secret}",
        persona_text=f"Somebody who runs a pool.{secret}",
        language="English",
        difficulty="medium",
        today="2026-03-15",
        world=made_world(number, secret),
        actions=made_actions(max(task.number for task in tasks), secret),
        tasks=tasks,
        lost=lost,
        distractors=noise,
    )


def kept_proof(**changes: Any) -> TaskProof:
    """What the full proof of a task of three items shows that is kept."""
    from_less = {f"item_1{index}aa": (False,) for index in range(3)}
    values: dict[str, Any] = {
        "kept": True,
        "reason": "",
        "directed": (True, True, True),
        "without": from_less,
        "alone": from_less,
        "fresh": (True, True, False),
        "shortcut": False,
    }
    return TaskProof(**values | changes)


def made_author(role: str, model: str, *broken: str) -> Authorship:
    """An answer of a role."""
    return Authorship(
        role=role,
        model=model,
        stage="plan",
        turn=1,
        sample=1,
        repeat=1,
        prompt="0" * 64,
        calls=1,
        prompt_tokens=None,
        completion_tokens=None,
        usd=None,
        broken=broken,
    )


GATES = (
    AuditCheck(name="metadata: ids", state="not tested", sentence="These are 18 tasks.", tested=0),
    AuditCheck(name="items by BM25", state="reported", sentence="They score F1 40.0.", tested=18),
)


def made_task_corpus(
    count: int = 6,
    *,
    wanted: int | None = None,
    model: str = "openai/{role}",
    attack: str = "",
    level: Any = "full",
    proof: TaskProof | None = None,
    weak: TaskProof | None = None,
    **changes: Any,
) -> TaskCorpus:
    """So many people of three tasks, by models that are not there; the third task of each has the proof `weak`."""
    own = None if level == "none" else proof or kept_proof(fresh=(True, True, True))
    people = [
        made_person(
            number,
            made_task(1, secret=attack, proof=own),
            made_task(2, secret=attack, proof=own),
            made_task(3, secret=attack, proof=(weak or own) if own else None),
            distractors=6,
            secret=attack,
            lost=(LostTask(number=4, stage="plan", reasons=(f"Item 2 states nothing.{attack}",)),),
        )
        for number in range(1, count + 1)
    ]
    authors = (
        made_author("planner", f"openai/planner{attack}", "Facet 2 is missing."),
        made_author("writer", f"openai/writer{attack}"),
    )
    kept = [Kept(number, 1, person, authors) for number, person in enumerate(people, start=1)]
    dropped = [Dropped(slot=2, attempt=1, stage="world", reasons=(f"The team is too small.{attack}",), authors=())]
    roles = ("planner", "writer", "auditor", "solver", "tester", "judge", "adversary")
    models = {role: [RoleIdentity(model=model.format(role=role) + attack, decoding={})] for role in roles}
    corpus = TaskCorpus(
        brief=bundled_brief(),
        made=Made(kept, dropped, count if wanted is None else wanted, identity="ab" * 32, models=models),
        level=level,
        prompts={"plan": "cd" * 32},
        proof=None if level == "none" else proof_of(people, model.format(role="tester") + attack),
        gates=GATES,
        keys={(one.slot, task.number): f"key-{one.slot}-{task.number}" for one in kept for task in one.item.tasks},
    )
    return replace(corpus, **changes)
