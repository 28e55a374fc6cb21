"""Benchmarks: the declaration, what runs any of them, and one folder for each."""
