"""Summarize files of any size: in bounded memory, or with the workers of a Dask cluster."""

from __future__ import annotations

import importlib.util
import os
import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from calib_core.defaults import SEED
from calib_core.predictions.predictions import InputError, Predictions
from calib_core.readers.from_file import assumptions, warnings_of
from calib_core.readers.streams import FilePart, chosen_parts, holds_summary
from calib_core.readers.table import ASSUMED, SUMMARY, file_label
from calib_core.summaries.mergeable import Summary, merged
from calib_core.summaries.on_disk import read_summary

_TOGETHER = 16
"""Number of runs of rows, or of summaries, that are merged at once."""

Paths = str | os.PathLike[str]


def summarise(
    source: Paths | Sequence[Paths],
    *,
    columns: Sequence[str] = (),
    labels: Paths | None = None,
    rows: str = "auto",
    seed: int = SEED,
    rows_of: str = "",
    progress: Callable[[float], None] = lambda share: None,
    **changes: Any,
) -> Summary:
    """Summarize files of any size, a few hundred thousand rows at a time.

    Parameters
    ----------
    source : one or several paths of CSV, JSON Lines, Parquet, NPY or NPZ files, or of summaries, which are merged.
    columns : columns whose values become slices, each of at most 200 values.
    labels : for an NPY matrix of scores, the NPY file of its labels.
    rows : rows to count if a column marks them: "test" (the same as "auto"), "calibration" or "all".
    seed : determines the sampled rows, together with the file's name and the row's number.
    rows_of : a name for the rows instead of the file's. With the same name and seed, the summaries of several models'
        predictions of the same rows sample the same rows, which can be paired (``kept_together``).
    progress : function that receives the share of the input that was read, from 0 to 1.
    changes : fields of Reading, as in ``read_predictions``.

    Every row passes the same checks as predictions; InputError names the file, the row and the remedy. What the reader
    assumed is in ``notes``; probable mistakes also cause a UserWarning. What can mislead: the first rows determine how
    a file is read; give ``classes=`` if class names can first occur later.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.csv")
    ...     _ = path.write_text("p,label\\n0.7,1\\n0.2,0\\n")
    ...     summarise(path).n_rows, summarise([path, path]).n_rows
    (2, 4)
    """
    if isinstance(source, Predictions):
        raise InputError("source is already predictions; give the paths of files, or call cc.Summary.of(predictions)")
    paths = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    if not paths:
        raise InputError("no file is given to summarize; give at least one path")
    whole: list[Summary] = []
    for i, path in enumerate(paths):

        def overall(share: float, done: int = i) -> None:
            progress((done + share) / len(paths))

        how: dict[str, Any] = {"columns": columns, "labels": labels, "rows": rows, "progress": overall, **changes}
        whole.append(read_summary(path) if holds_summary(path) else _of_file(path, seed, how, _name(rows_of, i)))
        overall(1.0)
    return merged(whole)


def _name(rows_of: str, place: int) -> str:
    """Name of a file's rows: ``rows_of`` for the first file, with a number for the others."""
    return f"{rows_of} {place}" if rows_of and place else rows_of


def _of_file(path: Paths, seed: int, how: dict[str, Any], source: str) -> Summary:
    name, first = file_label(os.fspath(path)), 0
    parts: list[Summary] = []
    notes: list[str] | None = None
    for part in chosen_parts(path, **how):
        rows = part.predictions
        notes = _assumed(part, how) if notes is None else notes
        parts.append(Summary.of(rows, how["columns"], seed=seed, source=source or name, first_row=first))
        first += rows.n_rows
        if len(parts) >= _TOGETHER:
            parts = [merged(parts)]
    if not parts:
        raise InputError(f"{name} has no rows to count for rows={how['rows']}; choose other rows")
    whole = merged(parts)
    return replace(whole, notes=tuple(dict.fromkeys((*(notes or ()), *whole.notes))))


def _assumed(first: FilePart, how: Collection[str]) -> list[str]:
    """Return the warnings about the first rows of a file as notes, and warn.

    Of a longer file, only those that another reading would settle: the first rows may all have the same label.
    """
    table = first.run.table
    worth = () if SUMMARY in table.columns else assumptions(table, first.reading, how)
    found = warnings_of(each for each in worth if first.run.share == 1 or each.change)
    for message in found:
        warnings.warn(f"{table.name}: {message}", stacklevel=4)
    return [f"{ASSUMED}{table.name}: {message}" for message in found]


_PATIENCE = "15s"
"""Maximum time for a scheduler to answer."""


def count_on_cluster(
    source: Paths | Sequence[Paths],
    scheduler: str,
    *,
    progress: Callable[[float], None] = lambda share: None,
    **how: Any,
) -> Summary:
    """Summarize files with the workers of the Dask cluster at ``scheduler``, identical to ``summarise``.

    ``scheduler`` is an address such as "tcp://host:8786"; ``how`` as in ``summarise``. Workers need this package and
    the files at the same paths. If a worker dies, another one counts its files, up to three times. InputError reports a
    file that cannot be counted, or what the cluster lacks.
    """
    if importlib.util.find_spec("distributed") is None:
        raise InputError("counting on a cluster needs Dask. Run: pip install calib[dask]")
    import distributed as dask

    cluster: Any = dask  # its functions have no types
    paths = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    if not paths:
        raise InputError("no file is given to summarize; give at least one path")
    try:
        with cluster.Client(scheduler, timeout=_PATIENCE, set_as_default=False) as client:
            tasks = [client.submit(summarise, os.path.abspath(path), **how, pure=False) for path in paths]
            done: list[Summary] = []
            for i, task in enumerate(cluster.as_completed(tasks, loop=client.loop), 1):
                done.append(task.result())
                task.release()
                if len(done) >= _TOGETHER:
                    done = [merged(done)]
                progress(i / len(paths))
            return merged(done)
    except OSError as e:
        raise InputError(f"no scheduler answers at {scheduler[:200]}; start one with: dask scheduler") from e
    except (dask.KilledWorker, dask.CancelledError) as e:
        raise InputError("the cluster's workers died; give them more memory, or smaller files") from e
