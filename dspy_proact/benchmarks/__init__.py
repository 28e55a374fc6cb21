"""Benchmarks: the driver that does any of them; each has a room of its own."""
