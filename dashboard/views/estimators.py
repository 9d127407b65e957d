"""The estimators view: every estimator in every notion, with what noise alone would show."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from dataclasses import fields
from typing import TypeAlias

import pandas as pd
import streamlit as st

from calib_core import ESTIMATORS, REDUCTIONS, Estimate, NotAnswerable, figures
from calib_core._text import count, p_value
from calib_core.diagrams import TradeOff, ValidityPlot
from calib_core.estimators import takes_bins
from calib_core.inference import EstimateLine, coverage_table, plain_line, rejection_table, sharpen
from calib_core.study import SCORES, error_keys
from dashboard import compute, session, widgets
from dashboard.chart import chart
from dashboard.export import csv_bytes
from dashboard.lines import AT_LEVEL, FLOOR, VALUE, below, caption, marks
from dashboard.navigation import view
from dashboard.selection import Selection
from dashboard.session import Model, Models
from dashboard.theme import markdown_plain
from dashboard.views import verdicts
from dashboard.views.copied import copied

Key: TypeAlias = tuple[str, str]
"""Estimator and notion."""

LARGE = 5_000_000
"""Beyond this many probabilities every notion by every estimator would take minutes."""
_TRADED = ("debiased-l2", "brier")
"""What is held against each other: squared calibration error and mean squared error."""
TITLES = 210
"""Pixels the longest name of an estimator needs."""
STANDS_OUT, HIDDEN = "background-color: rgba(213, 94, 0, 0.28)", "background-color: rgba(0, 114, 178, 0.16)"


@view("estimators", "Estimators", 60)
def render() -> None:
    """Draw the view for the present choices."""
    selection = widgets.selection()
    models = session.models(selection)
    model = models.titled(selection.model)
    _controls(models, model)
    widgets.refusals(models.refused)
    estimates = _estimates(selection, model)
    _sharpen(estimates, selection.asked)
    lines = sharp(estimates, selection)
    known = list(lines.values())
    frame, colours = written(estimates, lines, selection.asked)
    st.dataframe(
        frame.style.apply(lambda _: colours, axis=None),
        key="estimators.table",
        width="stretch",
        height=widgets.table_height(len(frame)),
        column_config={"_index": st.column_config.Column(width=TITLES)},
    )
    st.caption(
        f"First the notion chosen, with all that is known; then the values in the others. {VALUE} {FLOOR} Of accuracy: "
        "what 95 % stay above. Orange: stands out of the noise (p at most 0.05); blue: does not; no colour: not asked "
        f"yet. Bins: {compute.bins_said(selection.scheme)}; estimators with a rule of their own keep it."
    )
    st.caption(markdown_plain(" ".join(below(known))))
    with st.container(horizontal=True):
        widgets.download("Download this table (CSV)", "estimators.csv", lambda: csv_bytes(numbers(estimates, lines)))
        copied(_in_python(estimates), section="estimators", key="estimators", of=model)
    verdicts.without_bins(selection, model)
    _tests(models)
    _coverage()
    _about(selection)
    _curves(selection, models)


def _in_python(estimates: dict[Key, Estimate | str]) -> str:
    """Every estimate of the table."""
    made = (
        f"({key!r}, {notion!r}): cc.estimate(cal.apply(test), {notion!r}, {key!r}{', bins' * takes_bins(key)})"
        for (key, notion), one in estimates.items()
        if isinstance(one, Estimate)
    )
    return "{\n    " + ",\n    ".join(made) + "\n}"


def _controls(models: Models, model: Model) -> None:
    left, middle, right = st.columns([0.34, 0.33, 0.33], vertical_alignment="bottom")
    widgets.model_box(left, models.shown, model, "estimators.model")
    middle.selectbox(
        "Intervals and noise floors for",
        tuple(REDUCTIONS),
        format_func=lambda key: REDUCTIONS[key].title,
        **widgets.bound("asked"),
    )
    right.toggle(
        "slow estimators too",
        help="Noise floors of kernel, smooth, convex and sweep estimators: up to a minute for thousands of rows.",
        **widgets.bound("slow"),
    )


def _estimates(selection: Selection, model: Model) -> dict[Key, Estimate | str]:
    """Every (estimator, notion): the estimate, or why there is none."""
    made: dict[Key, Estimate | str] = {}
    test = compute.judged(model)
    large = test.n_rows * (test.n_classes or 1) > LARGE
    if large:
        st.caption("With this many rows and classes only the notion chosen above is computed.")
    for notion in (selection.asked,) if large else tuple(REDUCTIONS):
        for key in (*error_keys(), *SCORES):
            try:
                made[key, notion] = compute.estimate(model, notion, key, selection.scheme)
            except NotAnswerable as why:
                made[key, notion] = str(why)
    return made


def _sharpen(estimates: dict[Key, Estimate | str], notion: str) -> None:
    """Intervals and floors of one notion: at once where counts suffice, else when asked."""
    slow = widgets.selection().slow
    wanted = [
        e
        for (_, where), e in estimates.items()
        if where == notion and isinstance(e, Estimate) and not compute.sharpened(e) and (slow or compute.of_counts(e))
    ]
    if not wanted:
        return
    bar = st.progress(0.0, text="Intervals and noise floors")
    sharpen(wanted, done=lambda percent: bar.progress(percent, text="Intervals and noise floors"))
    bar.empty()


def sharp(estimates: dict[Key, Estimate | str], selection: Selection) -> dict[Key, EstimateLine]:
    """The lines of those estimates whose interval and noise floor are made."""
    return {
        key: compute.line(made, selection)
        for key, made in estimates.items()
        if isinstance(made, Estimate) and compute.sharpened(made)
    }


def written(
    estimates: dict[Key, Estimate | str], lines: dict[Key, EstimateLine], asked: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The table as text, the notion asked about first and with all that is known; and the colour of each cell."""
    mark = dict(zip(lines, marks(lines.values()), strict=True))
    text: dict[str, dict[str, str]] = {name: {} for name in (REDUCTIONS[asked].title, *NUMBERS)}
    colour: dict[str, dict[str, str]] = {}
    for (key, notion), made in estimates.items():
        row, line = ESTIMATORS[key].title, lines.get((key, notion))
        text.setdefault(REDUCTIONS[notion].title, {})[row] = _value(made)
        if notion == asked:
            told = ("",) * len(NUMBERS) if line is None else _numbers(line, mark[key, notion])
            for name, cell in zip(NUMBERS, told, strict=True):
                text[name][row] = cell
            painted = "" if line is None else STANDS_OUT if line.stands_out else HIDDEN
            for name in (REDUCTIONS[notion].title, *NUMBERS):
                colour.setdefault(name, {})[row] = painted
    frame = pd.DataFrame(text)
    known = frame.columns[(frame != "–").any()]
    colours = pd.DataFrame(colour).reindex(index=frame.index, columns=known, fill_value="")
    return frame[known], colours


