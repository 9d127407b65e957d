"""The frame: page, shared choices, navigation. Run by Streamlit; each view draws itself."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib_core import BINNINGS, CALIBRATORS, InputError, Recipe
from calib_core._text import count, percent
from dashboard import session, widgets
from dashboard.selection import AUTO, FEWEST, MOST, MOST_POINTS, Selection, interval_schemes, model_keys, scheme_of
from dashboard.theme import markdown_plain
from dashboard.views import VIEWS, data, verdicts


def main() -> None:
    """Draw the page for the choices of this session."""
    st.set_page_config(page_title="calib", layout="wide", initial_sidebar_state="expanded")
    widgets.selection()
    data.open_launched()
    with st.sidebar:
        _data_card(widgets.selection())
        _bins()
        _tolerance()
        _calibrators(widgets.selection())
    st.segmented_control(
        "View",
        tuple(VIEWS),
        format_func=lambda key: VIEWS[key].title,
        label_visibility="collapsed",
        **widgets.bound("view"),
    )
    line = st.empty()
    for problem in widgets.link_problems():
        st.warning(markdown_plain(problem), icon=":material/warning:")
    _view(widgets.selection())
    widgets.write_link()
    _verdict(line)


def _verdict(line: DeltaGenerator) -> None:
    """The verdict above every view, made last: the picture does not wait for it."""
    selection = widgets.selection()
    try:
        session.parts(selection.source)
        with line.container():
            verdicts.draw(selection)
    except InputError:
        line.empty()


def _view(selection: Selection) -> None:
    """The chosen view; data that cannot be used gives its sentence and leads to the data view."""
    view = VIEWS[selection.view]
    if view.needs_data:
        try:
            session.parts(selection.source)
        except InputError as why:
            st.error(markdown_plain(why), icon=":material/error:")
            st.button("Choose data", on_click=lambda: widgets.change(view="data"))
            return
    view.render()


def _data_card(selection: Selection) -> None:
    """Which data is looked at, and which rows are which."""
    try:
        file = session.file(selection.source.data)
        parts = session.parts(selection.source)
    except InputError:
        st.markdown("**No data**")
        return
    st.markdown(f"**{markdown_plain(file.title)}**")
    for name in session.file_names(selection)[1:]:
        st.markdown(f"**{markdown_plain(name)}**")
    test = parts.test
    shape = f"{count(test.n_classes)} classes, " if test.n_classes else ""
    st.caption(
        f"{shape}{count(parts.fit.n_rows)} calibration rows, {count(test.n_rows)} test rows{test.worth_note} "
        f"({markdown_plain(parts.rule)}); accuracy {percent(test.accuracy)}. Every number is of the test rows."
    )


def _bins() -> None:
    """In which bins errors are judged, and the number the choice needs."""
    chosen = widgets.selection().binning
    st.selectbox(
        "Bins",
        (AUTO, *interval_schemes()),
        format_func=lambda key: "As declared" if key == AUTO else BINNINGS[key].title,
        help=f"As declared: {session.DECLARED}. Everything else is used for every model.",
        **widgets.bound("binning", zoom=None),
    )
    names = () if chosen == AUTO else [p.name for p in BINNINGS[chosen].params]
    if "bins" in names:
        most = scheme_of(chosen, bins=MOST).build().bins
        bins = min(widgets.selection().bins, most)
        controls = widgets.tied("choice.bins", bins, lambda n: widgets.change(bins=n, zoom=None))
        st.slider("Number of bins", FEWEST, most, **controls)
    if "points" in names:
        st.number_input("Rows per bin", 2, MOST_POINTS, step=10, **widgets.bound("points", zoom=None))
    if chosen != AUTO:
        st.caption(markdown_plain(BINNINGS[chosen].caption))


def _tolerance() -> None:
    st.number_input(
        "Tolerance",
        min_value=0.0001,
        max_value=0.5,
        step=0.005,
        format="%g",
        help="The error you could live with: the verdict says within, miscalibrated, too close to call, or too few "
        "rows to tell.",
        **widgets.bound("eps"),
    )


def _calibrators(selection: Selection) -> None:
    """Every registered calibrator as a toggle; those ticked get their own controls.

    A link may hold one calibrator several times, with different settings: they are ticked together.
    """
    recipes = selection.calibrators
    ticked = list(dict.fromkeys(recipe.key for recipe in recipes))

    def tick(keys: list[str]) -> None:
        # Those already ticked keep their place, so that models keep their colours.
        stay = [recipe for recipe in recipes if recipe.key in keys]
        widgets.change(calibrators=(*stay, *(Recipe("CALIBRATORS", key) for key in keys if key not in ticked)))

    st.pills(
        "Calibrators, fitted on the calibration rows",
        tuple(dict.fromkeys((*model_keys(), *ticked))),
        selection_mode="multi",
        format_func=lambda key: CALIBRATORS[key].title,
        **widgets.tied("calibrators", ticked, tick),
    )
    names = _class_names(selection)
    for place, recipe in enumerate(recipes):
        _settings(place, recipe, [r.key for r in recipes[:place]].count(recipe.key), names)


def _settings(place: int, recipe: Recipe, before: int, class_names: tuple[str, ...]) -> None:
    """The parameters of one ticked calibrator, of which there are ``before`` others of its kind before it."""
    entry = CALIBRATORS[recipe.key]

    def changed(new: Recipe) -> None:
        old = widgets.selection().calibrators
        widgets.change(calibrators=tuple(dict.fromkeys((*old[:place], new, *old[place + 1 :]))))

    with st.expander(markdown_plain(entry.title + (f" ({before + 1})" if before else ""))):
        st.caption(markdown_plain(entry.caption) + (f" ({markdown_plain(entry.reference)})" if entry.reference else ""))
        key = f"set.{recipe.key}.{before}"
        widgets.recipe_controls(recipe, key=key, changed=changed, class_names=class_names)


def _class_names(selection: Selection) -> tuple[str, ...]:
    try:
        return session.parts(selection.source).test.class_names or ()
    except InputError:
        return ()


main()
