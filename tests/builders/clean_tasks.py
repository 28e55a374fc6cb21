"""What makers of PROBE tasks answer that breaks no rule: two bottlenecks of a seed bank, the first with evidence."""

from datetime import date

from dspy_proact.benchmarks.probe.generation.item_rules import Bounds, Matter
from dspy_proact.benchmarks.probe.generation.values import (
    ActionAudit,
    BottleneckAudit,
    Colleague,
    DistractorReview,
    DraftAction,
    DraftBottleneck,
    DraftFacets,
    DraftItem,
    DraftWorld,
    EvidenceReview,
    FilledParameter,
    LedgerEntry,
    Parameter,
    PlannedItem,
    ShownFacet,
    Stated,
    StatedValue,
    WrittenEvidence,
)

WINDOW = date(2026, 2, 14), date(2026, 3, 13)
WORDS = 40
"""Of the text of each item."""
WORLD = DraftWorld(
    full_name="Asta Lind",
    occupation="distribution manager",
    about="Asta sends seeds to growers.",
    relationships=[
        Colleague(name="Bodil Krag", type="manager", department="Office", relationship_context="Signs papers."),
        Colleague(name="Cesar Olmo", type="colleague", department="Packing", relationship_context="Packs."),
        Colleague(name="Dina Roth", type="vendor", department=None, relationship_context="Sells boxes."),
    ],
    company_name="Kelderwick Seed Bank",
    department="Distribution",
    team_size=4,
    reporting_to="Bodil Krag",
    key_meetings=["Monday round"],
    work_style="Plans on paper.",
    communication_preferences=["short mails"],
    current_priorities=["fewer lost parcels", "clearer labels"],
    pain_points=["late papers"],
    systems=["parcel board", "shared calendar"],
)
PARCEL = DraftBottleneck(
    id="b1",
    description="Cesar Olmo cannot send the parcel of 84 samples to Norway, since the plant certificate lies unsigned "
    "with Bodil Krag; it helps until 20 March 2026.",
    facets=DraftFacets(
        who_blocked="Cesar Olmo",
        who_blocker="Bodil Krag",
        what_task="the parcel of 84 samples to Norway",
        why_root_cause="the plant certificate lies unsigned",
        when_deadline="20 March 2026",
        where_system=None,
        how_mechanism=None,
        impact_scope=None,
    ),
    ledger=[
        LedgerEntry(id="f1", what="last day for the certificate", kind="date", value="2026-03-20"),
        LedgerEntry(id="f2", what="size of the parcel", kind="amount", value="84 samples"),
    ],
    resolution="Have Bodil Krag sign the plant certificate by 20 March 2026.",
)
ROOM = DraftBottleneck(
    id="b2",
    description="The lesson for 1200 pupils has no room on 2 April, because the visit room was given to the training.",
    facets=DraftFacets(
        who_blocked=None,
        who_blocker=None,
        what_task="the lesson for 1,200 pupils on April 2nd",
        why_root_cause="two bookings of the visit room",
        when_deadline=None,
        where_system="shared calendar",
        how_mechanism=None,
        impact_scope=None,
    ),
    ledger=[
        LedgerEntry(id="f3", what="day of the lesson", kind="date", value="2026-04-02"),
        LedgerEntry(id="f4", what="who comes", kind="amount", value="1200 pupils"),
    ],
    resolution="Move the training out of the visit room.",
)
BOTTLENECKS = [PARCEL, ROOM]
SIGN = DraftAction(
    id="request_signature",
    type="request_approval",
    description="Have a paper signed by whoever must sign it.",
    constraints=["Not for contracts"],
    parameters=[
        Parameter(name="signer", kind="text", description="Who signs"),
        Parameter(name="paper", kind="text", description="What is signed"),
        Parameter(name="due", kind="date", description="By when"),
    ],
    resolves="b1",
)
MOVE = SIGN.model_copy(update={"id": "move_booking", "type": "reschedule_meeting", "resolves": "b2"})
OTHERS = [
    SIGN.model_copy(update={"id": f"other_{number}", "type": kind, "resolves": None})
    for number, kind in enumerate(["request_approval", "reschedule_meeting", *["send_email"] * 8])
]
ACTIONS = [SIGN, *OTHERS, MOVE]
MATTER, BOUNDS = Matter(PARCEL, SIGN), Bounds(WORLD, WINDOW)
PLAN = [
    PlannedItem(
        number=1,
        kind="email",
        role="Cesar Olmo thanks for the tape.",
        states="The parcel of 84 samples to Norway is packed; 20 March 2026 is the last day.",
        facets=["who_blocked", "what_task", "when_deadline"],
        parameters=["due"],
    ),
    PlannedItem(
        number=2,
        kind="document",
        role="Minutes of the Monday round.",
        states="The plant certificate lies unsigned with Bodil Krag.",
        facets=["who_blocker", "why_root_cause"],
        parameters=["signer", "paper"],
    ),
]
FILLER = "the tape is better than that of last winter and the new boxes close well and we have enough of them until May"
"""23 words."""
PASSAGES = (
    "Cesar Olmo keeps the parcel of 84 samples to Norway on the shelf until 20 March 2026",
    "On the desk of Bodil Krag the plant certificate lies without her name",
)
EMAIL = DraftItem(
    title="Tape", author="Cesar Olmo", people=["Asta Lind"], location="", text=f"{FILLER}. {PASSAGES[0]}, as we do."
)
MINUTES = DraftItem(
    title="Monday round", author="Dina Roth", people=[], location="", text=f"{FILLER}. {PASSAGES[1]}. Coffee was had."
)
WRITTEN = WrittenEvidence(
    item=EMAIL,
    stated=[
        Stated(what="who_blocked", quote="Cesar Olmo keeps the parcel"),
        Stated(what="what_task", quote="the parcel of 84 samples to Norway"),
        Stated(what="when_deadline", quote="until 20 March 2026"),
        Stated(what="due", quote="20 March 2026"),
        Stated(what="f1", quote="until 20 March 2026"),
        Stated(what="f2", quote="84 samples"),
    ],
)
ITEMS = {1: EMAIL, 2: MINUTES}
FILLED = [
    FilledParameter(name="signer", value="Bodil Krag", item=2, quote="the desk of Bodil Krag"),
    FilledParameter(name="paper", value="plant certificate", item=2, quote="the plant certificate lies"),
    FilledParameter(name="due", value="2026-03-20", item=1, quote="on the shelf until 20 March 2026"),
]
REVIEW = EvidenceReview(
    shown=[
        ShownFacet(facet="who_blocked", item=1, quote="Cesar Olmo keeps the parcel"),
        ShownFacet(facet="what_task", item=1, quote="the parcel of 84 samples"),
        ShownFacet(facet="when_deadline", item=1, quote="until 20 March 2026"),
        ShownFacet(facet="who_blocker", item=2, quote="On the desk of Bodil Krag"),
        ShownFacet(facet="why_root_cause", item=2, quote="lies without her name"),
    ],
    sufficient_alone=[],
    other_problems=[],
    values=[StatedValue(entry="f2", item=1, value="84 samples", quote="84 samples")],
    unnatural=[],
    advice="",
)
BOTTLENECK_AUDIT = BottleneckAudit(unmet=[], revealed=[], alike=[], unresolvable=[], advice="")
ACTION_AUDIT = ActionAudit(resolving=["request_signature"], reason="It is signed then.")
DISTRACTOR_REVIEW = DistractorReview(faults=[], values=[], unnatural=[])
