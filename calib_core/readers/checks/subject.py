"""A table and its reading, with quantities that several checks need, computed once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calib_core.predictions.predictions import InputError
from calib_core.readers.messages import quoted
from calib_core.readers.proposal.label_codes import Coded, coded, coded_labels
from calib_core.readers.proposal.score_columns import check_scores, kept_rows, score_matrix
from calib_core.readers.proposal.score_survey import Survey, survey
from calib_core.readers.reading import LabelCoding, Reading
from calib_core.readers.table import Array, Table


@dataclass(frozen=True, eq=False)
class Subject:
    """A table and its reading, under examination."""

    table: Table
    reading: Reading

    @cached_property
    def scores(self) -> Array:
        """The score columns side by side."""
        return score_matrix(self.table, self.reading)

    @cached_property
    def survey(self) -> Survey:
        """Summary of all score rows, computed in one pass."""
        return survey(self.scores)

    @cached_property
    def k(self) -> int:
        """Number of classes."""
        return max(2, int(self.scores.shape[1]))

    @cached_property
    def labels(self) -> Coded:
        """Labels as codes; InputError unless there is one per row."""
        found = coded_labels(self.table, self.reading)
        if len(found.codes) != len(self.scores):
            raise InputError(
                f"{self.table.name}: {len(found.codes):,} values of {quoted(self.reading.label[0])} for "
                f"{len(self.scores):,} rows of {quoted(self.reading.scores[0])}; give one value per row"
            )
        return found

    @cached_property
    def predicted(self) -> NDArray[np.intp]:
        """The predicted class of each row."""
        if self.scores.shape[1] > 1:
            return self.survey.top
        middle = {"probabilities": 0.5, "percentages": 50.0, "logits": 0.0, "log-probabilities": np.log(0.5)}
        return np.asarray(self.scores[:, 0] > middle[self.reading.kind], dtype=np.intp)

    @cached_property
    def refused(self) -> str | None:
        """The message about scores outside their range, or None."""
        try:
            kept = kept_rows(self.table, self.reading) if self.reading.missing == "exclude" else None
            check_scores(self.table, self.reading, self.scores, kept)
        except InputError as e:
            return str(e)
        return None

    def recoded(self, coding: LabelCoding) -> Coded:
        """The labels under another coding."""
        return coded(self.table.column(self.reading.label[0]), coding, self.reading.classes)

    @property
    def numeric_label(self) -> bool:
        """True if the labels in the file are numbers."""
        return self.table.column(self.reading.label[0]).dtype != object

    def accuracy(self, codes: NDArray[np.int64]) -> float:
        """Share of labeled rows whose predicted class is the label."""
        known = codes >= 0
        return float(np.mean(self.predicted[known] == codes[known])) if known.any() else 0.0
