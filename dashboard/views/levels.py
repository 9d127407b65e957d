"""The levels view: stated confidences as they are, and which answers they put first."""

from __future__ import annotations

from calib_core import InputError
from dashboard import session, widgets
from dashboard.chart import waiting
from dashboard.exhibits.ranking import LevelsExhibit
from dashboard.navigation import view
from dashboard.views.exhibited import by_model, exhibited
from dashboard.views.workspace import workspace

_NEAR = 5e-4
"""What is looked at on either side of a level that was clicked."""


def missing() -> str:
    """Why there are no levels to look at; empty where there are, and where rows say nothing but a confidence."""
    try:
        scene = session.scene_of(widgets.selection().replace(calibrators=()))
        if not scene.models.shown:
            return ""  # said where the view would be
        first = scene.models.shown[0]
        alone = scene.get(first.predictions).kind == "confidence"
        return "" if alone else scene.refusal(LevelsExhibit().points(first))
    except InputError:
        return ""  # data that cannot be used: said where the view would be


@view("levels", "Confidence levels", 25, room="explore", missing=missing, reads="rows")
def render() -> None:
    """Draw the view for the present choices."""
    _follow()
    scene = session.scene_of(widgets.selection())
    with workspace(scene):
        exhibited("levels", scene, title=None, folded=True)
        exhibited("selective", scene, folded=True)
        exhibited("skills", scene, turned=by_model(scene))
        if len(scene.models.shown) > 1:
            exhibited("skill-pairs", scene, turned=False if by_model(scene) else None)
    widgets.refusals(scene.models.failed)


def _follow() -> None:
    """Look at the rows of the level that was clicked."""
    click = waiting("levels")
    record = {} if click is None else click.record
    stated = record.get("confidence")
    if isinstance(stated, int | float) and 0 <= stated <= 1:
        between = (max(stated - _NEAR, 0.0), min(stated + _NEAR, 1.0))
        widgets.change(between=between, bin=None, model=str(record.get("model", "")))
