"""Texts of verdicts with their colors and signs, defined only here."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

Word = Literal["within", "miscalibrated", "too close to call", "too few rows to tell"]
IncreaseWord = Literal["within", "worse", "too close to call", "too few rows to tell"]
"""Verdicts on an increase over a baseline."""

WITHIN: Final = "within"
MISCALIBRATED: Final = "miscalibrated"
WORSE: Final = "worse"
TOO_CLOSE: Final = "too close to call"
TOO_FEW: Final = "too few rows to tell"


@dataclass(frozen=True)
class VerdictWord:
    """Text, color and sign of a verdict.

    Parameters
    ----------
    in_full : the verdict as displayed.
    clause : the verdict as a clause, after "for ECE".
    color : color of its icon: not a model's color, contrast of 3:1 or better on both pages.
    drawing : the sign in the icon, as a path around its middle.
    badge : color name of the badge on the dashboard.
    sign : the character most like the icon, for those who do not see it.
    """

    in_full: str
    clause: str
    colour: str
    drawing: str
    badge: str
    sign: str

    @property
    def title(self) -> str:
        """The verdict at the beginning of a sentence."""
        return f"{self.in_full[0].upper()}{self.in_full[1:]}"


VERDICTS = MappingProxyType(
    {
        MISCALIBRATED: VerdictWord(
            in_full=MISCALIBRATED,
            clause=f"it is {MISCALIBRATED}",
            colour="#C8324B",
            drawing="M -3.5 -3.5 L 3.5 3.5 M -3.5 3.5 L 3.5 -3.5",
            badge="red",
            sign="✕",
        ),
        WITHIN: VerdictWord(
            in_full="within tolerance",
            clause="it is within tolerance",
            colour="#2E8B57",
            drawing="M -4.5 0.5 L -1.5 3.5 L 4.5 -3.5",
            badge="green",
            sign="✓",
        ),
        TOO_CLOSE: VerdictWord(
            in_full=TOO_CLOSE,
            clause=f"it is {TOO_CLOSE}",
            colour="#94751C",
            drawing="M -4 -2 L 4 -2 M -4 2 L 4 2",
            badge="gray",
            sign="=",
        ),
        TOO_FEW: VerdictWord(
            in_full=TOO_FEW,
            clause=f"there are {TOO_FEW}",
            colour="#787884",
            drawing="M -0.5 -4 L 0.5 -4 M 0 -4 L 0 1 M -0.5 4 L 0.5 4",
            badge="gray",
            sign="!",
        ),
    }
)
"""Every verdict by its key, the most informative first."""


def in_full(word: Word) -> str:
    """Return the verdict as displayed.

    >>> in_full("within"), in_full("too close to call")
    ('within tolerance', 'too close to call')
    """
    return VERDICTS[word].in_full
