"""Recalibrate view: a list of calibrators, before and after next to it, and details of the ticked ones below.

The right side of Recalibrate: before and after, side effects, guarantee and export of one calibrator.

A fitted calibrator as files: for this library, for any Python, for other languages; and the command that uses it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from calib_core import NotAnswerable, exporting
from calib_core.figures.movement import ARROWS, MARKS
from calib_core.text import begun
from dashboard import onnx_export, session, widgets
from dashboard.chart import chart, live_path
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.calibration_maps import made_of_maps, mapped, path
from dashboard.exhibits.calibrators import effects
from dashboard.exhibits.ranking import keeping_rates
from dashboard.exhibits.recommendation import Recommendation
from dashboard.navigation import view
from dashboard.selection import ADVICE
from dashboard.session import Model, Scene, call
from dashboard.theme import markdown_plain
from dashboard.views import calibrator_cards, decision_costs
from dashboard.views.exhibited import MOST_TURNED, exhibited, progress
from dashboard.views.on_request import on_request

WHAT = (
    "JSON: `cc.load_calibrator(path).predict_proba(probs)` gives exactly the numbers shown here. Python: a module "
    "that needs no packages. ONNX: for other languages and model servers. Python and ONNX files are tested "
    "against the calibrator when you click, and refused if they differ by more than 0.000001."
)


def offer(scene: Scene, model: Model) -> None:
    """Draw buttons for the files of one calibrator, and the command that recalibrates another file with it."""
    name = model.recipe.key.replace("+", "-")
    calibrator = scene.get(model.fitted)
    why = scene.refusal(call(exporting.program, model.fitted))
    with st.popover("Export", key=f"export.{model.key}", icon=":material/download:"):
        with st.container(horizontal=True, gap="small", key=f"take-home-{model.key}"):
            widgets.download("JSON", f"calibrator-{name}.json", calibrator.to_json, key=f"saved.{model.key}")
            if not why:
                module = f"calibrator_{name.replace('-', '_')}.py"
                source = partial(exporting.python_source, calibrator)
                widgets.download("Python", module, source, key=f"python.{model.key}")
                if onnx_export.installed():
                    onnx = partial(onnx_export.onnx_bytes, calibrator)
                    widgets.download("ONNX", f"calibrator-{name}.onnx", onnx, key=f"onnx.{model.key}")
        st.caption("With the JSON file, for any predictions file with the same columns:")
        st.code(f"calib apply calibrator-{name}.json new.csv -o calibrated.csv", language="sh", wrap_lines=True)
        st.caption(f"{WHAT} {scene.of_all_rows}".rstrip())
        if not onnx_export.installed():
            st.caption("To write ONNX files here, install the package onnx: `pip install 'calib[onnx]'`.")
    if why:
        st.caption(markdown_plain(f"{begun(why)}."))


_HEIGHT = 340
"""Height of the picture in pixels: side effects and guarantee fit below it on a first screen."""
_BESIDE_SLIDER = {
    "confidence": "The slider shows mean confidence and accuracy at its temperature.",
    "event": "The slider shows mean risk at its temperature, and observed frequency.",
}
_SLIDER_WORDS = {"confidence": ("mean confidence", "accuracy"), "event": ("mean risk", "observed")}


def beside_the_cards(scene: Scene, model: Model | None) -> None:
    """Draw the before and after of the focused calibrator; with none selected, of the recommended one."""
    preview = model is None
    if model is None:
        found = _recommended(scene)
        if found is None:
            st.markdown("**Before and after**")
            st.info("Tick a calibrator to see its diagram before and after, its side effects and its guarantee.")
            return
        scene, model = found
    seen = scene.focused(model=model.title)
    aside = " (recommended, not selected)" if preview else ""
    st.markdown(f"**Before and after** · {markdown_plain(model.title)}{aside}")
    _switch(scene, model)
    with progress(seen) as watched:
        try:
            _picture(watched)
            changed = watched.get(EXHIBITS.make("side-effects").table(watched))
            promised = watched.get(EXHIBITS.make("promises").table(watched))
        except NotAnswerable as why:
            st.info(markdown_plain(f"{begun(str(why))}."))
            return
    line = next(line for line in changed.to_dict("records") if line["calibrator"] == model.title)
    _listed("Side effects", list(effects(line)))
    promise = next(line for line in promised.to_dict("records") if line["calibrator"] == model.title)
    unused = [("info", promise["set_aside"])] if promise["set_aside"] else []
    _listed("Guarantee", [("verified" if promise["holds"] else "remove_moderator", promise["sentence"]), *unused])
    offer(scene, model)


def _recommended(scene: Scene) -> tuple[Scene, Model] | None:
    """Return the scene with the recommended calibrator, if it is known and there is one."""
    recipe = Recommendation.known(scene) if scene.models.shown else None
    if recipe is None:
        return None
    model = Model(scene.models.shown[0].source, recipe)
    if scene.refusal(model.predictions):
        return None
    return replace(scene, models=replace(scene.models, shown=(*scene.models.shown, model))), model


def _switch(scene: Scene, model: Model) -> None:
    """Draw the choice among several recalibrated models: of other files, or of other calibrators."""
    titles = [each.title for each in scene.models.recalibrated]
    if len(titles) > 1:
        st.selectbox(
            "Calibrator in focus",
            titles,
            label_visibility="collapsed",
            **widgets.tied_to(titles, "looked-at.focus", model.title, lambda title: widgets.change(model=title)),
        )


def _picture(scene: Scene) -> None:
    """Draw both models' marks, and an arrow in every bin."""
    exhibit = EXHIBITS.make("movement")
    words, drawn = exhibit.words(scene), exhibit.figure(scene)
    beside = ""
    if drawn is not None:
        figure = scene.get(drawn)
        live = slider(scene)
        chart(figure, key="movement", label=words.alt, height=_HEIGHT, live=live)
        beside = _BESIDE_SLIDER[scene.claims] if live else ""
    st.caption(markdown_plain(f"{words.caption} {beside}".rstrip()))


