"""The datasheet of a made corpus, as Markdown, after Gebru et al., Datasheets for Datasets (arXiv:1803.09010).

It is a function of the answers: no date, time or cost is in it. What a person or a model wrote stands in it as code,
which no Markdown leaves.
"""

from collections.abc import Iterator, Mapping

from dspy_proact.benchmarks.proactbench.corpus.personas import attribution
from dspy_proact.benchmarks.proactbench.generation.made import CorpusProof, Effect, MadeCorpus
from dspy_proact.benchmarks.proactbench.report.made_summary import PHASES, MadeSummary, effect_rows
from dspy_proact.benchmarks.proactbench.report.publishing import INSTANCE, METHOD
from dspy_proact.publish.made_lines import (
    ROWS,
    diversity_lines,
    dropped_lines,
    ending_lines,
    made_datasheet,
    making_lines,
)
from dspy_proact.publish.markdown import block, canary_of, code, table_lines
from dspy_proact.report.numbers import counted, listed, percent, points_of


def canary(corpus: MadeCorpus) -> str:
    """A GUID of this corpus alone, by which it can be found in training data."""
    return canary_of(corpus.made.identity)


def datasheet(corpus: MadeCorpus) -> str:
    """The datasheet of a made corpus."""
    summary = MadeSummary(corpus)
    sections = {
        "Motivation": _motivation,
        "Composition": _composition,
        "How it was made": _process,
        "Proof": _proof,
        "Diversity": _diversity,
        "What was dropped, and why": _dropped,
        "Uses and limits": _limits,
        "Licence and attribution": _distribution,
    }
    return made_datasheet(f"dialogues for {code(corpus.brief.product.name)}", summary, sections)


def _motivation(summary: MadeSummary) -> Iterator[str]:
    yield (
        "To measure whether an assistant of this product acts on what its users disclose and do not ask about. It was "
        "made with `dspy-proact generate` from a brief that a person wrote (`brief.toml`). The product:"
    )
    yield ""
    yield block(summary.corpus.brief.product.text)


def _composition(summary: MadeSummary) -> Iterator[str]:
    corpus, brief = summary.corpus, summary.corpus.brief
    styles = {"csi": "the 24 of the Communication Styles Inventory", "none": "none"}
    chosen = brief.dialogue.styles
    yield from table_lines(
        ("what", "count"),
        (
            ("dialogues", f"{len(summary.dialogues)} of {corpus.made.wanted} wanted"),
            ("turns", summary.turns),
            ("triggers", len(summary.triggers)),
            *((f"triggers, {phase}", count) for phase, count in summary.phases.items()),
            ("triggers with a consequence of general knowledge", len(summary.on_general_knowledge)),
            ("personas", summary.personas),
            ("control dialogues: swaps, with nothing to take up", corpus.controls),
        ),
    )
    yield ""
    yield f"{INSTANCE} Models wrote its people, from personas."
    yield ""
    yield f"- Language: {code(brief.dialogue.language)}"
    yield f"- Styles of users: {styles.get(chosen) if isinstance(chosen, str) else listed([*map(str, chosen)])}"
    yield f"- Domains: {listed([code(domain) for domain in brief.plant.domains])}"
    yield (
        "- Files: `final_dialogues.jsonl` (official layout), `controls.jsonl`, `items.jsonl` (who wrote what), "
        "`audits.jsonl`, `calls.jsonl`"
    )


def _process(summary: MadeSummary) -> Iterator[str]:
    method, corpus = f"{METHOD} A dialogue has three attempts at most.", summary.corpus
    return making_lines(method, corpus)


def _effects(effects: Mapping[str, Effect]) -> Iterator[str]:
    rows = (
        (
            name,
            effect.triggers,
            effect.personas,
            effect.answers,
            percent(effect.with_anchors),
            percent(effect.without_anchors),
            points_of(effect.difference),
            effect.difference.reason or "",
        )
        for name, effect in effect_rows(effects)
    )
    headings = ("triggers", "count", "personas", "answers", "% with the facts", "% without", "points", "remark")
    yield from table_lines(headings, rows)
    yield ""


