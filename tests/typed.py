"""What a person types: arguments of the command line."""

_REPEATED = {"--judge", "--model", "--set", "--stratum", "--phase", "--guard", "--by", "--trigger"}
"""Options that several values may be given of, among those that tests put together."""


def last(*arguments: object) -> list[object]:
    """The arguments without any value that a later one of the same option takes the place of."""
    kept: dict[str, list[object]] = {}
    words, at = list(arguments), 0
    while at < len(words):
        flag = str(words[at])
        valued = flag.startswith("--") and at + 1 < len(words) and not str(words[at + 1]).startswith("--")
        parts = words[at : at + 1 + valued]
        at += len(parts)
        once = flag.startswith("--") and flag not in _REPEATED and not flag.endswith("-param")
        kept[flag if once else f"{flag} {at}"] = parts
    return [part for parts in kept.values() for part in parts]
