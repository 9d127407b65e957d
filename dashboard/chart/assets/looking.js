// What is looked at: shown by tints over columns and halos around marks, chosen with the pointer or the keys.

import { columnAt, columnAxes, columnsOf, labelStrip, metaOf, place, rangeOf, walked } from "./columns.js";
import { PLACES, agrees, drawnTraces, isIt, marksOf } from "./records.js";
import { element } from "./page.js";

const STILL = 4; // pixels the pointer may move between down and up
const STRIP = 32; // pixels of height where a range is dragged
const LAST_KEY = 150; // milliseconds after which the last of several arrow keys counts
const MOST_HALOS = 400;

export class Looking {
  constructor(frame, node, send) {
    Object.assign(this, { frame, node, send, focus: {}, tints: [], strips: [], walking: null });
    this.words = element("div", "calib-words", { "aria-live": "polite" });
    frame.append(this.words);
    node.addEventListener("pointerdown", (event) => this.down(event), true);
    node.addEventListener("keydown", (event) => this.key(event));
    for (const name of ["keydown", "blur"]) node.addEventListener(name, () => node.classList.remove("calib-quiet"));
    this.anywhere = (event) => this.escape(event);
    window.addEventListener("keydown", this.anywhere);
  }

  release() {
    window.removeEventListener("keydown", this.anywhere);
    clearTimeout(this.walking);
  }

  /** The focus that the page knows; it replaces what was chosen here in the meantime. */
  show(focus) {
    this.focus = focus ?? {};
    if (this.node._fullLayout) this.draw();
  }

  get looks() {
    return PLACES.some((name) => this.focus[name] != null);
  }

  /** After every drawing: zoom and size may have changed. */
  draw() {
    const columns = columnsOf(this.node);
    this.node.setAttribute("role", columns.length ? "group" : "figure");
    if (columns.length) {
      this.node.setAttribute("tabindex", "0");
      this.node.setAttribute("aria-roledescription", "chart");
      this.node.setAttribute("aria-keyshortcuts", "ArrowLeft ArrowRight Home End Escape");
    } else {
      for (const name of ["tabindex", "aria-roledescription", "aria-keyshortcuts"]) this.node.removeAttribute(name);
    }
    this.tint(columns);
    this.halos(columns);
    this.placeStrips();
  }

  tint(columns) {
    const boxes = this.picked(columns).map(({ axis, low, high }) => ({ axis, box: place(this.node, axis, low, high) }));
    const { between } = this.focus;
    if (between) {
      const ends = this.inAxis(between, columns);
      for (const axis of columnAxes(this.node).filter((id) => id[0] === "x")) {
        boxes.push({ axis, box: place(this.node, axis, ...ends) });
      }
    }
    this.tinted = boxes.length > 0;
    // Models in one picture have a column each, in the same place.
    const shown = [...new Map(boxes.map(({ axis, box }) => [box && `${axis} ${box.left} ${box.top}`, { axis, box }])).values()]
      .filter(({ box }) => box);
    while (this.tints.length > shown.length) this.tints.pop().remove();
    while (this.tints.length < shown.length) {
      this.tints.push(element("div", "calib-tint", { "aria-hidden": "true" }));
      this.frame.append(this.tints.at(-1));
    }
    shown.forEach(({ axis, box }, i) => {
      this.tints[i].className = axis[0] === "x" ? "calib-tint calib-top" : "calib-tint calib-across";
      lay(this.tints[i], box);
    });
  }

  /** The columns looked at; where that is a class and no bin of it, its whole picture. */
  picked(columns) {
    if (metaOf(this.node).exact) return this.focus.between ? [] : columns.filter(({ record }) => isIt(record, this.focus));
    const found = columns.filter(({ record }) => agrees(record, this.focus));
    if (this.focus.bin != null || this.focus.code == null) return found;
    return [...new Set(found.map(({ axis }) => axis))].map((axis) => {
      const mine = found.filter((column) => column.axis === axis);
      return { axis, low: Math.min(...mine.map(({ low }) => low)), high: Math.max(...mine.map(({ high }) => high)) };
    });
  }

  /** A range of confidence in the axis' own numbers: where columns say what they stand for, through them. */
  inAxis([low, high], columns) {
    if (metaOf(this.node).range !== "columns") return [low, high];
    const within = columns.filter((column) => (column.to ?? column.high) > low && (column.from ?? column.low) < high);
    return [Math.min(...within.map((column) => column.low)), Math.max(...within.map((column) => column.high))];
  }

  halos(columns) {
    for (const path of this.node.querySelectorAll(".calib-looked")) path.classList.remove("calib-looked");
    if (!this.looks || (columns.length && this.tinted) || metaOf(this.node).exact) return;
    const found = [...drawnTraces(this.node)].flatMap((drawn) =>
      drawn.trace.customdata ? marksOf(drawn).filter(({ record }) => agrees(record, this.focus)) : [],
    );
    for (const { path } of found.slice(0, MOST_HALOS)) path.classList.add("calib-looked");
  }

  // ---- the pointer

