"""What Hugging Face tells a Space that it runs: the name it is reached by; its own pages show it in a frame."""

from collections.abc import Mapping
from dataclasses import dataclass

PAGES = "https://huggingface.co"


@dataclass(frozen=True)
class Space:
    """The names a Space answers under and the origins that frame it; none of either elsewhere."""

    hosts: tuple[str, ...] = ()
    framed_by: tuple[str, ...] = ()


def found(environment: Mapping[str, str]) -> Space:
    """The Space that this process runs as, by its environment.

    >>> found({"SPACE_HOST": "owner-calib.hf.space"}).hosts, found({}).framed_by
    (('owner-calib.hf.space',), ())
    """
    host = environment.get("SPACE_HOST", "").strip()
    return Space((host,), (PAGES,)) if host else Space()