NUMBERS = ("estimate", AT_LEVEL, "noise floor", "p", "verdict")
"""What is told of each line of the notion asked about, beside its value."""


def _value(made: Estimate | str) -> str:
    return "–" if isinstance(made, str) else plain_line(made).written(made.value)


def _numbers(line: EstimateLine, mark: str) -> tuple[str, ...]:
    """The cells of ``NUMBERS``."""
    p = "–" if line.p is None else p_value(line.p)
    ends = f"{line.interval} {mark}".rstrip()
    return line.written(line.point), ends, line.written(line.floor), p, line.verdict or "–"


def numbers(estimates: dict[Key, Estimate | str], lines: dict[Key, EstimateLine]) -> pd.DataFrame:
    """The table for programs: a line per estimate, with all that is known of it."""
    known = {key: made for key, made in estimates.items() if isinstance(made, Estimate)}
    told = [(lines.get(key) or plain_line(made)).record() for key, made in known.items()]
    return pd.DataFrame(told, columns=[field.name for field in fields(EstimateLine)])


def _tests(models: Models) -> None:
    """Tests of calibration that need no bins, of every model shown."""
    lines: dict[str, dict[str, str]] = {}
    calls: list[str] = []
    for model in models.shown:
        for call, test in compute.tests_without_bins(model).items():
            if not isinstance(test, str):
                calls.append(
                    f"({model.title!r}, {test.name!r}): cc.inference.{call.format(f'models[{model.title!r}]')}"
                )
                p = p_value(test.p_value)
                said = f"{test.statistic:.4g} (p {p if p.startswith('<') else f'= {p}'})"
                lines.setdefault(markdown_plain(test.name), {})[markdown_plain(model.title)] = said
    st.markdown("#### Tests without bins")
    st.table(pd.DataFrame(lines).T.fillna("–"))
    copied("{\n    " + ",\n    ".join(calls) + "\n}", section="estimators", key="tests")


def _coverage() -> None:
    """How often the intervals shown hold the truth and the tests reject calibrated models, in simulations."""
    with st.expander("How often do these intervals hold? The simulated coverage of every case tried"):
        st.caption(caption(coverage_table))
        st.dataframe(coverage_table(), key="coverage", hide_index=True, width="stretch")
    with st.expander("How often is a calibrated model rejected? The simulated level of every case tried"):
        st.caption(caption(rejection_table))
        st.dataframe(rejection_table(), key="rejection", hide_index=True, width="stretch")


def _about(selection: Selection) -> None:
    """What an estimator computes, in its own words."""
    st.markdown("#### What is this number?")
    key = selection.about if selection.about in ESTIMATORS else next(iter(ESTIMATORS))
    st.selectbox(
        "Estimator",
        tuple(ESTIMATORS),
        format_func=lambda k: ESTIMATORS[k].title,
        **widgets.tied("estimators.about", key, lambda k: widgets.change(about=k)),
    )
    entry = ESTIMATORS[key]
    st.markdown(f"**{markdown_plain(entry.caption)}**")
    st.text((inspect.getdoc(entry.cls) or "").split("\n>>>")[0].replace("``", ""))
    if entry.reference:
        st.caption(markdown_plain(entry.reference))
    if ESTIMATORS[key].elsewhere:
        st.caption(markdown_plain(ESTIMATORS[key].elsewhere))


