"""Coroutines run to their end, also in a process in which a browser's loop is running."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def run_in_own_loop(coroutine: Coroutine[Any, Any, object]) -> None:
    """As ``asyncio.run``, in a thread of its own: Playwright leaves its loop running in the thread of the tests."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, coroutine).result()
