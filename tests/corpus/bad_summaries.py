"""Summaries of ``calib summarise``: files that resemble one, and impossible counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd

from calib_core.predictions.predictions import Predictions
from calib_core.summaries.mergeable import Summary
from calib_core.summaries.on_disk import _frame
from tests.corpus.bad_files import BadFile, drawn, family, parquet

WHAT = "calib summary"


@family("Summaries")
def summaries() -> Iterator[BadFile]:
    p, y = drawn(40)
    good = _frame(Summary.of(Predictions(p, y, class_names=list("abc"))))

    def where(what: str) -> Any:
        return good[WHAT].str.startswith(what)

    def with_(column: str, what: str, value: Any) -> pd.DataFrame:
        frame = good.copy()
        frame[column] = frame[column].mask(where(what), value)
        return frame

    damaged = "looks like a summary but is damaged, cut off or from a newer version"
    newer = 'is a summary of version "2", but this program reads version 1'
    cases: dict[str, tuple[Callable[[], pd.DataFrame], str]] = {
        "another version": (lambda: with_("text", "version", "2"), newer),
        "no version": (lambda: good[~where("version")], damaged),
        "no kind": (lambda: good[~where("kind")], damaged),
        "no grid": (lambda: good[~where("grid")], damaged),
        "no cells": (lambda: good[~where("cell")], damaged),
        "no classes": (lambda: good[~where("class")], damaged),
        "no sample": (lambda: good[~where("sample")], damaged),
        "an unknown kind": (lambda: with_("text", "kind", "guesses"), damaged),
        "an unknown dtype": (lambda: with_("text", "dtype", "object"), damaged),
        "another grid": (lambda: with_("text", "grid", "1 2 3"), damaged),
        "negative counts": (lambda: with_("count", "cell", -1), damaged),
        "no counts": (lambda: with_("count", "cell", 0), damaged),
        "more right than rows": (lambda: with_("outcome", "cell", 1 << 40), damaged),
        "places beyond the grid": (lambda: with_("place", "cell", 1 << 40), damaged),
        "negative places": (lambda: with_("place", "cell", -1), damaged),
        "labels of no class": (lambda: with_("place", "label", 99), damaged),
        "negative labels": (lambda: with_("count", "label", -5), damaged),
        "a sample that is no text": (lambda: with_("text", "sample", "?"), damaged),
        "a sample cut": (lambda: with_("text", "sample", "UEsDBA=="), damaged),
        "losses without sums": (lambda: good[~where("loss")], damaged),
        "an infinite reach": (lambda: with_("number", "most", float("inf")), damaged),
        "a reach of NaN": (lambda: with_("number", "most", float("nan")), damaged),
        "a column missing": (lambda: good.drop(columns="count"), damaged),
        "the first line alone": (lambda: good.head(1), damaged),
        "half of it": (lambda: good.head(len(good) // 2), damaged),
        "every line twice": (lambda: pd.concat([good, good]), damaged),
        "a class twice": (lambda: with_("text", "class", "a"), damaged),
        "another name of the lines": (lambda: good.assign(**{WHAT: "rows"}), damaged),
    }
    for what, (made, says) in cases.items():
        yield BadFile(what, parquet(**made().to_dict("list")), says, filename="a.parquet")
    whole = parquet(**good.to_dict("list"))
    yield BadFile(
        "columns chosen",
        whole,
        "is a summary, which has no reading to choose",
        filename="a.parquet",
        chosen={"label": "text"},
    )
    yield BadFile(
        "rows read as a summary",
        b"p,y\n0.5,1\n0.2,0\n",
        "is not a summary",
        chosen={"layout": "summary"},
    )
