"""Propose a reading of a table by its names and values; InputError if the choice is ambiguous."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from calib_core.predictions.event_names import side_of
from calib_core.predictions.predictions import InputError
from calib_core.readers import limits
from calib_core.readers.messages import listed, quoted
from calib_core.readers.proposal.answer_words import in_words, ratings
from calib_core.readers.proposal.class_columns import (
    ScoreSets,
    absent_event,
    block_of,
    called_alike,
    called_covariate,
    called_outcome,
    called_risk,
    class_called,
    class_side,
    is_share,
    other_class,
    outcome_columns,
    risk_columns,
    run_to_one,
    sets_of_matrices,
    side_by_side,
    two_values,
)
from calib_core.readers.proposal.column_roles import (
    called_log,
    called_percent,
    class_of,
    named,
    named_last,
    one_hot_class,
    role,
)
from calib_core.readers.proposal.column_values import counted_groups, measured_classes, part_of
from calib_core.readers.proposal.label_codes import (
    classes_of_both,
    codes_inside,
    digits,
    label_inside,
    label_texts,
    numbered,
    plain,
    positive_of,
    same_sides,
    score_classes,
    spelled_alike,
)
from calib_core.readers.proposal.long_form import question_columns
from calib_core.readers.proposal.named_blocks import (
    ANSWERS,
    Answers,
    ClassBlock,
    answers,
    called_answer,
    called_doubt,
    called_expense,
    called_grade,
    called_prediction,
    called_score,
    called_truth,
    class_blocks,
    class_decided,
    exact_matches,
    label_candidates,
    ranked,
    results_of_scorers,
    right_or_wrong,
    told_apart,
)
from calib_core.readers.proposal.score_columns import check_for_scores
from calib_core.readers.proposal.score_survey import evidence, survey
from calib_core.readers.reading import OF_SUMMARIES, Fields, LabelCoding, Reading, ScoreKind, checked_fields
from calib_core.readers.table import SUMMARY, Array, Table
from calib_core.readers.text_encoding import MISSING_TEXT, looks_numeric, numbers, numbers_as_written
from calib_core.readers.tool_shapes import proposed_fields

_SAMPLE_ROWS = 5000
_MOST_METADATA = 100


def propose(table: Table, **chosen: Any) -> Reading:
    """Return the reading that names and values suggest; ``chosen`` fields of Reading are fixed.

    InputError lists the table's contents if there are several ways to read it.

    >>> t = Table("a.csv", "csv", {"p_a": np.array([0.7, 0.2]), "p_b": np.array([0.3, 0.8]), "y": np.array([0, 1])})
    >>> propose(t).scores, propose(t).label, propose(t).classes
    (('p_a', 'p_b'), ('y',), ('a', 'b'))
    """
    if SUMMARY in table.columns:
        if set(chosen) - {"layout"}:
            raise InputError(f"{table.name} is a summary, which has no reading to choose; leave out {listed(chosen)}")
        return Reading("kept-rows" if chosen.get("layout") == "kept-rows" else "summary")
    if chosen.get("layout") in OF_SUMMARIES:
        raise InputError(
            f"{table.name} is not a summary and cannot be read as one. Leave out the layout, or create a summary with "
            "calib summarise"
        )
    fields = proposed_fields(table, checked_fields(chosen))
    return _Proposal(table, fields).reading().replace(**fields)


def propose_by_first(run: Table, **chosen: Any) -> Reading:
    """Return the reading that the first run of a longer file suggests.

    Its split column may have a single value so far; that of a whole file then divides nothing.

    >>> t = Table("a.csv", "csv", {"p": np.array([0.7]), "y": np.array([1]), "split": np.array(["test"], dtype=object)})
    >>> propose_by_first(t).split, propose(t).split
    ('split', None)
    """
    reading = propose(run, **chosen)
    found = _split_columns(run, run.n_rows)
    return reading.replace(split=found[0]) if found and reading.split is None and "split" not in chosen else reading


def _split_columns(table: Table, n: int) -> list[str]:
    """Return the columns of text that are called a split and name a part."""
    return [
        name for name in named(table.columns, "split")
        if (column := table.columns[name]).dtype == object and len(column) == n
        if any(part_of(str(value)) for value in pd.unique(column))
    ]  # fmt: skip


def _names_rows(column: Array, k: int) -> bool:
    """True for values that are different in every row, of more rows than classes: names of pictures, row numbers."""
    return len(column) > max(k, 2) and len(pd.unique(column)) == len(column)


def _derived(name: str, others: Collection[str]) -> bool:
    """True if a column is named after another one, as SAS names decisions: I_bad and F_bad, next to bad."""
    return not called_truth(name) and any(name.casefold().endswith(f"_{each.casefold()}") for each in others)


_NO_LABELS = "no column is recognized as the labels"


@dataclass(frozen=True)
class _Proposal:
    table: Table
    chosen: Fields

    def reading(self) -> Reading:
        self._check_label()
        if self.chosen.get("layout") == "samples":
            return self._of_samples()
        if "layout" in self.chosen and self.chosen["layout"] != "wide":
            return self._of_confidence(self.chosen["layout"])
        if (sets := self._score_sets()) is not None:
            return self._wide(sets.scores, sets)
        if (graded := self._graded()) is not None:
            return graded._of_confidence("confidence")
        if (block := self._block()) is not None:
            labeled = self._with(label=block.label) if block.label else self
            return labeled._wide(block.scores, ScoreSets(block.scores, (), block.classes))
        scores = self._scores()
        if scores:
            return self._wide(scores)
        columns = {r: self._column(r) for r in ("confidence", "correct", "predicted", "label")}
        if columns["confidence"] and columns["correct"]:
            return self._of_confidence("confidence")
        if columns["confidence"] and columns["predicted"] and columns["label"]:
            return self._of_confidence("top-label")
        return self._of_one_score(columns["correct"], columns["label"])

    def _graded(self) -> _Proposal | None:
        """Return the proposal with a confidence and the result of a scorer; None without these."""
        if {"scores", "label", "correct", "predicted"} & self.chosen.keys() or not self._column("confidence"):
            return None
        results = () if self._column("correct") else results_of_scorers(self.table) or right_or_wrong(self.table)
        if len(results) > 1:
            raise self._ask(f"columns {listed(results)} could each be the correctness of answers", "correct")
        return self._with(confidence=self._column("confidence"), correct=results[0]) if results else None

    def _block(self) -> ClassBlock | None:
        """Score columns named after the values of a label."""
        if self.table.matrices or {"scores", "confidence", "correct", "predicted", "classes"} & self.chosen.keys():
            return None
        found = class_blocks(self.table, self._free_numeric())
        if len(found) > 1:
            first, second = found[0].scores, found[1].scores
            raise self._ask(f"columns {listed(first, 3)} and {listed(second, 3)} could each be the scores", "scores")
        return found[0] if found else None

    def _of_one_score(self, correct: str | None, label: str | None) -> Reading:
        """Read a single column of scores: as the confidence of answers if the file has answers, else as a risk."""
        if not {"confidence", "label", "scores"} & self.chosen.keys() and (measures := measured_classes(self.table)):
            raise InputError(f"{self.table.name}: {measures}")
        score = self.chosen.get("confidence") or self._single(correct)
        if "confidence" not in self.chosen and called_grade(score):
            advice, field = ("give confidence=", "confidence") if correct and not label else ("give scores=", "scores")
            raise InputError(
                f"{self.table.name}: {quoted(score)} is named like the grade of a judge, which is no probability. "
                f"Write the model's confidence in a column confidence; if the grades are probabilities, {advice}",
                advice,
                {field: (score,) if field == "scores" else score},
            )
        if correct and (not label or self._only_answered(label, score)):
            if "confidence" not in self.chosen and called_doubt(score):
                inside = is_share(self.table, score)
                write = "1 minus its values" if inside else "the probability that the answer is right"
                raise InputError(
                    f"{self.table.name}: {quoted(score)} is named like the opposite of a confidence. Write {write} in "
                    "a column confidence"
                )
            return self._with(confidence=score, correct=correct)._of_confidence("confidence")
        errors = [name for name in outcome_columns(self.table, {score}) if called_doubt(name)]
        if errors and not label and role(score) == "confidence":
            raise InputError(
                f"{self.table.name}: {quoted(errors[0])} is named like marks of wrong answers. Write a column correct: "
                "1 for a right answer, 0 for a wrong one"
            )
        found = answers(self.table, {score}, label)
        if found is None or not (called_score(score) or role(score)):
            return self._wide((score,))
        several = len(set(label_texts(self.table.columns[found.label])) - {""}) > 2
        if several or (called_prediction(found.predicted) and self._above_half(score)):
            answered = self._with(confidence=score, predicted=found.predicted, label=(found.label,))
            return answered._of_confidence("top-label")
        named_label = self._with(label=(found.label,)) if called_prediction(found.predicted) else self
        return named_label._wide((score,))

    def _only_answered(self, label: str, score: str) -> bool:
        """True for answers, next to marks of right ones, that a risk cannot be about: the score is their confidence."""
        if "." in label and len(two_values(self.table.column(label))) == 1:
            return True
        if {"label", "scores"} & self.chosen.keys() or not called_answer(label):
            return False
        return called_log(score) or len(two_values(self.table.column(label))) != 2

    def _above_half(self, score: str) -> bool:
        """True for a column of confidences: by its name, or because no value is below one half."""
        values = numbers_as_written(self.table.columns[score])
        return role(score) == "confidence" or bool(np.nanmin(values, initial=1.0) >= 0.5)

    def _with(self, **fields: Any) -> _Proposal:
        """Return the proposal with these fields chosen, too."""
        return replace(self, chosen={**self.chosen, **fields})  # type: ignore[typeddict-item]

    def _check_label(self) -> None:
        """Raise InputError, with a similar name, if the chosen label column does not exist.

        Without it, no other column would be recognized either, and the message would be about those.
        """
        given = self.chosen.get("label", ())
        for name in (given,) if isinstance(given, str) else given:
            if name not in self.table.matrices and "[" not in name:
                self.table.column(name)

    def _score_sets(self) -> ScoreSets | None:
        """Scores of several models in adjacent columns."""
        if given := tuple(self.chosen.get("score_sets", ())):
            return ScoreSets(tuple(self.chosen.get("scores", given)), given)
        if {"score_sets", "scores", "models", "confidence", "correct", "predicted"} & self.chosen.keys():
            return None
        if self.table.matrices:
            return sets_of_matrices(self.table, self._score_matrices())
        label = self.chosen.get("label") or self._named("label") or outcome_columns(self.table)
        if len(label) != 1 or label[0] not in self.table.columns:
            return None
        texts = {str(v) for v in pd.unique(label_texts(self.table.columns[label[0]]))} - {""}
        return side_by_side(self.table, self._free_numeric(), texts)

    # -- which columns are scores ------------------------------------------------------------------------------

    def _scores(self) -> tuple[str, ...]:
        """Names of two or more score columns, or of one matrix; empty if there are none."""
        if "scores" in self.chosen:
            given = self.chosen["scores"]
            return (given,) if isinstance(given, str) else tuple(given)
        matrices = self._score_matrices()
        if len(matrices) > 1:
            raise self._ask(f"there are {len(matrices)} matrices of scores, {listed(matrices)}", "scores")
        if matrices:
            return self._columns_of(matrices[0])
        return self._score_columns()

    def _score_matrices(self) -> list[str]:
        taken = self._chosen_names()
        every = [n for n, m in self.table.matrices.items() if m.dtype.kind in "iuf" and n not in taken]
        for kind in ("probabilities", "logits", "log-probabilities"):
            best = named(every, kind)
            if best:
                return best
        return [name for name in every if role(name) != "label"]

    def _columns_of(self, name: str) -> tuple[str, ...]:
        """Return the columns of a single matrix, whose first or last column may contain the labels."""
        matrix = self.table.matrices[name]
        if self.table.columns or len(self.table.matrices) > 1 or "label" in self.chosen:
            return (name,)
        label = label_inside(matrix)
        if label is None:
            return (name,)
        return tuple(f"{name}[:, {j}]" for j in range(matrix.shape[1]) if j != label)

    def _score_columns(self) -> tuple[str, ...]:
        free = self._free_numeric()
        groups: dict[str, list[str]] = {}
        for name in free:
            found = class_of(name)
            if found is not None:
                groups.setdefault(found[0], []).append(name)
        most = max(map(len, groups.values()), default=0)
        if most < 2:
            return self._unprefixed(free)
        largest = {prefix: names for prefix, names in groups.items() if len(names) == most}
        # Of probabilities and the logits they came from, read the probabilities.
        best = [names for prefix, names in largest.items() if len(largest) == 1 or prefix.startswith("p")]
        if len(best) != 1:
            first, second = list(largest.values())[:2]
            raise self._ask(f"columns {listed(first, 3)} and {listed(second, 3)} could each be the scores", "scores")
        return tuple(best[0])

    def _unprefixed(self, free: list[str]) -> tuple[str, ...]:
        """Return columns named like the classes, or all remaining columns if their rows sum to 1 or 100.

        More than two columns in [0, 1], as many as there are labels, are also taken: ``sums_off`` reports their sums.
        """
        label = self._column("label") or self._label_of_names(free)
        same = [n for n in free if role(n) is None and len(self.table.columns[n]) == self.table.n_rows]
        if label is not None and label in self.table.columns:
            alike = called_alike(self.table, free, label)
            if len(alike) > 1:
                return block_of(self.table, alike, same)
        if len(same) > 1:
            some = np.column_stack([numbers_as_written(self.table.columns[n][:_SAMPLE_ROWS]) for n in same])
            if evidence(some, survey(some))[0] in ("probabilities", "percentages", "log-probabilities"):
                return tuple(same)
            if label is not None and (run := run_to_one(some)):
                return tuple(same[run])
            if len(same) > 2 and all(is_share(self.table, name) for name in same):
                column = self.table.columns.get(label or "", np.empty(0, dtype=object))
                labels = {*label_texts(column[:_SAMPLE_ROWS]).tolist()} - {""}
                return tuple(same) if len(labels) == len(same) else ()
        return ()

    def _label_of_names(self, free: list[str]) -> str | None:
        """Return the only column of text whose values are all names of numeric columns."""
        texts = {n: c for n, c in self.table.columns.items() if c.dtype == object and not called_prediction(n)}
        found = [
            name for name, column in texts.items()
            if len(column) == self.table.n_rows and (values := {*label_texts(column[:_SAMPLE_ROWS]).tolist()} - {""})
            if 1 < len(values) == len(called_alike(self.table, free, name))
        ]  # fmt: skip
        return found[0] if len(found) == 1 else None

    def _single(self, correct: str | None) -> str:
        """Return the only column of P(y = 1), or of confidences of answers that ``correct`` marks."""
        free = [name for name in self._free_numeric() if not called_expense(name)]
        for wanted in ("probabilities", "logits", "log-probabilities", "confidence"):
            best = named(self._numeric(), wanted)
            if len(best) == 1 and not self._points(best[0], free):
                return best[0]
        shares = [n for n in named(self._numeric(), "predicted") if is_share(self.table, n)]
        risks = risk_columns(self.table, [*free, *shares])
        if len(risks) == 1:
            return risks[0]
        per_class = [name for name in free if class_of(name)]
        rest = per_class if len(per_class) == 1 else [n for n in free if role(n) is None and not self._counts_on(n)]
        if len(rest) == 1:
            return rest[0]
        check_for_scores(self.table)
        if groups := counted_groups(self.table):
            raise InputError(f"{self.table.name}: {groups}")
        if len(shares := [name for name in rest if is_share(self.table, name)]) > 1:
            some = np.column_stack([numbers_as_written(self.table.columns[n][:_SAMPLE_ROWS]) for n in shares])
            if evidence(some, survey(some))[0] == "probabilities" and "label" not in self.chosen:
                raise self._ask(_NO_LABELS, "label", ", or also the file with the labels")
            advice = "choose them as score_sets"
            models = f"if {listed(shares)} are probabilities from different models, {advice}"
            message = f"{self.table.name}: no columns are recognized as scores; {models}"
            raise InputError(message, advice, {"score_sets": shares})
        if correct and not rest:
            why = f"{quoted(correct)} marks right answers, but no column is recognized as their confidence"
            raise self._ask(why, "confidence")
        raise self._ask("no columns are recognized as scores", "scores")

    def _counts_on(self, name: str) -> bool:
        """True for numbers of rows: whole numbers in steps of 1."""
        steps = np.diff(np.sort(numbers_as_written(self.table.columns[name])))
        return len(steps) > 1 and bool((steps == 1).all())

    def _points(self, name: str, free: list[str]) -> bool:
        """True for points such as 700, no percentages, next to a column in [0, 1] that is named like a risk."""
        high = np.nanmax(numbers_as_written(self.table.columns[name]), initial=0.0)
        others = risk_columns(self.table, [each for each in free if each != name])
        return bool(high > 100) and len(others) == 1 and called_risk(self.table, others[0])

    def _numeric(self) -> list[str]:
        taken = self._chosen_names()
        return [n for n, c in self.table.columns.items() if n not in taken and looks_numeric(c)]

    def _free_numeric(self) -> list[str]:
        roles = {"label", "predicted", "correct", "split", "weights", "group", "index", "class names"}
        # A one-hot label column is recognized by its name only if a score column has the same class.
        names = [n for n in self._numeric() if n not in self._matches]
        return [n for n in names if role(n) not in roles and not (one_hot_class(n) and not class_of(n))]

    def _chosen_names(self) -> set[str]:
        names: set[str] = set()
        for key in ("label", "confidence", "correct", "predicted", "split", "weights", "group", "models"):
            value = self.chosen.get(key)
            names |= {value} if isinstance(value, str) else set(value if isinstance(value, tuple) else ())
        return names

    # -- wide --------------------------------------------------------------------------------------------------

    def _wide(self, scores: tuple[str, ...], sets: ScoreSets | None = None) -> Reading:
        models = () if sets is None else sets.models
        first = scores[: len(scores) // max(1, len(models))]
        matrix = self.table.matrix(first)
        matrix = matrix[:, None] if matrix.ndim == 1 else matrix
        columns = sets.classes if sets is not None and sets.classes else first
        self._check_ranks(scores, matrix)
        label = self._label(scores, matrix, columns)
        if sets is None and len(scores) == 2:
            scores = first = columns = self._in_order_of_codes(scores, label)
        kind, k = self._kind(first, matrix), matrix.shape[1]
        classes, coding = self._two_classes(first[0], label) if k == 1 else self._classes(columns, label, k)
        event = "0" if k == 1 and "0" in classes and absent_event(first[0], label[0]) else None
        found = Reading("wide", kind, scores, label, coding, classes=classes, score_sets=models, event=event)
        return self._finished(found, len(matrix))

    def _check_ranks(self, scores: tuple[str, ...], matrix: Array) -> None:
        """Ask if columns that are only numbered have the largest score of each row first: these are no classes."""
        names = score_classes(scores) if len(scores) == matrix.shape[1] else ()
        if "scores" in self.chosen or "classes" in self.chosen or not set(names) <= set(digits(len(names) + 1)):
            return
        if ranked(matrix):
            raise self._ask(
                f"every row of {listed(scores, 3)} begins with its largest score, so the columns are ranks rather than "
                "classes. Write one column per class; if they are classes",
                "scores",
            )

    def _in_order_of_codes(self, scores: tuple[str, ...], label: tuple[str, ...]) -> tuple[str, ...]:
        """Return two score columns in the order of 0 and 1: their names decide, or the chosen classes."""
        if "scores" in self.chosen or len(label) > 1 or label[0] in self.table.matrices:
            return scores
        names, column = codes_inside(score_classes(scores)), self.table.column(label[0])
        texts = set(map(plain, two_values(column)))
        named = texts <= set(map(plain, names)) or texts <= set(map(plain, scores))
        if (named and column.dtype.kind != "b") or any(name.isdigit() for name in names):
            return scores
        classes = self.chosen.get("classes") or tuple(sorted(names, key=side_of, reverse=class_side(label[0]) < 0))
        by_class = dict(zip(names, scores, strict=True))
        return tuple(by_class[name] for name in classes) if by_class.keys() == set(classes) else scores

    def _kind(self, scores: tuple[str, ...], matrix: Array) -> ScoreKind:
        some = matrix[:_SAMPLE_ROWS]
        found = survey(some)
        kind, _ = evidence(some, found)
        if len(scores) == 1 and kind == "logits" and found.high <= 0 and called_log(scores[0]):
            return "log-probabilities"
        # Rare events have percentages that are mostly below 1.
        if len(scores) == 1 and called_percent(scores[0]) and found.low >= 0 and 1 < found.high <= 100:
            return "percentages"
        if kind is not None:
            return kind
        if len(scores) == 1 and called_percent(scores[0]) and 0 <= found.low <= found.high <= 100:
            return "percentages"
        first = class_of(scores[0])
        name = role(first[0] if first and len(scores) > 1 else scores[0])
        return "logits" if name == "logits" else "log-probabilities" if name == "log-probabilities" else "probabilities"

    def _label(self, scores: tuple[str, ...], matrix: Array, columns: tuple[str, ...]) -> tuple[str, ...]:
        if "label" in self.chosen:
            given = self.chosen["label"]
            return (given,) if isinstance(given, str) else tuple(given)
        inside = self._label_beside(scores)
        if inside:
            return inside
        called = [name for name in self._named("label") if name not in scores]
        truths = self._among_classes(scores, matrix, columns) if len(called) > 1 and matrix.shape[1] > 1 else ()
        single = truths[0] if truths and truths[0] in called else self._column("label")
        if single:
            self._check_truth(single, scores, matrix, columns)
            return (single,)
        marks = [n for n in self.table.matrices if role(n) == "label" and n not in scores]
        if len(marks) == 1:
            return (marks[0],)
        one_hot = self._one_hot(scores)
        if one_hot:
            return one_hot
        n = len(matrix)
        if (single_score := matrix.shape[1] == 1) and (outcomes := self._outcomes(scores)):
            return outcomes
        if not single_score and (by_values := self._among_classes(scores, matrix, columns)):
            return by_values
        if single_score and (groups := counted_groups(self.table)):
            raise InputError(f"{self.table.name}: {groups}")
        likely = [
            name
            for name, c in self.table.columns.items()
            if name not in scores and len(c) == n and c.dtype.kind in "Oiub" and role(name) is None
            if not (single_score and called_covariate(name)) and not _names_rows(c, matrix.shape[1])
            if len(pd.unique(c)) > 1
        ]
        if len(likely) == 1:
            return (likely[0],)
        if single_score and (grades := [name for name in self._numeric() if called_grade(name) and name not in scores]):
            raise InputError(
                f"{self.table.name}: {quoted(grades[0])} contains grades of a judge, but calibration needs right and "
                "wrong answers. Write a column correct: 1 where the grade is high enough, else 0"
            )
        raise self._ask(_NO_LABELS, "label", ", or also the file with the labels")

    def _among_classes(self, scores: tuple[str, ...], matrix: Array, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Return the column whose values are the names of the classes; empty if there is none."""
        names = score_classes(columns) if len(columns) == matrix.shape[1] else self._class_names(matrix.shape[1])
        numbers_only = set(names) <= set(digits(len(names)))
        found = label_candidates(self.table, names, survey(matrix).top, {*scores, *self._chosen_names()})
        found = tuple(name for name in found if not _derived(name, found))
        if numbers_only:  # names of other binary columns, too
            found = tuple(name for name in found if not called_covariate(name))
            return found if len(found) == 1 else ()
        if len(found) > 1:
            raise self._ask(f"columns {listed(found)} contain names of classes and could each be the label", "label")
        return found

    def _check_truth(self, label: str, scores: tuple[str, ...], matrix: Array, columns: tuple[str, ...]) -> None:
        """Ask if the column called a label is the prediction of every row, and another contains classes, too."""
        names = score_classes(columns) if len(columns) == matrix.shape[1] > 1 else ()
        if set(names) <= set(digits(len(names))) or label not in self.table.columns:
            return
        top = survey(matrix).top
        others = label_candidates(self.table, names, top, {*scores, *self._chosen_names()})
        if others and label not in others and label_candidates(self.table, names, top, {*self.table.columns} - {label}):
            raise self._ask(
                f"columns {listed((label, *others))} could each be the label, and the first is the "
                "predicted class of every row",
                "label",
            )

    def _outcomes(self, scores: tuple[str, ...]) -> tuple[str, ...]:
        """Return the two-valued column that is the outcome of a single risk; empty if there is none."""
        found = outcome_columns(self.table, {*scores, *self._chosen_names()})
        found = tuple(name for name in found if not called_prediction(name)) or found
        found = tuple(name for name in found if not _derived(name, found))
        varied = tuple(name for name in found if len(two_values(self.table.columns[name])) == 2)
        # A column that only has "y" may be the name of a model.
        found = varied or tuple(n for n in found if called_outcome(n) or looks_numeric(self.table.columns[n]))
        if len(found) > 1:
            raise self._ask(f"columns {listed(found)} have two values each and could each be the outcome", "label")
        return found

    def _label_beside(self, scores: tuple[str, ...]) -> tuple[str, ...]:
        """Return the label column of a matrix whose other columns are the scores."""
        if self.table.columns or len(self.table.matrices) != 1 or scores[0] in self.table.matrices:
            return ()
        name, matrix = next(iter(self.table.matrices.items()))
        return tuple(n for n in (f"{name}[:, {j}]" for j in range(matrix.shape[1])) if n not in scores)

    def _one_hot(self, scores: tuple[str, ...]) -> tuple[str, ...]:
        by_class = {plain(c): n for n in self.table.columns if n not in scores and (c := one_hot_class(n))}
        found = tuple(by_class.get(plain(name), "") for name in score_classes(scores))
        return found if all(found) and len(found) > 1 else ()

    def _classes(self, scores: tuple[str, ...], label: tuple[str, ...], k: int) -> tuple[tuple[str, ...], LabelCoding]:
        if self.chosen.get("classes") and "label_coding" in self.chosen:
            return tuple(self.chosen["classes"]), self.chosen["label_coding"]
        names = score_classes(scores) if len(scores) == k else self._class_names(k)
        if len(label) > 1 or label[0] in self.table.matrices:
            return names or digits(k), "one-hot"
        column = self.table.column(label[0])
        names = codes_inside(names) if looks_numeric(column) else names
        if names and k == 2 and (meant := same_sides(names, two_values(column))):
            return meant, "names"
        if column.dtype != object:
            return numbered(column, names, k)
        values = pd.unique(column)
        if len(scores) == k and {str(v) for v in values if v != ""} <= set(scores):
            # Labels that repeat whole column names, such as "class 1": there is no prefix to remove.
            return scores, "names"
        if names and k == 2 and (two_values(column) or ("",))[0] in ("0", "1") and looks_numeric(column):
            return names, "0-based"
        if names:
            return spelled_alike(names, values), "names"
        if len(values) > limits.CLASSES:
            raise self._ask(f"labels {quoted(label[0])} have {len(values):,} different values for {k} classes", "label")
        present = sorted(str(v) for v in values if v != "")
        if set(present) <= set(digits(k)):
            return digits(k), "names"
        if len(present) == k:
            return tuple(present), "names"
        raise self._ask(
            f"labels {quoted(label[0])} have {len(present)} names ({listed(present, 3)}), but the {k} score columns "
            "have no names",
            "classes",
        )

    def _class_names(self, k: int) -> tuple[str, ...]:
        texts = {n: c for n, c in self.table.columns.items() if c.dtype == object and len(c) == k}
        best = named(texts, "class names")
        best = best or [n for n in texts if k != self.table.n_rows and role(n) is None]
        if len(best) != 1:
            return ()
        names = tuple(str(v) for v in texts[best[0]])
        return names if len(set(names)) == k else ()

    def _two_classes(self, score: str, label: tuple[str, ...]) -> tuple[tuple[str, ...], LabelCoding]:
        column = self.table.column(label[0])
        texts = [str(v) for v in pd.unique(label_texts(column)) if v != ""]
        if len(texts) > 2:
            texts = [text for text in texts if text.strip().casefold() not in MISSING_TEXT]
        if len(texts) > 2:
            raise self._ask(
                f"there is one column of scores, {quoted(score)}, for {len(texts):,} different labels "
                f"({listed(sorted(texts), 4)}). One score column per class is needed",
                "scores",
            )
        decided = class_decided(self.table, score, label[0], texts) if len(texts) == 2 else None
        if set(texts) <= {"0", "1"}:
            if decided.name == "0" if decided else other_class(score, label[0]):
                return ("1", "0"), "names"
            return ("0", "1"), "names" if column.dtype == object else "0-based"
        if len(texts) < 2:
            raise self._ask(f"every label is {listed(texts)}, so the other class has no name", "classes")
        called = decided.name if decided else class_called(score, texts)
        positive = called or positive_of(texts)
        if class_side(score) < 0 and not called:
            positive = next(text for text in texts if text != positive)
        negative = next(t for t in texts if t != positive)
        return (negative, positive), "names"

    # -- confidence --------------------------------------------------------------------------------------------

    def _of_confidence(self, layout: str) -> Reading:
        confidence = self._needed("confidence")
        kind, n = self._kind_of_confidence(confidence), len(self.table.column(confidence))
        if layout == "confidence":
            reading = Reading("confidence", kind, confidence=confidence, correct=self._needed("correct"))
            return self._finished(reading, n)
        predicted, label = self._needed("predicted"), self._needed("label")
        columns = [self.table.column(predicted), self.table.column(label)]
        classes, coding = classes_of_both(columns)
        reading = Reading(
            "top-label", kind, (), (label,), coding, confidence=confidence, predicted=predicted, classes=classes
        )
        return self._finished(reading, n)

    def _kind_of_confidence(self, name: str) -> ScoreKind:
        if self.chosen.get("kind") == "words" or in_words(self.table.column(name)):
            return "words"
        values = self.table.numeric(name)
        if called_log(name) and np.nanmax(numbers(values), initial=-np.inf) <= 0:
            return "log-probabilities"
        outside = np.nanmax(numbers(values), initial=0.0) > 1 + 1e-6
        if ratings(values):
            return "probabilities"  # which they are not: the check of confidences reports it
        # A few values do not distinguish percentages from broken probabilities: most must exceed 1, and some 2.
        percent = outside and np.nanmedian(numbers(values)) > 1 and 2 < np.nanmax(numbers(values)) <= 100
        return "percentages" if percent else "probabilities"

    def _of_samples(self) -> Reading:
        question: Any = self.chosen.get("question") or named(self.table.columns, "question")
        answers = named(self.table.columns, "predicted") or [n for n in self.table.columns if plain(n) in ANSWERS]
        predicted = self.chosen.get("predicted") or (answers[0] if len(answers) == 1 else None)
        labels = [name for name in named(self.table.columns, "label") if name != predicted]
        label: Any = self.chosen.get("label") or (labels if len(labels) == 1 else None)
        for what, found in (("question", question), ("predicted", predicted), ("label", label)):
            if not found:
                raise self._ask(f"no single column is recognized as {what}", what)
        reading = Reading("samples", question=question, predicted=predicted, label=label)
        return self._finished(reading, self.table.n_rows)

    def _needed(self, wanted: str) -> str:
        name = self._column(wanted)
        if name is None:
            raise self._ask(f"no column is recognized as {wanted}", wanted)
        return name

    # -- the rest ----------------------------------------------------------------------------------------------

    def _column(self, wanted: str) -> str | None:
        """Return the column with this role, as chosen or by its name."""
        given = self.chosen.get(wanted)
        if given is not None:
            return str(given[0] if isinstance(given, tuple) else given)
        found = self._named(wanted)
        if len(found) > 1:
            raise self._ask(f"columns {listed(found)} could each be the {wanted}", wanted)
        if not found and (wanted not in ("confidence", "correct") or not named(self.table.columns, "probabilities")):
            last = [name for name in named_last(self.table.columns, wanted) if name not in self._measured]
            found = last if len(last) == 1 else []
        if not found and wanted == "correct" and len(self._matches) == 1:
            return self._matches[0]
        return found[0] if found else None

    def _named(self, wanted: str) -> list[str]:
        """Return the columns with this role; names of answers and of true answers explain each other."""
        if wanted in ("label", "predicted") and self._told_apart is not None:
            return [self._told_apart.label if wanted == "label" else self._told_apart.predicted]
        return [name for name in named(self.table.columns, wanted) if wanted != "label" or name not in self._measured]

    @cached_property
    def _measured(self) -> list[str]:
        """Numbers that are called labels but are none next to an outcome, such as a coordinate y; or p(TRUE)."""
        called = named(self.table.columns, "label")
        found = [
            name for name in called
            if looks_numeric(column := self.table.columns[name])
            if is_share(self.table, name) or (_names_rows(column, 2) and self._counts_on(name))
        ]  # fmt: skip
        return found if len(called) > 1 or (found and outcome_columns(self.table, found)) else []

    @cached_property
    def _matches(self) -> tuple[str, ...]:
        return exact_matches(self.table)

    @cached_property
    def _told_apart(self) -> Answers | None:
        return None if {"label", "predicted"} & self.chosen.keys() else told_apart(self.table)

    def _finished(self, reading: Reading, n: int) -> Reading:
        split = [name for name in _split_columns(self.table, n) if len(pd.unique(self.table.columns[name])) > 1]
        taken = {*reading.used, self.chosen.get("weights")}
        rest = [name for name, c in self.table.columns.items() if len(c) == n and name not in taken]
        if self.chosen.get("models") and "question" not in self.chosen:
            reading = reading.replace(question=question_columns(self.table, str(self.chosen["models"])))
        return reading.replace(
            split=split[0] if split else None,
            metadata=tuple(rest[:_MOST_METADATA]),
        )

    def _ask(self, why: str, what: str, otherwise: str = "") -> InputError:
        if what == "classes":
            advice, example = "give classes=, the names of all classes in the order of the scores", "NAME,NAME"
            return InputError(f"{self.table.name}: {why}; {advice}", advice, {what: example})
        if what in ("label", "scores") and (groups := counted_groups(self.table)):
            return InputError(f"{self.table.name}: {groups}")
        advice, example = f"give {what}=", "COLUMN,COLUMN" if what == "scores" else "COLUMN"
        columns = f"{self.table.name} contains {self.table.contents()}"
        return InputError(f"{self.table.name}: {why}; {advice}{otherwise}. {columns}", advice, {what: example})
