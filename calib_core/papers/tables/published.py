"""The papers' tables of methods: which methods, which numbers, how rows were divided. Declared once, by name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from calib_core.calibrators.base import CALIBRATORS, Calibrator
from calib_core.evaluation.study import Counting
from calib_core.predictions.predictions import InputError, NotAnswerable
from calib_core.registry.registry import Recipe


@dataclass(frozen=True)
class Method:
    """A column: its short name, the calibrator's key and parameters, those for few classes, and the most it is for.

    ``by_classes``: (most classes, parameters) in ascending order, the first that reaches as far as the file's classes
    is used in place of ``params``.
    """

    name: str
    key: str
    params: tuple[tuple[str, Any], ...] = ()
    by_classes: tuple[tuple[int, tuple[tuple[str, Any], ...]], ...] = ()
    most_classes: int | None = None

    @property
    def text(self) -> str:
        """What tells it from all others but for its name."""
        return repr(replace(self, name="")) if self.params or self.by_classes or self.most_classes else self.key

    def recipe(self, classes: int | None) -> Recipe:
        """The calibrator for so many classes; NotAnswerable where it is not for them, or not here."""
        if self.key not in CALIBRATORS:
            raise NotAnswerable(f"this version has no method {self.key!r}")
        if self.most_classes is not None and (classes or 0) > self.most_classes:
            raise NotAnswerable(
                f"it fits a number for every pair of classes, too many with {classes:,} classes: it is tried for at "
                f"most {self.most_classes:,}"
            )
        params = next((params for most, params in self.by_classes if (classes or 0) <= most), self.params)
        return CALIBRATORS.described(self.key, **dict(params))


def as_method(calibrator: str | Recipe | Calibrator | Method) -> Method:
    """The column of a calibrator, named by its title; RegistryError where there is none of this key.

    >>> as_method("temperature").name
    'Temperature scaling'
    """
    if isinstance(calibrator, Method):
        return calibrator
    recipe = CALIBRATORS.recipe(calibrator)
    return Method(recipe.title, recipe.key, recipe.params)


@dataclass(frozen=True)
class PaperTable:
    """A published table: what it shows, its columns and numbers, the share of rows that methods were fitted on.

    ``splits`` is how many splits the paper averages; ``rows`` which rows count where a method abstains.
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
"""Most classes for methods that fit a number for each pair of them: beyond, one fit takes an hour."""
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
        _p3(7, "Errors of confidences, methods of neighbours", _LOCAL, "conf-ECE, equal mass"),
        _p3(8, "Errors of every class, methods of neighbours", _LOCAL, "CW-ECE, equal mass"),
        _p3(9, "Log loss, methods of neighbours", _LOCAL, "Log loss"),
        _p3(10, "Share of neighbours chosen", _LOCAL, "Neighbours, share of rows"),
        _p3(11, "Threshold chosen", _LOCAL, "Threshold"),
        _p4("table-1", "Errors of confidences, some rows unanswered", _META, "Accuracy", "conf-ECE"),
        _p4("table-2", "Seconds to fit and apply", _META, "Seconds"),
        _p4("figure-1", "Right answers withheld, at most 5 % wanted", (_MISCOVERAGE,), "Miscoverage", "Coverage"),
        _p4("figure-2", "Accuracy of what is answered", (_ACCURACY,), "Coverage accuracy", "Coverage"),
    )
}
"""The papers' tables by key."""


def as_paper_table(table: str | PaperTable) -> PaperTable:
    """A table as it is, or by its key; InputError names those there are.

    >>> as_paper_table("p3-table-5").measures
    ('Log loss',)
    """
    if isinstance(table, PaperTable):
        return table
    if table not in PAPER_TABLES:
        raise InputError(f"there is no table {table[:80]!r}; those there are: {', '.join(PAPER_TABLES)}")
    return PAPER_TABLES[table]
