"""Charts on screen: the only module that shows a Plotly figure.

The function `chart` draws a figure and returns the user's choice in it. A temperature slider below it comes from
`live_path`. For tests, `drawn` returns the charts on the page.

A figure declares its interaction in `layout.meta`, a mapping:

- `columns`: a list of `{"axis": "x", "low": 0.2, "high": 0.3, "record": {"bin": 2}, "says": "..."}`. A click anywhere
  in a column chooses its record. Arrow keys, Home and End move from column to column. Screen readers read `says` aloud.
  The columns that agree with the focus are tinted, on all axes. Columns of a vertical axis (`"axis": "y"`) are rows. On
  a logarithmic axis, `low` and `high` are logarithms to base 10. The flag `here` is True where arrow keys start.
- `exact`: True if a column represents exactly what its record names, so that no other column is tinted.
- `range`: True if dragging along the labels of the horizontal axis chooses `low` and `high` in the record. With
  `"columns"` the ends snap to columns, whose `from` and `to` are then the ends (for an axis in other units).

A trace may have `meta["grab"]`: its marks can be dragged.

- `{"along": "y", "name": "share", "low": 0, "high": 1, "step": 0.01}`: up and down. On release, the mark's record is
  sent with `share` changed.
- `{"along": "columns"}`: from column to column. Each column declares the position of the mark (`"place": [x, y]`), and
  is sent like a clicked one.

Escape chooses `{"clear": True}`. A trace may have `meta["from"]`, the `uid` of the trace from which its marks move when
it is new. Marks are identified by `bin`, `class` and `cell` of their records. Users who prefer reduced motion see no
animation.

The `key` identifies a chart. As long as a run of the script draws a figure under that key, the browser reuses one node
for it. Each new figure is passed to Plotly's `react` function. Zoom and hidden legend entries persist, also when the
user leaves the view or reloads the page in the same tab. Set `layout.uirevision` of a figure to reset them (for a
changed axis, for instance).

A click waits in the session's state under `slot(key)`, stored before the run that it caused. The function `chart` takes
it out when it draws that key. Therefore a rerun from another control finds nothing to replay. A run that is cut short
before it reaches the chart does not lose the click. A figure that depends on the click can read it before by `waiting`,
which does not consume it.
"""

from dashboard.chart.click import Click, slot, waiting
from dashboard.chart.drawn import SentChart, drawn
from dashboard.chart.live import live_path
from dashboard.chart.show import chart, is_dark

__all__ = ["Click", "SentChart", "chart", "drawn", "is_dark", "live_path", "slot", "waiting"]
