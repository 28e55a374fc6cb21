"""What is PROBE's own in reports: tasks as they are read, failure modes, published scores."""
