"""Some rows as a table: what was said of each, what was true, and the columns of the user's own file."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from calib_core.predictions.storage import Stored

__all__ = ["row_table"]


def row_table(
    predictions: Stored,
    rows: ArrayLike,
    numbers: ArrayLike | None = None,
    *,
    probabilities: bool = False,
    risks: bool = False,
) -> pd.DataFrame:
    """What is known of some rows: row, predicted, label, confidence, correct, then the metadata columns.

    Parameters
    ----------
    rows : positions (m,) of the rows in ``predictions``.
    numbers : where every row of ``predictions`` stands in its file (n,), such as ``test_rows`` of a division; by
        default 0 to n - 1.
    probabilities : whether there is a column P(name) for every class, for predictions of few classes.

    risks : whether confidence is the predicted risk of an event, and correct whether it happened: the columns are then
        called risk and event.

    Confidences without classes have no columns ``predicted`` and ``label``. A metadata column with the name of one of
    these is called "name (file)".

    >>> from calib_core import Predictions
    >>> p = Predictions([[0.7, 0.3], [0.2, 0.8]], [0, 0], class_names=["cat", "dog"])
    >>> row_table(p, [1], [10, 11]).to_dict("records")
    [{'row': 11, 'predicted': 'dog', 'label': 'cat', 'confidence': 0.8, 'correct': False}]
    """
    places = np.asarray(rows, dtype=np.intp)
    names = np.asarray(predictions.class_names or (), dtype=object)
    columns: dict[str, object] = {"row": places if numbers is None else np.asarray(numbers)[places]}
    if predictions.kind != "confidence":
        columns |= {"predicted": names[predictions.predicted[places]], "label": names[predictions.true_labels[places]]}
    says, true = ("risk", "event") if risks else ("confidence", "correct")
    columns |= {says: predictions.confidence[places], true: predictions.correct[places]}
    if probabilities:
        columns |= {f"P({name})": predictions.rows.column(j)[places] for j, name in enumerate(names)}
    table = pd.DataFrame(columns)
    if predictions.metadata is not None:
        extra = predictions.metadata.iloc[places].reset_index(drop=True)
        table = table.join(extra.rename(columns=lambda name: f"{name} (file)" if name in columns else name))
    return table
