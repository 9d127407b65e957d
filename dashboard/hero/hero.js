// The sentence and its slider. Every answer came with the data: while the slider is dragged only this page works,
// and the confidence is sent once it is let go. Words are the library's own; nothing is computed here.

const SVG = "http://www.w3.org/2000/svg";
const heroes = new WeakMap();
const RIGHT = { wide: 166, narrow: 156 }, TOP = 40, ROW = 48, FIRST = 56;
// With more models the rows and the words beside them are closer, so that the verdict stays on the first screen.
const FEW = 2, CLOSE_ROW = 40;

export default function ({ data, parentElement, setTriggerValue }) {
  const hero = heroes.get(parentElement) ?? new Hero(parentElement);
  heroes.set(parentElement, hero);
  hero.show(data, setTriggerValue);
  return () => setTimeout(() => hero.release(), 0);
}

class Hero {
  constructor(parent) {
    this.node = element("section", "calib-hero");
    this.words = element("div", "words");
    const picture = element("div", "picture");
    this.svg = document.createElementNS(SVG, "svg");
    this.svg.setAttribute("aria-hidden", "true"); // the sentence and the slider's value say it all
    this.slider = element("input");
    Object.assign(this.slider, { type: "range", step: 1, max: 100 });
    this.slider.addEventListener("input", () => this.draw());
    this.slider.addEventListener("change", () => this.leave());
    picture.append(this.svg, this.slider);
    const left = element("div");
    left.append(this.words, ...this.help());
    this.node.append(left, picture);
    parent.append(this.node);
    this.observer = new ResizeObserver(() => requestAnimationFrame(() => this.data && this.draw()));
    this.observer.observe(picture);
    this.picture = picture;
  }

  show(data, send) {
    this.send = send;
    const same = this.data && this.data.asked === data.asked && String(this.data.places) === String(data.places);
    this.data = data;
    this.slider.min = data.low;
    this.slider.max = data.last;
    this.node.setAttribute("aria-label", data.words.section);
    this.slider.setAttribute("aria-label", data.words.slider);
    this.why.hidden = !data.explained;
    this.explained.textContent = [data.explained, data.left_out].filter(Boolean).join(" ");
    // A run for something else must not move what somebody is dragging.
    if (!same || !this.node.dataset.asked) this.slider.value = data.asked;
    this.draw();
  }

  // What the words next to the bars mean, behind a button that stays while the sentence changes.
  help() {
    this.why = text("button", "How to read this", "why");
    this.why.type = "button";
    this.explained = element("div", "explained");
    this.explained.popover = "auto";
    this.why.popoverTargetElement = this.explained;
    return [this.why, this.explained];
  }

  // Arrow keys report every step: the last one of a walk is sent.
  leave() {
    clearTimeout(this.leaving);
    this.leaving = setTimeout(() => {
      const asked = Number(this.slider.value);
      if (asked === this.data.asked) return;
      this.data.asked = asked;
      this.send("asked", asked);
    }, 250);
  }

  draw() {
    const asked = Number(this.slider.value);
    this.node.dataset.asked = asked;
    this.say(asked);
    this.paint(asked);
  }

  say(asked) {
    const [first, ...others] = this.data.models;
    this.node.classList.toggle("many", others.length >= FEW);
    const title = element("h1");
    title.append(...marked(first, asked, first.stated[asked]));
    const parts = [title, text("p", `${first.basis[asked]}.`, "basis")];
    for (const model of others) {
      const line = element("p", "after");
      const number = text("b", model.brief[asked]);
      if (model.enough[asked]) number.style.color = ink(model);
      line.append(model.lead, number);
      parts.push(line);
      if (others.length < 2 || !model.updated) parts.push(text("p", `${model.basis[asked]}.`, "basis"));
    }
    if (this.data.left_out) parts.push(text("p", this.data.left_out, "basis"));
    this.words.replaceChildren(...parts);
    const after = others.map((m) => ` ${m.title}: ${m.headline[asked]}`).join("");
    this.slider.setAttribute("aria-valuetext", `${first.headline[asked]} ${first.basis[asked]}.${after}`);
  }

