"""Calibrator cards in Markdown: purpose, requirements, and after fitting, gains and costs."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import cache
from typing import Any

from calib_core import CALIBRATORS
from calib_core.calibrators import Contract
from calib_core.defaults import TOLERANCE
from calib_core.results.verdict_table import VERDICTS
from calib_core.text import between, count, score, short_percent
from calib_core.text import rows as about_rows
from dashboard.theme import markdown_plain


def plan(key: str, classes: int, rows: int, *, changed: bool = False, rarity: float = 1.0) -> str:
    """Return the card of a calibrator that is not fitted: its description, requirements, and default guarantee.

    ``rarity`` is the factor by which a rare event raises the number of rows needed (``candidates.rarity``).
    """
    flags: Contract = CALIBRATORS[key].flags
    needed = rarity * flags.profile.rows_needed(classes)
    badges = [_badge(_STAY if flags.keeps_argmax else f"{_CHANGE} may change predicted classes")]
    if needed:
        badges.append(
            _badge(f"needs about {about_rows(needed)} calibration rows", "orange" if rows < needed else "gray")
        )
    carries = flags.profile.promises and not changed  # with other settings, this is known only after fitting
    if carries or not flags.profile.promises:
        badges.append(_badge(f"{_SEAL} can carry a guarantee" if carries else f"{_NO_SEAL} no guarantee"))
    return f"{_sentence(key)}\n\n{' '.join(badges)}"


def unfit(key: str, why: str) -> str:
    """Return the card of a calibrator that does not suit these rows."""
    return f"{_sentence(key)} :gray[Not available: {markdown_plain(why)}.]"


def fitted(
    key: str,
    line: Mapping[Any, Any],
    why: str = "",
    *,
    best: bool = True,
    changed: bool = False,
    eps: float = TOLERANCE,
) -> str:
    """Return the card of a fitted calibrator; ``line`` is its line of the table of gains at the tolerance ``eps``.

    ``why`` is the reason for it: as the ``best``, or as one of the first to try. The flag ``changed`` is True if its
    settings were changed.
    """
    flags = CALIBRATORS[key].flags
    badges = [_badge(_changes(flags, line)), _promise(flags, line, changed=changed)]
    if line["abstained"]:
        badges.insert(1, _badge(f":material/block: abstains on {count(int(line['abstained']))} rows"))
    items = [verdict_badge(str(line["verdict"])), *(f"{term} {value}" for term, value in _numbers(line, eps))]
    numbers = "\n".join(f"- {item}" for item in items if item)
    head = "Why this one" if best else "Why it is tried first"
    reason = f"\n\n> **{head}:** {markdown_plain(why)}." if why else ""
    return f"{_sentence(key)}\n\n{' '.join(badges)}\n\n{numbers}{reason}"


_STAY = ":material/check: keeps predicted classes"
_CHANGE, _SEAL, _NO_SEAL = ":material/swap_horiz:", ":material/verified:", ":material/remove_moderator:"


def _sentence(key: str) -> str:
    """Return its effect in plain words."""
    entry = CALIBRATORS[key]
    return markdown_plain(entry.flags.profile.sentence or entry.caption)


def _numbers(line: Mapping[Any, Any], eps: float) -> list[tuple[str, str]]:
    """Return terms and their values: the error with its interval, the log loss, the number of fitted parameters."""
    found = []
    if line["point"] == line["point"]:
        ends = markdown_plain(between(line["low"], line["high"], eps).removesuffix(" %"))
        before = line["point_before"]  # unknown if it is of another notion
        was = f"; was {markdown_plain(short_percent(before))}" if before == before else ""
        found.append(("error", f"**{markdown_plain(short_percent(line['point']))}** ({ends}{was})"))
    else:
        found.append(("error", "not defined"))
    loss, before = line["log_loss"], line["log_loss_before"]
    if loss == loss:
        found.append(("log loss", f"**{score(loss)}** (was {score(before)})"))
    else:
        found.append(("log loss", "none: one probability per row"))
    found.append(("fitted", f"**{markdown_plain(line['fitted'] or 'see below')}**"))
    return found


def _changes(flags: Contract, line: Mapping[Any, Any]) -> str:
    changed = line["changed"]
    if changed != changed and flags.keeps_argmax:
        return _STAY  # the file does not contain which they are, and it changes none
    if changed != changed:
        return "predictions not known"
    if changed == 0:
        return _STAY
    return f"{_CHANGE} {count(int(changed))} of {count(int(line['rows']))} predicted classes change"


def _promise(flags: Contract, line: Mapping[Any, Any], *, changed: bool) -> str:
    """Return a sentence on its guarantee: present, lost, never possible, or absent with the chosen settings."""
    if line["promised"]:
        return _badge(f"{_SEAL} guarantee")
    if changed and flags.profile.promises:
        return _badge(f"{_NO_SEAL} no guarantee with these settings")
    if not flags.profile.promises:
        return _badge(f"{_NO_SEAL} no guarantee")
    return _badge(f"{_NO_SEAL} guarantee lost", "orange")


def lost(key: str, line: Mapping[Any, Any]) -> str:
    """Return why a possible guarantee of this calibrator is not valid here; empty if it is, or never could be."""
    flags: Contract = CALIBRATORS[key].flags
    return "" if line["promised"] or not flags.profile.promises else str(line["promise"])


def verdict_badge(word: str) -> str:
    """Return the badge of a verdict; empty if there is none."""
    if word not in VERDICTS:
        return ""
    written = VERDICTS[word]
    return _badge(f"{_icon(word)} {written.in_full}", written.badge)


@cache
def _icon(word: str) -> str:
    """Return the Markdown of a verdict's icon, the same as in figures."""
    written = VERDICTS[word]
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="-9 -9 18 18">'
        f'<circle r="9" fill="{written.colour}"/>'
        f'<path d="{written.drawing}" fill="none" stroke="#fff" stroke-width="2"/>'
        "</svg>"
    )
    return f"![{written.sign}](data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()})"


def _badge(text: str, colour: str = "gray") -> str:
    """Return words in a frame; only for words of this module, since others could be Markdown."""
    return f":{colour}-badge[{text}]"
