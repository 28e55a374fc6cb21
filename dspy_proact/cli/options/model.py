"""How a person names the model of a role: four options, declared here for every role."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from dspy_proact.cli.options.kinds import Parameter, PerMillion
from dspy_proact.cli.options.verb import Bundle, Heading, Section
from dspy_proact.errors import UsageError

if TYPE_CHECKING:
    from dspy_proact.calls import Price
    from dspy_proact.models import ModelSpec


EMBEDDED = "embedded"
"""The stand-in, which is `dspy_proact.models.EMBEDDED` without its imports."""


def default_judge(embedded: bool) -> str:
    """Who grades where nobody is named: a stand-in the stand-in, the paper's judge a real model."""
    return EMBEDDED if embedded else "openai/gpt-5.4"


@dataclass(frozen=True)
class NamedModel:
    """What a person said of the model of a role; of several, if several are named."""

    flag: str
    name: tuple[str, ...] = ()
    """Those that were named."""
    api_base: str | None = None
    param: tuple[tuple[str, Any], ...] = ()
    price: "Price | None" = None

    def specs(self, default: str) -> "tuple[ModelSpec, ...]":
        """Each model that is named, or the default, with what is said of all of them."""
        from dspy_proact.models import ModelSpec

        return tuple(
            ModelSpec(name=name, api_base=self.api_base, params=dict(self.param), price=self.price)
            for name in self.name or (default,)
        )

    def spec(self, default: "ModelSpec | str") -> "ModelSpec":
        """The one that is named; else the default, with what is said here in place of its own.

        Raises:
            UsageError: Several are named; or an endpoint is given and not the model that is there, and the default is
                another role's model.
        """
        from dspy_proact.models import ModelSpec

        if len(self.name) > 1:
            raise UsageError(f"{self.flag}: one model is asked here; {len(self.name)} are named")
        named = ModelSpec.of(default)
        if not self.name and self.api_base and isinstance(default, ModelSpec):
            raise UsageError(f"{self.flag}-api-base: name the model that is there with {self.flag}")
        (spec,) = self.specs(named.name)
        return spec if self.name else spec.beside(named)


def model_options(flag: str, whose: str, heading: Heading = Heading.MODELS) -> Bundle:
    """The options of a role, which come as one `NamedModel`.

    Args:
        flag: Names the model, such as `--judge`; the others begin with it.
        whose: What the model is for, and which it is where none is named: the help of the flag.
        heading: Under which they stand.
    """
    name = flag.removeprefix("--").replace("-", "_")
    options = (
        click.Option([flag, f"{name}_name"], multiple=True, metavar="NAME", help=whose),
        click.Option([f"{flag}-api-base"], metavar="URL", help="Its endpoint, such as http://localhost:8000/v1."),
        click.Option(
            [f"{flag}-param"],
            type=Parameter(),
            multiple=True,
            help="Overrides its preset; repeatable. NAME=none leaves one out, response_format=none the JSON schema.",
        ),
        click.Option(
            [f"{flag}-price"], type=PerMillion(), help="US dollars per million tokens, where litellm knows none."
        ),
    )
    return Bundle(name, (Section(heading, options),), partial(NamedModel, flag), prefix=f"{name}_")
