"""How a program asks a model: one body, which `forward` runs with `ask_now`, and `aforward` awaits with `ask`."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import lru_cache
from typing import Any, TypeVar, cast

import dspy

from dspy_proact.errors import ContentError
from dspy_proact.images import Upload, prepared, prepared_now
from dspy_proact.kept import open_stage
from dspy_proact.programs.answer import Answer, mark_cut, ours

T = TypeVar("T")
_REPAIRED = ("empty", "filtered", "tool_call", "unreadable")
"""Reasons for which an answer is asked for once more; what was refused, too long or cut would be so again."""
SYSTEM = "system"
"""Name of an input that an adapter may read though no signature declares it: the system text of one case alone.

Few cases have one. A declared field would change the signature, its hash and every request without one.
"""


Asking = Callable[..., Awaitable[Answer]]
"""A way to ask a predictor one question, with the parameters of `ask`; it raises errors of `errors`."""


async def ask(predictor: dspy.Predict, adapter: dspy.Adapter, **inputs: Any) -> Answer:
    """Ask and await the answer."""
    with ours() as calls, dspy.context(adapter=adapter):
        return mark_cut(await predictor.acall(**declaring(predictor, inputs)), calls)


async def ask_now(predictor: dspy.Predict, adapter: dspy.Adapter, **inputs: Any) -> Answer:
    """Ask and block until the answer is there."""
    with ours() as calls, dspy.context(adapter=adapter):
        return mark_cut(predictor(**declaring(predictor, inputs)), calls)


def declaring(predictor: dspy.Predict, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs as DSPy takes them: it warns of one that the signature of the call does not declare."""
    signature = cast("Any", predictor.signature)
    if SYSTEM not in inputs or SYSTEM in signature.input_fields:
        return {**inputs}
    return {**inputs, "signature": _with_system(signature)}


@lru_cache(maxsize=64)  # adapters remember what they make of a signature
def _with_system(signature: Any) -> type[dspy.Signature]:
    made: type[dspy.Signature] = signature.append(SYSTEM, dspy.InputField(), str)
    made.__doc__ = signature.__doc__  # DSPy has changed its blanks
    return made


async def ask_for_fields(
    asking: Asking, predictor: dspy.Predict, wording: Callable[[str], dspy.Adapter], **inputs: Any
) -> dspy.Prediction:
    """The fields of an answer; an unreadable one is asked for once more, under the adapter of `wording` and a note."""
    try:
        return (await asking(predictor, wording(""), **inputs)).prediction
    except ContentError as error:
        if error.reason not in _REPAIRED:
            raise
        note = f"Your answer before this one could not be used ({error.reason}). Answer with one JSON object only."
    return (await asking(predictor, wording(note), **inputs)).prediction


async def uploaded(asking: Asking, load: Callable[[], bytes], name: str, source: str, **more: Any) -> Upload:
    """An image as it is sent, made beside the loop where there is one; parameters and errors are of `prepared`.

    A program makes its images when it asks: what it is given, which a compile keeps, holds none.
    """
    upload = (
        prepared_now(load, name, source, **more) if asking is ask_now else await prepared(load, name, source, **more)
    )
    if stage := open_stage():
        stage.images[upload.sha256] = name
    return upload


def run_now(body: Coroutine[Any, Any, T]) -> T:
    """The result of a body that asks with `ask_now`."""
    try:
        body.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("a synchronous program waited for something")


class _AtOnce(asyncio.SelectorEventLoop):
    """Does work for other threads in its own, at once."""

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:  # noqa: ARG002
        done = self.create_future()
        try:
            done.set_result(func(*args))
        except BaseException as error:
            done.set_exception(error)
        return done


def run_here(body: Coroutine[Any, Any, T]) -> T:
    """The result of a body that may await anything, in an event loop of this thread, as a compile needs it.

    What it awaits of models and threads is done in this thread, in the order in which it is awaited, so that traces of
    DSPy's stand in the same order each time.
    """

    def run() -> T:
        with asyncio.Runner(loop_factory=_AtOnce) as runner:
            return runner.run(body)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run()
    with ThreadPoolExecutor(1) as pool:  # a notebook's loop runs in this one
        return pool.submit(copy_context().run, run).result()


def _called_with(module: dspy.Module) -> Mapping[str, inspect.Parameter]:
    """The parameters of what a module is called by; of a program of ours, with the way to ask."""
    called: Any = next(
        call for way in ("answer_by", "aforward", "forward") if (call := getattr(module, way, None)) is not None
    )
    return inspect.signature(called).parameters


def misfits(module: dspy.Module, names: Collection[str]) -> list[str]:
    """Inputs that a module needs and are not among these names, and names that it does not take; empty if unknown.

    A module of DSPy's passes all inputs on to its predictor, and needs what that declares.
    """
    parameters, names = _called_with(module), {*names, "asking"}
    own = [of for of in parameters.values() if of.kind not in (of.VAR_KEYWORD, of.VAR_POSITIONAL)]
    missing = [of.name for of in own if of.default is of.empty and of.name not in names]
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return missing + sorted(names - {"asking"} - {parameter.name for parameter in own})
    signatures = [cast("type[dspy.Signature]", predictor.signature) for predictor in module.predictors()]
    plain = type(module).__module__.startswith("dspy.") and len(signatures) == 1
    fields = signatures[0].input_fields if plain else {}
    return missing + [name for name in fields if name not in names]


def takes(module: dspy.Module, name: str) -> bool:
    """Whether a module takes an input of this name.

    It is a parameter of what it is called by, or goes with all others to predictors, one of which declares it.
    """
    parameters = _called_with(module)
    passes_on = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    signatures = [cast("type[dspy.Signature]", predictor.signature) for predictor in module.predictors()]
    return name in parameters or (passes_on and any(name in signature.input_fields for signature in signatures))


def image_inputs(program: dspy.Module) -> list[str]:
    """Names of the inputs of a program's predictors that are images, or hold some."""
    signatures = [cast("type[dspy.Signature]", predictor.signature) for predictor in program.predictors()]
    fields = {name: field for signature in signatures for name, field in signature.input_fields.items()}
    images = dspy.Image.extract_custom_type_from_annotation
    return [name for name, field in fields.items() if images(field.annotation)]


def rendered(predictor: dspy.Predict, adapter: dspy.Adapter, inputs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The messages that a predictor sends under an adapter; inputs that it does not take are left out."""
    signature = cast("type[dspy.Signature]", predictor.signature)
    taken = {name: inputs[name] for name in signature.input_fields}
    return adapter.format(signature, predictor.demos, taken | {name: inputs[name] for name in inputs if name == SYSTEM})
