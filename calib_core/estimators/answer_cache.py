"""What an estimate was asked already: each answer is made once, however many ask."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

T = TypeVar("T")


class AnswerCache:
    """Answers by what was asked; several estimates of the same question can have theirs in common."""

    def __init__(self) -> None:
        self._kept: dict[tuple[Any, ...], Any] = {}
        self._turn = threading.RLock()

    def once(self, what: tuple[Any, ...], make: Callable[[], T]) -> T:
        """The answer; asked from several threads at once, the first makes it and the others wait: it can be large."""
        with self._turn:
            if what not in self._kept:
                self._kept[what] = make()
        return cast(T, self._kept[what])

    def keep(self, what: tuple[Any, ...], value: Any) -> None:
        """Keep an answer that was made for several estimates at once, unless there is one."""
        with self._turn:
            self._kept.setdefault(what, value)

    def know(self, *what: Any) -> bool:
        """Whether something that begins so was answered."""
        with self._turn:
            return any(whole[: len(what)] == what for whole in self._kept)

    def __getstate__(self) -> dict[str, Any]:
        """What was answered goes along with a pickle or a copy; a lock cannot."""
        with self._turn:
            return {"_kept": dict(self._kept)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _turn=threading.RLock())
