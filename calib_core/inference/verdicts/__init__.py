"""An estimate against a tolerance, in words and in tables."""