  /** A click anywhere in a picture means the column it is in. */
  down(event) {
    if (event.button !== 0 || !event.target.closest?.(".nsewdrag")) return;
    const start = { x: event.clientX, y: event.clientY };
    this.clicked = null;
    window.addEventListener(
      "pointerup",
      (up) => {
        if (Math.hypot(up.clientX - start.x, up.clientY - start.y) >= STILL) return;
        // Plotly tells of a mark under the pointer with the mouseup that follows.
        setTimeout(() => this.choose(up.clientX, up.clientY), 0);
      },
      { once: true },
    );
  }

  /** Plotly has found a mark under the pointer; without columns that is the click. */
  mark(point) {
    this.clicked = point;
    if (!columnsOf(this.node).length) this.choose();
  }

  choose(x, y) {
    const point = this.clicked;
    this.clicked = null;
    const box = this.node.getBoundingClientRect();
    const column = x === undefined ? undefined : columnAt(this.node, x - box.left, y - box.top);
    if (!column) return point && this.send(point);
    this.node.classList.add("calib-quiet"); // who uses the pointer sees where it is: no ring
    this.node.focus({ preventScroll: true });
    const record = point?.customdata;
    this.look(column);
    if (agrees(column.record, record)) return this.send(point);
    // A mark reaches further than its own column: the place decides on the column, the mark on the model.
    this.send({ record: { ...column.record, ...(record?.model == null ? {} : { model: record.model }) } });
  }

  /** Show a column at once; the page's answer confirms it, or not. */
  look(column) {
    this.focus = { ...this.focus, between: null, ...column.record };
    this.draw();
    if (column.says) this.words.textContent = column.says;
  }

  // ---- ranges

  placeStrips() {
    const ids = metaOf(this.node).range ? columnAxes(this.node).filter((id) => id[0] === "x") : [];
    while (this.strips.length > ids.length) this.strips.pop().remove();
    while (this.strips.length < ids.length) this.strips.push(this.strip());
    ids.forEach((id, i) => {
      this.strips[i].dataset.axis = id;
      lay(this.strips[i], labelStrip(this.node, id, STRIP));
    });
  }

  strip() {
    const strip = element("div", "calib-strip", { title: "Drag to look at a range", "aria-hidden": "true" });
    strip.addEventListener("pointerdown", (event) => this.drag(event, strip));
    this.frame.append(strip);
    return strip;
  }

  drag(event, strip) {
    if (event.button !== 0) return;
    event.preventDefault();
    strip.setPointerCapture(event.pointerId);
    const id = strip.dataset.axis;
    const left = strip.getBoundingClientRect().left;
    const start = event.clientX - left;
    const range = (at) => rangeOf(this.node, id, start, at.clientX - left);
    const move = (at) => {
      const found = Math.abs(at.clientX - left - start) >= STILL ? range(at) : null;
      if (found) this.show({ between: [found.low, found.high] });
    };
    const before = this.focus;
    const done = (at) => {
      strip.removeEventListener("pointermove", move);
      strip.removeEventListener("pointerup", done);
      strip.removeEventListener("pointercancel", done);
      const wide = Math.abs(at.clientX - left - start) >= STILL;
      const found = wide && at.type === "pointerup" ? range(at) : null;
      if (found) return this.send({ record: found });
      this.show(before);
      const box = this.node.getBoundingClientRect();
      const above = strip.getBoundingClientRect().top - box.top - 4;
      const column = wide ? undefined : columnAt(this.node, at.clientX - box.left, above);
      if (!column) return;
      this.look(column);
      this.send({ record: column.record });
    };
    strip.addEventListener("pointermove", move);
    strip.addEventListener("pointerup", done);
    strip.addEventListener("pointercancel", done);
  }

  // ---- keys

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== this.node) return;
    if (event.key === "Escape") return this.escape(event);
    const direction = { ArrowUp: "y", ArrowDown: "y" }[event.key] ?? "x";
    const columns = walked(this.node, direction, this.focus);
    const about = metaOf(this.node).exact ? isIt : agrees;
    const looked = columns.findIndex(({ record }) => about(record, this.focus));
    const here = looked < 0 ? columns.findIndex((column) => column.here) : looked;
    const next = {
      ArrowRight: here + 1,
      ArrowDown: here + 1,
      ArrowLeft: here < 0 ? columns.length - 1 : here - 1,
      ArrowUp: here < 0 ? columns.length - 1 : here - 1,
      Home: 0,
      End: columns.length - 1,
    }[event.key];
    if (next === undefined || !columns.length) return;
    event.preventDefault();
    event.stopPropagation();
    const column = columns[Math.min(columns.length - 1, Math.max(0, next))];
    if (columns[here]?.here) {
      columns[here].here = false; // until the new figure says it, so that several keys walk on
      column.here = true;
    }
    this.look(column);
    clearTimeout(this.walking);
    this.walking = setTimeout(() => this.send({ record: column.record }), LAST_KEY);
  }

  /** Escape looks at nothing: on the chart, and also where nothing else on the page has the keys. */
  escape(event) {
    const free = event.currentTarget === this.node || document.activeElement === document.body;
    if (event.key !== "Escape" || event.defaultPrevented || !free || !this.looks) return;
    event.preventDefault();
    event.stopPropagation();
    clearTimeout(this.walking);
    this.words.textContent = "";
    this.show({});
    this.send({ record: { clear: true } });
  }
}

function lay(part, box) {
  for (const [name, value] of Object.entries(box)) part.style[name] = `${value}px`;
}
