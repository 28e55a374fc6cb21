"""`dspy-proact try` where a model fails, a limit is reached or somebody stops it: what came is shown."""

import io
import json
import signal

import pytest
from child import Child, command_line
from server import Answer, error, healthy
from trying import QUOTE, against, is_prompted

from dspy_proact.benchmarks.proactbench.cases import conversation_case
from dspy_proact.benchmarks.proactbench.programs import assistant
from dspy_proact.benchmarks.proactbench.trial import Pair, Side
from dspy_proact.benchmarks.proactbench.types import Response, Turn
from dspy_proact.cli.views.trial import SideBySide


def test_a_response_that_fails_is_shown_in_its_place_and_the_rest_goes_on(proact, server):
    server.script_roles(assistant=lambda sent: Answer("") if is_prompted(sent) else healthy(sent))
    status, out, err = proact(*against(server))
    assert (status, len(server.of("judge"))) == (3, 3)
    assert out.count("no response: empty: ") == 3
    assert out.count(QUOTE) == 3
    assert "Next:" in err


def test_a_provider_that_fails_one_response_is_told_with_its_reason(proact, server):
    server.script_roles(assistant=lambda sent: healthy(sent) if is_prompted(sent) else error(500, "overloaded"))
    status, out, _ = proact(*against(server, "--json", "--trigger", "d0__t5"))
    (pair,) = json.loads(out)
    assert status == 3
    assert pair["with"]["error"] is None
    assert pair["without"]["error"].startswith("server: ")
    assert "overloaded" in pair["without"]["error"]
    assert (pair["without"]["response"], pair["without"]["truncated"], pair["without"]["grade"]) == (None, None, None)


@pytest.mark.parametrize(("answer", "word"), [(Answer("no JSON"), "unreadable"), (error(503), "server")])
def test_a_verdict_that_fails_leaves_its_response(proact, server, answer, word):
    server.script_roles(judge=lambda sent: answer)
    status, out, _ = proact(*against(server, "--trigger", "d0__t5"))
    assert status == 3
    assert out.count(QUOTE) == 2
    assert out.count(f"no verdict: {word}: ") == 2


@pytest.mark.parametrize("most", [1, 2, 3, 7, 11])
def test_no_more_calls_are_made_than_the_limit_allows_and_what_came_is_shown(proact, server, most):
    status, out, err = proact(*against(server, "--max-calls", most, "--json"))
    assert (status, len(server.sent)) == (4, most)
    assert f"--max-calls {most} is reached" in err
    sides = [pair[side] for pair in json.loads(out) for side in ("with", "without")]
    assert sum((side["response"] is not None) + (side["grade"] is not None) for side in sides) == most
    assert {side["error"] for side in sides if side["grade"] is None} == {"stopped"}


def test_a_limit_that_is_just_enough_stops_nothing(proact, server):
    assert proact(*against(server, "--max-calls", 12))[0] == 0


def test_limits_of_tokens_and_money_are_kept(proact, server):
    assert proact(*against(server, "--max-tokens", 10))[0] == 4
    status, _, err = proact(*against(server, "--max-usd", "1"))
    assert (status, server.sent) == (2, [])
    assert "--model-price" in err


@pytest.mark.parametrize(("role", "flag"), [("assistant", "--model"), ("judge", "--judge")])
def test_a_fault_of_the_setup_ends_with_status_two_and_shows_what_is_there(proact, server, role, flag):
    server.script = lambda sent: error(404, "model not found") if sent.role == role else healthy(sent)
    status, out, err = proact(*against(server))
    assert status == 2
    assert f"{flag} " in err
    assert "no such model" in err
    assert (QUOTE in out) is (role == "judge")
    assert ("no verdict: stopped" in out) is (role == "judge")


def test_a_provider_that_is_down_ends_with_status_five(proact, server):
    server.script = lambda sent: error(503)
    keys = [f"d{dialogue}__t{turn}" for dialogue in range(4) for turn in (2, 3, 5)]
    status, out, err = proact(*against(server, *(part for key in keys for part in ("--trigger", key))))
    assert status == 5
    assert "down" in err
    assert "no response: server" in out


def test_an_interrupt_ends_at_once_and_shows_what_is_there(tmp_path, server, monkeypatch):
    monkeypatch.chdir(tmp_path)
    processes, judged = [], []

    def script(sent):
        answer = healthy(sent)
        if sent.role == "judge":
            if not judged:
                processes[0].send_signal(signal.SIGINT)
            judged.append(sent)
            answer.delay = 60
        return answer

    server.script = script
    processes.append(Child(command_line, *against(server, "--trigger", "d0__t5")))
    done = processes[0].ended()
    assert done.returncode == 130
    assert "Traceback" not in done.stderr
    assert "Stopped: interrupted" in done.stderr
    assert QUOTE in done.stdout
    assert "no verdict: stopped" in done.stdout


def test_what_nobody_expected_takes_the_place_of_one_response(proact, server, monkeypatch):
    async def broken(self, view, asking=None):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(assistant.Assistant, "respond", broken)
    status, out, _ = proact(*against(server, "--trigger", "d0__t5"))
    assert status == 3
    assert out.count("no response: unexpected: ZeroDivisionError: by zero") == 2


def test_a_response_without_a_verdict_is_shown_as_it_is():
    from rich.console import Console

    side = Side(Response(text="Rest.\n  Then go."), None, None, ())
    console = Console(file=io.StringIO(), width=120, force_terminal=True, color_system="standard")
    SideBySide(console, "the prompt").show(Pair(conversation_case([Turn(user="Hm?", assistant=None)]), side, side))
    assert "Then go." in console.file.getvalue()


@pytest.mark.parametrize("flag", ["--model", "--judge"])
def test_several_models_where_one_is_asked_are_refused(proact, server, flag):
    status, out, err = proact(*against(server), flag, "openai/one", flag, "openai/two")
    assert (status, out, len(server.sent)) == (2, "", 0)
    assert f"{flag}: takes one model here, and " in err
