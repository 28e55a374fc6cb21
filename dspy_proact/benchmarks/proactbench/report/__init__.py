"""What is ProactBench's own in reports: results files of the official evaluator, human study, offers."""
