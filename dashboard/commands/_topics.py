"""Topics of `calib help`: pages of the documentation, terms of the glossary, methods of the registries, and commands.

Nothing is written twice: a topic's text is the page, the term or the registered caption itself. A topic has one name;
what comes first in ``topics`` keeps a name that several have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

DOCUMENTATION = Path(__file__).parents[2] / "docs"
"""Written pages: in the repository next to the package, in a wheel within `calib`."""
WIDTH = 79
"""Characters of a line of a definition; lines of pages are longer, as they were written."""
_FOLDERS = {"how-to": "How-to guides", "tutorials": "Tutorials", "explanation": "Explanation"}
GLOSSARY = "Glossary"
_REGISTRIES = {
    "REDUCTIONS": "Notions of calibration",
    "ESTIMATORS": "Estimators",
    "CALIBRATORS": "Calibrators",
    "BINARY_CALIBRATORS": "Calibrators of scores",
    "BINNINGS": "Binnings",
}


@dataclass(frozen=True)
class Topic:
    """Topic with its heading in the list, its name, its title and its paragraphs."""

    heading: str
    name: str
    title: str
    text: str


def topics(context: click.Context) -> dict[str, Topic]:
    """Return all topics by name: pages, terms, methods, and the commands of the running program."""
    found: dict[str, Topic] = {}
    for topic in (*_pages(), *_terms(), *_methods(), *_commands(context)):
        found.setdefault(topic.name, topic)
    return found


def _pages() -> Iterator[Topic]:
    for folder, heading in _FOLDERS.items():
        for page in sorted((DOCUMENTATION / folder).glob("*.md")):
            title, _, text = page.read_text("utf-8").removeprefix("# ").partition("\n")
            yield Topic(heading, page.stem, title, as_plain(text))


def as_plain(markdown: str) -> str:
    """Return a page without what a terminal does not show: comments, pictures, and links to files.

    >>> as_plain("<!-- wide -->\\nSee [verdicts](../explanation/verdicts.md#p) and the [index](../index.md).")
    'See verdicts (calib help verdicts) and the index.'
    """
    text = re.sub(r"<!--.*?-->\n?", "", markdown, flags=re.S)
    return re.sub(r"!?\[([^\]]+)\]\(([^)\s]+)\)", _linked, text).strip()


def _linked(link: re.Match[str]) -> str:
    """Return the text of a link, with the address or the topic that it leads to."""
    target = Path(link[2].partition("#")[0])
    if "://" in link[2]:
        return f"{link[1]} ({link[2]})"
    is_topic = any((DOCUMENTATION / folder / target.name).is_file() for folder in _FOLDERS)
    return f"{link[1]} (calib help {target.stem})" if is_topic else link[1]


def _terms() -> Iterator[Topic]:
    from calib_core.registry.citations import cited
    from calib_core.text import begun
    from dashboard.glossary import TERMS

    for term in TERMS.values():
        source = f"\n\n{begun(cited(term.reference))}." if term.reference else ""
        yield Topic(GLOSSARY, term.key, term.title, _wrapped(term.sentence + source))


def _methods() -> Iterator[Topic]:
    import calib_core  # noqa: F401  registers them
    from calib_core.registry.citations import cited
    from calib_core.registry.registry import FAMILIES

    for family, heading in _REGISTRIES.items():
        for entry in map(FAMILIES[family].entry, FAMILIES[family]):
            options = [f"{param.name} (default {param.default!r}): {param.help}" for param in entry.params]
            elsewhere = [f"Elsewhere: {entry.elsewhere}"] if entry.elsewhere else []
            reference = [f"{cited(entry.reference)}."] if entry.reference else []
            text = _wrapped("\n\n".join([entry.caption, *options, *elsewhere, *reference]))
            yield Topic(heading, entry.key, entry.title, text)


def _wrapped(paragraphs: str) -> str:
    return click.wrap_text(paragraphs, WIDTH, preserve_paragraphs=True)


def _commands(context: click.Context) -> Iterator[Topic]:
    group = context.command
    assert isinstance(group, click.Group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        text = command.get_help(click.Context(command, context, name))
        yield Topic("Commands", name, command.get_short_help_str(WIDTH), text)
