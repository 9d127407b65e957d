"""Fitted calibrators as JSON and back: recipes and arrays without code, so that reading executes nothing.

A file is {"format": "calib-calibrator", "version": 1, "recipe": ..., "classes": K, "state": {...}}. ``state`` contains
the fitted attributes, whose names end in an underscore. Numbers, strings, booleans, null and lists are plain JSON.
Everything else is an object marked by one key: {"array": base64, "dtype": "float64", "shape": [2, 3]}, {"float":
"nan"}, {"tuple": [...]}, {"calibrator": {"family", "recipe", "classes", "state"}}, and {"same": i}. The last is the
i-th calibrator already written inside this file, numbered from 0 in the order in which they end.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core._base.sklearn_api import Adjustable, check_is_fitted
from calib_core.calibrators.base import BINARY_CALIBRATORS, CALIBRATORS, BinaryCalibrator, Calibrator
from calib_core.predictions.predictions import InputError, Predictions
from calib_core.registry.registry import Recipe, Registry, RegistryError

FORMAT, VERSION = "calib-calibrator", 1

CLASSES = 1_000_000
"""Maximum number of classes, as a larger number would use much memory even if the file is small."""

DEPTH = 40
"""Maximum nesting of compositions and lists; a real calibrator needs fewer than ten levels."""

_WHOLE = tuple(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64))
_DTYPES = ("bool", "float32", "float64", *_WHOLE)
_FITTED_NAME = re.compile(r"[A-Za-z]([A-Za-z0-9_]*[A-Za-z0-9])?_", re.ASCII)
_FAMILIES: Mapping[str, Registry[Any]] = {"CALIBRATORS": CALIBRATORS, "BINARY_CALIBRATORS": BINARY_CALIBRATORS}

Json: TypeAlias = Any


class Malformed(Exception):
    """Defect of a file; its text is the second half of an InputError message."""


# ---- writing -----------------------------------------------------------------------------------------------


def to_json(calibrator: Calibrator) -> str:
    """Return a fitted calibrator as JSON text; InputError if it has no recipe or has other contents."""
    check_is_fitted(calibrator)
    written = _Writer().member(calibrator)
    del written["family"]
    return json.dumps({"format": FORMAT, "version": VERSION, **written}, separators=(",", ":"), allow_nan=False)


class _Writer:
    def __init__(self) -> None:
        self.places: dict[int, int] = {}

    def member(self, member: Adjustable) -> dict[str, Json]:
        family = "CALIBRATORS" if isinstance(member, Calibrator) else "BINARY_CALIBRATORS"
        try:
            recipe = _FAMILIES[family].recipe(member)
        except RegistryError as why:
            raise InputError(f"this {type(member).__name__} cannot be saved: {why}") from None
        classes = {"classes": _written_classes(member)} if isinstance(member, Calibrator) else {}
        state = {name: self.value(value) for name, value in sorted(vars(member).items()) if _is_fitted(name)}
        return {"family": family, "recipe": recipe.to_dict(), **classes, "state": state}

    def value(self, value: object) -> Json:
        if isinstance(value, (Calibrator, BinaryCalibrator)):
            return self.nested(value)
        if isinstance(value, (np.ndarray, np.generic)):
            return _array(np.asarray(value))
        if isinstance(value, float) and not math.isfinite(value):
            return {"float": repr(value)}
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, tuple):
            return {"tuple": [self.value(item) for item in value]}
        what = type(value).__name__
        raise InputError(f"a {what} cannot be saved; fitted state may contain numbers, text, arrays and calibrators")

    def nested(self, member: Calibrator | BinaryCalibrator) -> Json:
        if id(member) in self.places:
            return {"same": self.places[id(member)]}
        written = self.member(member)
        self.places[id(member)] = len(self.places)
        return {"calibrator": written}


def _is_fitted(name: str) -> bool:
    """Return True for fitted attributes; ``classes_`` is stored separately, as a number or names."""
    return bool(_FITTED_NAME.fullmatch(name)) and name != "classes_"


def _array(array: NDArray[Any]) -> Json:
    if array.dtype.name not in _DTYPES:
        raise InputError(f"an array of dtype {array.dtype} cannot be saved; supported: {', '.join(_DTYPES)}")
    # A matrix product's last bits depend on the memory order, which is therefore stored.
    by_columns = array.flags.f_contiguous and not array.flags.c_contiguous
    laid_out = (array.T if by_columns else array).astype(array.dtype.newbyteorder("<"), copy=False)
    return {
        "array": base64.b64encode(laid_out.tobytes()).decode("ascii"),
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        **({"order": "F"} if by_columns else {}),
    }


# ---- reading -----------------------------------------------------------------------------------------------


def load_calibrator(source: str | bytes | PathLike[str]) -> Calibrator:
    """Load a fitted calibrator saved by ``to_json``, from a path or from JSON text (text that begins with a brace).

    The file is data only. It is validated, the calibrator is tried on a few rows, and any defect raises an InputError
    of one sentence. Predictions equal those of the saved calibrator, bit for bit.

    >>> cal = CALIBRATORS.make("temperature").fit([[0.9, 0.1]] * 10, [0, 0, 0, 0, 1] * 2)
    >>> load_calibrator(cal.to_json()).predict_proba([[0.9, 0.1]]).round(6).tolist()
    [[0.8, 0.2]]
    """
    try:
        return _calibrator(_parsed(_text(source)))
    except Malformed as why:
        raise InputError(f"this is not a saved calibrator: {why}") from None


def _text(source: str | bytes | PathLike[str]) -> str | bytes:
    if isinstance(source, bytes) or (isinstance(source, str) and source.lstrip().startswith("{")):
        return source
    try:
        return Path(source).read_bytes()
    except (OSError, ValueError) as why:
        reason = why.strerror if isinstance(why, OSError) and why.strerror else str(why)
        raise InputError(f"the file {str(source)[:200]!r} cannot be read: {reason}") from None


def _parsed(text: str | bytes) -> dict[str, Json]:
    try:
        data = json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise Malformed("it is nested too deeply") from None
    except ValueError as why:
        raise Malformed(f"it is not JSON ({str(why)[:80]})") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise Malformed(f'its "format" is not {FORMAT!r}')
    version = data.get("version")
    if isinstance(version, bool) or version != VERSION:
        raise Malformed(f"it has version {str(version)[:20]}, and this version of calib reads version {VERSION}")
    return data


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} is not a JSON number")


def _calibrator(data: dict[str, Json]) -> Calibrator:
    _keys(data, {"format", "version", "recipe", "classes", "state"})
    member = {key: data[key] for key in ("recipe", "classes", "state")}
    calibrator: Calibrator = _Reader().member({"family": "CALIBRATORS", **member}, 0)
    _try(calibrator)
    return calibrator


class _Reader:
    def __init__(self) -> None:
        self.calibrators: list[Any] = []

    def member(self, data: Json, depth: int) -> Any:
        family = data.get("family") if isinstance(data, dict) else None
        if family not in ("CALIBRATORS", "BINARY_CALIBRATORS"):
            raise Malformed("a calibrator in it has no known family")
        _keys(data, {"family", "recipe", "state"} | ({"classes"} if family == "CALIBRATORS" else set()))
        try:
            member = Recipe.from_dict(family, data["recipe"]).build()
        except (RegistryError, TypeError, OverflowError, RecursionError) as why:
            raise Malformed(f"its recipe is unknown: {str(why)[:300]}") from None
        if not isinstance(data["state"], dict):
            raise Malformed('its "state" is not an object')
        for name, value in data["state"].items():
            if not _is_fitted(name) or hasattr(member, name):
                raise Malformed(f"{name[:80]!r} is not the name of a fitted attribute")
            setattr(member, name, self.value(value, depth + 1))
        if family == "CALIBRATORS":
            member.classes_ = _classes(data["classes"])
        return member

    def value(self, data: Json, depth: int) -> Any:
        if depth > DEPTH:
            raise Malformed("it is nested too deeply")
        if isinstance(data, list):
            return [self.value(item, depth + 1) for item in data]
        if not isinstance(data, dict):
            return data
        if "array" in data:
            return _read_array(data)
        if len(data) != 1:
            raise Malformed("a value in its state has an unknown form")
        ((kind, content),) = data.items()
        if kind == "float" and content in ("nan", "inf", "-inf"):
            return float(content)
        if kind == "tuple" and isinstance(content, list):
            return tuple(self.value(item, depth + 1) for item in content)
        if kind == "same" and type(content) is int and 0 <= content < len(self.calibrators):
            return self.calibrators[content]
        if kind == "calibrator":
            self.calibrators.append(self.member(content, depth))
            return self.calibrators[-1]
        raise Malformed(f"a value in its state has an unknown form ({kind[:40]!r})")


def _keys(data: dict[str, Json], wanted: set[str]) -> None:
    if set(data) != wanted:
        missing, extra = sorted(wanted - set(data)), sorted(set(data) - wanted)
        what = f"{missing[0]!r} is missing" if missing else f"{extra[0][:80]!r} is not a known key"
        raise Malformed(what)


def _written_classes(calibrator: Calibrator) -> Json:
    """Number of classes it was fitted with, or their names if labels were names."""
    classes = calibrator.classes_
    return len(classes) if classes.dtype.kind in "iu" else [str(name) for name in classes]


def _classes(written: Json) -> NDArray[Any]:
    names = isinstance(written, list) and all(isinstance(name, str) for name in written)
    number = len(written) if names else written
    if type(number) is not int or not 2 <= number <= CLASSES or (names and len(set(written)) < number):
        raise Malformed(f'"classes" is {str(written)[:40]}; expected a whole number from 2 to {CLASSES:,}, or names')
    return np.asarray(written) if names else np.arange(number)


def _read_array(data: dict[str, Json]) -> Any:
    order = data.get("order", "C")
    _keys({**data, "order": order}, {"array", "dtype", "shape", "order"})
    name, shape, text = data["dtype"], data["shape"], data["array"]
    if name not in _DTYPES or order not in ("C", "F"):
        raise Malformed(f"an array in it has dtype {str(name)[:40]!r}, which is not one of {', '.join(_DTYPES)}")
    if not isinstance(shape, list) or len(shape) > 8 or not all(type(d) is int and d >= 0 for d in shape):
        raise Malformed(f"an array in it has the shape {str(shape)[:60]}")
    dtype = np.dtype(name).newbyteorder("<")
    # Checked before anything is allocated.
    size = math.prod(shape) * dtype.itemsize
    if not isinstance(text, str) or len(text) != 4 * ((size + 2) // 3):
        raise Malformed(f"an array of shape {shape} does not match its contents")
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Malformed("an array in it is not base64") from None
    if len(raw) != size or (name == "bool" and raw.strip(b"\0\1")):
        raise Malformed(f"an array of shape {shape} does not match its contents")
    flat = np.frombuffer(raw, dtype=dtype).astype(np.dtype(name))
    array = flat.reshape(shape) if order == "C" else flat.reshape(shape[::-1]).T
    # A number keeps its NumPy type, as float64 or float32 decides the dtype of a product.
    return array[()] if array.ndim == 0 else array


def _try(calibrator: Calibrator) -> None:
    """Apply the calibrator to a few rows, so invalid numbers in the file raise an error now and not later."""
    k = len(calibrator.classes_)
    rows = np.full((3, k), 1.0 / k)
    rows[1:] = 0.0
    rows[1, 0] = rows[2, -1] = 1.0
    metadata = pd.DataFrame({column: ["", "a", "1"] for column in calibrator.columns}) if calibrator.columns else None
    try:
        with np.errstate(all="ignore"):
            for dtype in (np.float64, np.float32):
                calibrator.apply(Predictions(rows.astype(dtype), [0, 1, k - 1], logits=30.0 * rows, metadata=metadata))
            for member in _binaries(calibrator):
                if not np.isfinite(member.transform(np.linspace(0.0, 1.0, 101))).all():
                    raise ValueError("not a number")
    except Exception as why:
        raise Malformed(f"its calibrator fails on test rows ({type(why).__name__}: {str(why)[:120]})") from None


def _binaries(member: Any) -> list[BinaryCalibrator]:
    if isinstance(member, BinaryCalibrator):
        return [member]
    if isinstance(member, (list, tuple)):
        return [found for item in member for found in _binaries(item)]
    if isinstance(member, Calibrator):
        return [found for name, value in vars(member).items() if _is_fitted(name) for found in _binaries(value)]
    return []
