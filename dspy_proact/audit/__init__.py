"""What can be trusted in a corpus: checks of its items, and of what runs show of them."""
