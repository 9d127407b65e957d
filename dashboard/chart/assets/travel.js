// Marks travel from where they stood to where they stand now. Plotly draws the new figure at once; then the SVG
// attributes it has written are set to what lies between the old place and the new one, frame by frame. Places are
// remembered in data coordinates, so that other ranges and sizes do no harm.

import { axisOf, drawnTraces, marksOf, recordAt, keyOf } from "./records.js";
import { mayMove } from "./page.js";

const MILLISECONDS = 500;
const COMMAND = /([a-zA-Z])([^a-zA-Z]*)/g;
const NUMBER = /-?\d*\.?\d+(?:e-?\d+)?/gi;
const STRAIGHT = { M: "xy", L: "xy", H: "x", V: "y", C: "xyxyxy", Q: "xyxy", S: "xyxy", Z: "" };

export class Travel {
  constructor(node) {
    this.node = node;
    this.before = null;
    this.moves = [];
    this.ghosts = [];
  }

  /** Just before a figure is replaced: remember where everything stands, also in the middle of a travel. */
  leave() {
    this.before = this.node._fullLayout && mayMove() ? this.positions() : null;
    this.finish();
  }

  /** Just after: set off. */
  arrive() {
    const before = this.before;
    this.before = null;
    if (!before || before.uirevision !== this.node._fullLayout.uirevision) return;
    const now = this.positions();
    this.moves = [...now.traces.values()].flatMap((trace) => between(origin(trace, before), trace));
    for (const trace of before.traces.values()) {
      if (!now.traces.has(trace.uid)) this.moves.push(...this.farewell(trace, origin(trace, now)));
    }
    if (!this.moves.length) return this.finish();
    const start = performance.now();
    const step = (time) => {
      const t = Math.min(1, Math.max(0, (time - start) / MILLISECONDS));
      if (t === 1) return this.finish();
      const eased = t < 0.5 ? 4 * t ** 3 : 1 - (2 - 2 * t) ** 3 / 2;
      for (const move of this.moves) move(eased);
      this.frame = requestAnimationFrame(step);
    };
    for (const move of this.moves) move(0);
    this.node.dataset.calibTravel = "on";
    this.frame = requestAnimationFrame(step);
  }

  /** Let everything stand at its end. */
  finish() {
    for (const move of this.moves) move(1);
    this.stop();
  }

  /** Leave everything as it is: Plotly is drawing it anew. */
  stop() {
    cancelAnimationFrame(this.frame);
    for (const ghost of this.ghosts) ghost.remove();
    this.moves = [];
    this.ghosts = [];
    delete this.node.dataset.calibTravel;
  }

  positions() {
    const traces = new Map();
    for (const drawn of drawnTraces(this.node)) traces.set(drawn.trace.uid, this.placed(drawn));
    return { traces, uirevision: this.node._fullLayout.uirevision };
  }

