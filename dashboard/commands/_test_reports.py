"""Reports that CI servers show: annotations of GitHub and JUnit XML."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from dashboard.commands import _outputs

_DATA = {ord("%"): "%25", ord("\r"): "%0D", ord("\n"): "%0A"}
_PROPERTY = _DATA | {ord(":"): "%3A", ord(","): "%2C"}


# -- GitHub ---------------------------------------------------------------------------------------------------


def annotation(path: Path | None, kind: str, title: str, text: str) -> str:
    """Return one line that GitHub shows next to the file, escaped by its rules.

    >>> annotation(None, "notice", "calib watch: no alarm", "100 % of rows")
    '::notice title=calib watch%3A no alarm::100 %25 of rows'
    """
    found = {} if path is None or str(path) == _outputs.STDIO else {"file": _in_repository(path)}
    properties = ",".join(
        f"{k}={v.translate(_PROPERTY)}" for k, v in (found | {"title": _outputs.plain(title)}).items()
    )
    return f"::{kind} {properties}::{_outputs.plain(text).translate(_DATA)}"


def _in_repository(path: Path) -> str:
    """Return the file's path from the root of the checkout, with slashes, as GitHub names it."""
    root = os.environ.get("GITHUB_WORKSPACE")
    whole = path.absolute()
    inside = bool(root) and whole.is_relative_to(Path(str(root)).absolute())
    text = (whole.relative_to(Path(str(root)).absolute()) if inside else path).as_posix()
    return text.encode("utf-8", "replace").decode()


# -- JUnit ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """One test: its name and lines of text. ``kind`` is "failure" or "error", of a type ``word``; empty: it passed."""

    name: str
    seconds: float
    lines: Sequence[str]
    kind: str = ""
    word: str = ""
    remarks: Sequence[str] = ()


def junit(title: str, cases: Sequence[Case]) -> bytes:
    """Return tests as JUnit XML."""
    kinds = [each.kind for each in cases]
    counts = {"tests": len(cases), "failures": kinds.count("failure"), "errors": kinds.count("error"), "skipped": 0}
    seconds = f"{sum(each.seconds for each in cases):.3f}"
    whole = {name: str(count) for name, count in counts.items()} | {"name": title, "time": seconds}
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(root, "testsuite", whole)
    for each in cases:
        named = {
            "classname": title.replace(" ", "."),
            "name": _outputs.plain(each.name),
            "time": f"{each.seconds:.3f}",
        }
        case = ElementTree.SubElement(suite, "testcase", named)
        texts = [_outputs.plain(line) for line in each.lines]
        if each.kind:
            ElementTree.SubElement(case, each.kind, {"type": each.word, "message": texts[0]}).text = "\n".join(texts)
        else:
            ElementTree.SubElement(case, "system-out").text = "\n".join(texts)
        if each.remarks:
            ElementTree.SubElement(case, "system-err").text = "\n".join(each.remarks)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))
