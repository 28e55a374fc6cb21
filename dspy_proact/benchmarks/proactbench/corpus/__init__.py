"""The field's files: dialogues in, results in and out, studies of ratings, the bundled sample, and what was published.

Everything is validated as a whole before the first call, and raw rows stop here: what leaves is a `Corpus` of dialogues
that have no place for what a program must not see, `Results` for reports, and `Ratings`, what people thought of
responses.
"""
