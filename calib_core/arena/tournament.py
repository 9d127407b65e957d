"""Run methods on many experiments, in several processes, with results that can be continued."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pandas as pd

from calib_core._base import parallel
from calib_core._base.errors import as_whole
from calib_core._base.notebook_display import OneLine
from calib_core._base.parallel import Progress, silent
from calib_core.arena.contenders import Contender, as_contenders
from calib_core.arena.experiment_files import ExperimentSource
from calib_core.arena.outcomes import outcome
from calib_core.arena.result_files import Lines, ResultLine, as_frame, read_lines, write_lines
from calib_core.calibrators.base import CALIBRATORS, Calibrator
from calib_core.papers.tables.runs import content, key
from calib_core.predictions.predictions import InputError
from calib_core.registry.registry import Recipe

WRITE_EVERY = 2.0
"""Seconds between two writings of the files of results, so that a killed run loses at most so much work."""


@dataclass(frozen=True, eq=False, repr=False)
class ArenaResults(OneLine):
    """Results of a run: ``lines``, one per experiment and method, and the experiments that could not be read.

    ``damaged`` are pairs of a name (data set and model) and the reason. ``remarks`` are pairs of a name and a probable
    mistake in the files of an experiment that was used.
    """

    lines: pd.DataFrame
    damaged: tuple[tuple[str, str], ...] = ()
    remarks: tuple[tuple[str, str], ...] = ()

    def frame(self) -> pd.DataFrame:
        """One line per experiment and method."""
        return self.lines


def run(
    experiments: Iterable[ExperimentSource],
    methods: Sequence[str | Recipe | Calibrator] | None = None,
    *,
    folder: str | Path | None = None,
    jobs: int = 1,
    progress: Callable[[int], object] | None = None,
) -> ArenaResults:
    """Fit every method on the calibration rows of every experiment, and score it on the test rows.

    One line per experiment and method. ``cal_size``, ``test_size`` and ``n_classes`` describe the experiment.
    ``log_loss`` (nats), ``brier`` (summed over classes) and ``accuracy`` are those of the test rows. The method
    ``identity`` has those without calibration. ``log_loss_error`` is the standard error of the difference of log losses
    to it, in pairs of rows. ``fit_seconds`` and ``apply_seconds`` follow, then the fitted ``recipe`` as JSON, and the
    ``reason`` if the method failed.

    Parameters
    ----------
    experiments : those of ``arena.experiments``, or ``ArenaExperiment`` objects. One per process is in memory.
    methods : keys or recipes of calibrators, and "choose": the calibrator that ``cc.choose`` recommends on the
        calibration rows, fitted on them. Default: ``default_methods``. No calibration is always among them.
    folder : where results are stored, one CSV per method in CalArena's layout. A rerun computes only what is missing
        there, or what was computed from other data, recipes or versions. Its numbers are the same bits for any
        interruption and any number of ``jobs``, except for the seconds.
    jobs : number of processes.
    progress : receives the percentage done, after each experiment, and after each method if there is one process. An
        exception in it stops the run.

    An experiment that cannot be read is listed in ``damaged``, and the others continue. InputError if there is none, or
    if two have the same data set and model.

    What can mislead: seconds are those of a machine on which other processes also run. With ``jobs`` above 1 they are
    longer. The log loss has a floor (2^-52), which CalArena's numbers may not have.

    References: Berta, Holzmüller, Bach & Jordan 2026.

    >>> from calib_core.arena import ArenaExperiment
    >>> from calib_core import Predictions
    >>> p = Predictions([[0.9, 0.1], [0.2, 0.8]] * 20, [0, 1] * 15 + [1, 0] * 5)
    >>> found = run([ArenaExperiment("digits", "forest", p, p)], ["temperature"]).frame()
    >>> found["method"].tolist(), (found["log_loss"] < 0.7).tolist()
    (['identity', 'temperature'], [True, True])
    """
    as_whole(jobs, "jobs", 1)
    contenders, sources = as_contenders(methods), list(experiments)
    names = [(source.dataset, source.model) for source in sources]
    if not sources:
        raise InputError("give at least one experiment")
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise InputError(f"two experiments are called {'/'.join(twice)}; every pair of data set and model is one")
    shelf = _Shelf(contenders, None if folder is None else Path(folder))
    damaged, remarks = list[tuple[str, str]](), list[tuple[str, str]]()
    tell = _Told(progress or silent, len(sources), len(contenders))
    try:
        for i, (source, found) in enumerate(_worked_off(sources, contenders, shelf.known, jobs, tell), 1):
            name = f"{source.dataset}/{source.model}"
            if isinstance(found, str):
                damaged.append((name, found))
            else:
                shelf.add(found.lines)
                remarks += [(name, remark) for remark in found.remarks]
            tell.experiments(i)
    finally:
        shelf.write()
    if len(damaged) == len(sources):
        raise InputError(f"no experiment can be read; {min(damaged)[0]}: {min(damaged)[1]}")
    return ArenaResults(as_frame(shelf.lines, names), tuple(sorted(damaged)), tuple(sorted(remarks)))


class _Told:
    """Progress in percent over experiments, and over the methods of the current one if there is one process."""

    def __init__(self, progress: Progress, experiments: int, methods: int) -> None:
        self._progress, self._total, self._methods = progress, experiments * methods, methods
        self._before = 0

    def experiments(self, done: int) -> None:
        """Report that so many experiments are done."""
        self._before = done * self._methods
        self.methods(0)

    def methods(self, done: int) -> None:
        """Report that so many methods of the current experiment are done."""
        self._progress(100 * (self._before + done) // self._total)


class _Shelf:
    """Lines of all methods, in memory and in their files."""

    def __init__(self, contenders: Sequence[Contender], folder: Path | None) -> None:
        self.folder = folder
        names = [each.name for each in contenders]
        self.lines: dict[str, Lines] = {name: {} if folder is None else read_lines(folder, name) for name in names}
        self._changed = set[str]()
        self._written = time.monotonic()

    def known(self, source: ExperimentSource) -> dict[str, str]:
        """Inputs of the lines of an experiment that are known, by method."""
        place = (source.dataset, source.model)
        return {name: lines[place].inputs for name, lines in self.lines.items() if place in lines}

    def add(self, found: Mapping[str, ResultLine]) -> None:
        """Add lines of one experiment, by method."""
        for name, line in found.items():
            self.lines[name][line.dataset, line.model] = line
            self._changed.add(name)
        if time.monotonic() - self._written > WRITE_EVERY:
            self.write()

    def write(self) -> None:
        """Write the files of methods with new lines."""
        while self.folder is not None and self._changed:
            name = min(self._changed)
            write_lines(self.folder, name, self.lines[name])
            self._changed.remove(name)
        self._written = time.monotonic()


class _NewLines(NamedTuple):
    """New lines of one experiment by method, and remarks on its files."""

    lines: dict[str, ResultLine]
    remarks: tuple[str, ...]


_Found: TypeAlias = "_NewLines | str"
"""New lines of one experiment, or why it cannot be read."""


def _worked_off(
    sources: Sequence[ExperimentSource],
    contenders: Sequence[Contender],
    known: Callable[[ExperimentSource], dict[str, str]],
    jobs: int,
    tell: _Told,
) -> Iterator[tuple[ExperimentSource, _Found]]:
    """Yield every experiment with its new lines; in any order if there are several processes."""
    if jobs == 1 or len(sources) == 1:
        yield from ((source, _lines(source, contenders, known(source), tell.methods)) for source in sources)
        return
    modules = sorted({cls.__module__ for each in CALIBRATORS if (cls := CALIBRATORS[each].cls) is not None})
    pool = ProcessPoolExecutor(min(jobs, len(sources)), _processes(modules), _prepare, (modules,))
    try:
        left = iter(sources)
        running: dict[Future[_Found], ExperimentSource] = {}
        while True:
            # Few are submitted at a time: experiments in memory are copied to the processes.
            for source in islice(left, 2 * jobs - len(running)):
                running[pool.submit(_lines, source, contenders, known(source))] = source
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _processes(modules: Sequence[str]) -> Any:
    """Return a way to start processes without this one's threads: copies of a process that has imported everything."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    copies = multiprocessing.get_context("forkserver")
    copies.set_forkserver_preload([__name__, *modules])
    return copies


