"use strict";
// Draws every figure of the report into its place; the root element says when all of them are there.
(function () {
  const specs = JSON.parse(document.getElementById("calib-figures").textContent);
  // Percent are written as money is: spaced_percent of calib_core/figures/look.py says why.
  Plotly.register({ moduleType: "locale", name: "calib", dictionary: {}, format: { currency: ["", "\u00a0%"] } });
  const config = { locale: "calib", displaylogo: false, displayModeBar: false, responsive: false, showTips: false };
  const places = Array.from(document.querySelectorAll("[data-figure]"));
  // Plotly measures text, so that the typeface is loaded first.
  const fonts = Promise.all(["", "bold ", "italic "].map((style) => document.fonts.load(`${style}12px Arimo`)));
  const drawn = places.map(async (place) => {
    await fonts.catch(() => undefined);
    const spec = specs[place.dataset.figure];
    return Plotly.newPlot(place, spec.data, spec.layout, config);
  });
  // Where a narrow window leaves a figure less room than its width, page.css scales it by these numbers. At the smallest
  // scale its text is as small as can be read; a figure that is wider still is scrolled.
  const SMALLEST = 0.7;
  function fit() {
    for (const place of places) {
      const { width, height } = specs[place.dataset.figure].layout;
      const scale = Math.min(1, Math.max(SMALLEST, place.parentElement.clientWidth / width));
      place.style.setProperty("--scale", scale);
      place.style.setProperty("--height", `${height}px`);
    }
  }
  fit();
  window.addEventListener("resize", fit);
  // What does not fit on a page begins the next: figures of the page before grow into the room that this leaves. After
  // a page without figures that may grow, the next figure or those of the page shrink a little and what is next fits;
  // where that is not enough, rows of the page's tables are further apart.
  const PAGE = (269 / 25.4) * 96; // pixels of a page between the margins of page.css
  // Height of the plot of page one as a share of its width: wanted, below which type is smaller, and at least.
  const SHAPE = 0.8, FLAT = 0.5, LOWEST = 0.2;
  const BLANK = 0.2, MOST = 1.75, LEAST = 0.75; // share of a page, growth and shrinking of a figure
  const SPARE = 12, AIR = 20, MARGIN = 8; // pixels: below a figure, between rows, the empty end of page one
  const NARROWEST = 120; // pixels of a column of text
  async function fill() {
    const second = document.querySelector("h3.page"); // page one ends above it
    const later = places.filter((place) => !second || second.compareDocumentPosition(place) & 4);
    const left = later.filter((place) => !keepsShape(specs[place.dataset.figure].layout));
    if (second) onPaper(() => setColumns(second));
    const diagram = second && onPaper(() => firstPage(second));
    if (diagram) await stretch(diagram);
    for (let page = 0; page >= 0; ) {
      const gap = onPaper(() => firstGap(page, left));
      page = gap ? gap.page : -1;
      if (gap) await resize(gap.resized);
      for (const table of gap ? gap.airy : []) table.style.setProperty("--air", `${gap.air}px`);
    }
  }
  async function resize(figures) {
    for (const figure of figures) await stretch(figure);
  }
  // A plot grows or shrinks, and a strip below it keeps its pixels.
  async function stretch({ place, more }) {
    const { layout } = specs[place.dataset.figure], inner = place._fullLayout._size.h;
    const by = inner / (inner + more), changes = { height: layout.height + more };
    if (layout.meta && layout.meta.strip) {
      const foot = layout.yaxis.domain[0];
      Object.assign(changes, { "yaxis.domain": [foot * by, 1], "yaxis2.domain": [0, layout.yaxis2.domain[1] * by] });
      (layout.annotations || []).forEach((note, i) => {
        if (note.yref === "paper" && note.y <= foot) changes[`annotations[${i}].y`] = note.y * by;
      });
    }
    layout.height = changes.height;
    await Plotly.relayout(place, changes);
  }
  // Page one before its diagram gets the room that is left.
  function setColumns(second) {
    const blocks = second.parentElement.querySelectorAll(".beside:not(.main)");
    blocks.forEach(balance);
    if (!crowded(second)) return;
    document.body.classList.add("close");
    blocks.forEach(balance);
  }
  // Columns of text get widths by how much they contain, if they are lower then.
  function balance(block) {
    const parts = Array.from(block.children), before = block.getBoundingClientRect().height;
    const space = block.clientWidth - (parts.length - 1) * parseFloat(getComputedStyle(block).columnGap);
    const free = space - parts.length * NARROWEST;
    for (let round = 0; round < 3; round++) {
      const areas = parts.map((part) => part.clientWidth * contentHeight(part));
      const more = areas.map((area) => Math.max(0, (space * area) / total(areas) - NARROWEST));
      block.style.setProperty("--columns", more.map((width) => `${NARROWEST + (free * width) / total(more)}px`).join(" "));
    }
    if (block.getBoundingClientRect().height > before) block.style.removeProperty("--columns");
  }
  function contentHeight(part) {
    return part.lastElementChild.getBoundingClientRect().bottom - part.getBoundingClientRect().top;
  }
  function total(values) {
    return values.reduce((sum, value) => sum + value, 0);
  }
  // The end of page one, which is whole: where its text would go on to the next page, its type is smaller.
  function pageEnd() {
    return document.querySelector("header").getBoundingClientRect().top + PAGE;
  }
  // How much the diagram of page one grows into the room below it: to its shape on screen, or, if much is left, farther.
  // It shrinks where page one would not be whole.
  function firstPage(second) {
    const columns = second.parentElement.querySelector(".beside.main");
    const place = columns && columns.querySelector("[data-figure]");
    if (!place) return null;
    const below = place.closest(".beside.main > div").lastElementChild.getBoundingClientRect().bottom;
    const beside = columns.getBoundingClientRect().bottom - below; // the other column is so much longer
    const room = pageEnd() - MARGIN - firstEnd(second) + beside - SPARE;
    const { xaxis, yaxis } = place._fullLayout;
    const shape = SHAPE * xaxis._length - yaxis._length, low = LOWEST * xaxis._length - yaxis._length;
    const most = room > BLANK * PAGE ? (MOST - 1) * specs[place.dataset.figure].layout.height : shape;
    const more = Math.floor(Math.min(room, most));
    return { place, more: Math.max(more, Math.min(0, Math.ceil(low))) };
  }
  // True if the text of page one goes on to the next page, or leaves its diagram too low.
  function crowded(second) {
    const found = firstPage(second);
    if (!found) return pageEnd() < second.getBoundingClientRect().top;
    const { xaxis, yaxis } = found.place._fullLayout;
    return yaxis._length + found.more < FLAT * xaxis._length;
  }
  // The lower end of the last block above page two.
  function firstEnd(second) {
    let block = second.previousElementSibling;
    while (!block.getClientRects().length) block = block.previousElementSibling;
    return block.getBoundingClientRect().bottom;
  }
  function keepsShape(layout) {
    return Object.values(layout).some((axis) => axis && axis.scaleanchor);
  }
  // Measures in the layout of the printed page.
  function onPaper(measure) {
    const rules = Array.from(document.styleSheets).flatMap((sheet) => Array.from(sheet.cssRules));
    const media = rules.filter((rule) => rule instanceof CSSMediaRule).map((rule) => [rule.media, rule.media.mediaText]);
    const root = document.documentElement;
    for (const [list, text] of media) list.mediaText = text === "print" ? "all" : "not all";
    root.style.width = "672px";
    const found = measure();
    root.style.width = "";
    for (const [list, text] of media) list.mediaText = text;
    return found;
  }
  // The first page after this one that ends with a gap, and how much each of its figures grows, or the next one
  // shrinks, or each row of its tables gets.
  function firstGap(after, left) {
    let [page, start, last] = [1, document.querySelector("header").getBoundingClientRect().top, 0];
    const first = start;
    let rows, tables, fixed; // of this page: rows of figures that may grow, tables, rows of other figures
    const begin = (number, top) => ([page, start, rows, tables, fixed] = [number, top, [], [], []]);
    begin(page, start);
    for (const chain of chains()) {
      const top = chain[0].getBoundingClientRect().top, bottom = chain.at(-1).getBoundingClientRect().bottom;
      if (chain[0].matches("h3.page") && top <= first + PAGE + MARGIN) begin(2, top);
      if (bottom > start + PAGE && whole(chain.at(-1))) {
        const room = start + PAGE - last;
        if (page > after && room > BLANK * PAGE) {
          const resized = rows.length ? shared(rows, room - SPARE) : fitted(chain.at(-1), fixed, left, bottom - top + SPARE - room);
          const lines = tables.flatMap((table) => Array.from(table.tBodies[0].rows)).length;
          const air = Math.min(AIR, (room - BLANK * PAGE) / lines);
          if (resized.length || lines) return { page, resized, air, airy: resized.length ? [] : tables };
        }
        begin(page + 1, top);
      }
      // A figure that is higher than a page is cut by its ends.
      while (bottom > start + PAGE && whole(chain.at(-1))) begin(page + 1, start + PAGE);
      for (const end of ends(chain.at(-1), top)) {
        if (end.bottom > start + PAGE) begin(page + 1, end.top);
      }
      const within = figuresOf(chain.at(-1)), own = within.filter((place) => left.includes(place));
      if (own.length) rows.push(own);
      else if (within.length) fixed.push(within);
      if (top >= start) tables.push(...chain.at(-1).querySelectorAll("table"));
      last = bottom;
    }
    return null;
  }
  // Blocks of the page in order, each with the headings and sentences that stay with it.
  function chains() {
    const found = [];
    let chain = [];
    for (const block of document.querySelectorAll("main > section > *, main > section > details > *")) {
      if (!block.getClientRects().length) continue;
      chain.push(block);
      if (getComputedStyle(block).breakAfter === "avoid") continue;
      found.push(chain);
      chain = [];
    }
    return found;
  }
  function whole(block) {
    return getComputedStyle(block).breakInside === "avoid";
  }
  // Parts of a block that a page cannot end in: rows of a table, lines of text; the first stays with what is above it.
  function ends(block, first) {
    if (whole(block)) return [];
    const rows = Array.from(block.querySelectorAll("tbody tr"), (row) => {
      const { top, bottom } = row.getBoundingClientRect();
      return { top: top - row.closest("table").tHead.offsetHeight, bottom };
    });
    const parts = rows.length ? rows : lines(block);
    return parts.map((part, i) => (i ? part : { ...part, top: first }));
  }
  // Lines of a text, the first and the last three together, as page.css wants them.
  function lines(block) {
    const { top, bottom } = block.getBoundingClientRect(), high = parseFloat(getComputedStyle(block).lineHeight) || 16;
    const number = Math.round((bottom - top) / high);
    if (number < 6) return [{ top, bottom }];
    const cuts = [0, ...Array.from({ length: number - 5 }, (_, i) => i + 3), number];
    return cuts.slice(1).map((cut, i) => ({ top: top + cuts[i] * high, bottom: top + cut * high }));
  }
  function shared(rows, room) {
    return rows.flatMap((row) =>
      row.map((place) => {
        const { height } = specs[place.dataset.figure].layout;
        return { place, more: Math.round(Math.min(room / rows.length, (MOST - 1) * height)) };
      })
    );
  }
  // The figures of a block that does not fit, or those of the page before, so much lower; none if that would be too low.
  function fitted(block, fixed, left, less) {
    const own = figuresOf(block), lower = own.every((place) => left.includes(place)) ? shrunk([own], less) : [];
    return lower.length ? lower : shrunk(fixed, less);
  }
  function shrunk(rows, less) {
    const by = Math.ceil(less / rows.length), figures = rows.flat();
    const fits = figures.every((place) => specs[place.dataset.figure].layout.height * (1 - LEAST) >= by);
    return fits ? figures.map((place) => ({ place, more: -by })) : [];
  }
  function figuresOf(block) {
    return Array.from(block.querySelectorAll("[data-figure]"));
  }
  Promise.all(drawn)
    .then(fill)
    .then(() => {
      fit();
      document.documentElement.dataset.drawn = String(drawn.length);
    });
})();