def _proof(summary: MadeSummary) -> Iterator[str]:
    corpus, proof = summary.corpus, summary.corpus.proof
    if summary.stand_in:
        yield "The embedded stand-in took part: these numbers show how this works and measure nothing."
        yield ""
    if proof is None:
        yield "None was made: whether a pass depends on the planted facts is unknown."
        return
    kept = (
        "1 answer passed with the facts and none without" if corpus.level == "light" else "at least 2 more of 3 passed"
    )
    yield (
        f"Anchor test: an assistant that is told to look answers each trigger in the dialogue and in its swap, which "
        f"lacks the facts that the rubric rests on. A trigger was kept where {kept}"
        f"{'' if corpus.level == 'light' else ' with the facts than without'}: {len(summary.triggers)} of "
        f"{proof.tested} tested. The judge sees the dialogue with the facts in both arms."
    )
    yield ""
    yield from _arms(proof)
    yield from _matrix(summary, proof)


def _arms(proof: CorpusProof) -> Iterator[str]:
    yield "Shares of passes in percent and differences in points, with 95 % intervals clustered by persona."
    yield ""
    if proof.fresh:
        yield f"Fresh answers by {code(proof.tester)}, told to look, which selected nothing:"
        yield ""
        yield from _effects(proof.fresh)
    if proof.looking:
        yield "The answers that decided, over all that were tested, kept or not:"
        yield ""
        yield from _effects(proof.looking)
    if proof.bare:
        yield "The same assistant, told nothing, over the same triggers:"
        yield ""
        yield from _effects(proof.bare)


def _matrix(summary: MadeSummary, proof: CorpusProof) -> Iterator[str]:
    if not proof.matrix:
        yield "No planted assistant answered the triggers."
        return
    yield f"Planted assistants, on {counted(proof.matrix_dialogues, 'dialogue')}: passes of graded triggers, and bars."
    yield ""
    rows: list[tuple[str, ...]] = []
    for name, row in proof.matrix.items():
        cells: list[str] = []
        for cell in map(row.get, PHASES):
            bar = f"{100 * cell.low:.0f} to {100 * cell.high:.0f} %{', missed' if cell.missed else ''}" if cell else ""
            cells.append(f"{cell.passed} of {cell.graded} ({bar})" if cell else "-")
        rows.append((name, *cells))
    yield from table_lines(("assistant", *PHASES), rows)
    if of := summary.charged[1]:
        yield ""
        yield f"On control dialogues, the checklist of offers makes an unwanted offer in {summary.charged[0]} of {of}."


def _diversity(summary: MadeSummary) -> Iterator[str]:
    coverage = summary.coverage
    yield f"- Cells of {' x '.join(coverage.columns)} without a trigger: {coverage.empty:,} of {coverage.cells:,}"
    empty = coverage.empty_cells("domain", "phase")
    cells = f": {listed([f'{code(domain)} {phase}' for domain, phase in empty[:ROWS]])}" if empty else ""
    yield f"- Of domain x phase: {len(empty)} of {len(coverage.columns['domain']) * len(PHASES)}{cells}"
    yield from diversity_lines(summary.common, summary.alike, summary.lengths, "dialogue")


def _dropped(summary: MadeSummary) -> Iterator[str]:
    made = summary.corpus.made
    lost = sum(count for _, count in summary.rejections)
    yield (
        f"{counted(len(made.dropped), 'attempt')} at dialogues failed; {counted(max(summary.missing, 0), 'dialogue')} "
        f"could not be made. Of the dialogues that were, {counted(lost, 'trigger')} {'is' if lost == 1 else 'are'} not "
        "in the corpus."
    )
    yield from dropped_lines(summary.repairs, summary.rejections, "why a trigger is not in it", "triggers")


def _limits(summary: MadeSummary) -> Iterator[str]:
    general = summary.on_general_knowledge
    yield "- For measuring an assistant of this product and for compiling one; for no claim about assistants as such."
    yield "- Models wrote the scenarios, the messages and the rubrics, and audited them. People have reviewed none."
    yield "- An anchor test asks if a pass depends on the planted facts, not if the act is what people would want."
    yield "- Users are played by models: real ones disclose less neatly, and in other words."
    if general:
        turns = ", ".join(f"dialogue {dialogue.slot} turn {trigger.turn}" for dialogue, trigger in general[:ROWS])
        more = f" and {len(general) - ROWS} more" if len(general) > ROWS else ""
        yield f"- Consequences that rest on general knowledge, to be reviewed first: {turns}{more}."
    else:
        yield "- Every consequence rests on the product's text."


def _distribution(summary: MadeSummary) -> Iterator[str]:
    yield f"- {attribution(summary.corpus.brief.users.personas)}"
    yield "- The texts of the brief are of the person who wrote it."
    yield from ending_lines(summary.corpus.made)
