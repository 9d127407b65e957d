"""Coroutines run to their end, also in a process in which a browser's loop is running."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any


def run_in_own_loop(coroutine: Coroutine[Any, Any, object]) -> None:
    """Run a coroutine in a separate thread: Playwright leaves its loop running in the thread of the tests.

    A signal's handler runs in the main thread and only while that is awake. The thread therefore wakes up every so
    often; otherwise a coroutine that waits for what a handler does would wait forever.
    """
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(asyncio.run, coroutine)
        while not running.done():
            wait([running], timeout=0.05)
        running.result()
