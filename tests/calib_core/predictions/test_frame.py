"""All rows as a table: every cell equals the predictions for that row."""

import numpy as np
import pandas as pd
import pytest

from calib_core import InputError, Predictions, Summary, summarise


def test_every_cell_is_what_is_known_of_its_row():
    rng = np.random.default_rng(2)
    probs, labels = rng.dirichlet(np.ones(3), 40), rng.integers(3, size=40)
    names, sites = np.array(["ant", "bee", "cow"]), rng.choice(list("xy"), 40)
    p = Predictions(probs, labels, class_names=names.tolist(), metadata=pd.DataFrame({"site": sites, "label": sites}))
    frame = p.frame()
    assert frame.columns.tolist() == [
        *("row", "predicted", "label", "confidence", "correct", "P(ant)", "P(bee)", "P(cow)", "site", "label (file)")
    ]
    assert frame["row"].tolist() == list(range(40))
    assert frame["predicted"].tolist() == names[probs.argmax(axis=1)].tolist()
    assert frame["label"].tolist() == names[labels].tolist()
    assert frame["confidence"].tolist() == probs.max(axis=1).tolist()
    assert frame["correct"].tolist() == (probs.argmax(axis=1) == labels).tolist()
    assert frame[["P(ant)", "P(bee)", "P(cow)"]].to_numpy().tolist() == probs.tolist()
    assert frame["site"].tolist() == frame["label (file)"].tolist() == sites.tolist()


def test_bare_confidences_have_no_classes_and_summaries_no_rows():
    p = Predictions.from_confidence([0.9, 0.6], [True, False])
    assert p.frame().columns.tolist() == ["row", "confidence", "correct"]
    assert not hasattr(Summary.of(p), "frame")


def test_predictions_are_no_file():
    with pytest.raises(InputError, match=r"Summary\.of"):
        summarise(Predictions([[0.7, 0.3]], [0]))
