"""Recipe of a report: its choices, its files by content hash, its options, and the versions used."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from calib_core import InputError
from dashboard import session
from dashboard.report.request import Options
from dashboard.selection import STYLES, Selection

FORMAT = 1
_PACKAGES = ("calib", "numpy", "scipy", "scikit-learn", "pandas", "plotly")
_BLOCK = re.compile(r'<script type="application/json" id="calib-recipe">(.*?)</script>', re.DOTALL)
_LONGEST = 1_000_000


@dataclass(frozen=True)
class ReportRecipe:
    """Choices and options of a report, the SHA-256 of its files by their key, and the versions behind it."""

    selection: Selection
    options: Options
    files: Mapping[str, str]
    versions: Mapping[str, str]


def written(selection: Selection, options: Options) -> str:
    """Return the recipe as JSON text without the date; keys sorted."""
    record = {
        "format": FORMAT,
        "choices": selection.to_query(),
        "title": options.title,
        "author": options.author,
        "left_out": list(options.left_out),
        "added": list(options.added),
        "style": options.style,
        "files": {key: session.file(key).digest for key in _keys(selection)},
        "versions": versions(),
    }
    return json.dumps(record, sort_keys=True, indent=1, ensure_ascii=False)


def read(page: bytes | str) -> ReportRecipe:
    """Return the recipe in a report; InputError if it contains no usable recipe.

    The rest of the page is ignored, and every part of the recipe is checked like a link.
    """
    text = page if isinstance(page, str) else page.decode("utf-8", errors="replace")
    found = _BLOCK.search(text)
    if found is None or len(found[1]) > _LONGEST:
        raise InputError(
            "This file contains no recipe, so it is not a report of this program. Choose the HTML file of a report."
        )
    try:
        record = json.loads(found[1])
    except (ValueError, RecursionError) as why:
        raise InputError("The recipe in this report is damaged. Write the report again from its data.") from why
    return _checked(record)


def _checked(record: Any) -> ReportRecipe:
    good = isinstance(record, dict) and record.get("format") == FORMAT and all(_texts(record.get(n)) for n in _MAPPINGS)
    if not good or not all(isinstance(record.get(name), str) for name in ("title", "author")):
        raise InputError(
            f"This report comes from another version of the program: its recipe does not have format {FORMAT}. "
            "Write the report again from its data."
        )
    selection, problems = Selection.from_query(record["choices"])
    if problems:
        raise InputError(f"The recipe in this report cannot be used here. {problems[0]}")
    left_out, added = (tuple(str(key) for key in record.get(name, ())) for name in ("left_out", "added"))
    style = record.get("style", STYLES[0])
    if style not in STYLES:
        raise InputError("The recipe in this report is damaged. Write the report again from its data.")
    options = Options(record["title"], record["author"], left_out, added=added, style=style)
    return ReportRecipe(selection, options, record["files"], record["versions"])


_MAPPINGS = ("choices", "files", "versions")


def _texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


def versions() -> dict[str, str]:
    """Return the versions of Python, its platform, and the packages that compute the numbers."""
    platforms = {"python": platform.python_version(), "platform": f"{platform.system()} {platform.machine()}"}
    return platforms | {name: _version(name) for name in _PACKAGES}


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed as a package"


def _keys(selection: Selection) -> list[str]:
    main = selection.source
    return [main.data, *([main.test] if main.test else []), *(data for data, _ in selection.others)]
