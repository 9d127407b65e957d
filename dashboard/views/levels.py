"""Levels view: stated confidences without binning, and the answers that they rank first."""

from __future__ import annotations

from calib_core import InputError
from dashboard import session, widgets
from dashboard.chart import waiting
from dashboard.exhibits.ranking import LevelsExhibit
from dashboard.navigation import view
from dashboard.views.exhibited import by_model, exhibited
from dashboard.views.workspace import workspace

_NEAR = 5e-4
"""Half-width of the focused range around a clicked level."""


def missing() -> str:
    """Return why there are no levels to show; empty if there are, and for rows with only a confidence."""
    try:
        scene = session.scene_of(widgets.selection().replace(calibrators=()))
        if not scene.models.shown:
            return ""  # shown in place of the view
        first = scene.models.shown[0]
        alone = scene.get(first.predictions).kind == "confidence"
        return "" if alone else scene.refusal(LevelsExhibit().points(first))
    except InputError:
        return ""  # unusable data: reported in place of the view


@view("levels", "Confidence levels", 25, room="explore", missing=missing, reads="rows")
def render() -> None:
    """Draw the view for the current choices."""
    _follow()
    scene = session.scene_of(widgets.selection())
    with workspace(scene):
        exhibited("levels", scene, title=None, folded=True)
        exhibited("selective", scene, folded=True)
        exhibited("skills", scene, controls=False, turned=by_model(scene))
        if len(scene.models.shown) > 1:
            exhibited("skill-pairs", scene, turned=False if by_model(scene) else None)
    widgets.refusals(scene.models.failed)


def _follow() -> None:
    """Focus the rows of the clicked level."""
    click = waiting("levels")
    record = {} if click is None else click.record
    stated = record.get("confidence")
    if isinstance(stated, int | float) and 0 <= stated <= 1:
        between = (max(stated - _NEAR, 0.0), min(stated + _NEAR, 1.0))
        widgets.change(between=between, bin=None, model=str(record.get("model", "")))
