"""What is doubtful about a table."""
