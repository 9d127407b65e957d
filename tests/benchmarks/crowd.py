"""Crowds of visitors: each loads the page, opens a session, and waits until its first page is drawn.

`load_sessions.py` uses it; by itself it uses a running server:

    python -m tests.benchmarks.crowd http://localhost:8501 150
"""

import asyncio
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect

PATIENCE = 120.0


async def drawn(socket: ClientConnection, query: str) -> int:
    """Draw a page; return its number of elements."""
    asked = BackMsg()
    asked.rerun_script.query_string = query
    await socket.send(asked.SerializeToString())
    elements = 0
    while True:
        heard = ForwardMsg()
        data = await asyncio.wait_for(socket.recv(), PATIENCE)
        assert isinstance(data, bytes)
        heard.ParseFromString(data)
        elements += heard.WhichOneof("type") == "delta"
        if heard.WhichOneof("type") == "script_finished":
            return elements


def loaded(url: str) -> None:
    """Load the page's own file."""
    with urllib.request.urlopen(f"{url}/", timeout=PATIENCE) as answer:
        answer.read()


class Door:
    """Barrier that opens, for leaving, once everybody has a page or gave up."""

    def __init__(self, visitors: int) -> None:
        self.left, self.open = visitors, asyncio.Event()

    def done(self) -> None:
        """Count one more visitor who has a page, or gave up."""
        self.left -= 1
        if not self.left:
            self.open.set()


async def visit(url: str, query: str, door: Door) -> float:
    """Return the seconds until the first page is there; the tab stays open until everybody has theirs."""
    start, address = time.monotonic(), urlsplit(url)
    try:
        await asyncio.to_thread(loaded, url)
        socket = await connect(
            f"ws://{address.netloc}{address.path}/_stcore/stream",
            subprotocols=["streamlit", "none"],  # type: ignore[list-item]
            origin=f"http://{address.netloc}",  # type: ignore[arg-type]
            max_size=None,
            open_timeout=PATIENCE,
        )
        elements = await drawn(socket, query)
        took = time.monotonic() - start
    finally:
        door.done()
    await door.open.wait()
    await socket.close(1001)  # as a browser does
    if elements < 10:
        raise ValueError(f"a page of {elements} elements")
    return took


async def visits(url: str, visitors: int, query: str = "") -> tuple[list[float], list[str]]:
    """Return the waiting time of each of this many simultaneous visitors, and the errors."""
    door = Door(visitors)
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(visitors))
    found = await asyncio.gather(*(visit(url, query, door) for _ in range(visitors)), return_exceptions=True)
    seconds = [each for each in found if isinstance(each, float)]
    return seconds, [f"{type(each).__name__}: {each}"[:200] for each in found if isinstance(each, BaseException)]


if __name__ == "__main__":
    waited, wrong = asyncio.run(visits(sys.argv[1], int(sys.argv[2])))
    sys.stdout.write(f"{sorted(waited)}\n{wrong}\n")
