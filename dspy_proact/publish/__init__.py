"""A made corpus as others get it: its files with card, datasheet and metadata, and a part that is held back."""
