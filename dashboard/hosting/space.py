"""Environment of a Hugging Face Space: its host name; pages of Hugging Face frame it."""

from collections.abc import Mapping
from dataclasses import dataclass

PAGES = "https://huggingface.co"


@dataclass(frozen=True)
class Space:
    """Host names of a Space and the origins that frame it; both empty elsewhere."""

    hosts: tuple[str, ...] = ()
    framed_by: tuple[str, ...] = ()


def found(environment: Mapping[str, str]) -> Space:
    """Return the Space that this process runs as, by its environment.

    >>> found({"SPACE_HOST": "owner-calib.hf.space"}).hosts, found({}).framed_by
    (('owner-calib.hf.space',), ())
    """
    host = environment.get("SPACE_HOST", "").strip()
    return Space((host,), (PAGES,)) if host else Space()
