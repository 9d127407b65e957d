"""Findings about a table, the rules they belong to, and changes that would resolve them.

A finding is one violation of a rule, as in linters: the code is stable, and the message has the evidence of the file.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
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
    settled_by : field of the reading that resolves these findings when it is chosen, whatever its value.
    requested_by : option that causes these findings; with it they are reported, but do not stop a gate.
    always : their notes are reported with predictions and by every command.
    """

    code: str
    title: str
    remedy: str
    term: str = "prediction-file"
    settled_by: str = ""
    requested_by: str = ""
    always: bool = False


RULES: dict[str, Rule] = {}
"""All rules by code."""


def rule(code: str, title: str, remedy: str, term: str = "prediction-file", **traits: Any) -> str:
    """Register a rule and return its code; ``traits`` are further fields of ``Rule``.

    >>> rule("upside-down", "Upside down", "Turn the file round."), RULES.pop("upside-down").title
    ('upside-down', 'Upside down')
    """
    if code in RULES:
        raise RegistryError(f"rule {code!r} is already registered")
    RULES[code] = Rule(code, title, remedy, term, **traits)
    return code


# The file as a whole
rule("unreadable", "Cannot be read this way", "Choose the columns of scores and labels.")
rule("reader", "Steps of the reader", "Nothing to do if this is intended.", always=True)
rule("no-header", "No header line", "Add a header line with a name for every column.")
rule("row-names", "One name too few in the header", "Complete the header line.")
rule("stated-rows", "Another number of rows than stated", "Export the file again.")
rule("foreign", "Output of another tool", "Nothing to do if these are the right values.")
rule("summary", "A summary", "Open the original rows for analyses that need rows.", "bins")
rule("counted", "Assumptions of a summary", "Create it again with the options that settle them.", "bins")
rule("kept-rows", "Sampled rows of a summary", "Use the counts for results about all rows.", "bins")
rule("names", "Names that look alike", "Rename columns or classes so that their names are clearly different.")
rule("models", "Several models in one file", "Choose the column of models and the columns that identify questions.")
rule("joined", "Labels from another file", "Nothing to do if this is the right key.", always=True)
rule(
    "shared-labels",
    "Predictions that share a label",
    "Choose the column of models or of questions, or correct the keys.",
)
rule(
    "joined-by-place",
    "Rows joined by row number",
    "Use a key that both files have, if there is one.",
    requested_by="key",
)
rule("unlabelled", "Predictions without a label", "Complete the labels, or remove these rows from the predictions.")
rule("unpredicted", "Labels without a prediction", "Nothing to do if these predictions were not requested.")
rule("group", "Related rows", "Choose the column that identifies the person or question of each row.", "row-group")
rule("weights", "Unused column of weights", "Choose it if it contains row weights.", "row-weight", settled_by="weights")
rule(
    "split",
    "Unused marks of training and test rows",
    "Choose the column as the split, or state that it is none.",
    settled_by="split",
)
rule(
    "id-twice",
    "An identifier used twice",
    "Remove rows that were exported twice, or group them.",
    "row-group",
    settled_by="group",
)
rule(
    "copies",
    "Whole-number weights count as copies",
    "Choose whether they are numbers of copies or sampling weights.",
    "row-weight",
    settled_by="weighting",
)
rule("people-marks", "Rows marked by people", "Correct the judge's marks with the human marks.")

# Scores
rule("missing", "Missing values", "Complete them at the source, or leave out these rows.")
rule("percent", "Percent signs", "Nothing to do if the signs mean hundredths.")
rule("comma", "Decimal commas", "Write decimal points if the commas separate thousands.")
rule("kind", "Score type", "Choose probabilities, logits or percentages if this is wrong.", "logits")
rule("called", "Name and values disagree", "Choose the type of the scores.", "logits", settled_by="kind")
rule(
    "logits",
    "Scores that look like logits",
    "Read them as logits; the softmax converts them to probabilities.",
    "logits",
)
rule("margins", "Log odds or decision values", "Choose the type of the scores.", "logits", settled_by="kind")
rule("log-base", "Logarithms to another base", "Write natural logarithms, or probabilities.", "logits")
rule("mixed", "Fractions among percentages", "Write all scores on one scale.")
rule("log-probabilities", "Scores that look like logarithms", "Read them as log probabilities.", "logits")
rule("percentages", "Scores that look like percentages", "Read them as percentages.")
rule("probabilities", "Scores that look like probabilities", "Read them as probabilities.", "logits")
rule("range", "Scores out of range", "Choose the type of the scores, or correct the file.", "logits")
rule(
    "words",
    "Confidence in words",
    "Choose a number for each phrase if the defaults do not fit.",
    "confidence",
    settled_by="words",
)
rule("binary", "One column of scores", "Reverse it if it is the probability of the other class.", settled_by="classes")
rule(
    "row-sums",
    "Rows that do not sum to 1",
    "Export the probabilities of all classes, or choose the type of the scores.",
)
rule("rescaled", "Rows rescaled to sum to 1", "Export unrounded values.")
rule("constant", "The same scores in every row", "Check that the export contains each row's own scores.")
rule("duplicates", "Repeated rows", "Check that no row was exported twice.")
rule("ties", "Two largest scores", "Export unrounded values.", "top-label")
rule(
    "zeros", "True class with probability 0", "Export logits, or probabilities that were not rounded to 0.", "log-loss"
)

