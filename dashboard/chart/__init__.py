"""Charts on screen: the one place that shows a Plotly figure.

`chart` draws a figure and hands back a click on one of its points; `drawn` lets a test see what was drawn.

A chart is told apart by its `key`. As long as a run of the script draws a figure under that key, the browser
keeps one node for it and hands each new figure to `Plotly.react`: zoom and hidden legend entries stay as they
are. Give a figure its own `layout.uirevision` to say when they should not (a changed axis, for instance).

How a click is consumed: it waits in the session's state under `slot(key)`, put there before the run it caused,
and `chart` takes it out when it draws that key. So a rerun from another control finds nothing to replay, and a
run that is cut short before it reaches the chart does not lose it. `waiting` reads it without taking it, for a
figure that has to know the click before it is built.
"""

from dashboard.chart.click import Click, slot, waiting
from dashboard.chart.drawn import Drawn, drawn
from dashboard.chart.show import chart, is_dark

__all__ = ["Click", "Drawn", "chart", "drawn", "is_dark", "slot", "waiting"]