def _prepare(modules: Sequence[str]) -> None:
    """Set up a process: one thread, no reaction to Ctrl-C, and the calibrators of extension packages."""
    os.environ.setdefault(parallel.VARIABLE, "1")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for module in modules:
        import_module(module)


def _lines(
    source: ExperimentSource, contenders: Sequence[Contender], known: Mapping[str, str], tell: Progress = silent
) -> _Found:
    """Return the lines of an experiment that are not known yet; or why it cannot be read."""
    try:
        experiment = source.load()
    except (InputError, OSError) as why:
        return " ".join(str(why).split())
    calibration, test = experiment.calibration, experiment.test
    data = [content(rows) for rows in (calibration, test)]
    found: dict[str, ResultLine] = {}
    for i, contender in enumerate(contenders):
        if i:
            tell(i)
        inputs = _inputs(contender, data)
        if known.get(contender.name) != inputs:
            sizes = (calibration.n_rows, test.n_rows, calibration.n_classes or 0)
            found[contender.name] = ResultLine(
                experiment.dataset, experiment.model, *sizes, outcome(contender, experiment), inputs
            )
    return _NewLines(found, experiment.remarks)


def _inputs(contender: Contender, data: Any) -> str:
    """Hash of all that an outcome depends on: data, method and versions; it begins with a letter, as text does."""
    return f"x{key(data, contender)[:15]}"
