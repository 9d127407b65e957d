"""Summaries of many files made by the workers of a Dask cluster: a task a file, and merged where they come in."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Sequence
from typing import Any

from calib_core.predictions.predictions import InputError
from calib_core.summaries.making import Paths, summarise
from calib_core.summaries.mergeable import Summary, merged

_PATIENCE = "15s"
"""How long a scheduler may take to answer."""
_TOGETHER = 16
"""Summaries merged at a time."""


def count_on_cluster(
    source: Paths | Sequence[Paths],
    scheduler: str,
    *,
    progress: Callable[[float], None] = lambda share: None,
    **how: Any,
) -> Summary:
    """The summary of files, each counted by a worker of the Dask cluster at ``scheduler``: the bits of ``summarise``.

    ``scheduler`` is an address such as "tcp://host:8786"; ``how`` as in ``summarise``. Workers have this package
    installed and see the files at the same paths. A worker that dies loses nothing: its files are counted by another,
    up to three times. InputError is that of the file that cannot be counted, or says what the cluster lacks.
    """
    if importlib.util.find_spec("distributed") is None:
        raise InputError("counting on a cluster needs Dask; run: pip install calib[dask]")
    import distributed as dask

    cluster: Any = dask  # its functions are not typed
    paths = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    if not paths:
        raise InputError("no file is given to summarise; give at least one path")
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
        raise InputError("the cluster's workers died counting a file; give them more memory, or smaller files") from e
