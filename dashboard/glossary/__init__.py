"""The words a newcomer meets: each with one sentence and a small picture, shown where the word stands."""

from dashboard.glossary.popover import explained, term, the_words
from dashboard.glossary.terms import TERMS, Term

__all__ = ["TERMS", "Term", "explained", "term", "the_words"]
