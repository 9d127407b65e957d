"""Base class of exhibits: table, figure and words for screen, report, terminal and copied code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

import pandas as pd

from calib_core import NotAnswerable
from calib_core.registry.registry import Choice, Registry
from calib_core.text import count
from dashboard.exhibits.columns import Column, Declared, declared
from dashboard.extensions import package_of
from dashboard.session import Call, Scene, python

if TYPE_CHECKING:
    import plotly.graph_objects as go


Reads = Literal["rows", "counts"]
"""Data that an exhibit needs: individual rows, or only the counts of a summary."""


@dataclass(frozen=True)
class Words:
    """Texts of a table or figure: caption, text alternative of the figure, notes and headline.

    ``headline``: sentences above, the finding first. ``key`` explains the marks of the figure, which text output has
    no use for. All are plain text; the printing code escapes them.
    """

    caption: str = ""
    alt: str = ""
    notes: tuple[str, ...] = ()
    headline: tuple[str, ...] = ()
    key: str = ""

    @property
    def below_figure(self) -> str:
        """The caption with the key of the figure."""
        return " ".join(filter(None, (self.caption, self.key)))

    def also(self, *notes: str) -> Words:
        """Return the same words with more notes; empty notes are dropped."""
        return replace(self, notes=(*self.notes, *filter(None, notes)))


class Exhibit:
    """One table or figure. Its fields are its controls; the first sentence of its docstring describes it to users.

    ``table`` and ``figure`` return calls of calib_core. NotAnswerable, raised here or by a call, is the sentence that
    replaces the exhibit. ``printed``: the largest number of lines in a report, worst first; 0 if the report prints only
    the figure. ``static``: a table to read rather than to sort; the screen writes it like a page. ``formula``: the
    formula of its curve, in TeX. ``costly``: slow for hundreds of classes, so that screens compute it on request.
    ``terms``: keys of the glossary terms that a newcomer needs. ``meanings``: the meaning of every column of its table,
    by the column's name ("error, *" for all names that begin so). Meanings shared by all tables are in
    ``columns.COMMON``. ``reads``: "counts" if a summary is enough, except for the values of options in ``of_rows``.
    ``aside``: headings of columns that a narrow grid shows only on request, the first one first.
    ``reads_columns``: it needs metadata columns, which the rows stored in a summary lack.
    """

    reads: ClassVar[Reads] = "rows"
    of_rows: ClassVar[dict[str, tuple[str, ...]]] = {}
    reads_columns: ClassVar[bool] = False
    printed: ClassVar[int | None] = None
    static: ClassVar[bool] = False
    aside: ClassVar[tuple[str, ...]] = ()
    height: ClassVar[int] = 420
    formula: ClassVar[str] = ""
    costly: ClassVar[bool] = False
    terms: ClassVar[tuple[str, ...]] = ()
    meanings: ClassVar[Mapping[str, str]] = {}

    @property
    def used(self) -> tuple[str, ...] | None:
        """Names of the options that have an effect, given the values of the others; None: all of them."""
        return None

    def used_in(self, scene: Scene) -> tuple[str, ...] | None:
        """Names of the options that have an effect in this scene."""
        return self.used

    def terms_in(self, scene: Scene) -> tuple[str, ...]:
        """Glossary terms that this scene needs."""
        return self.terms

    def check(self, scene: Scene) -> None:
        """Raise NotAnswerable, with advice, if the exhibit needs rows and the data in use are a summary."""
        if not scene.models.shown or not scene.undivided:
            return
        recipe = EXHIBITS.recipe(self)
        entry = EXHIBITS[recipe.key]
        what = [entry.title] if self.reads == "rows" else []
        for param in entry.params:
            value = dict(recipe.params).get(param.name, param.default)
            if isinstance(param.domain, Choice) and value in self.of_rows.get(param.name, ()):
                what.append(param.domain.title(value))
        if what:
            kept = 0 if self.reads_columns else scene.rows_kept
            sample = f", or select the {count(kept)} rows stored in it" if kept else ""
            raise NotAnswerable(
                f"\u201c{what[0]}\u201d needs rows, and a summary contains only counts. Open the original file{sample}"
            )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        """Return the frame for screen, download, command and copied code."""
        raise NotImplementedError

    def columns(self, frame: pd.DataFrame) -> tuple[Column, ...]:
        """Return the printed columns of the frame."""
        raise NotImplementedError

    def declared(self, frame: pd.DataFrame) -> tuple[Declared, ...]:
        """Return heading (if printed), unit and meaning of every column of the frame."""
        return declared(frame, self.columns(frame), self.meanings)

    def figure(self, scene: Scene) -> Call[go.Figure] | None:
        """Return the figure; None for exhibits without one."""
        return None

    def words(self, scene: Scene) -> Words:
        """Return caption, notes and headline for this scene."""
        return Words()

    def bold(self, frame: pd.DataFrame) -> tuple[int, ...]:
        """Return the positions of the lines to emphasize."""
        return ()

    def python(self, scene: Scene) -> str:
        """Return Python code that uses only the library and ends with ``table`` and, if there is one, ``figure``."""
        figure = self.figure(scene)
        return python(table=self.table(scene), **({} if figure is None else {"figure": figure}))


EXHIBITS: Registry[Exhibit] = Registry("EXHIBITS")


def added() -> dict[str, tuple[str, ...]]:
    """Return the keys of the exhibits that other packages registered, by package."""
    packages: dict[str, tuple[str, ...]] = {}
    for key in EXHIBITS:
        if package := package_of(EXHIBITS[key].cls):
            packages[package] = (*packages.get(package, ()), key)
    return packages


def also_on(key: str) -> str:
    """Return what an exhibit's Python code needs besides the library, to follow "the library" in a sentence."""
    package = package_of(EXHIBITS[key].cls)
    return f"and {package}" if package else "only"


def broken(package: str, why: Exception) -> str:
    """Return the sentence that replaces an exhibit after an unexpected error."""
    what = f"{type(why).__name__}: {why}" if str(why) else type(why).__name__
    return f"{package} failed here ({what}). Please tell its authors; nothing else is affected."
