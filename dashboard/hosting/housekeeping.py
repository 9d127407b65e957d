"""What is done while nobody asks: uploads go that nobody needs, and the memory of those who have left."""

import asyncio
import gc

from dashboard import session, uploads

SECONDS = 5.0
"""Between two rounds."""


async def tidied(seconds: float = SECONDS) -> None:
    """Tidy up every so often until it is cancelled."""
    while True:
        await asyncio.sleep(seconds)
        await asyncio.to_thread(tidy)


def tidy() -> int:
    """One round; how many uploads went."""
    uploads.WAITING.tidy()
    gone = session.expire()
    if gone:
        gc.collect()  # what a session of Streamlit's holds, it holds in circles
    return gone
