"""The estimators view: every estimator in every notion, with what noise alone would show."""

from __future__ import annotations

import contextlib
import inspect

import pandas as pd
import streamlit as st

from calib_core import ESTIMATORS, REDUCTIONS, Estimate, NotAnswerable
from calib_core.diagrams import TradeOff, ValidityPlot
from calib_core.estimators import ELSEWHERE
from calib_core.inference import coverage_table, rejection_table, sharpen
from calib_core.study import SCORES, error_keys
from dashboard import compute, widgets
from dashboard.chart import chart
from dashboard.compute import Model, Models
from dashboard.export import csv_bytes
from dashboard.figures import draw_sweep, draw_trade, draw_validity
from dashboard.report import measured
from dashboard.selection import Selection
from dashboard.theme import count, error, markdown_plain, p_value
from dashboard.views.copied import copied

LARGE = 5_000_000
"""Beyond this many probabilities every notion by every estimator would take minutes."""
_TRADED = ("debiased-l2", "brier")
"""What is held against each other: squared calibration error and mean squared error."""
IN_FULL = 2
"""Up to this many models the verdict says every number in words."""
TITLES = 240
"""Pixels the longest name of an estimator needs."""
STANDS_OUT, HIDDEN = "background-color: rgba(213, 94, 0, 0.28)", "background-color: rgba(0, 114, 178, 0.16)"


def render() -> None:
    """Draw the view for the present choices."""
    selection = widgets.selection()
    models = compute.models(selection)
    model = models.titled(selection.model)
    _controls(models, model)
    widgets.refusals(models.refused)
    estimates = _estimates(selection, model)
    _sharpen(estimates, selection.asked)
    frame, colours = written(estimates)
    st.dataframe(
        frame.style.apply(lambda _: colours, axis=None),
        key="estimators.table",
        width="stretch",
        height=widgets.table_height(len(frame)),
        column_config={"_index": st.column_config.Column(width=TITLES)},
    )
    st.caption(
        "Value; in brackets the 90 % interval of the true error; then what 95 % of perfectly calibrated models with "
        "these predictions stay below, the accuracy above (the noise floor). Orange: stands out of the noise (p at "
        "most 0.05); blue: does not; no colour: not asked yet. Plug-in errors can lie above their own interval: noise "
        "inflates them."
    )
    with st.container(horizontal=True):
        widgets.download("Download this table (CSV)", "estimators.csv", lambda: csv_bytes(numbers(estimates)))
        copied(_in_python(estimates), section="estimators", key="estimators", of=model)
    _tests(models)
    _coverage()
    _about(selection)
    _curves(selection, models)


