"""Compiling: programs tuned on whole units, tested on others, with a card that says what it bought."""
