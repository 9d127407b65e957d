"""Glossary for newcomers: each term with one sentence and a small picture, shown next to the term."""

from dashboard.glossary.popover import explained, term, the_words
from dashboard.glossary.terms import TERMS, Term, named_in

__all__ = ["TERMS", "Term", "explained", "named_in", "term", "the_words"]
