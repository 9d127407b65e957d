"""Words for the event of two classes, from the file's own names: the rows, what happens to them, the event's name."""

from __future__ import annotations

from typing import Any

import numpy as np

import calib_core as cc
from calib_core import InputError
from calib_core.predictions.event_names import event_phrase, event_title
from calib_core.risk import InTheLarge
from calib_core.text import percent, points, short_percent, told_apart
from dashboard import session
from dashboard.session import Call, Model, Scene, call
from dashboard.session.result_cache import RESULTS

_NOUNS = {
    "patient": "patients", "customer": "customers", "client": "clients", "applicant": "applicants", "loan": "loans",
    "student": "students", "employee": "employees", "user": "users", "borrower": "borrowers",
}  # fmt: skip
"""The noun for rows, by the name of a column with a different value in every row."""

_FEW = 1.15
"""If mean risk and observed frequency differ by a smaller factor than this, their gap is given in points."""


def in_words(scene: Scene) -> tuple[str, str]:
    """Return the first file's words for rows and event: "Of (rows) given a risk of about 30 %, 14 % (died)."."""
    rows = scene.get(scene.models.shown[0].predictions)
    assert rows.event is not None
    name = (rows.class_names or ())[rows.event]
    return noun(scene), event_phrase(name, _outcome(scene))


def noun(scene: Scene) -> str:
    """Return the noun for rows of the first file: "patients" if every row is a different patient, else "rows"."""
    source = scene.models.shown[0].source
    try:
        table = session.file(source.data).table
    except InputError:
        return "rows"
    found = RESULTS.put(f"noun {source.data}", lambda: _noun(table), of=(source.data,))
    return str(found)


def named_classes(scene: Scene) -> tuple[str, ...]:
    """Return the display names of the first file's classes; two codes use the outcome column (died, died = 0)."""
    names: tuple[str, ...] = scene.class_names
    return tuple(event_title(name, _outcome(scene)) for name in names) if len(names) == 2 else names


def of_scene(scene: Scene) -> str:
    """Return the name of the first model's event."""
    rows = scene.get(scene.models.shown[0].predictions)
    assert rows.event is not None
    return event_title((rows.class_names or ())[rows.event], _outcome(scene))


def in_the_large(scene: Scene) -> Call[InTheLarge]:
    """Return predicted and observed events of the model in focus."""
    return call(cc.risk.in_the_large, scene.among_all(scene.model), bins=scene.bins, stem="in_the_large")


def on_average(found: InTheLarge) -> str:
    """Compare the mean risk with the observed frequency: as a factor, or in points if it is near 1.

    >>> rows = cc.Predictions([[0.7, 0.3]] * 400, [0] * 340 + [1] * 60)
    >>> on_average(cc.risk.in_the_large(rows))
    'The mean predicted risk is 2 times the observed frequency'
    """
    if not found.differs:
        return "No significant gap on average"
    if not found.events:
        return "No event was observed: the mean predicted risk is too high"
    times = 1 / found.ratio if found.ratio < 1 else found.ratio
    if times < _FEW:
        much = points(abs(found.gap)).removeprefix("+")
        return f"The mean predicted risk is {much} too {'high' if found.ratio < 1 else 'low'}"
    larger, smaller = "mean predicted risk", "observed frequency"
    if found.ratio > 1:
        larger, smaller = smaller, larger
    return f"The {larger} is {'more than 100' if times > 100 else f'{times:.2g}'} times the {smaller}"


def predicted_and_observed(found: InTheLarge) -> tuple[str, str]:
    """Mean risk and observed frequency in percent, with the digits of ``on_average`` where that is in points.

    Extra digits that make a difference visible are printed only if the difference is significant.

    >>> rows = cc.Predictions([[0.714, 0.286]] * 4000, [0] * 2996 + [1] * 1004)
    >>> found = cc.risk.in_the_large(rows)
    >>> on_average(found), predicted_and_observed(found)
    ('The mean predicted risk is 3.5 points too high', ('28.6 %', '25.1 %'))
    """
    shares = found.mean_predicted, found.observed
    if not found.differs:
        return short_percent(shares[0]), short_percent(shares[1])
    usual = told_apart(*shares, short_percent)
    decimals = len(points(found.gap).split()[0].partition(".")[2])
    exact = percent(shares[0], decimals), percent(shares[1], decimals)
    return exact if "point" in on_average(found) and len(exact[0]) > len(usual[0]) else usual


def beside_advice(scene: Scene) -> str:
    """Sentence for a model with a significant error but no recommended calibrator (``advice.shown_error``)."""
    # About all rows, like the advice: a slice changes neither.
    rows = Model(scene.models.shown[0].source.everywhere).predictions
    event = "" if scene.get(rows).event is None else of_scene(scene)
    judged = {"event": event, "eps": scene.tolerance, "ratio": scene.ratio, "bins": scene.bins}
    return str(scene.get(call(cc.evaluation.advice.shown_error, rows, **judged, stem="error")))


def _outcome(scene: Scene) -> str:
    """Return the outcome column of the first file; empty if the file has none."""
    source = scene.models.shown[0].source
    try:
        label = session.reading(source.data, source.reading).label
    except InputError:
        return ""
    return label[0] if len(label) == 1 else str(scene.get(scene.models.shown[0].predictions).outcome)


def _noun(table: Any) -> str:
    for column in table.columns:
        stem = column.casefold().strip().replace(" ", "_")
        for end in ("_id", "_no", "_number", "id"):
            stem = stem.removesuffix(end).rstrip("_")
        if stem in _NOUNS:
            values = np.asarray(table.column(column))
            if len(values) and len(set(values.tolist())) == len(values):
                return _NOUNS[stem]
    return "rows"
