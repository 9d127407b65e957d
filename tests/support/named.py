"""File whose names would do harm wherever they were not treated as text."""

import io

import numpy as np
import pandas as pd

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "![](http://x.example)",
    "=cmd()",
    "</script><script>alert(2)</script>",
    r"$\input{secret}$ 50% & #1_a",
    '<a href="http://y.example">b</a>',
    "cat\u202egod",
)


def hostile_csv(rows=240, seed=0):
    """Return predictions over classes with these names, as the bytes of a CSV file."""
    rng = np.random.default_rng(seed)
    z = 2 * rng.standard_normal((rows, len(HOSTILE)))
    labels = (z - np.log(rng.standard_exponential(z.shape))).argmax(1)
    probs = np.exp(1.6 * z) / np.exp(1.6 * z).sum(1, keepdims=True)
    table = pd.DataFrame(probs, columns=list(HOSTILE)).assign(label=[HOSTILE[y] for y in labels])
    held = io.BytesIO()
    table.to_csv(held, index=False)
    return held.getvalue()
