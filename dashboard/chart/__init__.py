"""Charts on screen: the only module that shows a Plotly figure.

`chart` draws a figure and returns the user's choice in it; `live_path` puts a temperature slider below it; `drawn`
returns the drawn charts to a test.

A figure declares its interaction in `layout.meta`, a mapping:

- `columns`: a list of `{"axis": "x", "low": 0.2, "high": 0.3, "record": {"bin": 2}, "says": "..."}`. A click anywhere
  in a column chooses its record; arrow keys, Home and End move from column to column and screen readers read `says`;
  the columns that agree with the focus are tinted, on all axes. Columns of a vertical axis (`"axis": "y"`) are rows.
  On a logarithmic axis `low` and `high` are logarithms to base 10. `here`: True where arrow keys set out from.
- `exact`: True if a column represents exactly what its record names, so that no other column is tinted.
- `range`: True where dragging along the labels of the horizontal axis chooses `{"low": ..., "high": ...}`; `"columns"`
  if the ends snap to columns, whose `from` and `to` are then the ends (for an axis in other units).

A trace may have `meta["grab"]`: its marks can be dragged. `{"along": "y", "name": "share", "low": 0, "high": 1, "step":
0.01}`: up and down; let go, the mark's record is sent with `share` changed. `{"along": "columns"}`: from column to
column, each of which declares the position of the mark (`"place": [x, y]`), and is sent like a clicked one.

Escape chooses `{"clear": True}`. A trace may have `meta["from"]`, the `uid` of the trace that its marks travel from
when it is new; marks are known by `bin`, `class` and `cell` of their records. People who ask for less motion see none.

A chart is identified by its `key`. As long as a run of the script draws a figure under that key, the browser reuses one
node for it and passes each new figure to `Plotly.react`. Zoom and hidden legend entries persist, also when the user
leaves the view or reloads the page in the same tab. Set `layout.uirevision` of a figure to reset them (for a changed
axis, for instance).

How a click is consumed: it waits in the session's state under `slot(key)`, put there before the run it caused,
and `chart` takes it out when it draws that key. So a rerun from another control finds nothing to replay, and a
run that is cut short before it reaches the chart does not lose it. `waiting` reads it without taking it, for a
figure that has to know the click before it is built.
"""

from dashboard.chart.click import Click, slot, waiting
from dashboard.chart.drawn import SentChart, drawn
from dashboard.chart.live import live_path
from dashboard.chart.show import chart, is_dark

__all__ = ["Click", "SentChart", "chart", "drawn", "is_dark", "live_path", "slot", "waiting"]
