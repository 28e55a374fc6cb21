"""The command line: one file for related commands, which import what they need when they run, so that help is fast."""

import codecs
import io
import logging
import sys
import traceback

import click

from dspy_proact.cli.audit import audit
from dspy_proact.cli.benchmarks import benchmarks
from dspy_proact.cli.eval import evaluate
from dspy_proact.cli.exit_status import exit_status
from dspy_proact.cli.export import export
from dspy_proact.cli.generate import generate
from dspy_proact.cli.label import label
from dspy_proact.cli.merge import merge
from dspy_proact.cli.optimize import optimize
from dspy_proact.cli.people import agree
from dspy_proact.cli.rejudge import rejudge
from dspy_proact.cli.report import compare, leaderboard, report
from dspy_proact.cli.runs import runs
from dspy_proact.cli.show import show
from dspy_proact.cli.try_ import try_
from dspy_proact.cli.views.message import SafeRecord, complain, say
from dspy_proact.errors import Halt, ProactError
from dspy_proact.plain_text import spelled


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dspy-proact")
def proact() -> None:
    """Measure how proactive an assistant is, and how far its judge can be trusted.

    A case is one input whose response is graded. In ProactBench it is a trigger: a turn at which a good assistant acts
    on something that the user mentioned and did not ask about. A stratum is a kind of case, in ProactBench a phase:
    EMERGENT, CRITICAL or RECOVERY. An epoch is one answer to every case. `benchmarks` lists other benchmarks.

    Without a key or a network, `dspy-proact eval` runs the bundled sample through an embedded stand-in.
    """


for verb in (agree, audit, benchmarks, compare, evaluate, export, generate, label, leaderboard):
    proact.add_command(verb)
for verb in (merge, optimize, rejudge, report, runs, show, try_):
    proact.add_command(verb)


def main() -> None:
    """Entry point: a failure ends with a message and an exit status; only a fault in this code shows a traceback."""
    logging.setLogRecordFactory(SafeRecord)
    # In an ASCII locale Python lets bytes of file names through, and nothing else.
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors in ("strict", "surrogateescape"):
        codecs.register_error("spelled", spelled)
        sys.stdout.reconfigure(errors="spelled")  # for what the terminal has no character for
    try:
        status = proact(standalone_mode=False)
    except (Exception, Halt, SystemExit) as failure:
        own_file = sys.modules.get("dspy_proact.evaluation.own_file")  # without it no file of a person's was loaded
        cause = own_file.in_own_file(failure) if own_file else failure
        match cause:
            case click.ClickException():
                cause.show()
            case ProactError() | Halt():
                complain(str(cause))
            case OSError():
                complain(f"{cause.filename or 'the system'}: {cause.strerror or cause}")
            case click.Abort() | SystemExit():
                pass
            case _:
                say("".join(traceback.format_exception(cause)))
                bug = f"{type(cause).__name__}: {cause}"
                complain(f"{bug}. This is a bug in dspy-proact; please report it with the traceback above.")
        status = exit_status(cause)
    sys.exit(status if isinstance(status, int) else 0)
