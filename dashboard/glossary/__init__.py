"""Glossary for newcomers: each term with one sentence and a small picture; ``popover`` shows them next to the term."""

from dashboard.glossary.terms import TERMS, Term, named_in

__all__ = ["TERMS", "Term", "named_in"]
