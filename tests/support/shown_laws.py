"""Properties of every displayed table and figure."""

import re
from collections import defaultdict
from numbers import Real

import numpy as np

from calib_core.palette import COLOURS, style
from dashboard.exhibits import columns as of

FIELD = re.compile(r"%\{(x|y|customdata)([\w.\[\]]*)(?::([^}|]+))?\}")
NUMBER = re.compile(r"(?<![\w.])([+−-]?)(\d[\d,]*(?:\.\d+)?(?:e-?\d+)?)")
PERCENT = ("%", "p")
"""Endings of d3's percent formats."""
SQUARES = re.compile(r"squared|density|temperature|distance")
"""Hover texts that are not probabilities."""


def is_number(value):
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_) and bool(np.isfinite(value))


def numbers_in(text):
    """Return (value, half a unit of its last digit) of the numbers in a text; percents and points as shares."""
    scale, found = 0.01 if text.endswith((" %", " points", " point")) else 1.0, []
    for sign, digits in NUMBER.findall(text):
        plain = digits.replace(",", "")
        half = 0.5 * 10.0 ** -len(plain.partition(".")[2]) if "e" not in plain else 0.005 * float(plain)
        found.append((scale * float(plain) * (-1 if sign in ("−", "-") else 1), scale * half))
    return found


def columns_say_their_values(frame, columns):
    """Check that each column has its own heading and values, and that each of its numbers is printed correctly."""
    headings, shown = [column.heading for column in columns], [column.made_of[0] for column in columns]
    assert len(set(headings)) == len(headings), headings
    assert len(set(shown)) == len(shown), shown
    for column in columns:
        lists = [frame[name].tolist() for name in column.made_of]
        for values in zip(*lists, strict=True) if column.digits else ():
            text = column.write(*values)
            numbers = [value for value in values if is_number(value)]
            told = [] if text == of.NOT_KNOWN or "<" in text else numbers_in(text)
            assert len(told) <= len(numbers), (column.heading, text, values)
            for (value, half), number in zip(told, numbers, strict=False):
                assert abs(value - number) <= 1.001 * half, (column.heading, text, values)


def places(trace, letter):
    """Return the numbers of a trace along x or y."""
    values = getattr(trace, letter)
    return [value for value in (() if values is None else values) if is_number(value)]


def records_of(trace):
    """Return the subjects of its marks, if they are given by name."""
    return [mark for mark in (() if trace.customdata is None else trace.customdata) if isinstance(mark, dict)]


def told_by(trace, where, name):
    """Return the numbers behind a piece of a hover text."""
    if where != "customdata":
        return places(trace, where)
    if name.startswith("."):
        return [value for mark in records_of(trace) if is_number(value := mark.get(name[1:]))]
    marks = [] if trace.customdata is None else list(trace.customdata)
    return [value for mark in marks if is_number(value := mark[int(name.strip("[]"))] if name else mark)]


def hovers_speak_in_percent(figure):
    """Check that probabilities, and nothing else, are in percent in hover texts."""
    for trace in figure.data:
        text = str(getattr(trace, "hovertemplate", None) or "")
        for where, name, form in FIELD.findall(text):
            values = told_by(trace, where, name)
            fractions = [value for value in values if value != round(value)]
            if values and not SQUARES.search(text):
                percents, shares = form.endswith(PERCENT), max(map(abs, values)) <= 1
                assert percents <= shares, (text, where + name, values[:9])
                assert percents or not (shares and fractions), (text, where + name, values[:9])


def axes_hold_their_marks(figure):
    """Check that all marks are within fixed ends of an axis, and not in a corner of the plot.

    Panels that share their ends share what is shown; lines of a list, whose axis has no numbers, may be without marks.
    """
    marks, together = defaultdict(list), defaultdict(list)
    for trace in figure.data:
        for letter in "xy":
            name = getattr(trace, f"{letter}axis", None) or letter
            marks[name] += places(trace, letter)
            together[_ends(figure, name)] += places(trace, letter)
    for name, values in marks.items():
        axis = figure.layout[f"{name[0]}axis{name[1:]}"]
        cut = "quantile" in (axis.title.text or "")  # its title says that marks are beyond its end
        if values and axis.range is not None and axis.type != "category" and not cut:
            low, high = sorted(axis.range)
            assert low <= min(values) <= max(values) <= high, (name, axis.range, min(values), max(values))
            if axis.tickformat and any(value != round(value) for value in values):
                shares = -1 <= min(values) <= max(values) <= 1
                assert axis.tickformat.endswith(PERCENT) == shares, (name, axis.tickformat)
                # Ends near 0 or 1 include the marks.
                assert low <= 0 or low > 0.1, (name, axis.range)
                assert high >= 1 or high < 0.95, (name, axis.range)
            every = [*together[_ends(figure, name)], *filter(is_number, axis.tickvals or ())]
            ends = [*every, *((0, 1) if low <= 0 and high >= 1 else ())]
            filled = high - low <= 2.2 * (max(ends) - min(ends)) + 1
            assert filled or axis.showticklabels is False, (name, axis.range, min(ends), max(ends))


def _ends(figure, name):
    """Return the direction of an axis and its ends; an axis without ends matches no other."""
    axis = figure.layout[f"{name[0]}axis{name[1:]}"]
    return name[0], tuple(axis.range) if axis.range is not None else name


def models_have_their_colours(figure, looks):
    """Check that marks of a model, by record or trace name, are gray or in the model's own color."""
    for trace in figure.data:
        models = {mark.get("model") for mark in records_of(trace)} | {trace.name}
        if len(models & {*looks}) == 1:
            (model,) = models & {*looks}
            parts = [part for part in ("marker", "line") if part in trace]
            drawn = {trace[part].color for part in parts if isinstance(trace[part].color, str)} & {*COLOURS}
            assert drawn <= {style(looks[model]).colour}, (trace.name, model, drawn)


def marks_are_of_the_table(figure, frame):
    """Check that a mark's record of its bin, row or cell is one line of the table."""
    lines = frame.to_dict("records")
    for trace in figure.data:
        for mark in records_of(trace):
            # A true class is a position in a record, and a name in a table, whose position is in a column of its own.
            column = {"label": "label_code"}
            known = {
                column.get(name, name): value
                for name, value in mark.items()
                if column.get(name, name) in frame and is_number(value)
            }
            if len(known) >= 2:
                if "model" in frame and "model" in mark:
                    known["model"] = mark["model"]
                assert any(all(line[name] == value for name, value in known.items()) for line in lines), mark