  /** A trace with the shapes it is drawn as, in data coordinates. */
  placed(drawn) {
    const { trace, group } = drawn;
    const axes = { x: axisOf(this.node, trace.xaxis), y: axisOf(this.node, trace.yaxis) };
    const marks = marksOf(drawn);
    const attribute = trace.type === "bar" ? "d" : "transform";
    const shapes = marks.map(({ path, key }) => shape(path, attribute, `mark ${key}`, axes));
    const lines = [...group.querySelectorAll("path.js-line")];
    const pieces = this.pieces(trace);
    lines.forEach((line, i) => {
      const piece = pieces.length === lines.length ? pieces[i] : null;
      const on = ({ index }) => index >= piece.first && index < piece.first + piece.length;
      const follows = piece && trace.mode.includes("markers") ? shapes.filter((_, m) => m < marks.length && on(marks[m])) : null;
      shapes.push({ ...shape(line, "d", `line ${piece?.key ?? `#${i}`}`, axes), follows });
    });
    const layer = this.node._fullLayout._plots?.[trace.xaxis + trace.yaxis]?.plot?.node();
    return {
      uid: trace.uid,
      from: trace.meta?.from,
      kind: kindOf(trace),
      group,
      layer: trace.xaxis + trace.yaxis,
      layerNode: layer,
      axes,
      shapes: shapes.filter((each) => each.numbers),
    };
  }

  /** The pieces of a line with gaps, each known by the record of its first point, and the points it goes through: one point, too. */
  pieces(trace) {
    const points = this.node.calcdata?.find((each) => each[0]?.trace === trace) ?? [];
    const found = [];
    let open = null;
    points.forEach((point, index) => {
      if (point.x === undefined || point.y === undefined) return void (open = null);
      if (open) return void (open.length += 1);
      open = { key: keyOf(recordAt(trace, index), `at${found.length}`), first: index, length: 1 };
      found.push(open);
    });
    return found;
  }

  /** A trace that has gone: a copy of it goes back to where `goal` stands, and fades. */
  farewell(trace, goal) {
    const plot = this.node._fullLayout._plots?.[trace.layer]?.plot?.node();
    if (!plot || !trace.shapes.length) return [];
    const ghost = trace.group.cloneNode(true);
    const copies = [ghost, ...ghost.querySelectorAll("*")];
    const originals = [trace.group, ...trace.group.querySelectorAll("*")];
    const copy = new Map(originals.map((original, i) => [original, copies[i]]));
    // Plotly finds its groups by their classes; this one is ours.
    for (const each of copies) each.removeAttribute("class");
    ghost.setAttribute("class", "calib-own");
    ghost.style.pointerEvents = "none";
    plot.append(ghost);
    this.ghosts.push(ghost);
    const ends = new Map((goal?.shapes ?? []).map((each) => [each.key, each]));
    const axes = goal?.axes ?? this.axes(trace.layer) ?? trace.axes;
    const moves = trace.shapes.flatMap((each) => {
      const end = ends.get(each.key);
      const there = end && end.letters === each.letters ? end.numbers : each.numbers;
      return mover({ ...each, path: copy.get(each.path), axes }, each.numbers, there);
    });
    return [...moves, (t) => (ghost.style.opacity = String(1 - t))];
  }

  axes(layer) {
    const plot = this.node._fullLayout._plots?.[layer];
    return plot && { x: plot.xaxis, y: plot.yaxis };
  }
}

/** Where a trace comes from: itself, the one it names, or the first of its kind. */
function origin(trace, before) {
  const named = before.traces.get(trace.uid) ?? before.traces.get(trace.from);
  if (named || !trace.kind) return named;
  return [...before.traces.values()].find((each) => each.kind === trace.kind);
}

/** Traces alike but for the model: stars, stems or bars of one or another. */
function kindOf(trace) {
  if (!recordAt(trace, 0)?.model) return null;
  const part = trace.name?.includes(": ") ? trace.name.slice(trace.name.lastIndexOf(": ")) : "";
  return `${trace.type} ${trace.mode ?? ""} ${part}`;
}

/** One drawn attribute, taken apart: its letters, and its numbers in data coordinates. */
function shape(path, attribute, key, axes) {
  const written = path.getAttribute(attribute) ?? "";
  const parsed = attribute === "transform" ? ofTransform(written) : ofPath(written);
  if (!parsed) return { path, attribute, key, numbers: null };
  const { letters, along, pixels } = parsed;
  const numbers = pixels.map((pixel, i) => axes[along[i]].p2l(pixel));
  return { path, attribute, key, axes, letters, along, numbers, end: written };
}

function ofTransform(written) {
  const found = /^translate\(([^,)]+)[ ,]([^)]+)\)$/.exec(written.trim());
  return found && { letters: "T", along: "xy", pixels: [Number(found[1]), Number(found[2])] };
}

function ofPath(written) {
  let letters = "";
  let along = "";
  const pixels = [];
  for (const [, letter, rest] of written.matchAll(COMMAND)) {
    const each = STRAIGHT[letter.toUpperCase()];
    if (each === undefined || (letter !== letter.toUpperCase() && each)) return null;
    const numbers = (rest.match(NUMBER) ?? []).map(Number);
    const times = each ? numbers.length / each.length : 1;
    if (!Number.isInteger(times)) return null;
    letters += letter.toUpperCase().repeat(times);
    along += each.repeat(times);
    pixels.push(...numbers);
  }
  return pixels.length ? { letters, along, pixels } : null;
}

function written(shape, pixels) {
  if (shape.attribute === "transform") return `translate(${pixels[0]},${pixels[1]})`;
  let next = 0;
  return [...shape.letters].map((letter) => letter + STRAIGHT[letter].replace(/./g, () => `${pixels[next++]},`).slice(0, -1)).join("");
}

function between(start, goal) {
  if (!start) return [];
  const starts = new Map(start.shapes.map((each) => [each.key, each]));
  // A line through marks goes wherever they go, however many there were before.
  const marks = goal.shapes.filter((each) => each.key.startsWith("mark "));
  const path = new Map();
  const moves = marks.flatMap((each) => {
    const from = starts.get(each.key);
    const usable = from && from.letters === each.letters;
    const here = usable ? from.numbers : each.numbers;
    path.set(each, [here, each.numbers]);
    return mover(each, here, each.numbers);
  });
  const lines = goal.shapes.filter((each) => each.key.startsWith("line "));
  return [...moves, ...lines.flatMap((line) => lineMove(line, starts.get(line.key), path))];
}

function lineMove(line, from, path) {
  const marks = line.follows;
  if (marks && marks.length * 2 === line.numbers.length && marks.every((mark) => path.has(mark))) {
    const ends = marks.map((mark) => path.get(mark));
    return mover(line, ends.flatMap(([here]) => here), ends.flatMap(([, there]) => there));
  }
  return from && from.letters === line.letters ? mover(line, from.numbers, line.numbers) : [];
}

/** The step that sets one attribute, as a list of none or one. */
function mover(shape, here, there) {
  const place = (values) => values.map((value, i) => shape.axes[shape.along[i]].l2p(value));
  const first = place(here);
  const last = place(there);
  if (![...first, ...last].every(Number.isFinite) || first.every((pixel, i) => Math.abs(pixel - last[i]) < 0.05)) return [];
  return [
    (t) => {
      const value = t === 1 ? shape.end : written(shape, first.map((pixel, i) => +(pixel + (last[i] - pixel) * t).toFixed(2)));
      shape.path.setAttribute(shape.attribute, value);
    },
  ];
}
