"""How corpora of PROBE are made: worlds of people, tasks in them, and the proof that the tasks measure something."""
