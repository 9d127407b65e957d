// One chart: a node that outlives its figures. Streamlit calls the default function for every new figure and
// for every change of theme; the node, its zoom and its legend state stay, because Plotly.react redraws in place.
//
// Marks for tests, on the node: data-calib-chart is the chart's key, data-calib-pending the revision received
// last, data-calib-revision the revision on screen. The newest figure is drawn when the last two are equal.

const PLOTLY = new URL("../calib.plotly/plotly.min.js", import.meta.url).href;
const charts = new WeakMap();
let plotly = null;
let lastSeq = 0;

loadPlotly().catch(() => {}); // start early; a failure is reported by the first chart that needs it

export default function ({ data, parentElement, setTriggerValue }) {
  const chart = charts.get(parentElement) ?? new Chart(parentElement);
  charts.set(parentElement, chart);
  chart.show(data, setTriggerValue);
  // Streamlit also calls this when a newer figure overtakes the loading of an older one; `release` looks
  // whether the node is really gone.
  return () => setTimeout(() => chart.release(), 0);
}

function loadPlotly() {
  plotly ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = PLOTLY;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => {
      plotly = null;
      script.remove();
      reject(new Error("plotly.js could not be loaded"));
    };
    document.head.append(script);
  });
  return plotly;
}

class Chart {
  constructor(parent) {
    this.node = document.createElement("div");
    this.node.className = "calib-chart";
    this.node.style.width = "100%";
    // Not "img": the children of an image are hidden from assistive technology, and the legend is a control.
    this.node.setAttribute("role", "figure");
    parent.append(this.node);
    this.observer = new ResizeObserver(() => requestAnimationFrame(() => this.fit()));
    this.observer.observe(this.node);
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
    const { key, label, height, revision } = this.header;
    Object.assign(this.node.dataset, { calibChart: key, calibPending: revision });
    this.node.setAttribute("aria-label", label);
    this.node.style.height = `${height}px`; // at once, so that the page does not jump when the figure arrives
    this.draw();
  }

  async draw() {
    if (this.drawing) return; // the loop below goes on to the newest figure and leaves out those overtaken
    this.drawing = true;
    try {
      const library = await loadPlotly();
      while (this.stale()) await this.react(library);
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

  async react(library) {
    const target = this.target();
    const { revision, height } = this.header;
    const { data, layout } = JSON.parse(this.figure); // anew each time, for Plotly writes into what it gets
    this.width = this.node.clientWidth;
    Object.assign(layout, { template: this.template(), height, width: this.width, autosize: false });
    this.onScreen = target; // before drawing, so that a figure which cannot be drawn is not tried forever
    this.config ??= configuration(library, this.header.key);
    await library.react(this.node, data, layout, this.config);
    if (!this.listening) this.listen();
    this.node.dataset.calibRevision = revision;
  }

  template() {
    const page = pageStyle(this.node);
    const template = structuredClone(this.header.templates[page.dark ? "dark" : "light"]);
    template.layout.font.family = page.font;
    template.layout.font.color = page.text;
    template.layout.paper_bgcolor = template.layout.plot_bgcolor = page.background;
    return template;
  }

  listen() {
    this.listening = true;
    this.node.on("plotly_click", (event) => {
      const point = event.points[0];
      lastSeq = Math.max(lastSeq + 1, Date.now());
      this.send("click", { ...pointOf(point), seq: lastSeq });
    });
  }

  fit() {
    if (!this.header || this.drawing) return;
    if (this.stale()) return void this.draw();
    const width = this.node.clientWidth;
    if (!this.listening || width === 0 || width === this.width || !this.node.isConnected) return;
    this.width = width;
    window.Plotly.relayout(this.node, { width });
  }

  release() {
    if (this.node.isConnected || this.drawing) return;
    this.observer.disconnect();
    // Browsers allow some sixteen WebGL contexts and free dropped ones late: give ours back at once.
    for (const canvas of this.node.querySelectorAll("canvas")) {
      canvas.getContext("webgl")?.getExtension("WEBGL_lose_context")?.loseContext();
    }
    window.Plotly?.purge(this.node);
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

function pageStyle(node) {
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
