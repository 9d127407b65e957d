// The temperature slider: a table of sums for some sixty temperatures moves one model's stars in the browser. While
// the slider moves, own SVG marks are drawn; when it rests, Plotly is told once, so that hover, zoom and export agree.

import { axisOf, drawnTraces, recordAt } from "./records.js";
import { element, pageStyle } from "./page.js";

const SVG = "http://www.w3.org/2000/svg";
const LAST_KEY = 150; // milliseconds after which the last of several arrow keys counts
const STEP = 0.01; // of the slider, in powers of two
const CLOSE = 0.4; // of the track: the names of two temperatures would overlap

export class Slider {
  constructor(frame, node, send) {
    Object.assign(this, { frame, node, send, live: null, box: null, overlay: null, writing: false, resting: null });
  }

  /** What the page sends of a slider, or nothing; a temperature chosen here stays until the page knows another. */
  show(live) {
    if (!live) {
      clearTimeout(this.resting);
      if (this.live) this.temperature = this.live.value; // what it had hidden is seen again
      this.box?.remove();
      this.leave();
      this.live = this.box = null;
      return;
    }
    const same = this.live && JSON.stringify(live) === this.sent;
    if (same) return;
    const before = this.live;
    this.sent = JSON.stringify(live);
    this.live = { ...live, ...tables(live) };
    if (!before || before.value !== live.value) this.temperature = live.value;
    this.build();
  }

  /** The controls, built once, so that whoever is at them with the keys stays there. */
  build() {
    if (!this.box) this.mount();
    const { low, high, marks } = this.live;
    const [min, max] = [Math.log2(low), Math.log2(high)];
    for (const [name, value] of Object.entries({ min, max, step: STEP })) this.input.setAttribute(name, value);
    for (const mark of this.track.querySelectorAll("button")) mark.remove();
    const part = (value) => (Math.log2(value) - min) / (max - min);
    const ordered = [...marks].sort((a, b) => a.value - b.value);
    ordered.forEach(({ value, label }, i) => {
      const mark = element("button", "", { type: "button", "aria-label": `${label}: temperature ${plain(value)}` });
      mark.textContent = label;
      mark.style.left = `calc(8px + ${part(value)} * (100% - 16px))`; // the thumb is 16 px wide
      // Names of two temperatures close together go apart.
      if (ordered[i + 1] && part(ordered[i + 1].value) - part(value) < CLOSE) mark.style.transform = "translateX(-100%)";
      else if (i && part(value) - part(ordered[i - 1].value) < CLOSE) mark.style.transform = "none";
      mark.addEventListener("click", () => this.set(value, true));
      this.track.append(mark);
    });
    this.input.value = Math.log2(this.temperature);
    this.tell();
  }

  mount() {
    const id = `calib-slider-${this.node.dataset.calibChart}`;
    const label = element("label", "", { for: id });
    label.textContent = "Temperature";
    this.input = element("input", "", { id, type: "range" });
    this.input.addEventListener("input", () => this.set(2 ** Number(this.input.value), false));
    this.input.addEventListener("change", () => this.rest());
    this.output = element("output", "", { for: id });
    this.track = element("div", "calib-track");
    this.track.append(this.input);
    this.box = element("div", "calib-slider");
    this.box.append(label, this.track, this.output);
    this.frame.append(this.box);
  }

  set(temperature, done) {
    this.temperature = temperature;
    if (done) this.input.value = Math.log2(temperature);
    this.tell();
    this.waiting ??= requestAnimationFrame(() => {
      this.waiting = null;
      this.draw();
    });
    if (done) this.rest();
  }

  rest() {
    clearTimeout(this.resting);
    this.resting = setTimeout(() => {
      this.write();
      this.send({ record: { temperature: +this.temperature.toPrecision(6) } });
    }, LAST_KEY);
  }

  tell() {
    const { rows, sums, right } = this.at();
    let [said, good, n] = [0, 0, 0];
    for (let b = 0; b < rows.length; b += 1) {
      said += sums[b];
      good += right[b];
      n += rows[b];
    }
    const [says, is] = [said, good].map((sum) => ((100 * sum) / n).toFixed(1));
    const [claimed, observed] = this.live.words;
    this.output.textContent = `T = ${plain(this.temperature)} · ${claimed} ${says} %, ${observed} ${is} %`;
    const spoken = `${plain(this.temperature)}, ${claimed} ${says} percent, ${observed} ${is} percent`;
    this.input.setAttribute("aria-valuetext", spoken);
  }

