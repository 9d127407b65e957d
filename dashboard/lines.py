"""What is said around lines of estimates and pairs of models by more than one table."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence

from calib_core.inference import EstimateLine, each_alone, marked


def marks(lines: Iterable[EstimateLine]) -> list[str]:
    """The marks of lines that stand in one table."""
    return marked((line.about, line.tested) for line in lines)[0]


def below(lines: Sequence[EstimateLine]) -> tuple[str, ...]:
    """What has to be said below a table of lines: how many looks it is, and what its intervals are about."""
    about = marked((line.about, line.tested) for line in lines)[1]
    return (*filter(None, [each_alone(line.p for line in lines)]), *about)


def caption(described: Callable[..., object]) -> str:
    """The docstring of a public function as running text: what a table of it is called by, word for word."""
    return " ".join((inspect.getdoc(described) or "").partition("\n>>>")[0].replace("``", "").split())


VALUES_DIFFER = (
    "The difference is the one that its interval is about; that of two plug-in values, which noise pushes up, can lie "
    "outside."
)
