"""Frozen values that every room shares."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A value that cannot change, and refuses fields it does not know and numbers that are not finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Quote(Frozen):
    """One quote of a judge, and where it stands in the response."""

    text: str
    start: int | None = None
    """Index of its first character in the response; None when it was not found."""
    end: int | None = None
    """Index after its last character; None when it was not found."""
    short: bool = False
    """Whether it was found and has too few words to be evidence, by `Passage.is_evidence`."""

    @property
    def counts(self) -> bool:
        """Whether it is evidence: it stands in the response, and is not too short."""
        return self.start is not None and not self.short
