"""Flow of the rows of a file into a validation: read, left out and why, judged, with their events."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from calib_core.evaluation.splitting import Division, reading_of
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.readers.proposal.score_columns import missing_values
from calib_core.readers.table import Table

IN_FILE, LEFT_OUT, KEPT, JUDGED = "rows in the file", "left out", "rows with a prediction and an outcome", "judged"


def row_flow(table: Table, reading: Mapping[str, object] | None, division: Division) -> pd.DataFrame:
    """Count the rows of a file at every step of a validation.

    ``table`` is the file that the judged rows come from, ``reading`` as in ``read_as`` and ``division`` that of its
    rows. One line per step:

    - step: "rows in the file", "left out", "rows with a prediction and an outcome", or "judged";
    - reason why rows are left out (else empty);
    - rows: their number, those of one reason only. A row that lacks several values counts for the first column;
    - events: those with the event, where it is known; NaN for rows that are left out of the file.

    What can mislead: rows that never came into the file, such as people who were not eligible, are not counted.
    NotAnswerable for a summary.

    References: Collins et al. 2024 (TRIPOD+AI, item 20a).

    >>> import calib_core as cc
    >>> table = cc.readers.read_table(b"p,died\\n.3,0\\n.9,1\\n.2,\\n,1\\n.6,1\\n", "a.csv")
    >>> how = {"missing": "exclude"}
    >>> flow = row_flow(table, how, cc.calls.divide(cc.calls.read_as(table, how), folds=2))
    >>> flow[["step", "reason", "rows"]].values.tolist()[1:3]
    [['left out', 'no value in p', 1], ['left out', 'no value in died', 1]]
    """
    if division.undivided:
        raise NotAnswerable("a summary does not store which rows were left out: open the original file")
    whole = division.test if division.whole is None else division.whole
    unlabeled = 0 if table.joined is None else table.joined.left_out
    lines = [_line(IN_FILE, "", table.n_rows + unlabeled)]
    if unlabeled:
        lines.append(_line(LEFT_OUT, "no outcome in the other file", unlabeled))
    gone = np.zeros(table.n_rows, dtype=bool)
    for name, gap in missing_values(table, reading_of(table, reading)).items():
        new = gap & ~gone if len(gap) == len(gone) else gap[:0]
        gone[: len(new)] |= new
        if new.any():
            lines.append(_line(LEFT_OUT, f"no value in {name}", int(new.sum())))
    other = table.n_rows - int(gone.sum()) - whole.n_rows
    if other > 0:
        lines.append(_line(LEFT_OUT, "rows of other models, or combined with another row", other))
    lines.append(_line(KEPT, "", whole.n_rows, whole))
    judged = division.test
    if division.folds is None and division.fit is not judged and division.whole is not None:
        lines.append(_line(LEFT_OUT, "reserved for fitting calibrators", division.fit.n_rows, division.fit))
    rest = whole.n_rows - judged.n_rows - (0 if division.folds is not None else division.fit.n_rows)
    if division.whole is not None and rest > 0:
        lines.append(_line(LEFT_OUT, f"other than {division.where}" if division.where else "in no part", rest))
    lines.append(_line(JUDGED, "", judged.n_rows, judged))
    return pd.DataFrame(lines)


def _line(step: str, reason: str, rows: int, of: Predictions | None = None) -> dict[str, object]:
    events = math.nan if of is None or of.event is None else float((of.true_labels == of.event).sum())
    return {"step": step, "reason": reason, "rows": rows, "events": events}
