"""What is PROBE's own in reports: tasks as they are read, failure modes, agreement of judges."""

from dspy_proact.benchmarks.probe.report.agreement import agreement_document, judge_agreements, print_agreement

__all__ = ["agreement_document", "judge_agreements", "print_agreement"]
