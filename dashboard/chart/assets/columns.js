// The columns a figure declares in layout.meta: where they lie on screen, which one is under the pointer, and which
// comes next under the arrow keys.

import { axisOf } from "./records.js";

/** What a figure says of itself; nothing where its meta is a text or a list. */
export function metaOf(node) {
  const meta = node.layout?.meta;
  return meta && typeof meta === "object" && !Array.isArray(meta) ? meta : {};
}

export function columnsOf(node) {
  const columns = metaOf(node).columns;
  return Array.isArray(columns) ? columns.filter(({ axis }) => axis && axisOf(node, axis)) : [];
}

/** The ids of the axes that have columns, in order. */
export function columnAxes(node) {
  return [...new Set(columnsOf(node).map(({ axis }) => axis))];
}

/** The pixels of the chart that belong to an axis: through all the pictures that share it. */
function extent(node, id) {
  const plots = Object.values(node._fullLayout._plots ?? {}).filter(
    ({ xaxis, yaxis }) => xaxis && yaxis && (xaxis._id === id || yaxis._id === id),
  );
  const across = plots.map(({ xaxis, yaxis }) => (id[0] === "x" ? yaxis : xaxis));
  if (!across.length) return null;
  const start = Math.min(...across.map((axis) => axis._offset));
  const end = Math.max(...across.map((axis) => axis._offset + axis._length));
  return { start, end };
}

/** Where the stretch from low to high of an axis lies: left, top, width and height in pixels, or nothing. */
export function place(node, id, low, high) {
  const axis = axisOf(node, id);
  const span = axis && extent(node, id);
  if (!span) return null;
  const ends = [low, high].map((value) => Math.min(axis._length, Math.max(0, axis.l2p(value)))).sort((a, b) => a - b);
  if (!(ends[1] - ends[0] > 0.5)) return null;
  const along = { start: axis._offset + ends[0], size: ends[1] - ends[0] };
  return id[0] === "x"
    ? { left: along.start, width: along.size, top: span.start, height: span.end - span.start }
    : { left: span.start, width: span.end - span.start, top: along.start, height: along.size };
}

/** The column that holds a point of the chart; those of several models in one place are one. */
export function columnAt(node, x, y) {
  return together(
    columnsOf(node).filter(({ axis, low, high }) => {
      const box = place(node, axis, low, high);
      return box && x >= box.left && x < box.left + box.width && y >= box.top && y <= box.top + box.height;
    }),
  );
}

/** Columns as one: what all of their records say alike, and all of their words. */
function together(columns) {
  if (columns.length < 2) return columns[0];
  const alike = Object.entries(columns[0].record).filter(([name, value]) =>
    columns.every(({ record }) => record[name] === value),
  );
  const says = [...new Set(columns.map((column) => column.says).filter(Boolean))].join(". ");
  return { ...columns[0], record: Object.fromEntries(alike), says };
}

/** Columns in the order they are walked in, from left to right or from top to bottom; one of every place. */
export function walked(node, direction, focus = {}) {
  const all = columnsOf(node);
  const along = all.filter(({ axis }) => axis[0] === direction);
  const list = along.length ? along : all;
  const classes = [...new Set(list.map(({ record }) => record?.code))];
  if (classes.length > 1 && columnAxes(node).length > 1) return panelsWalked(list, classes, direction, focus);
  const first = list[0] && axisOf(node, list[0].axis);
  if (!first) return [];
  const places = new Map();
  for (const column of list) places.set(column.low, [...(places.get(column.low) ?? []), column]);
  return [...places.values()].map(together).sort((a, b) => first.l2p(a.low) - first.l2p(b.low));
}

/** A picture for every class: across, the columns of the class looked at; up and down, a column of every class. */
function panelsWalked(list, classes, direction, focus) {
  const of = (code) => list.filter(({ record }) => record.code === code);
  const here = of(classes.includes(focus.code) ? focus.code : classes[0]);
  if (direction === "x" && here.length > 1) return here;
  return classes.map((code) => of(code).find(({ record }) => record.bin === focus.bin) ?? of(code)[0]);
}

/** The strip of a horizontal axis that its labels stand in. */
export function labelStrip(node, id, height) {
  const axis = axisOf(node, id);
  if (!axis || id[0] !== "x") return null;
  const layout = node._fullLayout;
  const anchor = axis.anchor && axis.anchor !== "free" ? axisOf(node, axis.anchor) : null;
  const size = layout._size;
  const foot = size.t + size.h * (1 - (axis.position ?? 0));
  const below = axis.side !== "top";
  const line = !anchor ? foot : anchor._offset + (below ? anchor._length : 0);
  return { left: axis._offset, width: axis._length, top: below ? line + 1 : line - height - 1, height };
}

/** A stretch of pixels along a horizontal axis as what is sent: its ends, cut to the columns or snapped to them. */
export function rangeOf(node, id, from, to) {
  const axis = axisOf(node, id);
  const [low, high] = [axis.p2l(from), axis.p2l(to)].sort((a, b) => a - b);
  const columns = columnsOf(node).filter((column) => column.axis === id);
  if (metaOf(node).range === "columns") {
    const within = columns.filter((column) => column.high > low && column.low < high);
    if (!within.length) return null;
    return {
      low: Math.min(...within.map((column) => column.from ?? column.low)),
      high: Math.max(...within.map((column) => column.to ?? column.high)),
    };
  }
  const ends = columns.length
    ? [Math.max(low, Math.min(...columns.map((c) => c.low))), Math.min(high, Math.max(...columns.map((c) => c.high)))]
    : [low, high];
  return ends[0] < ends[1] ? { low: +ends[0].toPrecision(4), high: +ends[1].toPrecision(4) } : null;
}
