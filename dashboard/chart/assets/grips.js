// Marks that can be dragged. A trace says how in meta.grab: along an axis, or from column to column that says where
// its mark is. Over each mark lies a grip; while it is dragged the drawn mark follows, and the line through it; let go,
// the mark's record is sent with its new value, or the column's own. Keys and the page's sliders say the same.

import { columnsOf } from "./columns.js";
import { axisOf, drawnTraces, marksOf } from "./records.js";
import { element } from "./page.js";

const SIZE = 30; // pixels of a grip
const STILL = 3; // pixels the pointer may move in a click

export class Grips {
  constructor(frame, node, send) {
    Object.assign(this, { frame, node, send, grips: [], dragged: null });
    this.bubble = element("div", "calib-bubble", { "aria-hidden": "true", hidden: "" });
    frame.append(this.bubble);
  }

  /** After every drawing: zoom, size and marks may have changed. */
  draw(plotly) {
    this.plotly = plotly;
    const found = this.marks();
    while (this.grips.length > found.length) this.grips.pop().remove();
    while (this.grips.length < found.length) this.grips.push(this.grip(this.grips.length));
    found.forEach((mark, i) => {
      this.grips[i].classList.toggle("calib-upright", mark.grab.along === "y");
      this.lay(i, mark.x, mark.y, mark);
    });
  }

  /** All marks that can be dragged, as they are drawn now. */
  marks() {
    return [...drawnTraces(this.node)].flatMap((drawn) => {
      const { trace } = drawn;
      const axes = { x: axisOf(this.node, trace.xaxis), y: axisOf(this.node, trace.yaxis) };
      if (!trace.meta?.grab) return [];
      return marksOf(drawn).map(({ path, record, index }) => {
        const [x, y] = [axes.x.d2p(trace.x[index]), axes.y.d2p(trace.y[index])];
        return { drawn, grab: trace.meta.grab, axes, path, record, index, x, y };
      });
    });
  }

  lay(i, x, y, { axes }) {
    const inside = (axis, pixel) => pixel > -1 && pixel < axis._length + 1;
    const place = { left: `${axes.x._offset + x - SIZE / 2}px`, top: `${axes.y._offset + y - SIZE / 2}px` };
    Object.assign(this.grips[i].style, place);
    this.grips[i].hidden = !(inside(axes.x, x) && inside(axes.y, y));
  }

  grip(i) {
    const grip = element("div", "calib-grip", { "aria-hidden": "true" });
    const point = ({ drawn, index }) => [{ curveNumber: drawn.trace.index, pointNumber: index }];
    grip.addEventListener("pointerenter", () => {
      const mark = this.marks()[i];
      if (mark && !this.dragged) this.plotly.Fx.hover(this.node, point(mark), mark.drawn.trace.xaxis + mark.drawn.trace.yaxis);
    });
    grip.addEventListener("pointerleave", () => this.plotly.Fx.unhover(this.node));
    grip.addEventListener("pointerdown", (event) => this.drag(event, grip, i));
    this.frame.append(grip);
    return grip;
  }

  drag(event, grip, i) {
    if (event.button !== 0) return;
    event.preventDefault();
    grip.setPointerCapture(event.pointerId);
    this.plotly.Fx.unhover(this.node);
    this.dragged = null;
    // Marks are looked up anew each time: a new figure may arrive meanwhile.
    const move = (at) => {
      const mark = this.marks()[i];
      const gone = Math.hypot(at.clientX - event.clientX, at.clientY - event.clientY) >= STILL;
      if (!mark || (!gone && !this.dragged)) return;
      this.dragged = this.goal(mark, at);
      if (this.dragged) this.put(i, mark, this.dragged);
    };
    const cancel = (key) => key.key === "Escape" && done({ type: "cancelled" });
    const done = (at) => {
      for (const [name, heard] of [["pointermove", move], ["pointerup", done], ["pointercancel", done]]) {
        grip.removeEventListener(name, heard);
      }
      window.removeEventListener("keydown", cancel, true);
      this.bubble.hidden = true;
      const goal = this.dragged;
      const mark = this.marks()[i];
      this.dragged = null;
      if (!goal || !mark) return;
      if (at.type === "pointerup" && !goal.same) return this.send({ record: goal.record });
      this.put(i, mark, mark);
      this.bubble.hidden = true;
    };
    grip.addEventListener("pointermove", move);
    grip.addEventListener("pointerup", done);
    grip.addEventListener("pointercancel", done);
    window.addEventListener("keydown", cancel, true);
  }

  /** Where a mark goes that is dragged to the pointer: its pixels, what that says, and what is sent. */
  goal(mark, at) {
    const { axes, grab, record } = mark;
    const box = this.node.getBoundingClientRect();
    if (grab.along === "y") {
      const dragged = axes.y.p2d(at.clientY - box.top - axes.y._offset);
      const steps = Math.round(Math.min(grab.high, Math.max(grab.low, dragged)) / grab.step);
      const value = +(steps * grab.step).toPrecision(12);
      const says = `${+(100 * value).toFixed(4)} %`;
      return { x: mark.x, y: axes.y.d2p(value), says, record: { ...record, [grab.name]: value }, same: value === record[grab.name] };
    }
    const x = axes.x.p2l(Math.min(axes.x._length, Math.max(0, at.clientX - box.left - axes.x._offset)));
    const column = columnsOf(this.node).find(({ low, high, place }) => place && x >= low && x <= high);
    if (!column) return this.dragged;
    const [across, up] = column.place;
    return { x: axes.x.d2p(across), y: axes.y.d2p(up), says: column.says, record: column.record, same: column.here };
  }

  /** Draw a mark where it is dragged to, the line through it, its grip, and what its place says. */
  put(i, mark, { x, y, says }) {
    mark.path.setAttribute("transform", `translate(${x},${y})`);
    const line = mark.drawn.group.querySelector("path.js-line");
    const others = this.marks().filter(({ drawn }) => drawn.trace.uid === mark.drawn.trace.uid);
    const places = others.map((other) => (other.index === mark.index ? `${x},${y}` : `${other.x},${other.y}`));
    if (line) line.setAttribute("d", `M${places.join("L")}`);
    this.lay(i, x, y, mark);
    this.bubble.hidden = !says;
    this.bubble.textContent = says ?? "";
    const left = mark.axes.x._offset + x;
    const ends = left > this.node.clientWidth / 2 ? { left: "auto", right: `${this.node.clientWidth - left + 16}px` } : { left: `${left + 16}px`, right: "auto" };
    Object.assign(this.bubble.style, ends, { top: `${mark.axes.y._offset + y - 30}px` });
  }
}
