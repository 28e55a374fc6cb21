"""How a run was made, in sentences for a paper."""

from collections.abc import Iterator

from dspy_proact.report.glossary import explained
from dspy_proact.report.numbers import counted
from dspy_proact.report.summary import Summary
from dspy_proact.runs import Manifest, RoleIdentity

_PACKAGES = {"dspy-proact": "dspy-proact", "dspy": "DSPy", "litellm": "litellm", "python": "Python"}


def method(summary: Summary) -> str:
    """What was asked of whom, how it was graded and counted, and with what."""
    nouns, manifest = summary.nouns, summary.manifest
    cases = counted(summary.case_count, nouns.case, nouns.cases)
    groups = counted(summary.group_count, nouns.group, nouns.groups)
    if manifest is None:
        sentences = [
            f"The responses of {summary.model} to {cases} in {groups} of {summary.benchmark} and their grades are "
            "those of a results file, which does not record decoding and prompts."
        ]
    else:
        sentences = list(_of_run(summary, manifest, f"{cases} in {groups}"))
    if summary.embedded:
        sentences.append("An embedded stand-in took part, so the scores say nothing about any real model.")
    sentences.append(f"Scores: {explained(nouns, 'lenient', 'strict', 'interval')}")
    if manifest:
        used = [f"{name} {manifest.versions[key]}" for key, name in _PACKAGES.items() if key in manifest.versions]
        commit = f" at git commit {manifest.commit}" if manifest.commit else ""
        sentences.append(f"Made with {', '.join(used)}; started {manifest.created}{commit}.")
        labels = [f"{name}={value}" for name, value in manifest.tags.items()]
        sentences += [f"Tags: {', '.join(labels)}."] if labels else []
        sentences += [f"Note: {manifest.note}"] if manifest.note else []
    return " ".join(sentences)


def _of_run(summary: Summary, manifest: Manifest, cases: str) -> Iterator[str]:
    identity, corpus = manifest.identity, manifest.corpus
    revision = f", revision {corpus.revision}" if corpus.revision else ""
    often = f", {manifest.epochs} times each" if manifest.epochs > 1 else ""
    prompted = "with a system prompt" if manifest.system_prompt else "without a system prompt"
    of_corpus = f"the corpus {corpus.name}{revision} (sha256 {identity.corpus[:16]}){often}"
    if file := manifest.answers:
        yield (
            f"Answers of {_spoken(identity.assistant)} to {cases} of {of_corpus} were read from {file.name} (sha256 of "
            f"the answers {(identity.parent or '')[:16]}), which does not record decoding and prompts."
        )
    else:
        yield f"{_spoken(identity.assistant)} was asked {cases} of {of_corpus}, {prompted}."
    yield from (f"The {name} was played by {_spoken(role)}." for name, role in identity.roles.items())
    yield from (f"{sentence[0].upper()}{sentence[1:]}." for sentence in summary.left_out)
    answered, graded = len(summary.outcomes), len(summary.scored)
    answers = sum(outcome.response is not None for outcome in summary.outcomes)
    yield f"Of {counted(answered, 'answer')}, {answers:,} were received and {graded:,} graded."
    yield from summary.read_otherwise
    if turns := summary.controls.outcomes:
        seen = summary.controls.count("scored")
        besides = counted(len(turns), summary.nouns.control, summary.nouns.controls)
        also = "The file also has answers to" if manifest.answers else "It was also asked"
        yield f"{also} {besides}, of which {seen:,} were graded; these are not included in the scores."
    for role, card in manifest.cards.items():
        yield f"The {role}'s program: {card}"
    if identity.parent and not manifest.answers:
        yield f"Its responses were copied from an earlier result ({identity.parent[:16]})."
    yield from summary.reused.lines if summary.reused else ()
    again = f", {manifest.judge_epochs} times each" if manifest.judge_epochs > 1 else ""
    judges = " and ".join(map(_spoken, identity.judges))
    yield f"The responses were graded by {judges}{again}." if judges else "The benchmark grades by itself."
    if summary.judged_severally:
        yield "Of several verdicts the commonest grade counts, ties to the lower, and their mean score."


def _spoken(role: RoleIdentity) -> str:
    """A model with its program and what it was sent."""
    decoding = [f"{name} {value}" for name, value in role.decoding.items() if value is not None]
    sent = [*([f"program {role.program}"] if role.prompt else []), *decoding]
    endpoint = [f"at {role.endpoint}"] if role.endpoint else []
    details = ", ".join([*sent, *endpoint])
    return f"{role.model} ({details})" if details else role.model
