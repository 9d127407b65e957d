"""Exhibits of a summary: those that need only counts are shown, all others report that they need rows."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from no_data import OF_NO_DATA

import calib_core as cc
from calib_core import ESTIMATORS, NotAnswerable
from calib_core.registry.registry import Choice
from calib_core.summaries import write_summary
from dashboard import session
from dashboard.exhibits import EXHIBITS, Exhibit
from dashboard.selection import Selection, Source
from dashboard.session import Scene

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.law
COUNTED = [key for key in EXHIBITS if EXHIBITS[key].factory.reads == "counts"]
SLOW = OF_NO_DATA | {"paper-tables"}
"""Exhibits without data, which do not depend on a summary; the laws of all exhibits cover them."""


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """Return a scene of two models, each a summary with slices."""
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("summaries")
    z = rng.normal(size=(600, 3))
    y = (np.log(rng.random(z.shape)) * -np.exp(-z)).argmin(axis=1)
    columns = pd.DataFrame({"site": rng.choice(["a", "b"], len(z)), "age": rng.integers(0, 30, len(z))})
    keys = []
    for name, sharp in (("first", 1.7), ("second", 1.0)):
        e = np.exp(sharp * z)
        rows = cc.Predictions(e / e.sum(axis=1, keepdims=True), y, class_names=["x", "y", "z"], metadata=columns)
        path = Path(folder, f"{name}.parquet")
        write_summary(cc.Summary.of(rows, ["site", "age"], source="test"), path)
        keys.append(session.hold(path.read_bytes(), path.name).key)
    return session.scene_of(Selection(source=Source(data=keys[0]), others=((keys[1], ""),), bin=10, code=1, cell=2))


def made(exhibit: Exhibit, scene: Scene) -> None:
    """Compute everything that a screen shows of the exhibit."""
    frame = scene.get(exhibit.table(scene))
    exhibit.columns(frame)
    exhibit.words(scene)
    figure = exhibit.figure(scene)
    if figure is not None:
        scene.get(figure)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("key", [key for key in COUNTED if key not in SLOW])
def test_what_reads_counts_is_shown_of_a_summary_with_all_its_choices(key, scene):
    exhibits = [EXHIBITS.make(key)]
    for param in EXHIBITS[key].params:
        options = param.domain.options if isinstance(param.domain, Choice) else ()
        exhibits += [EXHIBITS.make(key, **{param.name: option}) for option in options]
    for exhibit in exhibits:
        try:
            exhibit.check(scene)
        except NotAnswerable:  # an option that is declared to read rows does
            with pytest.raises(NotAnswerable):
                made(exhibit, scene)
            continue
        if getattr(exhibit, "bins_of", "own") == "own":  # others are those of a recalibrated model, and there is none
            made(exhibit, scene)


@pytest.mark.parametrize("key", [key for key in EXHIBITS if key not in COUNTED and key not in SLOW])
def test_what_reads_rows_says_so_and_does(key, scene):
    exhibit = EXHIBITS.make(key)
    sample = "$" if exhibit.reads_columns else ", or select the 600 rows stored in it$"
    with pytest.raises(NotAnswerable, match=r"needs rows, .* original file" + sample):
        exhibit.check(scene)
    with pytest.raises(NotAnswerable):
        made(exhibit, scene)


@pytest.mark.parametrize("key", list(ESTIMATORS))
def test_an_estimator_answers_a_summary_as_it_declares(key, scene):
    summary, whole = scene.get(scene.model.predictions), "predictions" in ESTIMATORS[key].flags.takes
    ask = {"reduction": None if whole else "confidence", "estimator": key}
    if ESTIMATORS[key].flags.reads == "counts":
        assert np.isfinite(cc.estimate(summary, **ask).value)
    else:
        with pytest.raises(NotAnswerable, match="needs rows"):
            _ = cc.estimate(summary, **ask).value
