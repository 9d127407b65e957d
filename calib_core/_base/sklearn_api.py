"""Interface of scikit-learn's estimators without loading scikit-learn, which takes a second."""

from __future__ import annotations

import copy
import inspect
from typing import Any, Self, TypeVar

T = TypeVar("T")


class Adjustable:
    """An object whose parameters are its constructor arguments, stored under their names: read, set and copied.

    ``Pipeline``, ``GridSearchCV``, ``sklearn.base.clone`` and scikit-learn's own checks accept it as an estimator.
    """

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """Return parameters by name; if ``deep``, also those of nested objects, as ``part__name``."""
        found: dict[str, Any] = {}
        for name in _defaults(type(self)):
            value = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                found.update((f"{name}__{inner}", part) for inner, part in value.get_params().items())
            found[name] = value
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of nested objects as ``part__name``; ValueError names the known ones."""
        nested: dict[str, dict[str, Any]] = {}
        for name, value in params.items():
            own, _, inner = name.partition("__")
            if own not in _defaults(type(self)):
                known = sorted(_defaults(type(self)))
                raise ValueError(f"Invalid parameter {own!r} for estimator {self}. Valid parameters are: {known!r}.")
            if inner:
                nested.setdefault(own, {})[inner] = value
            else:
                setattr(self, own, value)
        for own, inside in nested.items():  # a nested object is set before its own parameters
            part: Any = getattr(self, own)
            if "get_params" not in dir(part):
                raise ValueError(f"{own}={part!r} of estimator {self} has no parameters to set: {sorted(inside)}.")
            part.set_params(**inside)
        return self

    def __repr__(self) -> str:
        changed = [f"{name}={getattr(self, name)!r}" for name, default in _defaults(type(self)).items()
                   if repr(getattr(self, name)) != repr(default)]  # fmt: skip
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.base import BaseEstimator  # callers that request tags have loaded it

        return BaseEstimator.__sklearn_tags__(self)


_known: dict[type, dict[str, Any]] = {}


def _defaults(kind: type) -> dict[str, Any]:
    """Constructor arguments of a class and their defaults, sorted by name."""
    if kind not in _known:  # reading signatures is slow
        arguments = inspect.signature(kind).parameters
        _known[kind] = {name: arguments[name].default for name in sorted(arguments)}
    return _known[kind]


def clone(given: T) -> T:
    """Return an unfitted copy: parameters are copied, fitted attributes are not; lists and tuples by element.

    >>> class Part(Adjustable):
    ...     def __init__(self, bins=15): self.bins = bins
    >>> part = Part(bins=10)
    >>> part.fitted_ = 1
    >>> clone(part), vars(clone(part))
    (Part(bins=10), {'bins': 10})
    """
    result: Any
    if isinstance(given, (list, tuple)):
        result = type(given)(map(clone, given))
    elif isinstance(given, Adjustable):
        result = type(given)(**{name: clone(value) for name, value in given.get_params(deep=False).items()})
    elif hasattr(given, "get_params") and not isinstance(given, type):
        from sklearn.base import clone as cloned

        result = cloned(given)
    else:
        result = copy.deepcopy(given)
    return result  # type: ignore[no-any-return]


def check_is_fitted(given: object) -> None:
    """Raise scikit-learn's NotFittedError unless an attribute with a trailing underscore exists."""
    if not any(name.endswith("_") and not name.startswith("__") for name in vars(given)):
        from sklearn.exceptions import NotFittedError

        raise NotFittedError(f"This {type(given).__name__} instance is not fitted yet. Call 'fit' before using it.")
