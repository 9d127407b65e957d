// Zoom and hidden legend entries outlive the node: they are kept for the tab, by the chart's key, as long as the
// figure's uirevision is the same, and written into every figure before it is drawn.

const ZOOM = /^([xy]axis\d*)\.(range|autorange)/;

export class Memory {
  constructor(key) {
    this.key = key;
    this.place = `calib.chart.${key}`;
    this.own = {};
    try {
      this.kept = JSON.parse(sessionStorage.getItem(this.place)) ?? {};
    } catch {
      this.kept = {};
    }
  }

  /** Write what is remembered into a figure that is about to be drawn. */
  apply({ data, layout }) {
    if (this.kept.uirevision !== layout.uirevision) {
      this.kept = { uirevision: layout.uirevision, ranges: {}, hidden: {} };
    }
    this.own = {};
    for (const name of Object.keys(layout)) {
      if (/^[xy]axis\d*$/.test(name)) this.own[name] = layout[name].range?.slice() ?? null; // a copy: Plotly writes into what it gets
    }
    this.shown = new Map(data.map((trace) => [trace.uid, trace.visible ?? true]));
    for (const [name, range] of Object.entries(this.kept.ranges)) {
      layout[name] = { ...layout[name], range: [...range], autorange: false };
    }
    for (const trace of data) {
      const visible = this.kept.hidden[trace.uid];
      if (visible !== undefined && (trace.visible ?? true) !== false) trace.visible = visible;
    }
  }

  /** After drawing: a double click goes back to the figure's own range, not to the one remembered. */
  settle(node) {
    for (const name of Object.keys(this.kept.ranges ?? {})) {
      const axis = node._fullLayout[name];
      if (!axis) continue;
      const own = this.own[name];
      axis._rangeInitial0 = own ? own[0] : undefined;
      axis._rangeInitial1 = own ? own[1] : undefined;
      axis._autorangeInitial = own ? false : true;
    }
  }

  zoomed(node, changes) {
    const names = new Set(Object.keys(changes).map((key) => ZOOM.exec(key)?.[1]).filter(Boolean));
    for (const name of names) {
      const axis = node._fullLayout[name];
      if (!axis) continue;
      const own = this.own[name];
      const back = own ? axis.range.every((end, i) => Math.abs(end - own[i]) < 1e-9) : axis.autorange === true;
      if (back) delete this.kept.ranges[name];
      else this.kept.ranges[name] = [...axis.range];
    }
    if (names.size) this.save();
  }

  toggled(node) {
    for (const { uid, visible } of node._fullData) {
      if (!this.shown.has(uid) || visible === false) continue; // false: nothing to draw, which nobody chose
      if (visible === this.shown.get(uid)) delete this.kept.hidden[uid];
      else this.kept.hidden[uid] = visible;
    }
    this.save();
  }

  save() {
    try {
      sessionStorage.setItem(this.place, JSON.stringify(this.kept));
    } catch {
      // A browser that keeps nothing forgets the zoom on a reload, and no more.
    }
  }
}
