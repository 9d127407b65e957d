// One chart: a node that outlives its figures. Streamlit calls the default function for every new figure and
// for every change of theme; the node, its zoom and its legend state stay, because Plotly.react redraws in place.
//
// Marks for tests, on the node: data-calib-chart is the chart's key, data-calib-pending the revision received
// last, data-calib-revision the revision on screen. The newest figure is drawn when the last two are equal.
// data-calib-travel is there while marks travel.

import { above, fitted, mended } from "./fit.js";
import { Grips } from "./grips.js";
import { LOCALE, library } from "./library.js";
import { Slider } from "./live.js";
import { Looking } from "./looking.js";
import { Memory } from "./memory.js";
import { element, pageStyle, wearStyle } from "./page.js";
import { Travel } from "./travel.js";

const charts = new WeakMap();
let lastSeq = 0;

export default function ({ data, parentElement, setTriggerValue }) {
  const chart = charts.get(parentElement) ?? new Chart(parentElement);
  charts.set(parentElement, chart);
  chart.show(data, setTriggerValue);
  // Streamlit also calls this when a newer figure overtakes the loading of an older one; `release` looks
  // whether the node is really gone.
  return () => setTimeout(() => chart.release(), 0);
}

class Chart {
  constructor(parent) {
    wearStyle();
    this.frame = element("div", "calib-frame");
    this.node = element("div", "calib-chart");
    // Not "img": the children of an image are hidden from assistive technology, and the legend is a control.
    this.node.setAttribute("role", "figure");
    this.frame.append(this.node);
    parent.append(this.frame);
    this.looking = new Looking(this.frame, this.node, (what) => this.tell(what));
    this.grips = new Grips(this.frame, this.node, (what) => this.tell(what));
    this.travel = new Travel(this.node);
    this.slider = new Slider(this.frame, this.node, (what) => this.tell(what));
    this.observer = new ResizeObserver(() => requestAnimationFrame(() => this.fit()));
    this.observer.observe(this.node);
    this.resized = () => this.fit();
    window.addEventListener("resize", this.resized);
    this.onScreen = null;
    this.drawing = false;
    this.width = 0;
  }

  show(bytes, send) {
    const text = new TextDecoder().decode(bytes);
    const end = text.indexOf("\n");
    this.header = JSON.parse(text.slice(0, end));
    this.figure = text.slice(end + 1);
    this.send = send;
    this.least = this.header.height;
    this.fill();
    const { key, label, revision, focus, live } = this.header;
    if (this.memory?.key !== key) this.memory = new Memory(key);
    Object.assign(this.node.dataset, { calibChart: key, calibPending: revision });
    this.node.setAttribute("aria-label", label);
    // At once, so that the page does not jump when the figure arrives.
    this.stand(this.onScreen ? this.tall : (this.wanted()?.height ?? this.header.height));
    this.slider.show(live, revision);
    this.looking.show(focus);
    this.draw();
  }

  /** A presented figure is as high as the window leaves it. */
  fill() {
    const { room } = this.header;
    if (room) this.header.height = Math.max(this.least, window.innerHeight - room);
  }

  /** The size of the figure where it follows the screen. */
  wanted() {
    if (this.header.room) return null; // presented: the height is the window's already
    return fitted(this.header, this.node.clientWidth, this.header.height, this.header.times);
  }

  stand(height) {
    this.tall = height;
    this.node.style.height = `${height}px`;
  }

  async draw() {
    if (this.drawing) return; // the loop below goes on to the newest figure and leaves out those overtaken
    this.drawing = true;
    try {
      while (this.stale()) await this.react();
    } catch (error) {
      this.node.dataset.calibError = String(error);
      console.error("calib chart:", error);
    } finally {
      this.drawing = false;
    }
    if (!this.node.isConnected) this.release();
  }

  // A hidden node (a closed tab) has no width to draw into: it is drawn when it is shown.
  stale() {
    return this.node.isConnected && this.node.clientWidth > 0 && this.onScreen !== this.target();
  }

  target() {
    const page = pageStyle(this.node);
    return `${this.header.revision} ${page.background} ${page.text} ${page.font}`;
  }

  async react() {
    const target = this.target();
    const { revision, key, times } = this.header;
    const { data, layout } = JSON.parse(this.painted()); // anew each time, for Plotly writes into what it gets
    const plotly = await library(data).catch((error) => {
      this.onScreen = target;
      throw error;
    });
    if (target !== this.target()) return; // overtaken while the library was loading
    this.width = this.node.clientWidth;
    const wanted = this.wanted();
    const height = wanted?.height ?? this.header.height;
    const { "yaxis.domain": domain } = wanted ? above(this.header, wanted.inner, times) : {};
    if (domain) layout.yaxis.domain = domain;
    Object.assign(layout, { template: this.template(), height, width: this.width, autosize: false });
    this.onScreen = target; // before drawing, so that a figure which cannot be drawn is not tried forever
    if (this.plotly && this.plotly !== plotly) this.forget();
    this.plotly = plotly;
    this.memory.apply({ data, layout });
    this.travel.leave();
    this.slider.leave();
    this.config ??= configuration(plotly, key);
    await plotly.react(this.node, data, layout, this.config);
    this.stand(height);
    await this.mend(wanted);
    this.memory.settle(this.node);
    if (!this.listening) this.listen();
    this.travel.arrive();
    this.slider.arrive(plotly);
    this.looking.draw();
    this.grips.draw(plotly);
    this.node.dataset.calibRevision = revision;
  }

