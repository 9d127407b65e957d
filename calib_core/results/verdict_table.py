"""The words of a verdict, each with its colour and its sign: nothing else spells them, colours them or draws them."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

Word = Literal["within", "miscalibrated", "too close to call", "too few rows to tell"]
IncreaseWord = Literal["within", "worse", "too close to call", "too few rows to tell"]
"""The words about an increase over a baseline."""

WITHIN: Final = "within"
MISCALIBRATED: Final = "miscalibrated"
WORSE: Final = "worse"
TOO_CLOSE: Final = "too close to call"
TOO_FEW: Final = "too few rows to tell"


@dataclass(frozen=True)
class VerdictWord:
    """How a word is written and shown.

    Parameters
    ----------
    in_full : the word as readers see it.
    clause : what it says of a model, after "by ECE".
    colour : of its icon: no colour of a model, 3:1 or better on both pages.
    drawing : the sign in the icon, as a path around its middle.
    badge : name of the badge's colour on the dashboard.
    sign : the character in the badge, so that the words are told apart without colour.
    """

    in_full: str
    clause: str
    colour: str
    drawing: str
    badge: str
    sign: str

    @property
    def title(self) -> str:
        """The word at the beginning of a sentence."""
        return f"{self.in_full[0].upper()}{self.in_full[1:]}"


VERDICTS = MappingProxyType(
    {
        MISCALIBRATED: VerdictWord(
            in_full=MISCALIBRATED,
            clause=f"it is {MISCALIBRATED}",
            colour="#C8324B",
            drawing="M -3.5 -3.5 L 3.5 3.5 M -3.5 3.5 L 3.5 -3.5",
            badge="red",
            sign="▲",
        ),
        WITHIN: VerdictWord(
            in_full="within tolerance",
            clause="it is within tolerance",
            colour="#2E8B57",
            drawing="M -4.5 0.5 L -1.5 3.5 L 4.5 -3.5",
            badge="green",
            sign="●",
        ),
        TOO_CLOSE: VerdictWord(
            in_full=TOO_CLOSE,
            clause=f"it is {TOO_CLOSE}",
            colour="#94751C",
            drawing="M -4 -2 L 4 -2 M -4 2 L 4 2",
            badge="gray",
            sign="◆",
        ),
        TOO_FEW: VerdictWord(
            in_full=TOO_FEW,
            clause=f"there are {TOO_FEW}",
            colour="#787884",
            drawing="M -0.5 -4 L 0.5 -4 M 0 -4 L 0 1 M -0.5 4 L 0.5 4",
            badge="gray",
            sign="○",
        ),
    }
)
"""Every word by its key; what tells most comes first."""


def in_full(word: Word) -> str:
    """The word as readers see it.

    >>> in_full("within"), in_full("too close to call")
    ('within tolerance', 'too close to call')
    """
    return VERDICTS[word].in_full