  paint(asked) {
    const { models, places, percents, knob, words } = this.data;
    const low = 100 * places[this.data.low], top = 100 * places[this.data.last];
    const width = this.picture.clientWidth;
    if (!width) return;
    const step = models.length > FEW ? CLOSE_ROW : ROW;
    const height = TOP + FIRST + step * (models.length - 1) + 60;
    const wide = width > 520, left = wide ? 150 : 118;
    const span = width - left - (wide ? RIGHT.wide : RIGHT.narrow);
    const x = (percent) => left + (span * Math.min(Math.max(percent - low, 0), top - low)) / (top - low);
    // The knob is at the number of the sentence: its rows' mean can be a little beside the slider's place.
    const at = x(100 * knob[asked]);
    const bottom = height - 34;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.style.height = `${height}px`;
    const thumb = 24;
    Object.assign(this.slider.style, { left: `${left - thumb / 2}px`, width: `${span + thumb}px` });
    const marks = [
      write(left - 16, TOP + 5, words.track, { "text-anchor": "end", "font-weight": 600 }),
      line(left, TOP, x(top), TOP, { "stroke-width": 6, "stroke-linecap": "round", opacity: 0.22 }),
      line(left, TOP, at, TOP, { "stroke-width": 6, "stroke-linecap": "round" }),
      line(at, TOP + 14, at, bottom, { "stroke-width": 2, "stroke-dasharray": "2 4" }),
      write(at, TOP - 22, percents[asked], { "text-anchor": "middle", "font-size": 18, "font-weight": 700 }),
      line(left, bottom, x(top), bottom, { opacity: 0.5 }),
    ];
    if (at - left > 7.3 * words.drag.length + 20) marks.push(write(left, TOP - 22, words.drag, { opacity: 0.85 }));
    const apart = (10 * span) / (100 - low) < 44 ? 20 : 10; // a label is about 40 pixels wide
    const ticks = this.data.ticks ?? Array.from({ length: 11 }, (_, i) => 100 - apart * i).filter((percent) => percent >= low);
    let free = Infinity; // from the right, where the sentence is most often
    for (const percent of [...ticks].sort((a, b) => b - a)) {
      marks.push(line(x(percent), bottom, x(percent), bottom + 5, { opacity: 0.5 }));
      if (x(percent) > free) continue;
      free = x(percent) - 44;
      marks.push(write(x(percent), bottom + 20, `${percent} %`, { "text-anchor": "middle", "font-size": 13.5 }));
    }
    models.forEach((model, i) => marks.push(...this.row(model, asked, x, x(top), left, TOP + FIRST + step * i, at)));
    marks.push(drawn("circle", { class: "knob", cx: at, cy: TOP, r: 8.5, stroke: "currentColor", "stroke-width": 7 }));
    this.svg.replaceChildren(...marks);
  }

  // One model: what its rows say on average, how often they are right, and the gap between the two.
  row(model, asked, x, end, left, y, dotted) {
    const lines = folded(model.title, left - 16, `14px ${getComputedStyle(this.node).fontFamily}`);
    const labels = lines.map((words, i) => write(left - 16, y + 5 + 16 * (i - (lines.length - 1) / 2), words, { "text-anchor": "end" }));
    const rail = line(left, y, end, y, { opacity: 0.15 });
    const beside = { "font-size": 15, "font-weight": 600 };
    // What it is short of, where that is not what was asked, stands below: beside there is no room.
    const [gap, of] = model.near[asked] ? model.difference[asked].split(/ (?=of |than |over the )/) : [`${this.data.words.none} ${this.data.wanted[asked]}`];
    const difference = [write(end + 14, y + (of ? -2 : 5), gap, beside)];
    if (of) difference.push(write(end + 14, y + 15, of, { "font-size": 14 }));
    if (!model.enough[asked]) return [...labels, rail, ...difference];
    const paint = { stroke: model.colour };
    const halo = { "paint-order": "stroke", stroke: "var(--st-background-color)", "stroke-width": 4 };
    // An end that lies beyond the axis has no cap: the interval goes on.
    const cap = (name) => {
      const [share, place] = [100 * model[name][asked], x(100 * model[name][asked])];
      const last = 100 * this.data.places[this.data.last];
      return share > last + 1e-6 ? [] : [line(place, y - 6, place, y + 6, { ...paint, "stroke-width": 3 })];
    };
    const [right, low, high, says] = ["right", "low", "high", "claimed"].map((name) => x(100 * model[name][asked]));
    const share = { "font-size": 17, "font-weight": 700, style: `fill:${ink(model)}` };
    const label = (place, words) => write(besideLine(place, dotted, words, this.node), y - 15, words, { ...share, ...halo, "text-anchor": "middle" });
    const mark = (place) => drawn("path", { d: shape(model.outline, place, y, 12), fill: model.colour, stroke: "var(--st-background-color)", "stroke-width": 1.5 });
    if (model.updated) {
      // The same rows' mean risk after the update, on the pale interval of their observed frequency.
      return [
        ...labels, rail, ...difference,
        line(low, y, high, y, { ...paint, "stroke-width": 6, opacity: 0.25 }),
        mark(says),
        label(says, model.stated[asked]),
      ];
    }
    return [
      ...labels, rail, ...difference,
      // What the rows are given on average, which may be a little beside what was asked for.
      line(says, y - 8, says, y + 8, { "stroke-width": 2, opacity: 0.55 }),
      // The gap is marked where it is larger than chance makes anywhere on the slider.
      ...(model.shown[asked] ? [line(right, y, says, y, { ...paint, "stroke-width": 12, opacity: 0.2 })] : []),
      line(low, y, high, y, { ...paint, "stroke-width": 3 }),
      ...cap("low"), ...cap("high"),
      mark(right),
      label(right, model.share[asked]),
    ];
  }

