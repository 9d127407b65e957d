"""Declarations of the papers' tables of methods: methods, measures and divisions of rows, by name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from calib_core.calibrators.base import CALIBRATORS, Calibrator
from calib_core.evaluation.study import Counting
from calib_core.predictions.predictions import InputError, NotAnswerable
from calib_core.registry.registry import Recipe


@dataclass(frozen=True)
class Method:
    """Column of a table: short name, the calibrator's key and parameters, those for few classes, and a class limit.

    ``by_classes``: (most classes, parameters) in ascending order; the first one that includes the file's number of
    classes replaces ``params``.
    """

    name: str
    key: str
    params: tuple[tuple[str, Any], ...] = ()
    by_classes: tuple[tuple[int, tuple[tuple[str, Any], ...]], ...] = ()
    most_classes: int | None = None

    @property
    def text(self) -> str:
        """Identity of the method, without its display name."""
        return repr(replace(self, name="")) if self.params or self.by_classes or self.most_classes else self.key

    def recipe(self, classes: int | None) -> Recipe:
        """Return the calibrator for this number of classes; NotAnswerable if it does not support them or is missing."""
        if self.key not in CALIBRATORS:
            raise NotAnswerable(f"this version has no method {self.key!r}")
        if self.most_classes is not None and (classes or 0) > self.most_classes:
            raise NotAnswerable(
                f"it fits a number for every pair of classes, too many with {classes:,} classes; the limit is "
                f"{self.most_classes:,}"
            )
        params = next((params for most, params in self.by_classes if (classes or 0) <= most), self.params)
        return CALIBRATORS.described(self.key, **dict(params))


def as_method(calibrator: str | Recipe | Calibrator | Method) -> Method:
    """Return the column of a calibrator, named by its title; RegistryError for an unknown key.

    >>> as_method("temperature").name
    'Temperature scaling'
    """
    if isinstance(calibrator, Method):
        return calibrator
    recipe = CALIBRATORS.recipe(calibrator)
    return Method(recipe.title, recipe.key, recipe.params)


@dataclass(frozen=True)
class PaperTable:
    """Published table: title, columns, measures and share of calibration rows.

    ``splits`` is the number of splits averaged in the paper; ``rows`` are the rows that count if a method abstains.
    """

    key: str
    title: str
    methods: tuple[Method, ...]
    measures: tuple[str, ...]
    reference: str
    splits: int = 1
    fit_share: float = 1 / 3
    rows: Counting = "answered"


_PAIRS = 200
"""Maximum number of classes for methods that fit a number per pair of classes; beyond, one fit takes an hour."""
_BASE, _TS = Method("Base", "identity"), Method("TS", "temperature")
_SCALING = (_BASE, _TS, Method("VS", "vector"), Method("DS", "dirichlet", most_classes=_PAIRS),
            Method("N-HB", "normalised-hb"))  # fmt: skip
_TL = (*_SCALING, Method("TL-HB", "top-label-hb"))
_CW = (*_SCALING, Method("CW-HB", "class-wise-hb"))

_CHOSEN = ("cross_validate", True)
_EUCLIDEAN = ("distance", "euclidean")
_UNCAL = replace(_BASE, name="uncal")
_RIVALS = (
    _UNCAL,
    Method("IR", "isotonic-ovr"),
    Method("LECE", "lece", (_CHOSEN,)),
    Method("MS", "matrix", (_CHOSEN,), most_classes=_PAIRS),
    Method("IOP", "iop"),
    Method("GP", "gp"),
    _TS,
    Method("TS+DEC", "ts+decision"),
    Method("TS+IR", "ts+isotonic-ovr"),
    Method("TS+LECE", "ts+lece", (_CHOSEN,)),
)
_LOCAL = tuple(
    Method(prefix.upper() + name, prefix + key, params)
    for prefix in ("", "ts+")
    for name, key, params in (
        ("LECE", "lece", (_CHOSEN,)),
        ("LECE euc", "lece", (_CHOSEN, _EUCLIDEAN)),
        ("LECD", "lecd", (_CHOSEN,)),
    )
)

_MISCOVERAGE = Method("MetaMis", "metacal-miscoverage", (("miscoverage", 0.05),))
_ACCURACY = Method(
    "MetaAcc",
    "metacal-accuracy",
    (("accuracy", 0.85),),
    ((10, (("accuracy", 0.97),)), (100, (("accuracy", 0.87),))),
)
_META = (replace(_BASE, name="Uncal"), _TS, Method("ETS", "ensemble-temperature"), Method("GPC", "gp"),
         _MISCOVERAGE, _ACCURACY)  # fmt: skip


def _p1(number: int, of: str, methods: tuple[Method, ...], *measures: str) -> PaperTable:
    return PaperTable(f"p1-table-{number}", of, methods, measures, f"Gupta and Ramdas (2022), Table {number}")


def _p3(number: int, of: str, methods: tuple[Method, ...], measure: str) -> PaperTable:
    return PaperTable(f"p3-table-{number}", of, methods, (measure,), f"Valk and Kull (2023), Table {number}")


def _p4(key: str, of: str, methods: tuple[Method, ...], *measures: str) -> PaperTable:
    place = key.replace("-", " ").title()
    return PaperTable(f"p4-{key}", of, methods, measures, f"Ma and Blaschko (2021), {place}", 40, rows="all")


PAPER_TABLES = {
    table.key: table
    for table in (
        _p1(2, "Errors of the predicted class", _TL, "TL-ECE", "TL-MCE of bins"),
        _p1(3, "Errors of every class", _CW, "CW-ECE"),
        _p1(4, "Errors of the predicted class, of models trained with another loss", _TL, "TL-ECE", "TL-MCE of bins"),
        _p1(5, "Errors of every class, of models trained with another loss", _CW, "CW-ECE"),
        _p3(3, "Errors of confidences", _RIVALS, "conf-ECE, equal mass"),
        _p3(4, "Errors of every class, with ranks", _RIVALS, "CW-ECE, equal mass"),
        _p3(5, "Log loss", _RIVALS, "Log loss"),
        _p3(6, "Accuracy", _RIVALS, "Accuracy"),
        _p3(7, "Errors of confidences, nearest-neighbor methods", _LOCAL, "conf-ECE, equal mass"),
        _p3(8, "Errors of every class, nearest-neighbor methods", _LOCAL, "CW-ECE, equal mass"),
        _p3(9, "Log loss, nearest-neighbor methods", _LOCAL, "Log loss"),
        _p3(10, "Chosen share of neighbors", _LOCAL, "Neighbors, share of rows"),
        _p3(11, "Chosen threshold", _LOCAL, "Threshold"),
        _p4("table-1", "Errors of confidences with abstentions", _META, "Accuracy", "conf-ECE"),
        _p4("table-2", "Seconds to fit and apply", _META, "Seconds"),
        _p4("figure-1", "Correct rows withheld, target at most 5 %", (_MISCOVERAGE,), "Miscoverage", "Coverage"),
        _p4("figure-2", "Accuracy of answered rows", (_ACCURACY,), "Coverage accuracy", "Coverage"),
    )
}
"""Tables of the papers by key."""


def as_paper_table(table: str | PaperTable) -> PaperTable:
    """Return a table given by key or as an object; InputError lists the known keys.

    >>> as_paper_table("p3-table-5").measures
    ('Log loss',)
    """
    if isinstance(table, PaperTable):
        return table
    if table not in PAPER_TABLES:
        raise InputError(f"there is no table {table[:80]!r}; choose one of {', '.join(PAPER_TABLES)}")
    return PAPER_TABLES[table]
