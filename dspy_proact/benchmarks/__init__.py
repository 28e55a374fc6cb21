"""One folder for each benchmark: its declaration and everything that is said of it."""
