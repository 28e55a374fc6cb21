"""What the embedded model says as the proposer of a compile, and how stand-ins read their requests."""
