"""Sources of the repository as syntax trees, parsed and walked once for all tests that read them."""

from __future__ import annotations

import ast
from functools import cache

tree_of = cache(ast.parse)
"""Return the syntax tree of a source text."""


@cache
def nodes_of(tree: ast.AST) -> tuple[ast.AST, ...]:
    """Return all nodes of a tree, outer ones first."""
    return tuple(ast.walk(tree))