  /** The three sums of every bin at the present temperature, between the two temperatures next to it. */
  at() {
    const { temperatures, bins } = this.live;
    const next = temperatures.findIndex((each) => each >= this.temperature - 1e-9);
    const j = next < 0 ? temperatures.length - 1 : next;
    const i = Math.abs(temperatures[j] - this.temperature) < 1e-9 ? j : Math.max(0, j - 1);
    const span = Math.log(temperatures[j] / temperatures[i]);
    const part = span > 0 ? Math.log(this.temperature / temperatures[i]) / span : 0;
    const mixed = (table) =>
      Float64Array.from({ length: bins }, (_, b) => table[i * bins + b] * (1 - part) + table[j * bins + b] * part);
    return { rows: mixed(this.live.rows), sums: mixed(this.live.sums), right: mixed(this.live.right) };
  }

  /** The stars as they stand at the present temperature: a mark for every bin that has rows. */
  stars() {
    const { rows, sums, right } = this.at();
    const all = rows.reduce((sum, each) => sum + each, 0);
    return Array.from(rows, (count, bin) => ({
      bin,
      count,
      share: count / all,
      confidence: sums[bin] / count,
      accuracy: right[bin] / count,
      few: count < this.live.few,
    })).filter(({ count }) => count >= 0.5);
  }

  get atRest() {
    return Math.abs(this.temperature - this.live.value) < 1e-9;
  }

  // ---- while it moves

  draw() {
    this.overlay ??= this.prepared();
    if (!this.overlay) return;
    const { axes, symbols, line, bars } = this.overlay;
    const stars = this.stars();
    const places = new Map(stars.map((star) => [star.bin, star]));
    symbols.forEach((symbol, bin) => {
      const star = places.get(bin);
      symbol.style.display = star ? "" : "none";
      if (!star) return;
      const x = axes.x.c2p(star.confidence);
      const y = axes.y.c2p(star.accuracy);
      symbol.setAttribute("transform", `translate(${x.toFixed(2)},${y.toFixed(2)})`);
      symbol.style.fill = star.few ? "none" : this.overlay.colour;
    });
    const path = stars.map((star, i) => {
      const letter = i && joined(stars[i - 1], star) ? "L" : "M";
      return `${letter}${axes.x.c2p(star.confidence).toFixed(2)},${axes.y.c2p(star.accuracy).toFixed(2)}`;
    });
    line?.setAttribute("d", path.join(""));
    bars?.forEach(({ rect, axis, base, scale }, bin) => {
      const top = axis.c2p((places.get(bin)?.share ?? 0) * scale);
      rect.setAttribute("y", Math.min(top, base));
      rect.setAttribute("height", Math.abs(base - top));
    });
  }

  /** Own marks in the place of Plotly's: one for every bin, in the look of those that are there. */
  prepared() {
    const drawn = this.traces();
    const stars = drawn.get(this.live.trace);
    const model = stars?.group.querySelector("path.point");
    const plot = stars && this.plotOf(stars.trace);
    if (!model || !plot) return null;
    const group = document.createElementNS(SVG, "g");
    group.setAttribute("class", "calib-own");
    group.style.pointerEvents = "none";
    const colour = model.style.stroke && model.style.stroke !== "none" ? model.style.stroke : model.style.fill;
    const old = stars.group.querySelector("path.js-line");
    const line = old?.cloneNode(false);
    const bars = this.preparedBars(drawn.get(this.live.bars), group);
    if (line) group.append(line);
    const symbols = Array.from({ length: this.live.bins }, () => {
      const symbol = model.cloneNode(false);
      group.append(symbol);
      return symbol;
    });
    for (const part of group.querySelectorAll("*")) part.removeAttribute("class");
    for (const symbol of symbols) Object.assign(symbol.style, { stroke: colour, strokeWidth: "1px", opacity: "1" });
    plot.append(group);
    this.veil(true);
    return { group, symbols, line, bars, colour, axes: this.axes(stars.trace) };
  }

  preparedBars(drawn, group) {
    const { lower, upper } = this.live;
    const bars = drawn && lower && barsOf(drawn, this.live);
    if (!bars) return null;
    const plot = this.plotOf(drawn.trace);
    const axes = this.axes(drawn.trace);
    const model = drawn.group.querySelector("g.point > path");
    const layer = document.createElementNS(SVG, "g");
    layer.setAttribute("class", "calib-own");
    plot.append(layer);
    group.barLayer = layer;
    return lower.map((low, bin) => {
      const rect = document.createElementNS(SVG, "rect");
      rect.setAttribute("style", model.getAttribute("style"));
      const x = [bars.left(bin), bars.left(bin) + bars.width(bin)].map((value) => axes.x.c2p(value));
      rect.setAttribute("x", Math.min(...x));
      rect.setAttribute("width", Math.abs(x[1] - x[0]));
      layer.append(rect);
      return { rect, axis: axes.y, base: axes.y.c2p(0), scale: bars.scale };
    });
  }

  /** Hide what the slider draws itself, and what it cannot move. */
  veil(on) {
    if (!this.live) return;
    const drawn = this.traces();
    const own = this.live.lower ? [this.live.trace, this.live.bars] : [this.live.trace];
    for (const uid of own) setVisible(drawn.get(uid), !on);
    for (const uid of this.live.hides) setVisible(drawn.get(uid), !on && this.atRest);
  }

