"""Recalibrate: a list of calibrators, before and after next to it, and details of the ticked ones below."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from dashboard import session, widgets
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.calibration_maps import made_of_maps, mapped
from dashboard.exhibits.ranking import keeping_rates
from dashboard.navigation import view
from dashboard.session import Model, Scene
from dashboard.theme import markdown_plain
from dashboard.views import beside_cards, calibrator_cards, decision_costs
from dashboard.views.exhibited import MOST_TURNED, exhibited
from dashboard.views.on_request import on_request


@view("calibrators", "Recalibrate", 10, room="recalibrate")
def render() -> None:
    """Draw the view for the present choices."""
    scene = session.scene_of(widgets.selection())
    if none := session.unfitted(widgets.selection()):
        st.info(markdown_plain(none))
        if len(scene.models.shown) > 1:
            _pairs(scene)
        return
    model = looked_at(scene)
    left, right = st.columns([0.54, 0.46], gap="medium")
    with left, st.container(gap="small"):
        calibrator_cards.draw(scene, model)
    with right, st.container(key="looked-at", border=True):
        beside_cards.draw(scene, model)
    _more(scene, model)


def looked_at(scene: Scene) -> Model | None:
    """The calibrator whose before and after is shown: the one looked at, else the first ticked."""
    models = scene.models.recalibrated
    return scene.model if scene.model in models else next(iter(models), None)


_MORE = {
    "fitted": "Fitted parameters",
    "gains": "Gains and costs",
    "choice": "Recalibrate at all?",
    "movement": "Before and after",
    "numbers": "Every number",
    "pairs": "Pairs",
    "decisions": "Decisions",
    "promises": "Guarantees",
    "effects": "Side effects",
    "maps": "Score in, score out",
    "rates": "Is the rate kept?",
    "times": "Times",
}
"""What can be asked of the ticked calibrators, below: one thing at a time, and nothing is computed before it is."""


def _more(scene: Scene, model: Model | None) -> None:
    """The question chosen, and its answer."""
    keys = [key for key in _MORE if key != "rates" or keeping_rates(scene)]
    chosen = widgets.selection().question
    chosen = chosen if chosen in keys else keys[0]
    st.segmented_control(
        "More about the ticked calibrators",
        keys,
        format_func=_MORE.__getitem__,
        **widgets.tied_to(keys, "recalibrate.more", chosen, _ask),
    )
    answers: dict[str, Callable[[], object]] = {
        "fitted": lambda: exhibited("fitted", _seen(scene, model)),
        "gains": lambda: exhibited("gains", scene),
        "choice": lambda: exhibited("recommendation", scene),
        "movement": lambda: exhibited("movement", _seen(scene, model), name="movement-numbers"),
        "numbers": lambda: _numbers(scene),
        "pairs": lambda: _pairs(scene),
        "decisions": lambda: decision_costs.draw(scene),
        "promises": lambda: exhibited("promises", scene),
        "effects": lambda: _effects(scene),
        "maps": lambda: _map(scene),
        "rates": lambda: _rates(scene),
        "times": lambda: _seconds(scene),
    }
    answers[chosen]()


def _ask(chosen: str) -> None:
    widgets.change(question="" if chosen == next(iter(_MORE)) else chosen)


def _seen(scene: Scene, model: Model | None) -> Scene:
    return scene if model is None else scene.focused(model=model.title)


def _effects(scene: Scene) -> None:
    exhibited("side-effects", scene, turned=len(scene.models.recalibrated) <= MOST_TURNED)
    on_request("uses", scene)
    exhibited("score-parts", scene)


def _pairs(scene: Scene) -> None:
    exhibited("pairs", scene)
    if scene.undivided and len(scene.models.shown) > 1:
        exhibited("kept-pairs", scene)


def _numbers(scene: Scene) -> None:
    counting(scene)
    exhibited("calibrators", scene)


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


def _rates(scene: Scene) -> None:
    for model in keeping_rates(scene):
        title = f"{model.title}: is the rate kept?"
        exhibited("rates", scene.focused(model=model.title), name=f"rates-{model.key}", title=title)


def _seconds(scene: Scene) -> None:
    """How long fitting and applying took."""
    times = []
    for model in scene.models.recalibrated:
        known = [scene.shelf.seconds(part, scene.scope) for part in (model.fitted, model.predictions)]
        times += [f"{model.title} {' and '.join(f'{1000 * s:.1f}' for s in known if s is not None)}"]
    apply = "to fit again in folds" if scene.models.shown and scene.cross_fitted else "to apply"
    text = f"Milliseconds on this machine to fit and {apply}: {'; '.join(times)}." if times else "Nothing is ticked."
    st.caption(markdown_plain(text))


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
