"""`calib help`: explain a topic in the terminal, or print the manual page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from dashboard.commands import _outputs
from dashboard.commands._failures import fail

if TYPE_CHECKING:
    from dashboard.commands._topics import Topic


VERDICTS = ("verdict", "within", "within tolerance", "miscalibrated", "too close to call", "too few rows to tell")
"""Words at the beginning of an answer: the page on verdicts explains them."""


class TopicArgument(click.Argument):
    """Argument for words that name a topic; the shell completes the names."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the topics that begin like this."""
        from dashboard.commands import _topics

        found = _topics.topics(ctx.find_root()).values()
        return [CompletionItem(each.name, help=each.title) for each in found if each.name.startswith(incomplete)]


@click.command("help")
@click.argument("topic", cls=TopicArgument, nargs=-1, metavar="[TOPIC]")
@click.option("--man", is_flag=True, help="Print the manual page of calib, for man.")
def command(topic: tuple[str, ...], man: bool) -> None:
    """Explain a term, a method, a task or a command.

    Without a TOPIC, all topics are listed: how-to guides, tutorials, the glossary, methods, commands.

    \b
    Examples:
      calib help
      calib help noise floor
      calib help temperature
      calib help validate-a-risk
      calib help --man > calib.1
    """
    from dashboard.commands import _manual_page, _topics

    root = click.get_current_context().find_root()
    found = _topics.topics(root)
    if man:
        _outputs.say(_manual_page.lines(root, found))
    else:
        _outputs.say(_explained(" ".join(topic), found) if topic else _listed(found))


def _explained(words: str, found: dict[str, Topic]) -> list[str]:
    """Return a topic by its name or title as lines; fail with near ones if there is none."""
    import difflib

    from calib_core.text import listed

    by_name = {topic.title.casefold(): topic for topic in found.values()} | dict(found)
    name = "verdicts" if words.casefold() in VERDICTS else words.casefold()
    topic = by_name.get("-".join(name.split()), by_name.get(name))
    if topic is None:
        near = difflib.get_close_matches(name[:200], by_name, n=3)
        names = dict.fromkeys(by_name[each].name for each in near)
        mentioned = listed(_mentioning(name, found))
        if names:
            hint = f"did you mean {' or '.join(names)}?{f' It is mentioned in {mentioned}.' if mentioned else ''}"
        else:
            hint = f"it is mentioned in {mentioned}." if mentioned else "calib help lists all topics."
        fail(f"no topic is named {words!r}; {hint}")
    return [topic.title, "", *topic.text.splitlines()]


def _mentioning(name: str, found: dict[str, Topic]) -> list[str]:
    """Return the names of the three topics with most mentions of these words, with or without hyphens."""
    import re

    words = r"[\s-]+".join(map(re.escape, re.split(r"[\s-]+", name)))
    mentions = {
        each.name: len(re.findall(rf"(?<!\w){words}(?!\w)", each.text, re.IGNORECASE)) for each in found.values()
    }
    return [each for each in sorted(mentions, key=lambda each: -mentions[each]) if mentions[each]][:3]


def _listed(found: dict[str, Topic]) -> list[str]:
    """Return the names and titles of all topics as lines, under their headings."""
    formatter = click.HelpFormatter()
    for heading in dict.fromkeys(topic.heading for topic in found.values()):
        with formatter.section(heading):
            formatter.write_dl([(each.name, each.title) for each in found.values() if each.heading == heading])
    return [*formatter.getvalue().splitlines(), "", "calib help TOPIC explains one of them."]
