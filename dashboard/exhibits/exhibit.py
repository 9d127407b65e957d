"""What is shown, said once: an exhibit's table, figure and words, for screen, report, terminal and copied code."""

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
"""What an exhibit is made of: rows one by one, or what a summary knows, too."""


@dataclass(frozen=True)
class Words:
    """What stands below a table or figure; what replaces the figure for those who do not see it; and what else to know.

    ``headline``: sentences above, the finding first. Plain texts: whoever prints them escapes them.
    """

    caption: str = ""
    alt: str = ""
    notes: tuple[str, ...] = ()
    headline: tuple[str, ...] = ()

    def also(self, *notes: str) -> Words:
        """The same words with more notes; empty ones are left out."""
        return replace(self, notes=(*self.notes, *filter(None, notes)))


class Exhibit:
    """One thing that is shown. Its fields are its controls; the first sentence of its docstring says what it shows.

    ``table`` and ``figure`` say what is shown as calls of calib_core; NotAnswerable, raised here or by a call, is the
    sentence that stands in its place wherever it would be shown. ``printed``: lines a report prints at most, worst
    first; 0 where the picture says it all, and only the file has the table. ``static``: a table to read, not to sort,
    which the screen writes as a page does. ``formula``: what its curve is, in TeX. ``costly``: of hundreds of classes
    it takes long, so that screens make it when it is asked for. ``terms``: keys of terms of the glossary that a
    newcomer needs to read it. ``meanings``: a line on every column of its table, by the column's name, "error, *" for
    all that begin so; what means the same in all tables is in ``columns.COMMON``. ``reads``: "counts" where a summary
    is enough, but for the values of options that are named in ``of_rows``. ``reads_columns``: it needs columns beside
    the predictions, which rows that are kept by a summary have not.
    """

    reads: ClassVar[Reads] = "rows"
    of_rows: ClassVar[dict[str, tuple[str, ...]]] = {}
    reads_columns: ClassVar[bool] = False
    printed: ClassVar[int | None] = None
    static: ClassVar[bool] = False
    height: ClassVar[int] = 420
    formula: ClassVar[str] = ""
    costly: ClassVar[bool] = False
    terms: ClassVar[tuple[str, ...]] = ()
    meanings: ClassVar[Mapping[str, str]] = {}

    @property
    def used(self) -> tuple[str, ...] | None:
        """Names of the options that change something as the others stand; None: all of them."""
        return None

    def used_in(self, scene: Scene) -> tuple[str, ...] | None:
        """The same for what this scene is about."""
        return self.used

    def terms_in(self, scene: Scene) -> tuple[str, ...]:
        """The terms that what this scene is about needs."""
        return self.terms

    def check(self, scene: Scene) -> None:
        """NotAnswerable where it reads rows and the data in use are a summary, with what to do about it."""
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
            sample = f", or look at the {count(kept)} rows that it keeps" if kept else ""
            raise NotAnswerable(
                f"\u201c{what[0]}\u201d needs rows, and a summary holds counts of them: open the file that it was made "
                f"of{sample}"
            )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        """The frame that is shown, downloaded, written by the command and made by the copied code."""
        raise NotImplementedError

    def columns(self, frame: pd.DataFrame) -> tuple[Column, ...]:
        """How the frame is written for readers."""
        raise NotImplementedError

    def declared(self, frame: pd.DataFrame) -> tuple[Declared, ...]:
        """What every column of the frame is: its heading where it is printed, its unit and its meaning."""
        return declared(frame, self.columns(frame), self.meanings)

    def figure(self, scene: Scene) -> Call[go.Figure] | None:
        """The picture, for exhibits that have one."""
        return None

    def words(self, scene: Scene) -> Words:
        """What stands below, for this scene."""
        return Words()

    def bold(self, frame: pd.DataFrame) -> tuple[int, ...]:
        """Positions of the lines that matter most."""
        return ()

    def python(self, scene: Scene) -> str:
        """Lines of Python, on the library alone, that end with ``table`` and, where there is one, ``figure``."""
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
    """What the Python of an exhibit needs next to the library, to follow "the library"."""
    package = package_of(EXHIBITS[key].cls)
    return f"and {package}" if package else "alone"


def broken(package: str, why: Exception) -> str:
    """The sentence in place of an exhibit that failed with an error it did not foresee."""
    what = f"{type(why).__name__}: {why}" if str(why) else type(why).__name__
    return f"{package} failed here ({what}). Tell its authors; nothing else is affected."