def slider(scene: Scene) -> dict[str, Any] | None:
    """Return the slider that moves the marks, if the calibrator is a single temperature."""
    found = path(scene)
    if found is None:
        return None
    wanted, fitted = found
    marks = {1.0: "original"} if abs(fitted - 1) < 0.05 else {1.0: "original", fitted: "fitted"}
    return live_path(
        scene.get(wanted), MARKS, hides=(ARROWS,), value=fitted, marks=marks, words=_SLIDER_WORDS[scene.claims]
    )


def _listed(title: str, sentences: list[tuple[str, str]]) -> None:
    """Draw sentences under a heading, each after its icon."""
    lines = "\n".join(f"- :material/{icon}: {markdown_plain(begun(text))}" for icon, text in sentences)
    st.markdown(f"**{title}**\n{lines}")


@view("calibrators", "Recalibrate", 10, room="recalibrate")
def render() -> None:
    """Draw the view for the current choices."""
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
        beside_the_cards(scene, model)
    _more(scene, model)


def looked_at(scene: Scene) -> Model | None:
    """Return the calibrator of the before and after: the focused one, otherwise the first ticked."""
    models = scene.models.recalibrated
    return scene.model if scene.model in models else next(iter(models), None)


QUESTIONS = {
    "Fitted map": {"fitted": "Fitted parameters", "maps": "Score in, score out", "times": "Times"},
    "Benefit": {
        "choice": "Is recalibration worthwhile?",
        "gains": "Gains and costs",
        "pairs": "Pairs",
        "numbers": "Every number",
    },
    "Changes": {"movement": "Before and after", "effects": "Side effects", "decisions": "Decisions"},
    "Guarantees": {"promises": "Guarantees", "rates": "Attained and target rate"},
}
"""Questions about the ticked calibrators, below, by topic: one at a time, computed on request."""


def _more(scene: Scene, model: Model | None) -> None:
    """Draw the chosen topic, its questions, and the answer to the chosen one."""
    topics = {
        topic: {key: title for key, title in questions.items() if key != "rates" or keeping_rates(scene)}
        for topic, questions in QUESTIONS.items()
    }
    chosen = widgets.selection().question
    if not any(chosen in questions for questions in topics.values()):
        chosen = "fitted" if model else "choice"  # without a ticked calibrator there are no fitted parameters
    topic = next(topic for topic, questions in topics.items() if chosen in questions)
    questions = topics[topic]
    with st.container(key="recalibrate-questions", horizontal=True, vertical_alignment="bottom"):
        st.segmented_control(
            "More about the selected calibrators",
            tuple(topics),
            **widgets.tied_to(topics, "recalibrate.topic", topic, lambda new: _ask(next(iter(topics[new])))),
        )
        if len(questions) > 1:
            st.segmented_control(
                "Question",
                tuple(questions),
                format_func=questions.__getitem__,
                label_visibility="collapsed",
                **widgets.tied_to(questions, "recalibrate.more", chosen, _ask),
            )
    answers: dict[str, Callable[[], object]] = {
        "fitted": lambda: exhibited("fitted", _seen(scene, model)),
        "gains": lambda: exhibited("gains", scene),
        "choice": lambda: _advice(scene),
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
    widgets.change(question=chosen)


def _seen(scene: Scene, model: Model | None) -> Scene:
    return scene if model is None else scene.focused(model=model.title)


def _advice(scene: Scene) -> None:
    # What it is chosen for is stated above the cards, for every page.
    exhibited(ADVICE, scene, controls=False)
    if scene.claims == "event":
        exhibited("update-test", scene)


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
    """Draw the choice of rows behind every number of a table, if models abstain."""
    if scene.abstaining:
        st.segmented_control(
            "Rows of the table",
            tuple(_COUNTING),
            format_func=_COUNTING.__getitem__,
            help="Some models abstain on some rows. Judge every model on the rows that all models answer, or on "
            "all rows. On all rows, the probabilities returned instead of an answer count as the prediction.",
            **widgets.bound("counting"),
        )


_COUNTING = {"answered": "answered by all models", "all": "all rows"}


def _rates(scene: Scene) -> None:
    for model in keeping_rates(scene):
        title = f"{model.title}: attained and target rate"
        exhibited("rates", scene.focused(model=model.title), name=f"rates-{model.key}", title=title)


def _seconds(scene: Scene) -> None:
    """Draw how long fitting and applying took."""
    times = []
    for model in scene.models.recalibrated:
        known = [scene.shelf.seconds(part, scene.scope) for part in (model.fitted, model.predictions)]
        times += [f"{model.title} {' and '.join(f'{1000 * s:.1f}' for s in known if s is not None)}"]
    apply = "to fit again by cross-validation" if scene.models.shown and scene.cross_fitted else "to apply"
    measured = f"Milliseconds on this machine to fit and {apply}: {'; '.join(times)}."
    text = measured if times else "No calibrator is selected."
    st.caption(markdown_plain(text))


def _map(scene: Scene) -> None:
    """Draw score in, score out, for the calibrator and the class chosen next to it."""
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
