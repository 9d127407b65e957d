"""Findings: what is worth knowing about a table, by the rules that name them, and what to change if it is not meant.

A finding is one violation of a rule, as linters say: the code stays, the message has the evidence of this file.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from calib_core._base.notebook_display import Shown
from calib_core.registry.registry import RegistryError
from calib_core.text import begun


@dataclass(frozen=True)
class Rule:
    """What findings of one code have in common.

    Parameters
    ----------
    code : its stable name, such as "row-sums".
    title : what it is called, a few words.
    remedy : what to do, one sentence.
    term : the key of the glossary's term that explains it.
    """

    code: str
    title: str
    remedy: str
    term: str


RULES: dict[str, Rule] = {}
"""Every rule by its code."""


def rule(code: str, title: str, remedy: str, term: str = "prediction-file") -> str:
    """Add a rule; returns its code, which findings bear.

    >>> rule("upside-down", "Upside down", "Turn the file round."), RULES.pop("upside-down").title
    ('upside-down', 'Upside down')
    """
    if code in RULES:
        raise RegistryError(f"there is a rule {code!r} already")
    RULES[code] = Rule(code, title, remedy, term)
    return code


for _code, _title, _remedy, _term in (
    # The file as a whole
    ("unreadable", "Cannot be read so", "Choose the columns that hold scores and labels.", "prediction-file"),
    ("reader", "What the reader did", "Nothing, where it is meant so.", "prediction-file"),
    ("foreign", "A file that another tool wrote", "Nothing, where the values taken are the ones that are meant.",
     "prediction-file"),
    ("summary", "A summary", "Open the rows themselves for what needs them.", "bins"),
    ("kept-rows", "Rows that a summary keeps", "Go back to the counts for what is about all rows.", "bins"),
    ("names", "Names that look alike", "Rename columns or classes so that people can tell them apart.",
     "prediction-file"),
    ("models", "Several models in one file", "Name the column of models, and the columns that tell questions apart.",
     "prediction-file"),
    ("joined", "Labels of another file", "Nothing, where this is the key that is meant.", "prediction-file"),
    ("shared-labels", "Predictions that share a label", "Name the column of models or of questions, or mend the keys.",
     "prediction-file"),
    ("joined-by-place", "Rows joined by their places", "Give a key that both files have, if there is one.",
     "prediction-file"),
    ("unlabelled", "Predictions without a label", "Complete the labels, or leave these rows out of the predictions.",
     "prediction-file"),
    ("unpredicted", "Labels without a prediction", "Nothing, where nobody asked for these predictions.",
     "prediction-file"),
    ("group", "Rows that belong together", "Name the column that says which rows are of one person or question.",
     "row-group"),
    ("weights", "A column of weights that is not used", "Choose it if it says how much each row counts.",
     "row-weight"),
    ("people-marks", "Rows that people marked", "Correct what the judge says by what people say.", "prediction-file"),
    # Scores
    ("missing", "Missing values", "Complete them where the file is made, or leave these rows out.",
     "prediction-file"),
    ("percent", "Percent signs", "Nothing, where the signs mean hundredths.", "prediction-file"),
    ("comma", "Decimal commas", "Write a decimal point if commas stand for thousands.", "prediction-file"),
    ("kind", "What the scores are", "Choose probabilities, logits or percentages if this is not it.", "logits"),
    ("called", "Called otherwise than read", "Choose what the scores are: their name and their values disagree.",
     "logits"),
    ("logits", "Scores that look like logits", "Read them as logits; softmax makes probabilities of them.", "logits"),
    ("log-probabilities", "Scores that look like logarithms", "Read them as log probabilities.", "logits"),
    ("percentages", "Scores that look like percentages", "Read them as percentages.", "prediction-file"),
    ("probabilities", "Scores that look like probabilities", "Read them as probabilities.", "logits"),
    ("range", "Scores outside their range", "Choose what the scores are, or mend the file.", "logits"),
    ("words", "Confidence in words", "Say what each word stands for if this is not it.", "confidence"),
    ("binary", "One column of scores", "Turn it round if it is the probability of the other class.",
     "prediction-file"),
    ("row-sums", "Rows that do not sum to 1", "Export all classes' probabilities, or choose what the scores are.",
     "prediction-file"),
    ("rescaled", "Rows rescaled to sum to 1", "Export unrounded values.", "prediction-file"),
    ("constant", "The same scores in every row", "Check that the export has each row's own scores.",
     "prediction-file"),
    ("duplicates", "Rows that repeat", "Check that no row was exported twice.", "prediction-file"),
    ("ties", "Two largest scores", "Export unrounded values.", "top-label"),
    ("zeros", "What came true had probability 0", "Export logits, or probabilities that were not rounded to 0.",
     "log-loss"),
    # Labels and classes
    ("labels", "Labels that may be coded otherwise", "Choose how labels name classes.", "class-order"),
    ("time-to-event", "Events that were waited for", "Choose a time, and keep the rows whose outcome is known then.",
     "prediction-file"),
    ("outcome", "An outcome found by its values", "Choose the label column if this is not the outcome.",
     "prediction-file"),
    ("variants", "Classes that differ in capitals or spaces", "Write each class in one way.", "class-order"),
    ("one-class", "One class", "Give the probabilities of at least two classes.", "prediction-file"),
    ("class-order", "Classes that may stand in another order", "Choose the order of the score columns.",
     "class-order"),
    ("assumed-order", "An order that was assumed", "Name the score columns after their classes.", "class-order"),
    ("classes-beside", "Columns beside those of classes", "Choose the columns of scores if these are not all of them.",
     "class-order"),
    ("unused-names", "Class names that are not used", "Give one name for every score column.", "class-order"),
    ("perfect", "Every row is right", "Check that the model did not see the labels.", "prediction-file"),
    ("never-right", "No row is right", "Check that predicted classes and labels are coded alike.", "class-order"),
    ("chance", "No better than chance", "Check that labels and scores are of the same rows.", "class-order"),
    ("leak", "A label among the scores", "Leave the column of labels out of the scores.", "prediction-file"),
    ("never-true", "Classes that never come true", "Nothing, where they are rare; else check the labels' names.",
     "class-wise"),
    ("never-predicted", "Classes that are never predicted", "Nothing, where they are rare.", "top-label"),
    # Of calibration rows beside test rows
    ("groups", "A group on both sides", "Divide the rows by their groups.", "row-group"),
    ("same-file", "The same file twice", "Choose other test rows, or divide this file.", "calibrator"),
    ("shared", "Rows in both files", "Take the shared rows out of the calibration file.", "calibrator"),
):  # fmt: skip
    rule(_code, _title, _remedy, _term)


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
