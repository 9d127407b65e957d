"""Answers with a confidence and a grade: correct, incorrect or not attempted, in words or letters (SimpleQA)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from calib_core._base.arrays import frozen
from calib_core.predictions.predictions import InputError
from calib_core.readers.foreign.level_columns import texts_of
from calib_core.readers.messages import quoted, shown
from calib_core.readers.proposal.class_columns import parts
from calib_core.readers.proposal.column_roles import named_last
from calib_core.readers.proposal.label_codes import label_texts
from calib_core.readers.reading import Fields, Layout
from calib_core.readers.table import Table
from calib_core.readers.tool_shapes import ShapeOfColumns, shape_of_columns
from calib_core.text import count, several

_CALLED = frozenset({"grade", "graded", "grading", "grader", "verdict", "judgment", "judgement", "judged", "score"})
_WORDS = {"correct": "1", "incorrect": "0", "wrong": "0", "not_attempted": "", "not attempted": ""}
_MARKS = {"c": "1", "i": "0", "n": ""}
_LETTERS = {"a": "1", "b": "0", "c": ""}
"""Meanings of grades: right, wrong, or neither because no answer was attempted."""


@shape_of_columns
class GradedAnswers(ShapeOfColumns):
    """A confidence and a grade; the grade becomes 1 or 0, and nothing if no answer was attempted."""

    key, title = "graded-answers", "graded answers, as of SimpleQA"
    layout: ClassVar[Layout] = "confidence"
    neither = True
    meanings: ClassVar[tuple[Mapping[str, str], ...]] = (_WORDS, _MARKS)

    def recognises(self, table: Table) -> bool:
        return self._graded(table) is not None

    def table(self, table: Table) -> Table:
        found = self._graded(table)
        assert found is not None
        grade, meaning = found
        texts = [_plain(text) for text in label_texts(table.columns[grade])]
        values = np.array([meaning.get(text, "") for text in texts], dtype=object)
        skipped = sum(meaning.get(text) == "" for text in texts)
        left_out = (
            f"{several(skipped, 'answers')} of {count(len(texts))} were not attempted. They are left out, not counted "
            "as wrong."
        )
        notes = (*table.notes, left_out) if skipped else table.notes
        return replace(table, columns={**table.columns, grade: frozen(values)}, notes=notes)

    def fields(self, table: Table, chosen: Fields) -> Fields:
        grade = _grades(table)
        shared: Fields = {
            "layout": "confidence",
            "confidence": named_last(table.columns, "confidence")[0],
            "correct": grade,
        }
        return {**shared, "missing": "exclude"} if "" in label_texts(table.columns[grade]) else shared

    def _graded(self, table: Table) -> tuple[str, Mapping[str, str]] | None:
        """Return the column of grades and the meaning of its words; None unless there is one."""
        if len(named_last(table.columns, "confidence")) != 1 or named_last(table.columns, "correct"):
            return None
        found = [
            (name, words)
            for name in _called(table)
            for words in self.meanings
            if (texts := {_plain(text) for text in texts_of(table, name)}) <= words.keys()
            and {"0", "1"} <= {words[text] for text in texts}
        ]
        return found[0] if len(found) == 1 else None


@shape_of_columns
class LetterGrades(GradedAnswers):
    """Grades A, B and C, which mean correct, incorrect and not attempted only in SimpleQA."""

    key, title = "letter-grades", "answers with the grades A, B and C"
    meanings = (_LETTERS,)

    def fields(self, table: Table, chosen: Fields) -> Fields:
        if "correct" not in chosen:
            grade = _grades(table)
            raise InputError(
                f"{table.name}: {quoted(grade)} has grades A, B and C. If A means correct, B incorrect and C not "
                f"attempted, as in SimpleQA, choose correct={shown(grade)}",
                f"choose correct={shown(grade)}",
                {"correct": grade},
            )
        return super().fields(table, chosen)


def _plain(text: object) -> str:
    return str(text).strip().casefold()


def _called(table: Table) -> list[str]:
    return [name for name, column in table.columns.items() if column.dtype == object and parts(name) & _CALLED]


def _grades(table: Table) -> str:
    """Return the column of converted grades."""
    return next(name for name in _called(table) if texts_of(table, name) <= {"0", "1"})
