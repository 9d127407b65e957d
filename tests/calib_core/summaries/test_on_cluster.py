"""Workers of a Dask cluster count files into the same summary, though one of them is killed meanwhile."""

import os
import signal

import numpy as np
import pandas as pd
import pytest

from calib_core import InputError, summarise
from calib_core.summaries import count_on_cluster

distributed = pytest.importorskip("distributed")
pytest.importorskip("pyarrow")

pytestmark = pytest.mark.filterwarnings("default")  # a worker that dies leaves sockets open
QUIET = {"distributed.logging.distributed": "critical", "distributed.comm.timeouts.connect": "2s"}


def test_a_scheduler_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setattr("calib_core.summaries.making._PATIENCE", "1s")
    with pytest.raises(InputError, match=r"no scheduler answers at tcp://127\.0\.0\.1:1;"):
        count_on_cluster(tmp_path / "a.parquet", "tcp://127.0.0.1:1")
    with pytest.raises(InputError, match="no file is given"):
        count_on_cluster([], "tcp://127.0.0.1:1")


@pytest.mark.wide  # processes of their own that load the library
def test_a_worker_killed_midway_changes_no_bit(tmp_path):
    import dask

    rng, paths = np.random.default_rng(0), []
    for i in range(10):
        p = rng.random(60_000)
        rows = pd.DataFrame(
            {"p": p, "label": (rng.random(len(p)) < p).astype(int), "site": rng.choice(["a", "b"], len(p))}
        )
        paths.append(tmp_path / f"{i}.parquet")
        rows.to_parquet(paths[-1])
    known = summarise(paths, columns=["site"], seed=3)
    with (
        dask.config.set(QUIET),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, silence_logs=50
        ) as cluster,
    ):
        with distributed.Client(cluster, set_as_default=False) as client:
            before = client.run(os.getpid)
            shares: list[float] = []

            def kill_one(share):
                if not shares:
                    os.kill(next(iter(before.values())), signal.SIGKILL)
                shares.append(share)

            found = count_on_cluster(paths, cluster.scheduler_address, columns=["site"], seed=3, progress=kill_one)
            client.wait_for_workers(2, timeout=30)
            assert set(client.run(os.getpid).values()) != set(before.values())
        assert len(shares) == len(paths)
        assert found.same_as(known)
        (tmp_path / "bad.csv").write_text("p,label\n0.5,1\n1.5,0\n")
        with pytest.raises(InputError, match=r"bad\.csv.*1\.5"):
            count_on_cluster([*paths[:1], tmp_path / "bad.csv"], cluster.scheduler_address)
