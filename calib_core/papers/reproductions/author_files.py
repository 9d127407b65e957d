"""Tables about networks that only their authors have: published values and those of the user's files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, partial
from importlib import resources
from pathlib import Path

import numpy as np
import pandas as pd

from calib_core._base.errors import InputError, NotAnswerable
from calib_core._base.parallel import Progress
from calib_core.papers.reproductions.gallery import (
    REPRODUCTIONS,
    ComputedNumber,
    PaperLine,
    Reproduction,
    as_frame,
    entry_of,
    printed,
)
from calib_core.papers.tables.published import PAPER_TABLES
from calib_core.papers.tables.runs import File, paper_table
from calib_core.papers.tables.shapes import ERROR

SPLITS = 5
_STANDARD_ERROR = {"p4-table-1": 5e-4}
"""Upper limits of standard errors of a table's means as stated in the paper; the other papers print none."""
_ANOTHER_MACHINE = "the published seconds are from another machine"
_SPELT = {"resnetwide32": ("wideresnet32", "wrn32"), "wrn2610": ("wideresnet2610",), "cifar100": ("c100",),
          "cifar10": ("c10",)}  # fmt: skip
"""Other spellings in file names."""


@cache
def published() -> pd.DataFrame:
    """Return the published numbers about networks: table, dataset, network, measure, method, number, scale.

    ``scale`` is the paper's factor (100: percent). What can mislead: P1's Table 5 repeats the CIFAR-100 rows of its
    Table 3, though it is about networks trained with another loss. P3's Tables 4 and 8 disagree on LECE for CIFAR-100.
    One column of P3's Table 11 for CIFAR-100 (TS+LECE by Euclidean distance) is left out, as its numbers are not
    legible.

    >>> published().query("table == 'p1-table-2' and network == 'ResNet-50'")["published"].iloc[0]
    '0.025'
    """
    text = resources.files("calib_core.papers.reproductions").joinpath("published.tsv").read_text(encoding="utf-8")
    head, *lines = [line.split("\t") for line in text.splitlines()]
    frame = pd.DataFrame(lines, columns=head)
    return frame.assign(scale=pd.to_numeric(frame["scale"]))


def from_files(
    key: str,
    files: Mapping[str, File],
    *,
    splits: int = SPLITS,
    folder: str | Path | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Reproduce a table about networks from files of predictions, next to the published values.

    ``files`` are as for ``paper_table``; each name must contain the dataset and the network, as in
    "cifar10_resnet110.npz". Columns as for ``reproduced``. Tolerances are four standard errors over the ``splits`` plus
    the rounding of the printed digits. For a file that marks its parts they are rounding only. A value that a method
    does not have on a file is NaN, with the reason in ``why``. ``folder`` caches results. Raises InputError if a name
    contains no network of the table, NotAnswerable if the table is not about files. What can mislead: the papers' own
    divisions are unknown, and retrained networks have other predictions.

    >>> from_files("p1-example-1", {})
    Traceback (most recent call last):
    calib_core._base.errors.NotAnswerable: p1-example-1 needs no files: leave them out
    """
    entry = entry_of(key)
    if not entry.needs:
        raise NotAnswerable(f"{key} needs no files: leave them out")
    lines = published()[published()["table"] == key]
    named = {name: _network(name, lines) for name in files}
    whole = paper_table(dict(files), key, splits=splits, folder=folder, progress=progress)
    table, reasons = whole.frame(), " ".join(whole.notes).rstrip(".")
    theirs = _STANDARD_ERROR.get(key, 0.0)
    found = []
    for name, (dataset, network) in named.items():
        rows = lines[(lines["dataset"] == dataset) & (lines["network"] == network)]
        for measure, method, number, scale in rows[["measure", "method", "published", "scale"]].to_numpy(dtype=object):
            ours = table[(table["file"] == name) & (table["measure"] == measure) & (table["line"] == "file")]
            value, error = (float(ours[column].iloc[0]) * scale for column in (method, ERROR.format(method)))
            known = _ANOTHER_MACHINE if measure == "Seconds" else ""
            here = ComputedNumber(value, 0.0 if np.isnan(error) else error, int(ours["splits"].iloc[0]))
            found.append(
                printed(*_place(key, name, dataset, network, measure, method, scale), number, here,
                        plus_minus=1.645 * theirs, why=reasons if np.isnan(value) else known)
            )  # fmt: skip
    return as_frame(key, found)


def _network(name: str, lines: pd.DataFrame) -> tuple[str, str]:
    """Dataset and network in a file's name, the longest match; InputError if there is none."""
    text = _plain(Path(name).stem)
    fits = [
        (dataset, network)
        for dataset, network in lines[["dataset", "network"]].drop_duplicates().itertuples(index=False)
        if _said(dataset, text) and _said(network, text)
    ]
    if not fits:
        known = "; ".join(dict.fromkeys(lines["dataset"] + " " + lines["network"]))
        raise InputError(f"{name[:80]!r} contains no dataset and network of this table; known: {known}")
    return max(fits, key=lambda pair: len(pair[1]))


def _said(wanted: str, text: str) -> bool:
    plain = _plain(wanted)
    return any(re.search(f"{spelt}(?!0)", text) for spelt in (plain, *_SPELT.get(plain, ())))


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def _place(key: str, name: str, dataset: str, network: str, measure: str, method: str, scale: float) -> tuple[str, str]:
    """Description of a comparison, and its place in the paper."""
    what = f"{name}: {measure}, {method}" + (" (times 100)" if scale == 100 else "")
    return what, f"{REPRODUCTIONS[key].place}, row {dataset} {network}, column {method}"


def _printed(key: str) -> list[PaperLine]:
    """Published values only, without files."""
    rows = published()[published()["table"] == key].drop(columns="table")
    return [
        printed(*_place(key, f"{dataset} {network}", dataset, network, measure, method, scale), number, np.nan)
        for dataset, network, measure, method, number, scale in rows.itertuples(index=False)
    ]


def example_name(key: str) -> str:
    """Example of a file name, with the first network of a table.

    >>> example_name("p1-table-2")
    'cifar10_resnet50.csv'
    """
    first = published()[published()["table"] == key].iloc[0]
    return f"{_plain(first['dataset'])}_{_plain(first['network'])}.csv"


def _needs_files(key: str, quick: bool, progress: Progress) -> list[PaperLine]:
    raise NotAnswerable(
        f"{key} is about networks whose predictions only its authors have: give a folder of predictions "
        f"(`calib reproduce {key} --files FOLDER`)"
    )


for _key in dict.fromkeys(published()["table"]):
    _table = PAPER_TABLES[_key]
    REPRODUCTIONS[_key] = Reproduction(
        _key,
        _table.title,
        _table.reference.rpartition(", ")[2],
        partial(_needs_files, _key),
        (np.nan, np.nan),
        caption="It needs predictions of the paper's networks, which only its authors have: a folder with one file per "
        "network, named by dataset and network, such as "
        f"{example_name(_key)}. One network is enough. Methods, measures and bins are the table's own.",
        needs="predictions of the networks",
        printed=partial(_printed, _key),
    )
