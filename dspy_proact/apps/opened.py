"""An application as a person names it: `FILE.py:NAME`, or the address of a service."""

import ast
from pathlib import Path

from dspy_proact.apps.app import App
from dspy_proact.apps.child import FileApp
from dspy_proact.apps.service import ServiceApp
from dspy_proact.apps.template import Template
from dspy_proact.errors import UsageError
from dspy_proact.types import require_name


def opened_app(text: str, template: Path | None = None, name: str | None = None) -> App:
    """The application of this name; nothing is started. Raises a `UsageError` where there is none.

    Args:
        text: `FILE.py:NAME`, or the URL of a service.
        template: The file that says how a service is asked; None for OpenAI's chat completions.
        name: What runs call it, file and name or the URL where None. Another name makes another run: by it a version is
            told from another where neither the file nor the URL shows which one answers.
    """
    if name is not None:
        require_name(name)
    if text.startswith(("http://", "https://")):
        return ServiceApp(text, Template.read(template) if template else None, name)
    if template:
        raise UsageError(f"`app_template` {template}: has no effect with {text}; it is for the URL of a service")
    file, _, attribute = text.rpartition(":")
    if not file.endswith(".py"):
        if not text.endswith(".py"):
            raise UsageError(f"`app` {text}: is neither FILE.py:NAME nor the URL of a service")
        names = ", ".join(f"{text}:{name}" for name in _names(Path(text)))
        raise UsageError(f"`app` {text}: name what in it is to be asked{f', such as {names}' if names else ''}")
    _names(Path(file))
    if not all(part.isidentifier() for part in attribute.split(".")):
        raise UsageError(f"`app` {text}: {attribute!r} is no name in Python")
    return FileApp(Path(file), attribute, name)


def _names(path: Path) -> list[str]:
    """Functions at the top of a file; raises a `UsageError` where it cannot be read or is not Python."""
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except FileNotFoundError:
        raise UsageError(f"`app` {path}: there is no such file") from None
    except OSError as error:
        raise UsageError(f"`app` {path}: cannot be read: {error.strerror}") from error
    except (SyntaxError, ValueError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise UsageError(f"`app` {path}{line}: {getattr(error, 'msg', None) or error}") from error
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [name for name in functions if not name.startswith("_")]
