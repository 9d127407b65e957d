"""The classes view: all classes in a table, some of them as small diagrams, usable with a thousand classes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from calib_core import ESTIMATORS, REDUCTIONS, NotAnswerable, Recipe, figures
from calib_core._text import count
from calib_core.diagrams import ClassTable, ValidityPair
from dashboard import compute, session, widgets
from dashboard.chart import chart
from dashboard.exhibits.kernel_curve import curve_notes
from dashboard.export import csv_bytes
from dashboard.navigation import view
from dashboard.selection import CURVES, SORTS, Selection, class_notions
from dashboard.session import Model, Models
from dashboard.theme import markdown_plain
from dashboard.views.copied import copied

PER_PAGE = 12
_TEST = "p (Holm)"
_SORT_TITLES = {"error": "largest error", "share": "largest share", "rows": "fewest rows", "name": "name"}


@view("classes", "Classes", 30)
def render() -> None:
    """Draw the view for the present choices."""
    selection = widgets.selection()
    _controls()
    models = _able(selection, session.models(selection))
    if models is None:
        return
    tables = [(m.title, compute.class_table(m, selection.notion, selection.scheme)) for m in models.shown]
    order = ranked(tables[0][1], selection.sort, selection.search)
    if not len(order):
        st.info("No class has this in its name: change the search.")
        return
    page = _paged(selection, order)
    _small_multiples(selection, models, page)
    if selection.curve == "kernel":
        _one_class(selection, models, tables[0][1].names, page)
    _errors(selection, models, tables, page)
    _table(selection, models, tables, order)


def ranked(table: ClassTable, sort: str, search: str) -> NDArray[np.intp]:
    """Codes of the classes whose name contains the search text, in the chosen order; classes without rows last."""
    found = [c for c, name in enumerate(table.names) if search.casefold().strip() in name.casefold()]
    codes = np.asarray(found, dtype=np.intp)
    if sort == "name":
        return codes
    value = {"error": -table.error, "share": -table.share, "rows": np.where(table.count > 0, table.count, np.inf)}[sort]
    return codes[np.argsort(np.where(np.isnan(value), np.inf, value)[codes], kind="stable")]


def _controls() -> None:
    a, b, c, d = st.columns([0.28, 0.24, 0.24, 0.24])
    a.segmented_control(
        "Claims", class_notions(), format_func=lambda key: REDUCTIONS[key].title, **widgets.bound("notion", page=1)
    )
    b.selectbox("First", SORTS, format_func=_SORT_TITLES.__getitem__, **widgets.bound("sort", page=1))
    c.text_input("Search classes", **widgets.bound("search", page=1))
    d.selectbox(
        "Small diagrams",
        CURVES,
        format_func=str.capitalize,
        help="Validity: the share of a class's rows that is off by at most the value on the axis.",
        **widgets.bound("curve"),
    )


def _able(selection: Selection, models: Models) -> Models | None:
    """The models that make claims of the chosen notion; the others are named with the reason."""
    shown = []
    for model in models.shown:
        try:
            compute.class_table(model, selection.notion, selection.scheme)
            shown.append(model)
        except NotAnswerable as why:
            st.info(f"**{markdown_plain(model.title)}** is not shown: {markdown_plain(why)}.")
    return Models(tuple(shown), models.refused) if shown else None


def _paged(selection: Selection, order: NDArray[np.intp]) -> tuple[int, ...]:
    """The classes of this page; at most a dozen small diagrams are drawn at once."""
    pages = -(-len(order) // PER_PAGE)
    page = min(selection.page, pages)
    if pages > 1:
        left, right = st.columns([0.3, 0.7], vertical_alignment="bottom")
        left.number_input(
            "Page of small diagrams",
            min_value=1,
            max_value=pages,
            **widgets.tied("classes.page", page, lambda p: widgets.change(page=int(p))),
        )
        right.caption(f"{PER_PAGE} of {count(len(order))} classes a page, {count(pages)} pages; the table lists all.")
    return tuple(int(c) for c in order[(page - 1) * PER_PAGE : page * PER_PAGE])


def _small_multiples(selection: Selection, models: Models, page: tuple[int, ...]) -> None:
    panels = {m.title: compute.class_panels(m, selection.notion, selection.scheme, page) for m in models.shown}
    label = f"{selection.curve} of {len(page)} classes, a small diagram each."
    notion = selection.notion
    kernel, valid = selection.curve == "kernel", selection.curve == "validity"
    kernels = {m.title: compute.class_curves(m, notion, page, _kernel(selection)) for m in models.shown if kernel}
    pairs = {m.title: pair for m in models.shown if valid and (pair := _pairs(selection, m, page)) is not None}
    figure = figures.class_panels(panels, curve=selection.curve, kernels=kernels, pairs=pairs)
    chart(figure, key="panels", label=label)
    copied(_in_python(selection, page), section="classes", key="panels", among=models.shown)
    if pairs:
        st.caption("Dotted: the base model on the bins of a recalibrated one, where their claims are the same.")


def _in_python(selection: Selection, page: tuple[int, ...]) -> str:
    """What the small diagrams show, of one model."""
    notion, held = repr(selection.notion), list(page)
    table = f"cc.binning.tabulate(cc.REDUCTIONS.make({notion}).split(model), [cc.binning.bins_of(model, bins)])[0]"
    method = _kernel(selection).python()
    drawn = {
        "reliability": f"cc.diagrams.class_panels(model, {held}, {notion}, bins).frame()",
        "kernel": f"[cc.diagrams.kernel_curve(model, {notion}, c, {method}, 'none').frame() for c in {held}]",
        "validity": f"[cc.diagrams.validity({table}, c).frame() for c in {held}]",
    }
    return drawn[selection.curve]


def _pairs(selection: Selection, model: Model, page: tuple[int, ...]) -> list[ValidityPair] | None:
    """A recalibrated model and the base model on the same bins of each class; None where they cannot be compared."""
    if model == model.base:
        return None
    try:
        return compute.class_pairs(model, selection.notion, selection.scheme, page)
    except NotAnswerable:
        return None


def _one_class(selection: Selection, models: Models, names: tuple[str, ...], page: tuple[int, ...]) -> None:
    """The kernel curve of one class of one model, with its band."""
    st.markdown("#### One class, with its band")
    model = models.titled(selection.model)
    first, second = st.columns(2)
    chosen = selection.one if selection.one is not None and selection.one < len(names) else page[0]
    first.selectbox(
        "Class",
        range(len(names)),
        format_func=names.__getitem__,
        **widgets.tied_to(range(len(names)), "classes.one", chosen, lambda c: widgets.change(one=c)),
    )
    widgets.model_box(second, models.shown, model, "classes.model")
    options = selection.exhibit("kernel-curve").build()
    curve = compute.class_curve(model, selection.notion, chosen, _kernel(selection), options.band)
    if not curve.rows > 0:
        st.info("No test row makes a claim about this class: there is no curve.")
        return
    label = f"Kernel reliability curve of one class: {curve.band_title}."
    chart(figures.kernel_curve(curve, score=options.score), key="one-class", label=label)
    given = f"{selection.notion!r}, {chosen}, {_kernel(selection).python()}, {options.band!r}"
    shown = f"cc.diagrams.kernel_curve(cal.apply(test), {given}).frame()"
    copied(shown, section="classes", key="one-class", of=model)
    recipe, changed = selection.exhibit("kernel-curve"), widgets.change_exhibit
    widgets.recipe_controls(recipe, key="exhibit.kernel-curve", changed=changed)
    for note in filter(None, curve_notes(f"{model.title}, {curve.stratum}", curve, options.score)):
        st.caption(markdown_plain(note))


def _kernel(selection: Selection) -> Recipe:
    """How kernel curves are smoothed."""
    return ESTIMATORS.recipe(selection.exhibit("kernel-curve").build().kernel)


def _errors(selection: Selection, models: Models, tables: list[tuple[str, ClassTable]], page: tuple[int, ...]) -> None:
    figure = figures.class_table(dict(tables), classes=page)
    chart(figure, key="class-errors", label="Error and share of rows of each class.")
    shown = f"cc.diagrams.class_table(model, {selection.notion!r}, bins).frame().iloc[{list(page)}]"
    copied(shown, section="classes", key="class-errors", among=models.shown)
    st.caption(
        "Error of each class on the test rows, before and after; the error of a class with few rows is mostly noise. "
        f"Bins: {compute.bins_said(selection.scheme)}."
    )


def _table(selection: Selection, models: Models, tables: list[tuple[str, ClassTable]], order: NDArray[np.intp]) -> None:
    """All classes of the base model, with the other models' errors and a test of each class beside."""
    frame = class_frame(tables)
    for model in models.shown:
        try:
            tests = compute.class_tests(model, selection.notion, selection.scheme)
            frame[f"{_TEST}, {model.title}"] = tests["p_holm"].to_numpy()
        except NotAnswerable as why:
            st.caption(f"**{markdown_plain(model.title)}** has no tests: {markdown_plain(why)}.")
    frame = frame.iloc[order].reset_index(drop=True)
    st.markdown(f"**All {count(len(frame))} classes**")
    numbers = [name for name in frame.columns if name not in ("class", "rows")]
    st.dataframe(
        frame,
        key="classes.table",
        hide_index=True,
        width="stretch",
        height=min(widgets.table_height(len(frame)), 460),
        column_config={
            name: st.column_config.NumberColumn(name, format="%.3g" if name.startswith(_TEST) else "%.4f")
            for name in numbers
        },
    )
    st.caption(
        f"{_TEST}: the chance of an error as large as this in a calibrated model, corrected for the number of classes; "
        "at most 0.05 stands out of the noise. A class of few rows hardly can."
    )
    with st.container(horizontal=True):
        widgets.download("Download this table (CSV)", "classes.csv", lambda: csv_bytes(frame))
        given = f"model, {selection.notion!r}, bins"
        shown = f"[cc.diagrams.class_table({given}).frame(), cc.inference.per_class_tests({given})]"
        copied(shown, section="classes", key="classes", among=models.shown)


def class_frame(tables: list[tuple[str, ClassTable]]) -> pd.DataFrame:
    """One line per class: the base model's table, then each other model's error."""
    frame = tables[0][1].frame().rename(columns={"error": f"error, {tables[0][0]}"})
    for title, table in tables[1:]:
        frame[f"error, {title}"] = table.error
    return frame
