"""The making of dialogues with triggers, and the proof that they measure something."""
