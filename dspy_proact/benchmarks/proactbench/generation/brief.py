"""What a person writes down before a corpus is made: the sections of `brief.toml`, one class each."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from dspy_proact.types import Frozen

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Styles = Literal["csi", "none"] | Annotated[list[Annotated[int, Field(ge=1, le=24)]], Field(min_length=1)]


class ProductSection(Frozen, strict=True):
    """What the assistant is for."""

    name: Text
    text: Text
    """What an assistant of it may know, such as a help page or a price list. Untrusted: roles see it quoted."""
    rules: list[Text] = Field(default_factory=list[Text])
    """What its assistant must keep to, a sentence each."""


class UsersSection(Frozen, strict=True):
    """Who comes."""

    who: Text
    """The people who write to the assistant, and what for."""
    personas: Text | Annotated[list[Text], Field(min_length=1)] = "bundled"
    """`bundled` for the invented ones, a corpus or a file that `personas` reads, or the personas themselves."""


class PlantSection(Frozen, strict=True):
    """What users may disclose in passing."""

    may: Annotated[list[Text], Field(min_length=1)]
    """Kinds of fact from which something follows for the product."""
    domains: Annotated[list[Text], Field(min_length=1)]
    """Parts of life that the facts come from; dialogues take turns through them."""


class NeverSection(Frozen, strict=True):
    """What no assistant of the product may do, and no rubric may ask for."""

    offers: list[Text] = Field(default_factory=list[Text])


class DialogueSection(Frozen, strict=True):
    """What the dialogues are like."""

    language: Text = "English"
    styles: Styles = "csi"
    """`csi` for the 24 of the Communication Styles Inventory, numbers of some of them, or `none`."""
    turns: Annotated[int, Field(ge=8, le=10)] = 9
    """Of a dialogue, at most."""


class CorpusBrief(Frozen, strict=True):
    """A brief: what a corpus is made from."""

    product: ProductSection
    users: UsersSection
    plant: PlantSection
    never: NeverSection = NeverSection()
    dialogue: DialogueSection = DialogueSection()
