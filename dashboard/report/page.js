"use strict";
// Draws every figure of the report into its place; the root element says when all of them are there.
(function () {
  const specs = JSON.parse(document.getElementById("calib-figures").textContent);
  // Percent are written as money is: spaced_percent of calib_core/figures/look.py says why.
  Plotly.register({ moduleType: "locale", name: "calib", dictionary: {}, format: { currency: ["", "\u00a0%"] } });
  const config = { locale: "calib", displaylogo: false, displayModeBar: false, responsive: false, showTips: false };
  const drawn = Array.from(document.querySelectorAll("[data-figure]"), (place) => {
    const spec = specs[place.dataset.figure];
    return Plotly.newPlot(place, spec.data, spec.layout, config);
  });
  Promise.all(drawn).then(() => {
    document.documentElement.dataset.drawn = String(drawn.length);
  });
})();
