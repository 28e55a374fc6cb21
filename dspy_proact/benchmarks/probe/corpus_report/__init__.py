"""A made corpus of PROBE in words: what was shown of it, its page, and its datasheet."""
