"""Rows of one's own: inputs, responses and people's labels on any scale, in a table with any columns."""
