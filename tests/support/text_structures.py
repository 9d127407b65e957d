"""Structure of outputs without their texts, and visible text of outputs: pages, tables, modules."""

from __future__ import annotations

import ast
import csv
import html
import html.parser
import io
import json
import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree


class _Elements(html.parser.HTMLParser):
    """Elements with the names of their attributes, their links, and dollars that a notebook reads as formulas."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[Any] = []
        self.text: list[str] = []
        self.silent, self.depth, self.hidden = 0, 0, 0
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        leads = [value for name, value in attrs if name in ("href", "src", "action")]
        self.found.append((tag, [name for name, _ in attrs], leads))
        self.hidden += tag in ("script", "style")
        self.text += [str(value) for name, value in attrs if name in ("aria-label", "title", "alt")]

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.text.append(data)


def elements(page: str) -> Any:
    """Return the elements of a page."""
    return _Elements(page).found


_ACTING = {"script", "style", "link", "meta", "base", "a", "img", "iframe", "object", "form", "input", "button"}


def kinds_of_elements(page: str) -> Any:
    """Return the active elements of a page, and the kinds of all others: the number of findings may differ."""
    found = elements(page)
    return [each for each in found if each[0] in _ACTING], sorted({repr(each) for each in found})


def notebook(page: str) -> Any:
    """Return elements, and the dollars that begin a formula in a notebook; none if formulas are disabled."""
    silent = page.startswith('<div class="tex2jax_ignore mathjax_ignore">')
    return elements(page), 0 if silent else page.count("$")


def texts(page: str) -> str:
    """Return the visible text of a page."""
    return " ".join(_Elements(page).text)


def terminal(text: str) -> Any:
    """Return the control characters for a terminal, and the number of lines."""
    return [c for c in text if not c.isprintable() and c != "\n"], text.count("\n")


def values(text: str) -> Any:
    """Return the kinds of values in a JSON record (or each line), by position."""

    def kind(value: Any) -> Any:
        if isinstance(value, dict):
            return [kind(item) for item in value.values()]
        if isinstance(value, list):
            # Equal values are ordered by their names.
            return sorted(map(kind, value), key=repr)
        # Sums over slices in another order differ in the last bit.
        return "text" if isinstance(value, str) else f"{value:.9g}" if isinstance(value, float) else value

    return [kind(json.loads(line)) for line in ([text] if text.startswith("{\n") else text.splitlines())]


def strings(text: str) -> str:
    """Return the texts of a JSON record, including keys."""
    return " ".join(json.loads(f'"{found}"') for found in re.findall(r'"((?:[^"\\]|\\.)*)"', text))


def cells(text: str) -> Any:
    """Return the number of cells in each line of a CSV file, and the cells that a spreadsheet would compute."""
    lines = list(csv.reader(io.StringIO(text)))
    number = re.compile(r"[+-]?[\d.]+(e[+-]?\d+)?")
    formulas = [cell for line in lines for cell in line if cell[:1] in set("=+-@\t\r") and not number.fullmatch(cell)]
    return [len(line) for line in lines], [cell for cell in formulas if cell]


def cell_texts(text: str) -> str:
    """Return the cells of a CSV file."""
    return " ".join(cell for line in csv.reader(io.StringIO(text)) for cell in line)


_LETTERS = re.compile(
    r"\\text(?:backslash|asciitilde|asciicircum|less|greater|bar)\{\}|\{\\char\d+\}|\\[&%$#_{}]|\{\}|(?<=-)-"
)


def macros(text: str) -> Any:
    """Return macros, columns, groups, formulas and comments of LaTeX, line by line."""
    left = _LETTERS.sub("", text)
    return [re.findall(r"\\[a-zA-Z]+|\\\W|[&{}$%#^~]", line) for line in left.splitlines()]


def typeset(text: str) -> str:
    """Return the text that LaTeX prints."""
    for macro, letter in (("backslash", "\\"), ("asciitilde", "~"), ("asciicircum", "^"), ("less", "<"),
                          ("greater", ">"), ("bar", "|")):  # fmt: skip
        text = text.replace(rf"\text{macro}{{}}", letter)
    text = re.sub(r"\{\\char(\d+)\}", lambda found: chr(int(found[1])), text)
    # Two hyphens or apostrophes in a row are printed as one sign.
    text = re.sub(r"--|''", "LIGATURE", text).replace("{}", "")
    return re.sub(r"\\([&%$#_{}])", r"\1", text)


def tree(text: str) -> Any:
    """Return the tree of a Python module without its texts."""
    module = ast.parse(text)
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(module)


def tokens(text: str) -> Any:
    """Return the Markdown tokens of a text; it must also have no bare links, which some readers recognize."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])

    def flat(found: Any) -> Iterator[Any]:
        for token in found:
            if token.type not in ("text", "text_special", "entity", "softbreak"):
                yield token.type, token.tag, sorted(token.attrs or {})
            yield from flat(token.children or [])

    bare = re.findall(r"(?<!\\)://|(?<!\\)\bwww\.|(?<!\\)\$", text)
    return [each for each in flat(reader.parse(text)) if each[0] != "inline"], bare


