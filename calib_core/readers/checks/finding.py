"""Finding: one thing worth knowing about a table, and what to change if it is not meant."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from calib_core._base.notebook_display import Shown
from calib_core.readers.checks.rules import RULES, Rule
from calib_core.text import begun

Severity = Literal["note", "warning", "problem"]
ALWAYS = frozenset({"reader", "joined"})
"""Codes of findings that are handed over though they leave nothing open: rows left out, labels of another file."""
_ANSWERED = {"outcome": "label"}
"""Of codes of warnings the field of the reading that answers them, whichever value it has."""


@dataclass(frozen=True)
class Finding(Shown):
    """Something found in a table before anything is computed.

    Parameters
    ----------
    severity : "problem" cannot be read as proposed; "warning" can, and is probably not meant; "note" is good to know.
    code : a stable name of what was found, such as "percentages"; ``rule`` has its title, remedy and glossary term.
    message : one or two sentences with the evidence.
    change : fields of the Reading to replace, if one change would settle it.
    change_label : what that change says on a button.
    """

    severity: Severity
    code: str
    message: str
    change: Mapping[str, Any] | None = None
    change_label: str | None = None

    def open_to(self, chosen: Collection[str] = ()) -> bool:
        """Does it ask for an answer: a warning, or a note on what was assumed, whose fields nobody has ``chosen``?

        >>> note = Finding("note", "weights", "is not used", {"weights": "w"}, "Use it")
        >>> note.open_to(), note.open_to({"weights"})
        (True, False)
        >>> Finding("warning", "outcome", "is read as the outcome").open_to({"label"})
        False
        """
        if _ANSWERED.get(self.code) in chosen:
            return False
        return self.severity != "note" or (self.change is not None and not set(self.change) <= set(chosen))

    def worth_saying(self, chosen: Collection[str] = ()) -> bool:
        """Is it handed over with predictions, and shown by every command: what is open, and what rows were left out?

        >>> Finding("note", "reader", "2 rows are left out.").worth_saying()
        True
        """
        return self.open_to(chosen) or self.code in ALWAYS

    @property
    def rule(self) -> Rule:
        """What findings of this code are called and what to do about them.

        >>> Finding("note", "weights", "is not used").rule.title
        'A column of weights that is not used'
        """
        return RULES.get(self.code, Rule(self.code, begun(self.code.replace("-", " ")), "", "prediction-file"))

    def _facts(self) -> dict[str, object]:
        rule = self.rule
        return {
            self.severity: f"{rule.title} ({self.code})",
            "seen": begun(self.message),
            "to do": rule.remedy,
            "one change": self.change_label,
            "glossary": rule.term,
        }
