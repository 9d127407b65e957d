// Keys of a presentation: Escape leaves it, the arrows step through the calibrators. A slider keeps its arrow keys.

const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
const visible = (query) => [...document.querySelectorAll(query)].filter((node) => node.offsetParent !== null);

export default function () {
  const pressed = (event) => {
    if (document.querySelector("[data-testid=stPopoverBody]")) return; // Escape closes it, arrows are its own
    if (event.key === "Escape") {
      visible(".st-key-present-exit button, .st-key-frame-present button")[0]?.click();
    } else if (event.key in STEPS && !event.target.closest?.("input, textarea, select, [role=combobox]")) {
      const chips = visible(".st-key-presented-models [data-variant=pills]");
      if (!chips.length) return;
      const on = chips.findIndex((chip) => chip.hasAttribute("data-selected"));
      const next = on < 0 ? 0 : (on + STEPS[event.key] + chips.length) % chips.length;
      if (next !== on) chips[next].click();
    } else {
      return;
    }
    event.preventDefault();
    event.stopImmediatePropagation(); // a chart would take them as its own
  };
  window.addEventListener("keydown", pressed, true);
  return () => window.removeEventListener("keydown", pressed, true);
}
