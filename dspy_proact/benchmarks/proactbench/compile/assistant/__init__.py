"""The assistant, tuned to be proactive, and what that cost."""
