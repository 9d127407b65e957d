"""Reproduction of the numbers: a command, Python lines, and the recipe.

Every choice behind the numbers, seeds included, and the versions behind them.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from calib_core import ESTIMATORS, REDUCTIONS
from calib_core.inference.noise.noise_floor import RESAMPLES
from calib_core.text import short_percent
from dashboard import session
from dashboard.exhibits import added
from dashboard.report import document, recipe
from dashboard.report.document import Block, Code, Heading, Paragraph, TypesetTable
from dashboard.report.request import Request
from dashboard.report.sections import other_packages
from dashboard.selection import Selection, Source


def settings_table(request: Request) -> TypesetTable:
    """Return a table of every choice behind the numbers, including seeds."""
    selection = request.selection
    source, curve = selection.source, selection.exhibit("kernel-curve").build()
    pairs = selection.exhibit("pairs").build()
    claims = REDUCTIONS[pairs.notion].title if pairs.notion in REDUCTIONS else "whole predictions"
    chosen = {
        "calibrators": ", ".join(dict.fromkeys(m.recipe.title for m in request.models.recalibrated)) or "none",
        "bins": request.scene.in_bins,
        "tolerance": short_percent(selection.eps),
        "model shown in detail": request.chosen.title,
        "notion of the curves": REDUCTIONS[request.scene.notion].title,
        "notion by class": REDUCTIONS[selection.exhibit("class-panels").build().notion].title,
        "paired differences": ", ".join([ESTIMATORS[pairs.estimator].title, claims]),
        "kernel curves": ESTIMATORS.recipe(curve.kernel).title,
        "band of curves": curve.band.replace("-", " "),
        **({} if request.of_event else _triangle(selection)),
        "slow estimators": "with intervals and floors" if selection.exhibit("estimators").params else "values only",
        **_division(source),
        **({"test rows judged": part} if (part := session.parts(source).where) else {}),
        "redraws and resamples": f"{RESAMPLES:,}, with seed 0",
    }
    frame = pd.DataFrame({"setting": list(chosen), "value": list(chosen.values())})
    return TypesetTable(
        "settings", "All settings behind the numbers.", frame, (document.text("setting"), document.text("value"))
    )


def _triangle(selection: Selection) -> dict[str, str]:
    """Return the settings of the triangle, which needs three classes."""
    return {
        "partitions of the triangle": ", ".join(recipe.title for recipe in selection.partitions) or "none",
        "minimum rows for an arrow": f"{selection.exhibit('triangle').build().min_rows}",
    }


def _division(source: Source) -> dict[str, str]:
    """Return how the rows were divided."""
    by = session.split_by(source)
    seed = {"seed of the split": str(source.seed)} if by in ("share", "folds") else {}
    if by == "share":
        return {"share of calibration rows": f"{source.share:g}", **seed}
    return {"calibration and test rows": session.parts(source).rule, **seed}


def versions_table() -> TypesetTable:
    packages = recipe.versions()
    columns = tuple(document.text(package) for package in packages)
    return TypesetTable("versions", "Software versions behind the numbers.", pd.DataFrame([packages]), columns)


def blocks(request: Request) -> Iterator[Block | None]:
    """Yield the same choices as a command, as Python, and as a recipe."""
    yield Paragraph(
        "The same file, settings and versions give the same numbers. This HTML file contains them as a recipe: calib "
        "report FILE --like REPORT.html -o again.html. Python code and recipe are not printed."
    )
    options = request.options
    options_chosen = {name: getattr(options, name) for name in ("title", "author", "left_out", "added", "style")}
    whole = request.selection.replace(**options_chosen)
    yield Code(session.report_line(whole), "The command that writes this report, for a terminal with calib installed.")
    yield from (Heading("Settings and versions"), settings_table(request), versions_table())
    if request.calls:
        wanted = {name.replace("-", "_"): call for name, call in request.calls.items()}
        foreign = any(name.startswith(other_packages.NAMED) for name in request.calls)
        needs = f" and {', '.join(added())}" if foreign else ""
        yield Code(
            session.python(**wanted),
            f"The tables in Python, with the library{needs}; each is named after its file.",
            folded=True,
        )
    yield Code(recipe.written(request.selection, request.options), "The recipe.", folded=True)
