"""Findings about a table, the rules they belong to, and changes that would resolve them.

A finding is one violation of a rule, as in linters: the code is stable, and the message has the evidence of the file.
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
    """Common properties of all findings with one code.

    Parameters
    ----------
    code : stable identifier, such as "row-sums".
    title : a short name.
    remedy : what to do, one sentence.
    term : key of the glossary term that explains it.
    """

    code: str
    title: str
    remedy: str
    term: str


RULES: dict[str, Rule] = {}
"""All rules by code."""


def rule(code: str, title: str, remedy: str, term: str = "prediction-file") -> str:
    """Register a rule and return its code.

    >>> rule("upside-down", "Upside down", "Turn the file round."), RULES.pop("upside-down").title
    ('upside-down', 'Upside down')
    """
    if code in RULES:
        raise RegistryError(f"rule {code!r} is already registered")
    RULES[code] = Rule(code, title, remedy, term)
    return code


for _code, _title, _remedy, _term in (
    # The file as a whole
    ("unreadable", "Cannot be read this way", "Choose the columns of scores and labels.", "prediction-file"),
    ("reader", "Steps of the reader", "Nothing to do if this is intended.", "prediction-file"),
    ("no-header", "No header line", "Add a header line with a name for every column.", "prediction-file"),
    ("row-names", "One name too few in the header", "Complete the header line.", "prediction-file"),
    ("stated-rows", "Another number of rows than stated", "Export the file again.", "prediction-file"),
    ("foreign", "Output of another tool", "Nothing to do if these are the right values.", "prediction-file"),
    ("summary", "A summary", "Open the original rows for analyses that need rows.", "bins"),
    ("kept-rows", "Sampled rows of a summary", "Use the counts for results about all rows.", "bins"),
    ("names", "Names that look alike", "Rename columns or classes so that their names are clearly different.",
     "prediction-file"),
    ("models", "Several models in one file", "Choose the column of models and the columns that identify questions.",
     "prediction-file"),
    ("joined", "Labels from another file", "Nothing to do if this is the right key.", "prediction-file"),
    ("shared-labels", "Predictions that share a label",
     "Choose the column of models or of questions, or correct the keys.", "prediction-file"),
    ("joined-by-place", "Rows joined by row number", "Use a key that both files have, if there is one.",
     "prediction-file"),
    ("unlabelled", "Predictions without a label", "Complete the labels, or remove these rows from the predictions.",
     "prediction-file"),
    ("unpredicted", "Labels without a prediction", "Nothing to do if these predictions were not requested.",
     "prediction-file"),
    ("group", "Related rows", "Choose the column that identifies the person or question of each row.", "row-group"),
    ("weights", "Unused column of weights", "Choose it if it contains row weights.", "row-weight"),
    ("split", "Unused marks of training and test rows", "Choose the column as the split, or state that it is none.",
     "prediction-file"),
    ("id-twice", "An identifier used twice", "Remove rows that were exported twice, or group them.", "row-group"),
    ("copies", "Whole-number weights count as copies", "Choose whether they are numbers of copies or sampling weights.",
     "row-weight"),
    ("people-marks", "Rows marked by people", "Correct the judge's marks with the human marks.", "prediction-file"),
    # Scores
    ("missing", "Missing values", "Complete them at the source, or leave out these rows.", "prediction-file"),
    ("percent", "Percent signs", "Nothing to do if the signs mean hundredths.", "prediction-file"),
    ("comma", "Decimal commas", "Write decimal points if the commas separate thousands.", "prediction-file"),
    ("kind", "Score type", "Choose probabilities, logits or percentages if this is wrong.", "logits"),
    ("called", "Name and values disagree", "Choose the type of the scores.", "logits"),
    ("logits", "Scores that look like logits", "Read them as logits; the softmax converts them to probabilities.",
     "logits"),
    ("margins", "Log odds or decision values", "Choose the type of the scores.", "logits"),
    ("log-base", "Logarithms to another base", "Write natural logarithms, or probabilities.", "logits"),
    ("mixed", "Fractions among percentages", "Write all scores on one scale.", "prediction-file"),
    ("log-probabilities", "Scores that look like logarithms", "Read them as log probabilities.", "logits"),
    ("percentages", "Scores that look like percentages", "Read them as percentages.", "prediction-file"),
    ("probabilities", "Scores that look like probabilities", "Read them as probabilities.", "logits"),
    ("range", "Scores out of range", "Choose the type of the scores, or correct the file.", "logits"),
    ("words", "Confidence in words", "Choose a number for each phrase if the defaults do not fit.", "confidence"),
    ("binary", "One column of scores", "Reverse it if it is the probability of the other class.", "prediction-file"),
    ("row-sums", "Rows that do not sum to 1",
     "Export the probabilities of all classes, or choose the type of the scores.", "prediction-file"),
    ("rescaled", "Rows rescaled to sum to 1", "Export unrounded values.", "prediction-file"),
    ("constant", "The same scores in every row", "Check that the export contains each row's own scores.",
     "prediction-file"),
    ("duplicates", "Repeated rows", "Check that no row was exported twice.", "prediction-file"),
    ("ties", "Two largest scores", "Export unrounded values.", "top-label"),
    ("zeros", "True class with probability 0", "Export logits, or probabilities that were not rounded to 0.",
     "log-loss"),
    # Labels and classes
    ("from-one", "Labels counted from 1", "Nothing to do if the first class is 1.", "class-order"),
    ("labels", "Ambiguous label coding", "Choose how labels name classes.", "class-order"),
    ("time-to-event", "Incomplete follow-up", "Choose a time horizon, and retain the rows whose outcome is known then.",
     "prediction-file"),
    ("outcome", "Outcome found by its values", "Choose the label column if this is not the outcome.",
     "prediction-file"),
    ("answers", "Predicted class found by its values", "Choose the predicted class if this is not it.", "top-label"),
    ("only-number", "Confidence found by elimination", "Choose the confidence if this is not it.", "confidence"),
    ("scorer", "Correctness from a scorer", "Choose the column of correctness if this is not it.", "prediction-file"),
    ("variants", "Classes that differ in capitals or spaces", "Write each class in only one way.", "class-order"),
    ("one-class", "Only one class", "Give the probabilities of at least two classes.", "prediction-file"),
    ("class-order", "Classes may be in another order", "Choose the order of the score columns.", "class-order"),
    ("assumed-order", "Assumed order of classes", "Name the score columns after their classes.", "class-order"),
    ("named-columns", "Other labels than named columns", "Choose which label belongs to which column.", "class-order"),
    ("classes-beside", "Columns next to the classes", "Choose the score columns if these are not all of them.",
     "class-order"),
    ("unused-names", "Unused class names", "Give one name for every score column.", "class-order"),
    ("perfect", "Every prediction is right", "Check that the model did not see the labels.", "prediction-file"),
    ("never-right", "No prediction is right", "Check that predicted classes and labels use the same codes.",
     "class-order"),
    ("chance", "No better than chance", "Check that labels and scores are of the same rows.", "class-order"),
    ("reversed", "Higher confidence in wrong answers", "Check what the columns mean.", "confidence"),
    ("leak", "A label among the scores", "Remove the label column from the scores.", "prediction-file"),
    ("never-true", "Classes that never occur", "Nothing to do if they are rare; otherwise check the labels' names.",
     "class-wise"),
    ("never-predicted", "Classes that are never predicted", "Nothing to do if they are rare.", "top-label"),
    # Calibration rows compared with test rows
    ("groups", "A group in both parts", "Split the rows by group.", "row-group"),
    ("same-file", "The same file twice", "Choose other test rows, or split this file.", "calibrator"),
    ("shared", "Rows in both files", "Remove the shared rows from the calibration file.", "calibrator"),
):  # fmt: skip
    rule(_code, _title, _remedy, _term)


Severity = Literal["note", "warning", "problem"]
ALWAYS = frozenset({"reader", "joined", "from-one"})
"""Codes of notes that are always reported: rows left out, labels from another file, labels counted from 1."""
_ANSWERED = {
    "outcome": "label",
    "answers": "predicted",
    "scorer": "correct",
    "only-number": "confidence",
    "copies": "weighting",
    "from-one": "label_coding",
    "binary": "classes",
    "named-columns": "classes",
    "split": "split",
    "weights": "weights",
    "id-twice": "group",
    "words": "words",
    "called": "kind",
    "margins": "kind",
}
"""The field of the reading that resolves findings with these codes, whatever its value."""


@dataclass(frozen=True)
class Finding(Shown):
    """A finding about a table, reported before anything is computed.

    Parameters
    ----------
    severity : "problem": cannot be read as proposed; "warning": probably a mistake; "note": for information.
    code : stable identifier, such as "percentages"; ``rule`` has its title, remedy and glossary term.
    message : one or two sentences with the evidence.
    change : fields of the Reading to replace, if one change would resolve it.
    change_label : button label for that change.
    """

    severity: Severity
    code: str
    message: str
    change: Mapping[str, Any] | None = None
    change_label: str | None = None

    def open_to(self, chosen: Collection[str] = ()) -> bool:
        """True for warnings, and for notes about assumptions, unless the fields they concern are ``chosen``.

        >>> note = Finding("note", "weights", "is not used", {"weights": "w"}, "Use it")
        >>> note.open_to(), note.open_to({"weights"})
        (True, False)
        >>> Finding("warning", "outcome", "is read as the outcome").open_to({"label"})
        False
        """
        if _ANSWERED.get(self.code) in chosen:
            return False
        return self.severity != "note" or (self.change is not None and not set(self.change) <= set(chosen))

    def blocks(self, chosen: Collection[str] = ()) -> bool:
        """True for a warning that the ``chosen`` fields do not settle: a gate does not pass while it is open.

        A note that several models are read as one blocks, too.

        >>> seen = Finding("warning", "words", "has words", {"words": ("high=0.9",)}, "Use these numbers")
        >>> seen.blocks(), seen.blocks({"words"}), Finding("note", "ties", "has ties").blocks()
        (True, False, False)
        """
        if (self.severity == "note" and self.code != "models") or not self.open_to(chosen):
            return False
        if self.change is None:  # joined so on request; no other column could be the outcome
            return self.code != "outcome" and not (self.code == "joined-by-place" and "key" in chosen)
        return not set(self.change) <= set(chosen)

    def worth_saying(self, chosen: Collection[str] = ()) -> bool:
        """True if the finding is reported with predictions and by every command: unresolved, or about rows left out.

        >>> Finding("note", "reader", "2 rows are left out.").worth_saying()
        True
        """
        return self.open_to(chosen) or (self.code in ALWAYS and _ANSWERED.get(self.code) not in chosen)

    @property
    def rule(self) -> Rule:
        """The rule of this finding's code, with its title and remedy.

        >>> Finding("note", "weights", "is not used").rule.title
        'Unused column of weights'
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
