"""A corpus of conversations that took place: what users mentioned and never asked about, and what became of it."""
