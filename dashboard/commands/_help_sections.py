"""Help of commands whose options are listed under headings."""

from __future__ import annotations

import click

SECTIONS = {
    "Rows that are used": (
        "--rows",
        "--judge",
        "--where",
        "--share",
        "--folds",
        "--seed",
        "--counting",
        "--test",
        "--split",
    ),
    "Bins": ("--bins", "--points", "--binning"),
    "How the file is read": ("--label", "--event", "--labels", "--key", "--by-place", "--models-in", "--read"),
    "Output": ("--details", "--json", "--csv", "--latex", "--format", "--junit", "--github", "--metrics", "--debug"),
    "Other": ("--with", "--help"),
}
"""Options under each heading, in this order; all others come first."""
FEWEST = 12
"""Number of options from which they are listed under headings."""


class Sectioned(click.Command):
    """Command whose help lists its own options first, then those of other commands too, under headings."""

    own_names: frozenset[str] = frozenset()
    """Options that are the command's own, although a section has their name."""

    def own(self, ctx: click.Context) -> tuple[str, list[tuple[str, str]]]:
        """Return the heading and the records of the options that no section has."""
        shared = {name for names in SECTIONS.values() for name in names} - self.own_names
        params = (param for param in _visible(self, ctx) if not shared.intersection(param.opts))
        return "Options", [record for param in params if (record := param.get_help_record(ctx))]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under headings, or in one list if they are few."""
        params = _visible(self, ctx)
        if len(params) < FEWEST:
            super().format_options(ctx, formatter)
            return
        by_name = {name: param for param in params for name in param.opts if name not in self.own_names}
        sections = dict([self.own(ctx)])
        for heading, names in SECTIONS.items():
            records = (by_name[name].get_help_record(ctx) for name in names if name in by_name)
            sections[heading] = [record for record in records if record]
        for heading, listed in sections.items():
            if listed:
                with formatter.section(heading):
                    formatter.write_dl(listed)


def _visible(command: click.Command, ctx: click.Context) -> list[click.Option]:
    return [param for param in command.get_params(ctx) if isinstance(param, click.Option) and not param.hidden]
