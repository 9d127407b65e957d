"""Views: each chooses, asks compute, and shows; render() draws it."""