  /** The figure in the colours of the page: models are lighter on a dark one. A raster keeps those it was drawn in. */
  painted() {
    if (!pageStyle(this.node).dark || this.figure.includes("data:image/")) return this.figure;
    return this.figure.replace(/#[0-9A-F]{6}/g, (colour) => this.header.onDark[colour] ?? colour);
  }

  template() {
    const page = pageStyle(this.node);
    const template = structuredClone(this.header.templates[page.dark ? "dark" : "light"]);
    template.layout.font.family = template.layout.hoverlabel.font.family = page.font;
    template.layout.font.color = page.text;
    template.layout.paper_bgcolor = template.layout.plot_bgcolor = page.background;
    return template;
  }

  listen() {
    this.listening = true;
    this.node.on("plotly_click", (event) => this.looking.mark(pointOf(event.points[0])));
    this.node.on("plotly_relayouting", () => this.travel.stop());
    this.node.on("plotly_relayout", (changes) => {
      this.travel.stop();
      this.memory.zoomed(this.node, changes);
    });
    this.node.on("plotly_restyle", () => {
      if (!this.slider.writing) this.memory.toggled(this.node);
    });
    this.node.on("plotly_afterplot", () => {
      if (this.drawing) return;
      this.looking.draw();
      this.grips.draw(this.plotly);
    });
  }

  tell(what) {
    lastSeq = Math.max(lastSeq + 1, Date.now());
    this.send("click", { ...what, seq: lastSeq });
  }

  fit() {
    if (!this.header || this.drawing) return;
    if (this.stale()) return void this.draw();
    const width = this.node.clientWidth;
    if (!this.listening || width === 0 || !this.node.isConnected) return;
    const wanted = this.wanted();
    this.fill();
    const filled = !this.header.room || this.header.height === this.tall;
    const same = filled && width === this.width && wanted?.inner === this.inner;
    if (same) return;
    this.width = width;
    this.inner = wanted?.inner;
    this.travel.finish();
    const height = wanted ? wanted.height : this.header.height;
    const domain = wanted ? above(this.header, wanted.inner, this.header.times) : {};
    this.plotly.relayout(this.node, { width, height, ...domain }).then(() => {
      this.stand(height);
      this.mend(wanted);
    });
  }

  async mend(wanted) {
    this.inner = wanted?.inner;
    const changes = mended(this.node, this.header, wanted, this.tall);
    if (!changes) return;
    await this.plotly.relayout(this.node, changes);
    this.stand(changes.height);
  }

  forget() {
    this.travel.stop();
    this.plotly?.purge(this.node);
    this.listening = false;
    this.config = null;
  }

  release() {
    if (this.node.isConnected || this.drawing) return;
    this.observer.disconnect();
    window.removeEventListener("resize", this.resized);
    this.looking.release();
    // Browsers allow some sixteen WebGL contexts and free dropped ones late: give ours back at once.
    for (const canvas of this.node.querySelectorAll("canvas")) {
      canvas.getContext("webgl")?.getExtension("WEBGL_lose_context")?.loseContext();
    }
    this.forget();
  }
}

function configuration(library, key) {
  const filename = key.replace(/[^A-Za-z0-9]+/g, "-");
  const save = (format) => ({
    name: `save-${format}`,
    title: `Download as ${format.toUpperCase()}`,
    icon: format === "png" ? library.Icons.camera : library.Icons.disk,
    click: (node) => library.downloadImage(node, { format, filename, scale: format === "png" ? 2 : 1 }),
  });
  return {
    locale: LOCALE,
    displaylogo: false,
    displayModeBar: "hover",
    modeBarButtons: [["resetScale2d", save("png"), save("svg")]],
    doubleClick: "reset",
  };
}

function pointOf({ curveNumber, pointNumber, customdata, x, y, fullData }) {
  const cell = Array.isArray(pointNumber);
  const point = cell ? pointNumber[0] * fullData.z[0].length + pointNumber[1] : pointNumber;
  return { trace: curveNumber, point, customdata: bare(customdata), x: bare(x), y: bare(y) };
}

// Typed arrays would become objects in JSON.
function bare(value) {
  return ArrayBuffer.isView(value) || Array.isArray(value) ? Array.from(value, bare) : (value ?? null);
}
