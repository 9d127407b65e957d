"use strict";
// Draws every figure of the report into its place; the root element says when all of them are there.
(function () {
  const specs = JSON.parse(document.getElementById("calib-figures").textContent);
  // Percent are written as money is: spaced_percent of calib_core/figures/look.py says why.
  Plotly.register({ moduleType: "locale", name: "calib", dictionary: {}, format: { currency: ["", "\u00a0%"] } });
  const config = { locale: "calib", displaylogo: false, displayModeBar: false, responsive: false, showTips: false };
  const places = Array.from(document.querySelectorAll("[data-figure]"));
  const drawn = places.map((place) => {
    const spec = specs[place.dataset.figure];
    return Plotly.newPlot(place, spec.data, spec.layout, config);
  });
  // Where a narrow window leaves a figure less room than its width, page.css scales it by these numbers. At the smallest
  // scale its text is as small as can be read; a figure that is wider still is scrolled.
  const SMALLEST = 0.7;
  function fit() {
    for (const place of places) {
      const { width, height } = specs[place.dataset.figure].layout;
      const scale = Math.min(1, Math.max(SMALLEST, place.parentElement.clientWidth / width));
      place.style.setProperty("--scale", scale);
      place.style.setProperty("--height", `${height}px`);
    }
  }
  fit();
  window.addEventListener("resize", fit);
  Promise.all(drawn).then(() => {
    document.documentElement.dataset.drawn = String(drawn.length);
  });
})();
