"""Calibration section of a model card: Markdown with escaped text, below metadata in YAML."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from calib_core.text import short_percent, without_controls
from dashboard.exhibits import columns as of

LIMITS = (
    "The verdict applies to data like these rows. It does not cover data from other sources, or errors that "
    "cancel within a bin. The interval decides, not the value."
)
_NUMBERS = ("low", "high", "level", "value", "floor", "p")
_TEXTS = ("notion", "title", "bins", "about", "method", "verdict", "note")


@dataclass(frozen=True)
class CardSubject:
    """Subject of a card: file, SHA-256, names of models by title, evaluated rows, tolerance, task."""

    file: str
    digest: str
    names: Mapping[str, str]
    rule: str
    tolerance: float
    task: str


@dataclass(frozen=True, eq=False)
class CardSection:
    """Table of the card: its columns, its numbers, and its notes."""

    columns: tuple[of.Column, ...]
    frame: pd.DataFrame
    notes: tuple[str, ...]


def written(judged: CardSubject, sections: Sequence[CardSection], version: str) -> str:
    """Return the card: metadata between two lines of dashes, then the section."""
    metadata = "\n".join(yaml_lines({"model-index": index(judged, [part.frame for part in sections])}))
    rows = max(int(part.frame["rows"].max()) for part in sections)
    lines = [
        "## Calibration",
        "",
        f"Do the probabilities mean what they say? Measured on {rows:,} rows of {escaped(judged.file)} (SHA-256 "
        f"{judged.digest[:16]}…) with calib {version}, for a tolerance of {short_percent(judged.tolerance)}. "
        f"{escaped(judged.rule)}".rstrip(),
    ]
    for part in sections:
        lines += ["", *_table(part), "", *(f"- {escaped(note)}" for note in part.notes)]
    return "\n".join(["---", metadata, "---", "", *lines, "", escaped(LIMITS), ""])


def index(judged: CardSubject, frames: Sequence[pd.DataFrame]) -> list[dict[str, Any]]:
    """Return the ``model-index``: an entry per model, a metric per line, with interval and verdict in its ``args``."""
    lines = [line for frame in frames for line in frame.to_dict("records")]
    dataset = {"type": "other", "name": judged.file, "revision": judged.digest}
    return [
        {
            "name": name,
            "results": [
                {
                    "task": {"type": judged.task},
                    "dataset": dataset | {"args": {"rows": int(metrics[0]["rows"])}},
                    "metrics": [_metric(line, judged.tolerance) for line in metrics],
                }
            ],
        }
        for title, name in judged.names.items()
        if (metrics := [line for line in lines if line["model"] == title and _number(line["value"]) is not None])
    ]


def _metric(line: Mapping[Any, Any], tolerance: float) -> dict[str, Any]:
    point = _number(line["point"])
    args: dict[str, Any] = {name: number for name in _NUMBERS if (number := _number(line[name])) is not None}
    args |= {name: text for name in _TEXTS if isinstance(text := line[name], str) and text}
    if "value" in args:
        args["raw_value"] = args.pop("value")  # next to the metric's own value, which is the estimate
    args |= {"tolerance": tolerance} if "verdict" in args else {}
    value = _number(line["value"]) if point is None else point
    return {"type": str(line["estimator"]).replace("-", "_"), "name": line["title"], "value": value, "args": args}


def _number(value: Any) -> float | None:
    if not isinstance(value, (int, float, np.floating, np.integer)) or not math.isfinite(value):
        return None
    return float(value)


def _table(part: CardSection) -> Iterator[str]:
    cells = of.written(part.frame, part.columns)
    heads = [escaped(column.heading) for column in part.columns]
    yield f"| {' | '.join(heads)} |"
    yield f"|{'|'.join(' ---: ' if column.numeric else ' --- ' for column in part.columns)}|"
    for line in cells:
        yield f"| {' | '.join(escaped(cell) for cell in line)} |"


def escaped(text: str) -> str:
    r"""Escape text for Markdown: no part of it becomes a tag, link, emphasis, formula or column.

    >>> print(escaped("<b>a|b</b> *c* [d](https://e)"))
    &lt;b>a\|b&lt;/b> \*c\* \[d\](https\://e)
    """
    plain = " ".join(without_controls(text).split()).replace("&", "&amp;").replace("<", "&lt;")
    plain = re.sub(r"([\\`*_\[\]|~$#@])", r"\\\1", plain)
    return plain.replace("://", "\\://").replace("www.", "www\\.")


def yaml_lines(value: Any, indent: str = "") -> Iterator[str]:
    r"""Yield mappings, lists and plain values as lines of YAML; every text is quoted and ASCII.

    >>> print("\n".join(yaml_lines({"a": [{"b: c": 1e-07}, "é\n#"]})))
    a:
      - "b: c": 1.0e-07
      - "\u00e9\u000a#"
    """
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _entry(f"{indent}{_key(str(key))}:", item, indent)
    else:
        for item in value:
            inner = list(yaml_lines(item, f"{indent}  ")) if isinstance(item, (dict, list)) and item else []
            # The first line of a list item follows its dash.
            yield f"{indent}- {inner[0].lstrip() if inner else _scalar(item)}"
            yield from inner[1:]


def _entry(head: str, item: Any, indent: str) -> Iterator[str]:
    if isinstance(item, (dict, list)) and item:
        yield head
        yield from yaml_lines(item, f"{indent}  ")
    else:
        yield f"{head} {_scalar(item)}"


def _key(key: str) -> str:
    return (
        key if re.fullmatch(r"[a-z][a-z_-]*", key) and key not in ("y", "n", "yes", "no", "on", "off") else _text(key)
    )


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    text = json.dumps(value)
    # YAML reads 1e-07 as a text: its numbers have a point before the exponent.
    return text.replace("e", ".0e", 1) if isinstance(value, float) and "e" in text and "." not in text else text


def _text(text: str) -> str:
    return f'"{"".join(_sign(c) for c in text)}"'


def _sign(c: str) -> str:
    if c in '"\\':
        return f"\\{c}"
    number = 0xFFFD if 0xD800 <= ord(c) < 0xE000 else ord(c)
    return c if 32 <= number < 127 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
