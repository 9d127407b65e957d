"""`calib show`: any table of the dashboard, as text, JSON or CSV, or the Python that makes it."""

from __future__ import annotations

import logging
from typing import Any

import click

from dashboard.commands import _exhibit_forms, _selection_options, _shared


@click.command("show")
@click.argument("exhibit", metavar="EXHIBIT")
@click.argument("file")
@click.option("--set", "options", multiple=True, metavar="NAME=VALUE", help="An option of the exhibit; repeatable.")
@click.option("--model", help="Title of the model looked at; by default the base model.")
@click.option("--notion", help="Notion of calibration looked at; by default the event of two classes, else top-label.")
@click.option("--format", "form", type=click.Choice(_exhibit_forms.FORMS), default="text", show_default=True,
              help="How it is written.")  # fmt: skip
@_selection_options.options
@_shared.careful
def command(
    exhibit: str, file: str, options: tuple[str, ...], model: str | None, notion: str | None, form: str, **given: Any
) -> None:
    """Write the table of one EXHIBIT for the predictions in FILE: the numbers a figure or table of the dashboard shows.

    EXHIBIT is a key: reliability, ... (a wrong one lists them all). FILE may be demo:KEY for demo data.

    \b
    Examples:
      calib show reliability predictions.csv --calibrator temperature
      calib show reliability demo:digits-naive-bayes --set overlay=corp --format python
    """
    # Its widgets are never drawn, which Streamlit would remark on.
    logging.getLogger("streamlit").setLevel(logging.ERROR)
    from dashboard.exhibits import EXHIBITS
    from dashboard.session import scene_of

    recipe = _shared.recipe_of(EXHIBITS, exhibit, options)
    selection = _selection_options.selection(file, model=model, reduction=notion, **given).with_exhibit(recipe)
    scene = scene_of(selection)
    _exhibit_forms.tell_doubts(scene)
    click.echo(_exhibit_forms.written(recipe.build(), scene, form), nl=False)
