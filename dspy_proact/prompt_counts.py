"""Prompts beside the tokens that servers counted for them: which cannot have been read as they were sent."""

from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dspy_proact.calls import Call


class PromptCounts:
    """Whether the tokens that a server counted can be those of the prompts that it was sent.

    No text that people write has 12 characters a token: a server that counts fewer tokens has cut the prompt. Some
    servers do not count tokens that are in their cache, but count the first prompt of a kind in full: where a prompt as
    long was counted in full, nothing is wrong. Prompts of several lengths have the same count, the highest of all, only
    where a context ends. An image is at least 50 tokens in any model.

    Attributes:
        counted: Prompts that there is a count for.
        cut: Those of them whose count cannot be theirs.
        longest: Of these the one with the most characters: its characters, and the tokens counted.
        most: The most tokens counted, how many prompts have so many, and the fewest and the most characters of these.
    """

    _MOST_A_TOKEN, _OF_PROSE, _AN_IMAGE = 12, 4, 32
    _LEAST = 16
    """Tokens: no context is as short, and fewer are counted of a prompt that is in the cache as a whole."""

    def __init__(self) -> None:
        self.counted = self.cut = self._seen = self._unseen = 0
        self.longest = (0, 0)
        self.most = (0, 0, 0, 0)
        self._shortest_cut, self._longest_in_full = inf, 0

    def add(self, call: "Call") -> None:
        """Count one more."""
        if call.prompt_tokens is None or call.characters is None:
            return
        # A server may count the cached ones beside the others.
        tokens = call.prompt_tokens + (call.cached_tokens or 0)
        if tokens < self._LEAST:
            return
        self.counted += 1
        most, alike, low, high = self.most
        if tokens == most:
            self.most = most, alike + 1, min(low, call.characters), max(high, call.characters)
        elif tokens > most:
            self.most = tokens, 1, call.characters, call.characters
        if tokens * self._MOST_A_TOKEN < call.characters:
            self.cut += 1
            self.longest = max(self.longest, (call.characters, tokens))
            self._shortest_cut = min(self._shortest_cut, call.characters)
            return
        self._longest_in_full = max(self._longest_in_full, call.characters)
        if call.images:
            holds = tokens >= call.characters / self._OF_PROSE + call.images * self._AN_IMAGE
            self._seen, self._unseen = self._seen + holds, self._unseen + (not holds)

    @property
    def are_cut(self) -> bool:
        """Whether some are cut: their count cannot be theirs, and no prompt as long was counted in full."""
        return self._shortest_cut > self._longest_in_full and self.cut > 0

    @property
    def end_alike(self) -> bool:
        """Whether three prompts or more, the longest half as long again as the shortest, have the same count."""
        _, alike, low, high = self.most
        return alike > 2 and high >= 1.5 * low

    @property
    def lack_images(self) -> bool:
        """Whether there are prompts with images, and no count of one of them can hold its images."""
        return self._unseen > 0 and not self._seen