def rendered(text: str) -> str:
    """Return the text that a reader of Markdown sees."""
    from markdown_it import MarkdownIt

    return texts(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text))


def card(text: str) -> Any:
    """Return metadata and tokens of a model card."""
    import yaml

    _, above, below = text.split("---\n", 2)
    return values(json.dumps(yaml.safe_load(above))), tokens(below)


def annotations(text: str) -> Any:
    """Return commands to GitHub's runner and the names of their properties, line by line."""
    return [re.match(r"::(\w+) (?:(\w+)=[^,:\n]*,?)*::[^\n\r]*$", line) is not None for line in text.split("\n")]


def annotated(text: str) -> str:
    """Return the text that GitHub shows."""
    for code, letter in (("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, letter)
    return text


def drawn(page: str) -> Any:
    """Return texts and links of an SVG picture; formulas are set in parts."""
    return sorted(each for each in elements(page) if each[0] in ("text", "tspan", "a", "image", "script"))


def xml(text: str) -> Any:
    """Return elements of XML with the names of their attributes."""
    return [(each.tag, sorted(each.attrib)) for each in ElementTree.fromstring(text).iter()]


def xml_texts(text: str) -> str:
    """Return texts and attributes of XML."""
    return " ".join(" ".join([*each.attrib.values(), each.text or ""]) for each in ElementTree.fromstring(text).iter())


def marks(text: str) -> Any:
    """Return tags in the texts of a figure, which Plotly reads as HTML, and its templates, which contain no name."""
    found = _figure_leaves(text)
    templates = [value for key, value in found if key in ("hovertemplate", "texttemplate")]
    return [re.findall(r"</?[a-z]+[^>]*>", value) for _, value in found], templates


def figure_texts(text: str) -> str:
    """Return the text that a reader of a figure sees."""
    return " ".join(html.unescape(value) for _, value in _figure_leaves(text))


def _figure_leaves(text: str) -> list[tuple[str, str]]:
    """Return texts by the names of their places, without data of marks that no template uses."""
    carried = {name for name in ("model", "class", "slice") if f"%{{customdata.{name}" not in text}
    return [(key, value) for key, value in _leaves(json.loads(text)) if key not in carried]


def _leaves(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _leaves(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, key)
    elif isinstance(value, str):
        yield key, value


def actions(pdf: str) -> list[str]:
    """Return actions of a PDF when opened or clicked: kinds of actions, and addresses."""
    kinds = "JavaScript|JS|Launch|AA|OpenAction|EmbeddedFile|RichMedia|SubmitForm|ImportData|GoToR|GoToE"
    return sorted(set(re.findall(rf"/(?:{kinds})\b|/URI\s*\([^)]*\)", pdf)))
