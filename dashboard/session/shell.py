"""Choices on screen as commands: a table of an exhibit, or a whole report."""

from __future__ import annotations

import shlex
from urllib.parse import urlencode

from calib_core import Recipe
from dashboard import extensions
from dashboard.selection import SHARED, STYLES, Selection, Source
from dashboard.session.files import file, reading
from dashboard.session.reading_changes import changed_fields
from dashboard.session.result_cache import Missing

_NAMED = (
    *("data", "reading", "test", "test_reading", "others", "calibrators"),
    *("view", "tour", "title", "author", "left_out", "added", "style", "column"),
)
"""Choices that the command expresses in its own way, or that change no number."""


def show_line(selection: Selection, exhibit: Recipe) -> str:
    """Return the command that writes the table of an exhibit with these choices."""
    words = ["calib", "show", exhibit.key, *_data(selection)]
    words += ["--model", selection.model] if selection.model else []
    words += ["--notion", selection.notion] if selection.notion else []
    words += _rest(selection, leaving=("model", "notion", "exhibits"))
    for name, value in exhibit.params:
        words += ["--set", f"{name}={value.to_json() if isinstance(value, Recipe) else value}"]
    return shlex.join([*words, *_extensions()])


def _extensions() -> list[str]:
    """Return the arguments for the packages named by --with; installed extensions need none."""
    return [word for name in extensions.named() for word in ("--with", name)]


def _data(selection: Selection) -> list[str]:
    """Return the arguments for the data and focus that have their own options."""
    source = selection.source
    words = [_file_name(source.data), *_labels(source.data)]
    words += ["--test", _file_name(source.test)] if source.test else []
    for data in dict.fromkeys(data for data, _ in selection.others if data != source.data):
        words += ["--other", _file_name(data)]
    for recipe in selection.calibrators:
        words += ["--calibrator", recipe.to_json() if recipe.params else recipe.key]
    return words


def report_line(selection: Selection, only: str = "") -> str:
    """Return the command that writes a report, or one section, with the numbers on screen for these choices."""
    file, *words = _data(selection)
    words = ["calib", "report", file, "-o", "report.html", *words]
    threshold, query = _threshold(selection), selection.to_query()
    words += _rest(selection, ("exhibits",) if threshold else ()) + threshold
    for flag in ("style", "title", "author"):
        words += [f"--{flag}", query[flag]] if flag in query else []
    sections = (("--leave-out", selection.left_out), ("--include", selection.added))
    for flag, keys in [("--only", [only])] if only else sections:
        words += [word for key in keys for word in (flag, key)]
    return shlex.join([*words, *_extensions()])


def _rest(selection: Selection, leaving: tuple[str, ...] = ()) -> list[str]:
    """Return the arguments for all remaining choices."""
    query = selection.to_query()
    rest = {name: text for name, text in query.items() if name not in (*_NAMED, *leaving)}
    words: list[str] = []
    folds = rest.pop("folds", str(selection.source.folds))
    if rest.get("by") == "folds":
        rest = {name: text for name, text in rest.items() if name not in ("by", "share")}
        words += ["--folds", folds]
    for flag in ("binning", "bins", "points", "share", "seed"):
        words += [f"--{flag}", rest.pop(flag)] if flag in rest else []
    for flag, name in (("tolerance", "eps"), ("ratio", "ratio"), ("where", "within")):
        words += [f"--{flag}", rest.pop(name)] if name in rest else []
    rest |= {name: query[name] for name in ("reading", "test_reading") if name in query}
    if accepted := _only_accepted(selection.source):
        del rest["reading"]
        words += ["--read", f"accepted={','.join(accepted)}"]
    if any(changed for _, changed in selection.others):
        rest["others"] = query["others"]
    return [*words, "--choices", urlencode(rest)] if rest else words


def _threshold(selection: Selection) -> list[str]:
    """Return the argument for the threshold of a validation, if no other option of an exhibit is changed."""
    chosen = {recipe.key: dict(recipe.params) for recipe in selection.exhibits}
    values = [params.pop("threshold", None) for params in chosen.values()]
    alone = chosen.keys() == set(SHARED["threshold"]) and not any(chosen.values())
    return ["--threshold", str(values[0])] if alone and selection.style == STYLES[1] else []


def _only_accepted(source: Source) -> tuple[str, ...]:
    """Return the codes of the accepted warnings if they are the only change of a reading; else none."""
    try:
        return reading(source.data, source.reading).accepted if changed_fields(source.reading) == {"accepted"} else ()
    except Missing:
        return ()


def _labels(key: str) -> list[str]:
    """Return the arguments for the file that contains the labels, if they are in another file."""
    try:
        met = file(key).table.joined
    except Missing:
        return []
    if met is None:
        return []
    name = f"./{met.labels}" if met.labels.startswith("-") else met.labels
    words = ["--by-place"] if met.key == () else [word for column in met.key or () for word in ("--key", column)]
    return ["--labels", name, *words]


def _file_name(key: str) -> str:
    """Return a file's name in the command; a name that begins like an option gets its folder, a missing file none."""
    try:
        found = file(key)
    except Missing:
        return "FILE"
    if found.demo:
        return key
    return f"./{found.table.name}" if found.table.name.startswith("-") else found.table.name
