"""The choices on screen as lines that can be run: Python on the library, and a command."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dashboard import session
from dashboard.selection import Selection, Source, differences, read_corners
from dashboard.session import Model


def python_lines(selection: Selection) -> str:
    """Lines of Python on the library alone that give the numbers on screen for these choices.

    They end with a table ``numbers``: the primary line of every model, which its verdict rests on, and with what the
    view shows as ``shown``. A file that was uploaded is looked for by its name in the working directory.
    """
    models = session.models(selection).shown
    lines = ["import pandas as pd", *_models(selection, models), "", "numbers = pd.DataFrame(["]
    lines += [
        '    {"model": name, **first.line.record(), "reason": first.reason, "p of any error": first.shown.p_value}',
        f"    for name, first in cc.inference.primaries(models, {selection.eps!r}, bins=bins).items()",
        "])",
        "",
        f"shown = {{name: {_shown(selection)} for name, model in models.items()}}",
    ]
    return "\n".join(lines) + "\n"


def python_for(selection: Selection, shown: str, of: Model | None = None, among: Sequence[Model] = ()) -> str:
    """Lines of Python that end with what one figure or table shows: an expression of ``models`` and ``bins``.

    An expression of ``model`` is made of every model, by name; of ``cal``, ``fit`` and ``test``: of the fitted
    calibrator of the model given, its calibration rows and its test rows before it (``whole``: before they were
    divided); of ``cals``: of all of them. ``among``: the models there are, by default all that are shown.
    """
    models = tuple(among) or session.models(selection).shown
    lines = _models(selection, models)
    if of is not None:
        i = selection.sources.index(of.source)
        lines += [f"fit, test = fit{_suffix(i)}, test{_suffix(i)}"] if i else []
        if re.search(r"\bwhole\b", shown) and (i or session.split_by(of.source) == "files"):
            lines.append(f"whole = whole{_suffix(i)}" if i else "whole = fit")
        lines += [f"cal = {of.recipe.python()}.fit_on(fit)"] if re.search(r"\bcal\b", shown) else []
    if re.search(r"\bcals\b", shown):
        fits = ((m, f"fit{_suffix(selection.sources.index(m.source))}") for m in models if m != m.base)
        lines += ["cals = {", *(f"    {m.title!r}: {m.recipe.python()}.fit_on({fit})," for m, fit in fits), "}"]
    each = f"{{name: {shown} for name, model in models.items()}}" if re.search(r"\bmodel\b", shown) else shown
    return "\n".join([*lines, "", f"shown = {each}"]) + "\n"


def _models(selection: Selection, models: tuple[Model, ...]) -> list[str]:
    """The lines that read the files, divide the rows, fit the calibrators, and name the bins."""
    lines = ["import calib_core as cc", *_imports(selection), ""]
    for i, source in enumerate(selection.sources):
        lines += _rows(source, _suffix(i))
    lines += ["", "models = {"]
    lines += [f"    {model.title!r}: {_made(model, selection.sources.index(model.source))}," for model in models]
    scheme = selection.scheme
    return [*lines, "}", f"bins = None  # {session.DECLARED}" if scheme is None else f"bins = {scheme.python()}"]


# -- Python ---------------------------------------------------------------------------------------------------


def _imports(selection: Selection) -> list[str]:
    """What reading the files needs beyond ``cc.read_predictions``."""
    main = selection.source
    plain = session.split_by(main) != "column" and not any(session.changes(*chosen) for chosen in _files(selection))
    needed = [] if plain else ["from pathlib import Path"]
    names = [] if plain else ["Reading", "predictions", "propose", "read_table"]
    names += ["split_rows"] if session.split_by(main) == "column" else []
    return [*needed, *([f"from calib_core.readers import {', '.join(names)}"] if names else [])]


def _files(selection: Selection) -> list[tuple[str, str]]:
    main = selection.source
    return [(main.data, main.reading), *([(main.test, main.test_reading)] if main.test else []), *selection.others]


def _rows(source: Source, suffix: str) -> list[str]:
    """The calibration rows ``fit`` and the test rows ``test`` of a source."""
    by = session.split_by(source.like or source)
    fit, test, whole = f"fit{suffix}", f"test{suffix}", f"whole{suffix}"
    if by == "files":
        lines = [*_read(fit, source.data, source.reading), *_read(test, source.test, source.test_reading)]
        return lines + _of_corners(source, fit, test)
    lines = _read(whole, source.data, source.reading, table=by == "column" and source.like is None)
    if source.like is None:
        if by == "column":
            lines.append("fit_rows, test_rows = split_rows(table, reading)")
        else:
            divided = f"whole.first_part({source.share!r}, random_state={source.seed!r})"
            lines += [f"chosen = {divided}", "fit_rows, test_rows = chosen.nonzero()[0], (~chosen).nonzero()[0]"]
    taken = f"{fit}, {test} = {whole}.take(fit_rows), {whole}.take(test_rows)"
    return [*lines, taken, *_of_corners(source, fit, test)]


def _of_corners(source: Source, fit: str, test: str) -> list[str]:
    """The line that makes three classes of all, where the picture is a triangle."""
    if not source.corners:
        return []
    three, others = read_corners(source.corners)
    return [f"{fit}, {test} = (cc.corners(rows, {three}, {others!r}).predictions for rows in ({fit}, {test}))"]


def _read(name: str, key: str, changed: str, *, table: bool = False) -> list[str]:
    """Lines that read one file as it is read on screen."""
    held, how = session.file(key), session.reading(key, changed)
    given = differences(held.proposal, how)
    words = "".join(f", {field}={value!r}" for field, value in given.items())
    said = f"  # SHA-256 {held.digest}"
    if not table and not session.changes(key, changed):
        where = f"*cc.datasets.demo({held.demo.key!r})" if held.demo else repr(held.table.name)
        return [f"{name} = cc.read_predictions({where}{words}){said}"]
    file_name = held.table.name
    data = f"*cc.datasets.demo({held.demo.key!r})" if held.demo else f"Path({file_name!r}).read_bytes(), {file_name!r}"
    if held.proposal is None:
        reading = f"Reading.from_json({changed!r})"
    else:
        reading = f"propose(table).replace({words.removeprefix(', ')})" if given else "propose(table)"
    return [f"table = read_table({data}){said}", f"reading = {reading}", f"{name} = predictions(table, reading)"]


def _suffix(i: int) -> str:
    return "" if i == 0 else f"_{i + 1}"


def _made(model: Model, i: int) -> str:
    fit, test = f"fit{_suffix(i)}", f"test{_suffix(i)}"
    return test if model == model.base else f"{model.recipe.python()}.fit_on({fit}).apply({test})"


def _shown(selection: Selection) -> str:
    """What the view draws or lists of one model."""
    if selection.view == "classes":
        return f"cc.diagrams.class_table(model, {selection.notion!r}, bins).frame()"
    return "cc.diagrams.reliability(model, bins).frame()"
