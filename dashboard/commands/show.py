"""`calib show`: print any table of the dashboard as text, JSON or CSV, or the Python that computes it."""

from __future__ import annotations

from typing import Any

import click

from dashboard.commands import _exhibit_output, _shared_options
from dashboard.commands._failures import careful


@click.command("show", cls=_shared_options.Listing)
@click.argument("exhibit", cls=_shared_options.MemberArgument, family="EXHIBITS", metavar="EXHIBIT")
@click.argument("file")
@click.option(
    "--set",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="Option of the exhibit (repeatable). A wrong name prints all names.",
)
@_shared_options.model
@_shared_options.member(
    "REDUCTIONS",
    "--notion",
    help="Notion of calibration (default: that of the verdict, which is event for two classes). Some exhibits "
    "always use one notion; others have their own setting (--set notion=KEY).",
)
@click.option("--format", "form", type=click.Choice(_exhibit_output.FORMS), default="text", show_default=True,
              help="Output format.")  # fmt: skip
@_shared_options.of_page
@_shared_options.rows
@careful
def command(
    exhibit: str, file: str, options: tuple[str, ...], model: str | None, notion: str | None, form: str, **given: Any
) -> None:
    """Print the numbers behind a figure or table.

    EXHIBIT is a figure or table of the dashboard, such as reliability; all are listed below. FILE may be demo:KEY for
    demo data.

    \b
    Examples:
      calib show reliability predictions.csv --calibrator temperature
      calib show reliability demo:digits-naive-bayes --set overlay=corp --format python
      calib show estimators predictions.csv --rows all
    """
    from dashboard.commands import _opened_models
    from dashboard.exhibits import EXHIBITS
    from dashboard.session import scene_of

    recipe = _shared_options.recipe_of(EXHIBITS, exhibit, options)
    selection = _opened_models.selection(file, model=model, notion=notion, **given).with_exhibit(recipe)
    _exhibit_output.show(recipe.build(), scene_of(selection), form, _shared_options.named_fields(given))
