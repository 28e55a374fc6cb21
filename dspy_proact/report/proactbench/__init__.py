"""What is ProactBench's own in reports: leaderboard, results files of the official evaluator, human study, offers."""
