"""Experiments: calibration rows and test rows of one model on one data set, in folders or in an HDF5 file."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from calib_core._base.notebook_display import OneLine
from calib_core.predictions.predictions import InputError, Predictions
from calib_core.readers import all_endings, read_predictions

PARTS = ("calibration", "test")
"""Names of the two files of an experiment, without their endings."""
ARRAYS = ("probas_cal", "labels_cal", "probas_test", "labels_test")
"""Names of the four arrays of an experiment in an HDF5 file."""
_MAGIC = b"\x89HDF\r\n\x1a\n"


@dataclass(frozen=True, eq=False, repr=False)
class ArenaExperiment(OneLine):
    """Predictions of one ``model`` on one ``dataset``: rows to calibrate on, and rows to judge by.

    ``remarks`` are probable mistakes that were found while its files were read. Raises InputError if the two parts
    differ in their classes, or do not have all class probabilities.

    >>> p = Predictions([[0.9, 0.1], [0.2, 0.8]], [0, 1])
    >>> ArenaExperiment("digits", "forest", p, p).name
    'digits/forest'
    """

    dataset: str
    model: str
    calibration: Predictions
    test: Predictions
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for part, rows in zip(PARTS, (self.calibration, self.test), strict=True):
            if rows.kind != "full" or rows.grain == "counts":
                raise InputError(f"{self.name}: the {part} rows do not have all class probabilities")
        first, second = (rows.class_names or rows.n_classes for rows in (self.calibration, self.test))
        if first != second:
            raise InputError(f"{self.name}: the calibration rows and the test rows have different classes")

    @property
    def name(self) -> str:
        """Data set and model."""
        return f"{self.dataset}/{self.model}"

    def load(self) -> ArenaExperiment:
        """Return this experiment, which is in memory."""
        return self


class ExperimentSource(Protocol):
    """An experiment that is read when it is needed: ``load`` raises InputError if it is damaged."""

    @property
    def dataset(self) -> str:
        """Name of the data set."""

    @property
    def model(self) -> str:
        """Name of the model."""

    def load(self) -> ArenaExperiment:
        """Read the experiment."""


@dataclass(frozen=True)
class FolderExperiment:
    """Experiment in a folder ``DATASET/MODEL``: files ``calibration`` and ``test`` of any format for predictions."""

    folder: Path

    @property
    def dataset(self) -> str:
        """Name of the folder above."""
        return self.folder.parent.name

    @property
    def model(self) -> str:
        """Name of the folder."""
        return self.folder.name

    def load(self) -> ArenaExperiment:
        """Read both files; InputError if one is missing, is there twice or cannot be read."""
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always", UserWarning)
            calibration, test = (read_predictions(self._file(part)) for part in PARTS)
        return ArenaExperiment(self.dataset, self.model, calibration, test, tuple(str(each.message) for each in found))

    def _file(self, part: str) -> Path:
        found = [path for path in _files(self.folder) if path.name.partition(".")[0] == part]
        if len(found) == 1:
            return found[0]
        number = "two files" if found else "no file"
        raise InputError(
            f"{self.dataset}/{self.model} has {number} named {part} (such as {part}.csv); an experiment needs one "
            f"{PARTS[0]} file and one {PARTS[1]} file"
        )


@dataclass(frozen=True)
class GroupExperiment:
    """Experiment in a group ``{dataset}/{model}`` of an HDF5 file, in the layout of the benchmark CalArena.

    Arrays: ``probas_cal`` and ``probas_test`` (n, K), or (n,) risks of the second of two classes. ``labels_cal`` and
    ``labels_test`` (n,) are codes 0..K-1.
    """

    path: Path
    dataset: str
    model: str

    def load(self) -> ArenaExperiment:
        """Read the four arrays; InputError if one is missing or unreadable, or if they do not fit together."""
        name = f"{self.dataset}/{self.model}"
        try:
            with _h5py(self.path).File(self.path, "r") as file:
                arrays = {each: np.asarray(file[self.dataset][self.model][each]) for each in ARRAYS}
        except KeyError as why:
            known = "no array " + next((each for each in ARRAYS if each in str(why)), "of predictions")
            raise InputError(f"{name} has {known}; an experiment has {', '.join(ARRAYS)}") from why
        except (OSError, RuntimeError, ValueError) as why:
            raise InputError(f"{name} in {self.path.name} cannot be read ({why})") from why
        parts = list[Predictions]()
        for part, short in zip(PARTS, ("cal", "test"), strict=True):
            try:
                parts.append(_predictions(arrays[f"probas_{short}"], arrays[f"labels_{short}"]))
            except InputError as why:
                raise InputError(f"{name}, {part} rows: {why}") from why
        return ArenaExperiment(self.dataset, self.model, parts[0], parts[1])


def experiments(path: str | Path) -> tuple[FolderExperiment | GroupExperiment, ...]:
    """List the experiments of a folder or of an HDF5 file, by data set and model; each is read when it is needed.

    Parameters
    ----------
    path : a folder ``DATASET/MODEL/`` whose files ``calibration.*`` and ``test.*`` can be read by ``read_predictions``.
        Or an HDF5 file in the layout of CalArena: groups ``{dataset}/{model}`` with arrays ``probas_cal``,
        ``labels_cal``, ``probas_test`` and ``labels_test``. Probabilities of two classes may be one-dimensional.

    Only names are read here, so a damaged experiment is found when it is loaded. Raises InputError if there is no
    experiment, or if h5py (extra ``h5``) is missing.

    References: Berta, Holzmüller, Bach & Jordan 2026 (CalArena).

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp(), "digits", "forest")
    >>> folder.mkdir(parents=True)
    >>> for part in PARTS:
    ...     _ = (folder / f"{part}.csv").write_text("p_a,p_b,label\\n0.7,0.3,a\\n0.4,0.6,b\\n")
    >>> [each.load().name for each in experiments(folder.parents[1])]
    ['digits/forest']
    """
    place = Path(path)
    found: list[FolderExperiment | GroupExperiment] = [*(_folders(place) if place.is_dir() else _groups(place))]
    if not found:
        what = "folder DATASET/MODEL" if place.is_dir() else "group dataset/model"
        raise InputError(f"{place.name} has no {what}, so it contains no experiment")
    return tuple(sorted(found, key=lambda each: (each.dataset, each.model)))


def _folders(place: Path) -> Iterator[FolderExperiment]:
    for dataset in _inside(place):
        yield from map(FolderExperiment, _inside(dataset))


def _inside(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")]


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_file() and path.name.lower().endswith(tuple(all_endings()))]


def _groups(place: Path) -> Iterator[GroupExperiment]:
    with place.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise InputError(f"{place.name} is not an HDF5 file; give such a file, or a folder DATASET/MODEL")
    h5py = _h5py(place)
    try:
        with h5py.File(place, "r") as file:
            arrays = [name for name in file if file.get(name, getclass=True) is h5py.Dataset]
            for dataset in file:
                # An array in place of a group is listed as well, so that it is reported and not passed over.
                for model in [""] if dataset in arrays else file[dataset]:
                    yield GroupExperiment(place, str(dataset), str(model))
    except (OSError, RuntimeError) as why:
        raise InputError(f"{place.name} cannot be read ({why})") from why


def _h5py(path: Path) -> Any:
    if importlib.util.find_spec("h5py") is None:
        raise InputError(f"{path.name}: reading HDF5 needs h5py; run: pip install calib[h5]")
    import h5py

    return h5py


def _predictions(probs: np.ndarray[Any, Any], labels: np.ndarray[Any, Any]) -> Predictions:
    """Return predictions of arrays; a vector contains the risks of the second of two classes."""
    if probs.ndim == 2 and probs.shape[1] == 1:
        probs = probs[:, 0]
    return Predictions(np.column_stack([1 - probs, probs]) if probs.ndim == 1 else probs, labels.ravel())