def _in_python(estimates: dict[tuple[str, str], Estimate | str]) -> str:
    """Every estimate of the table."""
    made = (
        f"({key!r}, {notion!r}): cc.estimate(cal.apply(test), {notion!r}, {key!r}{', bins' * compute.takes_bins(key)})"
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


def _estimates(selection: Selection, model: Model) -> dict[tuple[str, str], Estimate | str]:
    """Every (estimator, notion): the estimate, or why there is none."""
    made: dict[tuple[str, str], Estimate | str] = {}
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


def _sharpen(estimates: dict[tuple[str, str], Estimate | str], notion: str) -> None:
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


def written(estimates: dict[tuple[str, str], Estimate | str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The table as text, and the colour of each cell."""
    text: dict[str, dict[str, str]] = {}
    colour: dict[str, dict[str, str]] = {}
    for (key, notion), made in estimates.items():
        row, column = ESTIMATORS[key].title, REDUCTIONS[notion].title
        text.setdefault(column, {})[row] = cell(made)
        colour.setdefault(column, {})[row] = _colour(made)
    frame = pd.DataFrame(text)
    known = frame.columns[(frame != "–").any()]
    return frame[known], pd.DataFrame(colour)[known]


def numbers(estimates: dict[tuple[str, str], Estimate | str]) -> pd.DataFrame:
    """The table for programs: a line per estimate, with interval, floor and p-value once they are known."""
    lines = []
    for (key, notion), made in estimates.items():
        if isinstance(made, Estimate):
            known = measured.line(made) if compute.sharpened(made) else {"value": made.value, "bins": made.in_bins}
            lines.append({"estimator": key, "notion": notion, **known})
    order = ["estimator", "notion", "value", "low", "high", "floor", "p_value", "interval_by", "bins"]
    return pd.DataFrame(lines).reindex(columns=order)


def cell(made: Estimate | str) -> str:
    """A value, with its interval and floor once they are known."""
    if isinstance(made, str):
        return "–"
    if not compute.sharpened(made):
        return error(made.value)
    span, floor = made.interval(), made.noise_floor
    return f"{error(made.value)} [{error(span.low)}, {error(span.high)}] floor {error(floor.high)}"


def _colour(made: Estimate | str) -> str:
    if isinstance(made, str) or not compute.sharpened(made):
        return ""
    return STANDS_OUT if made.p_value <= 0.05 else HIDDEN


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
        st.caption(
            "Nominal 90 %. below: share of runs whose interval lies above the truth; above: whose lies below it. Made "
            "by tests/simulations/interval_coverage.py. Upper ends in bins of scores have been raised since for "
            "errors smaller than noise: there the coverage is at least what is told."
        )
        st.dataframe(coverage_table(), key="coverage", hide_index=True, width="stretch")
    with st.expander("How often is a calibrated model rejected? The simulated level of every case tried"):
        st.caption(
            "Nominal 5 %. rejected: by p-values as shown here, which never reject too often; less often where the "
            "statistic takes few values (the largest error of few rows). rejected_exact: with ties broken at random. "
            "Made by tests/simulations/null_rejection.py."
        )
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
    if key in ELSEWHERE:
        st.caption(markdown_plain(ELSEWHERE[key]))


def _curves(selection: Selection, models: Models) -> None:
    """How the error depends on the number of bins, on which rows it falls, and what it costs."""
    st.markdown("#### Error against number of bins")
    label = "ECE for 5 to 25 bins, confidence dashed, top-label solid, above what noise alone shows."
    sweep = compute.error_sweep(models.shown)
    chart(draw_sweep(sweep), key="sweep", label=label)
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
            chart(draw_validity(plots), key="validity", label="Share of rows whose claim is off by at most epsilon.")
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
    notion = compute.main_notion(base)
    points = [(model.title, *_trade(selection, model)) for model in models.shown]
    st.toggle(
        "curves over numbers of bins",
        help="Calibrators that bin, fitted on half the test rows and judged on the rest, several times.",
        **widgets.bound("trade"),
    )
    curves = _over_bins(base, notion) if selection.trade else None
    label = "Mean squared error against calibration error, a point per model."
    chart(draw_trade(points, curves, REDUCTIONS[notion].title.lower()), key="trade", label=label)
    both = [f"cc.estimate(model, {notion!r}, {key!r}{', bins' * compute.takes_bins(key)}).value" for key in _TRADED]
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


def _trade(selection: Selection, model: Model) -> tuple[float, float]:
    """Debiased squared calibration error, and mean squared error of the same claims."""
    notion = compute.main_notion(model)
    squared, whole = (compute.estimate(model, notion, key, selection.scheme).value for key in _TRADED)
    return squared, whole


def strip(selection: Selection) -> str:
    """One line on whether the models shown are calibrated, as far as these rows can tell."""
    shown = compute.models(selection).shown
    said = " · ".join(_said(selection, model, brief=len(shown) > IN_FULL) for model in shown)
    return said if len(shown) <= IN_FULL else f"{said} (ECE of the top label, or of bare confidences; 90 % interval)"


def _said(selection: Selection, model: Model, *, brief: bool) -> str:
    notion = compute.main_notion(model)
    made = compute.estimate(model, notion, "ece", selection.scheme)
    verdict = made.verdict(selection.eps)
    word = {"within": f"within {selection.eps:g}", "miscalibrated": "miscalibrated", "not shown": "not shown"}
    span, floor = made.interval(), made.noise_floor
    if brief:
        numbers = f"{error(made.value)} [{error(span.low)}, {error(span.high)}]"
        return f"**{markdown_plain(model.title)}: {word[verdict.word]}** {numbers}"
    return (
        f"**{markdown_plain(model.title)}: {word[verdict.word]}** ({REDUCTIONS[notion].title} ECE {error(made.value)}, "
        f"90 % interval {error(span.low)} to {error(span.high)}, noise floor {error(floor.high)})"
    )
