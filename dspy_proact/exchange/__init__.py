"""Runs in the forms of other tools, and back."""
