"""Read a table of decision costs from CSV with class names; rows and columns in any order."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from calib_core.predictions.predictions import InputError
from calib_core.readers.messages import listed, quoted
from calib_core.readers.text_encoding import utf8


def cost_table(data: bytes, class_names: Sequence[str], name: str = "costs.csv") -> NDArray[np.float64]:
    """Read costs from CSV as a (K, K) array: ``[d, l]`` is the cost of deciding d if l is true.

    The header names the true classes and the first column of each line the decided class. Both name every class
    once, in any order. Separators are commas, semicolons or tabs; InputError names the line and the fault.

    >>> cost_table(b"decided,dog,cat\\ncat,5,0\\ndog,0,1\\n", ("cat", "dog")).tolist()
    [[0.0, 5.0], [1.0, 0.0]]
    """
    text = utf8(data, name).decode()
    head = text.lstrip("\n").partition("\n")[0]
    delimiter = max(("\t", ";", ","), key=head.count)
    lines = [(i, [cell.strip() for cell in line]) for i, line in _read(text, delimiter, name) if any(line)]
    if not lines:
        raise InputError(f"{name} is empty; it needs a header with the classes and one line per decision")
    columns, decided = lines[0][1][1:], [line[0] for _, line in lines[1:]]
    for place, names in (("its header", columns), ("its first column", decided)):
        _check(names, class_names, f"{name}: {place}")
    table = np.empty((len(class_names), len(class_names)))
    places = {each: i for i, each in enumerate(class_names)}
    for number, (first, *cells) in lines[1:]:
        if len(cells) != len(columns):
            raise InputError(
                f"{name}, line {number} has {len(cells)} costs, but the header names {len(columns)} classes"
            )
        for true, cell in zip(columns, cells, strict=True):
            table[places[first], places[true]] = _number(cell, delimiter, f"{name}, line {number}, {quoted(true)}")
    return table


def _read(text: str, delimiter: str, name: str) -> list[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text), delimiter=delimiter)
    try:
        return [(reader.line_num, line) for line in reader]
    except csv.Error as why:
        raise InputError(f"{name}, line {reader.line_num} is not valid CSV ({why}); check its quotes") from why


def _check(names: Sequence[str], classes: Sequence[str], where: str) -> None:
    """InputError unless ``names`` contains every class once."""
    twice = [each for each in dict.fromkeys(names) if names.count(each) > 1]
    missing = [each for each in classes if each not in names]
    unknown = [each for each in names if each not in classes]
    for what, which in (("repeats", twice), ("lacks", missing), ("has unknown classes", unknown)):
        if which:
            raise InputError(f"{where} {what}: {listed(which)}; name each class once: {listed(classes)}")


def _number(text: str, delimiter: str, where: str) -> float:
    try:
        value = float(text if delimiter == "," else text.replace(",", "."))
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise InputError(f"{where}: {quoted(text)} is not a finite number")
    return value
