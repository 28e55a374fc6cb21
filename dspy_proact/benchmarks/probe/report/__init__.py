"""What is PROBE's own in reports: tasks as they are read, failure modes, the leaderboard, agreement of judges."""