  release() {
    if (!this.node.isConnected) this.observer.disconnect();
  }
}

// The headline with the confidence asked about and the answer set apart.
function marked(model, asked, percent) {
  const sentence = model.headline[asked];
  const parts = [];
  const answer = model.enough[asked] ? sentence.lastIndexOf(model.share[asked]) : -1;
  const head = answer < 0 ? sentence : sentence.slice(0, answer);
  const question = head.indexOf(percent);
  if (question < 0) parts.push(kept(head));
  else parts.push(kept(head.slice(0, question)), text("u", percent), kept(head.slice(question + percent.length)));
  if (answer < 0) return parts;
  const number = text("em", model.share[asked]);
  number.style.color = ink(model);
  return [...parts, number, kept(sentence.slice(answer + model.share[asked].length))];
}

// A model's mark: the corners of its symbol, as on every other picture.
function shape(outline, x, y, size) {
  return `M ${outline.map(([across, up]) => `${x + across * size} ${y - up * size}`).join(" L ")} Z`;
}

// A model's colour as words have it: on the light page nearer to the text, on the dark page that of its mark.
const ink = (model) => `light-dark(color-mix(in srgb, ${model.colour} 70%, var(--st-text-color)), ${model.colour})`;

const ruler = document.createElement("canvas").getContext("2d");

// Where a number's middle stands: above its mark, or moved to that side of the dotted line, which would cross it.
function besideLine(place, dotted, words, node) {
  ruler.font = `700 17px ${getComputedStyle(node).fontFamily}`;
  const reach = ruler.measureText(words).width / 2 + 5;
  if (Math.abs(place - dotted) >= reach) return place;
  return dotted + (place > dotted ? reach : -reach);
}

// A title in lines that fit so many pixels, at most three of them; only then is it cut.
function folded(title, room, font) {
  ruler.font = font;
  const lines = [""];
  for (const word of title.split(" ")) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (lines.at(-1) && ruler.measureText(longer).width > room) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines.length > 3 ? [...lines.slice(0, 2), `${lines[2]} …`] : lines;
}

function element(name, kind = "") {
  const node = document.createElement(name);
  if (kind) node.className = kind;
  return node;
}

function text(name, words, kind = "") {
  const node = element(name, kind);
  node.textContent = kept(words);
  return node;
}

// A percent sign stays on the line of its number.
function kept(words) {
  return words.replaceAll(" %", "\u00a0%");
}

function drawn(name, attributes) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

const line = (x1, y1, x2, y2, more) => drawn("line", { x1, y1, x2, y2, stroke: "currentColor", ...more });

function write(x, y, words, more = {}) {
  const node = drawn("text", { x, y, "font-size": 14, ...more });
  node.textContent = words;
  return node;
}