  traces() {
    return new Map([...drawnTraces(this.node)].map((drawn) => [drawn.trace.uid, drawn]));
  }

  axes(trace) {
    return { x: axisOf(this.node, trace.xaxis), y: axisOf(this.node, trace.yaxis) };
  }

  plotOf(trace) {
    return this.node._fullLayout._plots?.[trace.xaxis + trace.yaxis]?.plot?.node();
  }

  // ---- when it rests

  /** Before Plotly draws: own marks go. */
  leave() {
    cancelAnimationFrame(this.waiting);
    this.waiting = null;
    this.overlay?.group.barLayer?.remove();
    this.overlay?.group.remove();
    this.overlay = null;
    if (this.node._fullData) this.veil(false);
  }

  /** After Plotly has drawn a figure of the page: the temperature chosen since then stays. */
  arrive(plotly) {
    this.plotly = plotly;
    if (this.box) this.box.style.colorScheme = pageStyle(this.node).dark ? "dark" : "light";
    if (this.live && !this.atRest) this.write();
  }

  async write() {
    const traces = this.node._fullData ?? [];
    const place = traces.findIndex(({ uid }) => uid === this.live?.trace);
    if (place < 0 || !this.plotly) return;
    const stars = this.stars();
    const symbol = [traces[place].marker?.symbol].flat().find((each) => each) ?? "star";
    const full = String(symbol).replace(/-open$/, "");
    // A gap where the line breaks.
    const points = stars.flatMap((star, i) => (i && !joined(stars[i - 1], star) ? [null, star] : [star]));
    const change = { x: [points.map((s) => s?.confidence ?? null)], y: [points.map((s) => s?.accuracy ?? null)] };
    change.customdata = [points.map((star) => star && recordOf(traces[place], star))];
    change["marker.symbol"] = [points.map((star) => (star?.few ? `${full}-open` : full))];
    this.leave();
    this.writing = true;
    try {
      await this.plotly.restyle(this.node, change, [place]);
      await this.writeBars(traces, stars);
    } finally {
      this.writing = false;
    }
    this.veil(false);
  }

  writeBars(traces, stars) {
    const place = traces.findIndex(({ uid }) => uid === this.live.bars);
    const drawn = this.traces().get(this.live.bars);
    const bars = drawn && this.live.lower && barsOf(drawn, this.live);
    if (!bars) return null;
    const change = {
      x: [stars.map(({ bin }) => bars.left(bin) + bars.width(bin) / 2)],
      y: [stars.map(({ share }) => share * bars.scale)],
      width: [stars.map(({ bin }) => bars.width(bin))],
      customdata: [stars.map((star) => recordOf(traces[place], star))],
      text: [stars.map(({ count }) => Math.round(count).toLocaleString("en"))],
    };
    if (!traces[place].text) delete change.text;
    return this.plotly.restyle(this.node, change, [place]);
  }
}

function tables(live) {
  const floats = (text) => new Float32Array(Uint8Array.from(atob(text), (char) => char.charCodeAt(0)).buffer);
  return { rows: floats(live.rows), sums: floats(live.sums), right: floats(live.right) };
}

/** Where bars stand within their bins, and how high a share of rows is, from the bars that are there. */
function barsOf({ trace }, live) {
  const known = Array.from({ length: trace.x?.length ?? 0 }, (_, i) => i).filter(
    (i) => recordAt(trace, i)?.bin != null && recordAt(trace, i).share > 0,
  );
  const i = known.sort((a, b) => trace.y[b] - trace.y[a])[0];
  if (i === undefined) return null;
  const { bin, share } = recordAt(trace, i);
  const size = (b) => live.upper[b] - live.lower[b];
  const width = trace.width?.length ? trace.width[i] : (trace.width ?? size(bin));
  const part = width / size(bin);
  const start = (trace.x[i] - width / 2 - live.lower[bin]) / size(bin);
  return { left: (b) => live.lower[b] + start * size(b), width: (b) => part * size(b), scale: trace.y[i] / share };
}

/** A star's record: that of the same bin before, or of any, with the numbers that have changed. */
function recordOf(trace, { bin, count, share, confidence, accuracy }) {
  const records = Array.from(trace.customdata ?? []);
  const same = records.find((record) => record?.bin === bin);
  const model = records[0]?.model;
  return { ...(same ?? { model, interval: "" }), bin, count, share, confidence, accuracy, delta: null };
}

/** Whether a line joins two stars: both are of rows enough. */
function joined(one, other) {
  return !one.few && !other.few;
}

function setVisible(drawn, visible) {
  if (drawn) drawn.group.style.visibility = visible ? "" : "hidden";
}

function plain(value) {
  return value.toFixed(2);
}
