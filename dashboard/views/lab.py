"""Laboratory: a known distribution is chosen or drawn, sampled, and compared with estimators and calibrators."""

from __future__ import annotations

from contextlib import suppress

import streamlit as st

from calib_core import InputError, Recipe, RegistryError
from calib_core.lab import TRUTHS, distance_experiments
from dashboard import session, widgets
from dashboard.chart import waiting
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.lab import MOST_SEED, LabCurve, LabDrift, LabErrors
from dashboard.export import csv_bytes
from dashboard.navigation import view
from dashboard.selection import Selection
from dashboard.session import Scene
from dashboard.theme import markdown_plain
from dashboard.views import data_choice
from dashboard.views.exhibited import exhibit_controls, exhibited
from dashboard.views.on_request import wanted
from dashboard.views.workspace import controls_beside

CURVE, ERRORS, DISTANCES, DRIFT = "lab-curve", "lab-errors", "lab-distances", "lab-drift"
SAMPLE = "lab_sample.csv"
PLANNED = (
    "Opens the planner with this sample as the data. It shows the width of the interval of its calibration error, and "
    "the rows that a narrower one needs."
)


@view("lab", "Lab", 60, room="evidence", needs_data=False)
def render() -> None:
    """Draw the view for the current choices."""
    _follow()
    scene = _scene()
    recipe = widgets.selection().exhibit(CURVE)
    exhibit: LabCurve = recipe.build()
    drag = " Drag the points of the curve, or their sliders." if TRUTHS.flags(exhibit.truth).movable else ""
    st.caption(f"The true distribution is known here, so estimates and calibrators can be compared with it.{drag}")
    left, right = controls_beside("lab")
    with left:
        st.markdown(f"#### {markdown_plain(EXHIBITS[CURVE].title)}")
        with st.container(horizontal=True):
            st.button("Sample again", icon=":material/casino:", on_click=_again, args=(exhibit.seed,))
            st.button("Use this sample as data", on_click=_use, args=(exhibit, scene))
            st.button("Plan the sample size", on_click=_plan, args=(exhibit, scene), help=PLANNED)
        widgets.recipe_controls(recipe, key=f"exhibit.{CURVE}", changed=widgets.change_exhibit)
        st.caption(markdown_plain(exhibit.judged))
        table = exhibit.sample_table()
        widgets.download("Download this sample (CSV)", SAMPLE, lambda: csv_bytes(scene.get(table)))
    with right:
        exhibited(CURVE, scene, title=None, controls=False, folded=True)
    _errors(scene)
    _distances(scene)
    _drift(scene)


def _scene() -> Scene:
    """Return the scene; the laboratory needs no data, so the current ones may be gone."""
    try:
        return session.scene_of(widgets.selection())
    except InputError:
        return session.scene_of(Selection())


def _follow() -> None:
    """Move a point of a drawn distribution to where it was dragged in the picture."""
    click, recipe = waiting(CURVE), widgets.selection().exhibit(CURVE)
    truth, record = recipe.build().truth, {} if click is None else click.record
    point, share = record.get("point"), record.get("share")
    if TRUTHS.flags(truth).movable and type(point) is int and isinstance(share, int | float):
        with suppress(RegistryError):  # a browser can send anything
            changed = TRUTHS.recipe(truth.moved(point, float(share)))
            widgets.change_exhibit(EXHIBITS.described(CURVE, **{**dict(recipe.params), "truth": changed}))


def _again(seed: int) -> None:
    """Draw another sample of the same distribution."""
    recipe = widgets.selection().exhibit(CURVE)
    params = {**dict(recipe.params), "seed": (seed + 1) % (MOST_SEED + 1)}
    widgets.change_exhibit(EXHIBITS.described(CURVE, **params))


def _use(exhibit: LabCurve, scene: Scene, view: str = "overview") -> None:
    """Use the sample as an opened file; all its rows are evaluated, in the current notion."""
    data = csv_bytes(scene.get(exhibit.sample_table()))
    data_choice.take("data", lambda: session.hold(data, SAMPLE))
    if widgets.selection().source.data == session.hold(data, SAMPLE).key:
        widgets.change(by="folds", notion=TRUTHS.flags(exhibit.truth).notion)
    widgets.change(view=view)


def _plan(exhibit: LabCurve, scene: Scene) -> None:
    """Use the sample as the current data, and open the question about the interval width for this many rows."""
    _use(exhibit, scene, "planner")
    widgets.change_exhibit(EXHIBITS.described("plan", plan=Recipe("PLANS", "error-interval")))


def _errors(scene: Scene) -> None:
    recipe = widgets.selection().exhibit(ERRORS)
    exhibit: LabErrors = recipe.build()
    st.markdown(f"#### {markdown_plain(EXHIBITS[ERRORS].title)}")
    bar = st.empty()  # above the controls: below them it could be off the screen
    used = [name for name in exhibit.used if name not in ("truth", "seed")]
    with exhibit_controls(ERRORS):
        widgets.recipe_controls(recipe, key=f"exhibit.{ERRORS}", changed=widgets.change_exhibit, only=used)
    table = exhibit.found()
    place = st.empty()
    with place.container():
        why = f"{exhibit.draws} samples of each size; takes seconds to a minute."
        known = scene.knows(table)
        if not known and not wanted(f"{ERRORS} {table.key}", why):
            return
    exhibited(ERRORS, scene, title=None, controls=False, folded=True, bar=None if known else bar)
    place.empty()  # there is nothing left to cancel


def _distances(scene: Scene) -> None:
    """Draw the same samples individually, once they are drawn, if an experiment is about one distribution."""
    errors: LabErrors = widgets.selection().exhibit(ERRORS).build()
    if errors.experiment in distance_experiments() and scene.knows(errors.found()):
        same = {name: getattr(errors, name) for name in ("experiment", "truth", "draws", "seed")}
        exhibited(DISTANCES, scene, folded=True, limits=same)


def _drift(scene: Scene) -> None:
    """Draw when a known drift is found, on request: a year takes a twentieth of a second, with slices a quarter."""
    recipe = widgets.selection().exhibit(DRIFT)
    exhibit: LabDrift = recipe.build()
    st.markdown(f"#### {markdown_plain(EXHIBITS[DRIFT].title)}")
    bar = st.empty()
    with exhibit_controls(DRIFT):
        widgets.recipe_controls(recipe, key=f"exhibit.{DRIFT}", changed=widgets.change_exhibit)
    place = st.empty()
    with place.container():
        known = scene.knows(exhibit.found())
        why = f"{exhibit.draws} simulated years; takes a few seconds."
        if not known and not wanted(f"{DRIFT} {exhibit.found().key}", why):
            return
    exhibited(DRIFT, scene, title=None, controls=False, folded=True, bar=None if known else bar)
    place.empty()