# Labels and classes
rule(
    "from-one",
    "Labels counted from 1",
    "Nothing to do if the first class is 1.",
    "class-order",
    settled_by="label_coding",
    always=True,
)
rule("labels", "Ambiguous label coding", "Choose how labels name classes.", "class-order")
rule("time-to-event", "Incomplete follow-up", "Choose a time horizon, and retain the rows whose outcome is known then.")
rule(
    "outcome",
    "Outcome found by its values",
    "Choose the label column if this is not the outcome.",
    settled_by="label",
    always=True,
)
rule(
    "answers",
    "Predicted class found by its values",
    "Choose the predicted class if this is not it.",
    "top-label",
    settled_by="predicted",
)
rule(
    "only-number",
    "Confidence found by elimination",
    "Choose the confidence if this is not it.",
    "confidence",
    settled_by="confidence",
)
rule("scorer", "Correctness from a scorer", "Choose the column of correctness if this is not it.", settled_by="correct")
rule("variants", "Classes that differ in capitals or spaces", "Write each class in only one way.", "class-order")
rule("one-class", "Only one class", "Give the probabilities of at least two classes.")
rule("class-order", "Classes may be in another order", "Choose the order of the score columns.", "class-order")
rule("assumed-order", "Assumed order of classes", "Name the score columns after their classes.", "class-order")
rule(
    "named-columns",
    "Other labels than named columns",
    "Choose which label belongs to which column.",
    "class-order",
    settled_by="classes",
)
rule(
    "classes-beside",
    "Columns next to the classes",
    "Choose the score columns if these are not all of them.",
    "class-order",
)
rule("unused-names", "Unused class names", "Give one name for every score column.", "class-order")
rule("perfect", "Every prediction is right", "Check that the model did not see the labels.")
rule(
    "never-right",
    "No prediction is right",
    "Check that predicted classes and labels use the same codes.",
    "class-order",
)
rule("chance", "No better than chance", "Check that labels and scores are of the same rows.", "class-order")
rule("reversed", "Higher confidence in wrong answers", "Check what the columns mean.", "confidence")
rule("leak", "A label among the scores", "Remove the label column from the scores.")
rule(
    "never-true",
    "Classes that never occur",
    "Nothing to do if they are rare; otherwise check the labels' names.",
    "class-wise",
)
rule("never-predicted", "Classes that are never predicted", "Nothing to do if they are rare.", "top-label")

# Calibration rows compared with test rows
rule("groups", "A group in both parts", "Split the rows by group.", "row-group")
rule("same-file", "The same file twice", "Choose other test rows, or split this file.", "calibrator")
rule("shared", "Rows in both files", "Remove the shared rows from the calibration file.", "calibrator")


Severity = Literal["note", "warning", "problem"]


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
        if self.rule.settled_by in chosen:
            return False
        return self.severity != "note" or (self.change is not None and not set(self.change) <= set(chosen))

    def blocks(self, chosen: Collection[str] = ()) -> bool:
        """True for a warning that the ``chosen`` fields do not settle: a gate does not pass while it is open.

        >>> seen = Finding("warning", "words", "has words", {"words": ("high=0.9",)}, "Use these numbers")
        >>> seen.blocks(), seen.blocks({"words"}), Finding("note", "ties", "has ties").blocks()
        (True, False, False)
        >>> Finding("warning", "joined-by-place", "is joined by row number").blocks({"key"})
        False
        """
        if self.severity == "note" or not self.open_to(chosen) or self.rule.requested_by in chosen:
            return False
        return self.change is None or not set(self.change) <= set(chosen)

    def noted(self, accepted: Collection[str]) -> Finding:
        """Return the finding as a note if it is a warning whose code is ``accepted``.

        >>> seen = Finding("warning", "ties", "has ties")
        >>> seen.noted({"ties"}).severity, seen.noted({"words"}).severity
        ('note', 'warning')
        """
        return replace(self, severity="note") if self.severity == "warning" and self.code in accepted else self

    def worth_saying(self, chosen: Collection[str] = ()) -> bool:
        """True if the finding is reported with predictions and by every command: unresolved, or about rows left out.

        >>> Finding("note", "reader", "2 rows are left out.").worth_saying()
        True
        """
        return self.open_to(chosen) or (self.rule.always and self.rule.settled_by not in chosen)

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
