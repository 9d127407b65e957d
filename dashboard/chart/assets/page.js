// What the page around a chart looks like, and what the chart adds to its style.

export function pageStyle(node) {
  const style = getComputedStyle(node);
  const background = style.getPropertyValue("--st-background-color").trim() || "#ffffff";
  const text = style.getPropertyValue("--st-text-color").trim() || style.color;
  return { background, text, font: style.fontFamily, dark: luminance(background) < 0.5 };
}

function luminance(colour) {
  const channels = colour.startsWith("#")
    ? [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16))
    : colour.match(/[\d.]+/g).map(Number);
  return (0.2126 * channels[0] + 0.7152 * channels[1] + 0.0722 * channels[2]) / 255;
}

/** Whether things may move: people can ask their system for less of it. */
export function mayMove() {
  return !window.matchMedia("(prefers-reduced-motion: reduce)").matches;
}

export function element(name, className, attributes = {}) {
  const made = document.createElement(name);
  made.className = className;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

const STYLE = `
.calib-frame { position: relative; width: 100%; }
.calib-chart { width: 100%; }
.calib-chart:focus-visible { outline: 3px solid var(--st-primary-color); outline-offset: 2px; border-radius: 4px; }
.calib-chart:focus:not(:focus-visible), .calib-chart.calib-quiet:focus { outline: none; }
.calib-tint { position: absolute; pointer-events: none; box-sizing: border-box;
  background: color-mix(in srgb, var(--st-primary-color) 12%, transparent);
  border: 1px solid color-mix(in srgb, var(--st-primary-color) 45%, transparent); border-width: 0 1px; }
.calib-tint.calib-top { border-top: 3px solid var(--st-primary-color); }
.calib-tint.calib-across { border-width: 1px 0; }
.calib-strip { position: absolute; cursor: ew-resize; touch-action: none; border-radius: 4px; }
.calib-strip:hover { background: color-mix(in srgb, var(--st-primary-color) 10%, transparent); }
.calib-grip { position: absolute; width: 30px; height: 30px; border-radius: 50%; cursor: ew-resize; touch-action: none; }
.calib-grip[hidden], .calib-bubble[hidden] { display: none; }
.calib-grip.calib-upright { cursor: ns-resize; }
.calib-grip:hover, .calib-grip:active { background: color-mix(in srgb, var(--st-primary-color) 18%, transparent); }
.calib-bubble { position: absolute; padding: 2px 8px; border-radius: 4px; pointer-events: none; white-space: nowrap;
  background: var(--st-background-color); border: 1px solid var(--st-primary-color); color: var(--st-text-color); }
.calib-chart :is(.annotation-text, .bartext) { paint-order: stroke; stroke: var(--st-background-color); stroke-width: 4px;
  stroke-linejoin: round; }
.calib-looked { filter: drop-shadow(0 0 1px var(--st-text-color)) drop-shadow(0 0 1.5px var(--st-text-color)); }
.calib-words { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%);
  white-space: nowrap; }
.calib-slider { display: flex; flex-wrap: wrap; gap: 0 12px; align-items: flex-start; padding: 8px 0;
  font: inherit; font-size: 0.95rem; line-height: 24px; color: var(--st-text-color); }
.calib-slider label { font-weight: 600; line-height: inherit; }
.calib-slider output { min-width: 15.5em; font-variant-numeric: tabular-nums; }
.calib-track { flex: 1 1 15em; position: relative; height: 48px; } /* wide enough for the names below it */
.calib-track input { display: block; width: 100%; height: 24px; margin: 0; accent-color: var(--st-primary-color); cursor: pointer; }
.calib-track input:focus-visible { outline: 3px solid var(--st-primary-color); outline-offset: 2px; border-radius: 4px; }
.calib-track button { position: absolute; top: 24px; transform: translateX(-50%); padding: 0 4px; min-height: 24px;
  border: 0; background: none; font: inherit; font-size: 0.85rem; color: inherit; white-space: nowrap;
  text-decoration: underline dotted; cursor: pointer; }
.calib-track button:focus-visible { outline: 3px solid var(--st-primary-color); border-radius: 4px; }
`;

export function wearStyle() {
  if (document.getElementById("calib-chart-style")) return;
  const style = element("style", "", { id: "calib-chart-style" });
  style.textContent = STYLE;
  document.head.append(style);
}
