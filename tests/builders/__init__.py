"""Corpora, runs, studies and artefacts that tests build."""
