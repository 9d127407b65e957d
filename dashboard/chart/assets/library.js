// plotly.js: the small bundle shipped beside this file, and the whole one of the plotly package for the rare figure
// that needs it. `calib dashboard` serves the small one where browsers may keep it, and says so in CALIB_PLOTLY.

const SMALL = globalThis.CALIB_PLOTLY ?? new URL("./plotly-basic.min.js", import.meta.url).href;
const WHOLE = new URL("../calib.plotly/plotly.min.js", import.meta.url).href;
const IN_SMALL = new Set(["scatter", "bar", "pie"]);
/** The way numbers are written: see spaced_percent in calib_core/figures/look.py. */
export const LOCALE = "calib";
const loading = new Map();

/** The library that can draw these traces. */
export function library(traces) {
  return load(traces.every((trace) => IN_SMALL.has(trace.type ?? "scatter")) ? SMALL : WHOLE);
}

function load(address) {
  if (!loading.has(address)) loading.set(address, fetched(address));
  return loading.get(address);
}

function fetched(address) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = address;
    script.onload = () => {
      const library = window.Plotly; // at once after this script, before any other can run
      library.register({ moduleType: "locale", name: LOCALE, dictionary: {}, format: { currency: ["", "\u00a0%"] } });
      resolve(library);
    };
    script.onerror = () => {
      loading.delete(address);
      script.remove();
      reject(new Error("plotly.js could not be loaded"));
    };
    document.head.append(script);
  });
}

load(SMALL).catch(() => {}); // start early; a failure is reported by the first chart that needs it
