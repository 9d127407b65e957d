"""Pages of the library's docstrings: part of what `make docs` writes, read from a disk, without a network.

pdoc renders the public modules; formulas that the library declares in TeX become MathML, which browsers set themselves.
What is registered (calibrators, estimators, ...) is listed on the page of its registry. Usage: api_pages.py FOLDER
[MODULE...].
"""

from __future__ import annotations

import html
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from types import ModuleType

from latex2mathml.converter import convert
from pdoc import doc, render

import calib_core as cc
import calib_core.figures
from calib_core.registry.citations import PAPERS, WORKS, cited
from calib_core.registry.registry import Registry
from dashboard.views.explained import SYMBOLS

STYLE = Path(__file__).parent / "style"
"""Folder of templates, which pdoc uses before its own."""


def public_modules() -> dict[str, ModuleType]:
    """Return the package, its public modules and the figures, by their full names."""
    listed = [getattr(cc, name) for name in cc.__all__]
    modules = [cc, *(each for each in listed if inspect.ismodule(each)), calib_core.figures]
    return {module.__name__: module for module in modules}


def build(folder: Path, *names: str) -> None:
    """Write one page per module, or for those of these names, their index and the data of the search field."""
    modules = {name: module for name, module in public_modules().items() if name in names or not names}
    for module in modules.values():
        _add_formulas(module)
    cc.__doc__ = f"{cc.__doc__}\n\n{_works()}"
    render.configure(
        docformat="markdown",
        show_source=False,
        template_directory=STYLE,
        footer_text=f"calib {cc.__version__}",
    )
    render.env.filters["to_markdown"] = as_markdown
    # The top of a class's page describes in words how it is registered.
    doc.Class.decorators = []
    pages = {name: doc.Module(module) for name, module in modules.items()}
    written = {name: render.html_module(page, pages) for name, page in pages.items()}
    places = {name: set(re.findall(r'id="([^"]+)"', text)) for name, text in written.items()}
    for name, text in written.items():
        file = folder / f"{name.replace('.', '/')}.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(re.sub(r'<a href="([^"#]*)#([^"]+)">(.*?)</a>', partial(_lively, name, places), text), "utf-8")
    (folder / "index.html").write_text(render.html_index(pages), "utf-8")
    (folder / "search.js").write_text(render.search_index(pages), "utf-8")


def _lively(name: str, places: Mapping[str, set[str]], link: re.Match[str]) -> str:
    """Return a link, or only its text: pdoc also links attributes without a place on a page."""
    stem = Path(link[1]).stem
    target = (stem if stem == cc.__name__ else f"{cc.__name__}.{stem}") if stem else name
    return link[0] if link[2] in places.get(target, ()) else link[3]


# ---- additions to the docstrings ---------------------------------------------------------------------------


def _add_formulas(module: ModuleType) -> None:
    """Add formulas of diagrams to their docstrings, and registered members to those of modules."""
    for name in getattr(module, "__all__", ()):
        thing = getattr(module, name)
        formula = getattr(thing, "formula", "")
        if inspect.isclass(thing) and isinstance(formula, str) and formula and "formula" in vars(thing):
            first, blank, rest = (inspect.getdoc(thing) or "").partition("\n\n")
            thing.__doc__ = f"{first}\n\n$${formula}$${blank}{rest}"
        # A registry is listed in its own module: the package only repeats its name.
        if isinstance(thing, Registry) and module is not cc:
            module.__doc__ = "\n\n".join((inspect.getdoc(module) or "", *_members(name, thing)))


def _members(name: str, registry: Registry) -> Iterator[str]:
    """Yield a heading, and for each member its key, caption, formula and source."""
    yield f"## What is in {name}"
    if any(registry[key].formula for key in registry):
        yield _letters()
    for key in registry:
        entry = registry[key]
        yield f"`{key}`: {entry.title}. {entry.caption}" + (f" {cited(entry.reference)}." if entry.reference else "")
        if entry.formula:
            yield f"$${entry.formula}$$"


def _letters() -> str:
    """Return the meaning of the letters in the formulas, as in the dashboard."""
    return f"<div>{re.sub(r'[$]([^$]+)[$]', lambda tex: mathml(tex[1], 'inline'), SYMBOLS)}</div>"


def _works() -> str:
    entries = "".join(f"<li>{html.escape(work)}</li>" for work in WORKS.values())
    return f"<details><summary>The works cited</summary><ul>{entries}</ul></details>"


# ---- docstrings as Markdown --------------------------------------------------------------------------------


def as_markdown(docstring: str) -> str:
    """Return a docstring as Markdown: plain text is unchanged, examples are code, formulas are typeset."""
    return "\n\n".join(map(_paragraph, re.split(r"\n{2,}", docstring.strip())))


def _paragraph(text: str) -> str:
    if text.startswith("$$"):
        return f'<div class="formula">{mathml(text.strip("$"))}</div>'
    if text.startswith(("## ", "<details>", "<div>")):
        return text  # of ours
    prose, prompt, example = text.partition(">>> ")
    fence = f"\n```pycon\n{prompt}{example}\n```" if prompt else ""
    return _plain(_with_codes(prose)) + fence


def _plain(text: str) -> str:
    """Return text in which punctuation has no meaning, except for `code` and lists."""
    parts = re.split(r"(``[^`]+``|`[^`\n]+`)", text)
    return "".join(part if i % 2 else _escaped(part) for i, part in enumerate(parts))


def _escaped(text: str) -> str:
    return re.sub(r"([\\*_\[\]{}#])", r"\\\1", html.escape(text, quote=False))


def _with_codes(text: str) -> str:
    """Replace codes of papers by authors and years; omit them if these follow.

    >>> _with_codes("P1 eq. (3), P2; P1 Gupta & Ramdas 2022")
    'Gupta and Ramdas (2022), eq. (3), Kumar, Liang and Ma (2019); Gupta & Ramdas 2022'
    """
    alone = re.sub(rf"\bP[1-5] (?={'|'.join(name.split()[0].rstrip(',') for name in PAPERS.values())})", "", text)
    return re.sub(r"\b(P[1-5])\b( (?=[A-Z§]|eq))?", lambda code: PAPERS[code[1]] + ", " * bool(code[2]), alone)


@cache
def mathml(tex: str, display: str = "block") -> str:
    """Return a formula as MathML, by default on its own line; brackets are as high as their content."""
    return convert(
        re.sub(r"\\[bB]ig(?:(l)|r)(?![a-z])", lambda side: r"\left" if side[1] else r"\right", tex), display=display
    )


if __name__ == "__main__":
    build(Path(sys.argv[1]), *sys.argv[2:])
