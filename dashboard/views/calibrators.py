"""The calibrators view: all ticked calibrators in one table, in pairs, what they promise and do, and as files."""

from __future__ import annotations

from functools import partial

import streamlit as st

from calib_core import exporting
from dashboard import session, widgets
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.binary_map import made_of_maps, mapped
from dashboard.exhibits.rates import keeping_rates
from dashboard.navigation import view
from dashboard.session import Scene, call
from dashboard.takeaway import onnx_bytes
from dashboard.theme import markdown_plain
from dashboard.views.exhibited import exhibited


@view("calibrators", "Calibrators", 50)
def render() -> None:
    """Draw the view for the present choices."""
    scene = session.scene_of(widgets.selection())
    widgets.refusals(scene.models.refused)
    counting(scene)
    exhibited("calibrators", scene)
    _seconds(scene)
    exhibited("pairs", scene)
    exhibited("promises", scene)
    if scene.models.recalibrated:
        exhibited("side-effects", scene)
    for model in keeping_rates(scene):
        title = f"{model.title}: is the rate kept?"
        exhibited("rates", scene.focused(model=model.title), name=f"rates-{model.key}", title=title)
    _map(scene)
    _saved(scene)


def counting(scene: Scene) -> None:
    """Where models abstain: which rows every number of a table is over."""
    if scene.abstaining:
        st.segmented_control(
            "Rows of the table",
            tuple(_COUNTING),
            format_func=_COUNTING.__getitem__,
            help="Some models abstain on rows. Every model is judged on the rows that all answer, or all of them on "
            "every row, where the vector given in place of an answer counts as the prediction.",
            **widgets.bound("counting"),
        )


_COUNTING = {"answered": "answered by all models", "all": "all rows"}


def _seconds(scene: Scene) -> None:
    """How long fitting and applying took."""
    times = []
    for model in scene.models.recalibrated:
        known = [scene.shelf.seconds(part, scene.scope) for part in (model.fitted, model.predictions)]
        times += [f"{model.title} {' and '.join(f'{1000 * s:.1f}' for s in known if s is not None)}"]
    if times:
        st.caption(markdown_plain(f"Milliseconds on this machine to fit and to apply: {'; '.join(times)}."))


def _map(scene: Scene) -> None:
    """Score in, score out, of the calibrator and the class chosen beside it."""
    models = made_of_maps(scene)
    if models:
        model, titles = mapped(scene), [each.title for each in models]
        strata: tuple[str, ...] = scene.get(model.fitted).strata_
        stratum = min(widgets.selection().exhibit("binary-map").build().stratum, len(strata) - 1)
        left, right = st.columns(2)
        left.selectbox("Calibrator", titles, **widgets.tied_to(titles, "map.of", model.title, _chosen))
        if len(strata) > 1:
            right.selectbox(
                "Map of",
                range(len(strata)),
                format_func=lambda s: strata[s],
                **widgets.tied_to(range(len(strata)), "map.stratum", stratum, _stratum),
            )
    exhibited("binary-map", scene, controls=False, folded=True)


def _chosen(title: str) -> None:
    widgets.change(model=title)
    _stratum(0)


def _stratum(stratum: int) -> None:
    widgets.change_exhibit(EXHIBITS.described("binary-map", stratum=stratum))


def _saved(scene: Scene) -> None:
    """The fitted calibrators as files: for this library, for any Python, for other languages."""
    st.markdown("#### Take a fitted calibrator home")
    st.caption(
        "JSON: `cc.load_calibrator(path).predict_proba(probs)` gives the numbers shown here, equal to the last bit. "
        "Python: a module that needs no packages. ONNX: for other languages and model servers. The last two are run "
        "beside the calibrator when you click, and refused where they differ from it by more than 0.000001."
    )
    for model in scene.models.recalibrated:
        title, json, python, onnx = st.columns([0.55, 0.15, 0.15, 0.15], vertical_alignment="center")
        title.markdown(markdown_plain(model.title))
        name = model.recipe.key.replace("+", "-")
        calibrator = scene.get(model.fitted)
        with json:
            widgets.download("JSON", f"calibrator-{name}.json", calibrator.to_json, key=f"saved.{model.key}")
        why = scene.refusal(call(exporting.program, model.fitted))
        if why:
            title.caption(markdown_plain(f"{why}."))
            continue
        module = f"calibrator_{name.replace('-', '_')}.py"
        with python:
            widgets.download("Python", module, partial(exporting.python_source, calibrator), key=f"python.{model.key}")
        with onnx:
            widgets.download(
                "ONNX", f"calibrator-{name}.onnx", partial(onnx_bytes, calibrator), key=f"onnx.{model.key}"
            )
