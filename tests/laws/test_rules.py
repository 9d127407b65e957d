"""Every code of a finding has a title, a remedy and an existing term of the glossary."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from calib_core.readers import RULES, Finding
from calib_core.readers.checks.examination import CHECKS
from dashboard.glossary import TERMS
from tests.laws.test_words import code_in
from tests.support.source_trees import nodes_of, tree_of

ROOT = Path(__file__).parents[2]
COMPOSED = {
    "percent",
    "comma",
    "never-true",
    "never-predicted",
    "probabilities",
    "logits",
    "log-probabilities",
    "percentages",
    "no-header",
    "row-names",
    "stated-rows",
}
"""Codes that the source composes, or that the doubts of a table name."""


def codes() -> set[str]:
    """Return the codes of all findings in the source."""
    made = set()
    for path in (*ROOT.glob("calib_core/readers/**/*.py"), *ROOT.glob("dashboard/**/*.py")):
        for node in nodes_of(tree_of(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding":
                code = node.args[1] if len(node.args) > 1 else None
                if isinstance(code, ast.Constant):
                    made.add(str(code.value))
    return made


def test_every_code_has_a_rule_and_every_rule_a_code() -> None:
    assert codes() | COMPOSED == RULES.keys()


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_rule_is_two_plain_texts_and_a_term(rule) -> None:
    assert Finding("note", rule.code, "seen").rule is rule
    assert rule.term in TERMS
    assert rule.title[0].isupper()
    assert not rule.title.endswith(".")
    assert rule.remedy.endswith(".")
    assert len(rule.title.split()) <= 8
    assert not code_in(rule.title)
    assert not code_in(rule.remedy)


def test_no_two_rules_or_checks_are_called_alike() -> None:
    assert len({rule.title for rule in RULES.values()}) == len(RULES)
    assert len({check.title for check in CHECKS}) == len(CHECKS)


def test_a_code_of_somebody_else_has_a_title_too() -> None:
    assert Finding("note", "upside-down", "seen").rule.title == "Upside down"
