"""What a classifier predicted and what was true, checked once."""