def _curves(selection: Selection, models: Models) -> None:
    """How the error depends on the number of bins, on which rows it falls, and what it costs."""
    st.markdown("#### Error against number of bins")
    label = "ECE for 5 to 25 bins, confidence dashed, top-label solid, above what noise alone shows."
    sweep = compute.error_sweep(models.shown)
    chart(figures.error_sweep(sweep), key="sweep", label=label)
    notions = tuple(dict.fromkeys(sweep.notions))
    copied(f"cc.diagrams.error_sweep(models, {notions}).frame()", section="estimators", key="sweep")
    st.caption(
        "Dashed: confidence; solid: top-label. Grey: what 95 % of calibrated models with the base model's predictions "
        "stay below."
    )
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown(f"#### Validity, {REDUCTIONS[selection.asked].title.lower()}")
        plots = _validity(selection, models)
        if plots:
            label = "Share of rows whose claim is off by at most epsilon."
            chart(figures.validity(dict(plots)), key="validity", label=label)
            copied(_validity_in_python(selection, models), section="estimators", key="validity")
        else:
            st.info("This notion makes no claims that bins can hold.")
        st.caption("A recalibrated model and the base model beside it are judged on the same bins, where they can be.")
    with right:
        st.markdown("#### Mean squared error against calibration error")
        _trade_offs(selection, models)


def _validity(selection: Selection, models: Models) -> list[tuple[str, ValidityPlot]]:
    """The base model, then each recalibrated one with the base model on its bins where their claims are the same."""
    plots: list[tuple[str, ValidityPlot]] = []
    asked, scheme = selection.asked, selection.scheme
    for model in models.shown:
        try:
            pair = compute.validity_pair(model, asked, scheme)
            plots.append((model.title, pair.after))
            if model != model.base:
                plots.append((f"{model.base.title}, bins of {model.title}", pair.before))
        except NotAnswerable:
            with contextlib.suppress(NotAnswerable):
                plots.append((f"{model.title}, own bins", compute.validity(model, asked, scheme)))
    return plots


def _validity_in_python(selection: Selection, models: Models) -> str:
    """What `_validity` draws: pairs where the two models make the same claims, else each on its own bins."""
    asked = selection.asked
    bins = "cc.binning.bins_of(models[{0!r}], bins)"
    table = f"cc.binning.tabulate(cc.REDUCTIONS.make({asked!r}).split(models[{{0!r}}]), [{bins}])[0]"
    lines = []
    for model in models.shown:
        try:
            compute.validity_pair(model, asked, selection.scheme)
            pair = f"models[{model.base.title!r}], models[{model.title!r}], {asked!r}, bins"
            lines.append(f"{model.title!r}: cc.diagrams.validity_pair({pair}).frame()")
        except NotAnswerable:
            with contextlib.suppress(NotAnswerable):
                compute.validity(model, asked, selection.scheme)
                lines.append(f"{model.title!r}: cc.diagrams.validity({table.format(model.title)}).frame()")
    return "{\n    " + ",\n    ".join(lines) + "\n}"


def _trade_offs(selection: Selection, models: Models) -> None:
    """A point per model and, when asked, a curve per calibrator that bins."""
    base = models.shown[0].base
    try:
        notion = compute.primary(base, selection).notion
    except NotAnswerable as why:
        st.info(f"{markdown_plain(why)}.")
        return
    points = [point for model in models.shown for point in _trade(selection, model, notion)]
    st.toggle(
        "curves over numbers of bins",
        help="Calibrators that bin, fitted on half the test rows and judged on the rest, several times.",
        **widgets.bound("trade"),
    )
    curves = _over_bins(base, notion) if selection.trade else None
    label = "Mean squared error against calibration error, a point per model."
    drawn = {title: (error, mse) for title, error, mse in points}
    claims = REDUCTIONS[notion].title.lower()
    chart(figures.trade_off(curves, points=drawn, claims=claims), key="trade", label=label)
    both = [f"cc.estimate(model, {notion!r}, {key!r}{', bins' * takes_bins(key)}).value" for key in _TRADED]
    copied(f"({', '.join(both)})", section="estimators", key="trade")


def _over_bins(base: Model, notion: str) -> TradeOff | None:
    """The curves, with a line on how they were made or why there are none."""
    try:
        with st.spinner("Calibrators with 2 to 100 bins"):
            curves = compute.trade_off(base, notion)
    except NotAnswerable as why:
        st.info(f"No curves: {markdown_plain(why)}.")
        return None
    st.caption(
        f"Curves: {count(curves.fit_rows)} of {markdown_plain(base.title)}'s test rows fit a map, the others judge it; "
        f"means of {curves.repeats} splits, larger marks for more bins. Further to the lower left is better."
    )
    return curves


def _trade(selection: Selection, model: Model, notion: str) -> Iterator[tuple[str, float, float]]:
    """Debiased squared calibration error and mean squared error of the same claims, where the model makes them."""
    with contextlib.suppress(NotAnswerable):
        squared, whole = (compute.estimate(model, notion, key, selection.scheme).value for key in _TRADED)
        yield model.title, squared, whole
