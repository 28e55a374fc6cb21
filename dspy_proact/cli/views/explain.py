"""What a report leaves out until it is asked for."""

from rich.console import Console

from dspy_proact.report import show


def print_more(command: str = "", besides: str = "") -> None:
    """Say how to read what the numbers rest on.

    Args:
        command: That prints it, where it is another one than this, with a blank at its end.
        besides: What else it prints.
    """
    show(Console(soft_wrap=False), f"Details{besides}: {command}--explain")
