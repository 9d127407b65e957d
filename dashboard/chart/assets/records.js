// What marks and columns stand for: their records, and where the browser has drawn them.

/** Names of a place, as the server's Focus has them; of a range, "between", there are ends to compare. */
export const PLACES = ["bin", "between", "code", "label", "cell"];
const NAMES = PLACES.filter((name) => name !== "between");

/** Whether a record is about what is looked at: the same in every name of the focus that it has, at least one. */
export function agrees(record, focus) {
  if (!record || !focus) return false;
  const shared = NAMES.filter((name) => focus[name] != null && record[name] != null);
  return shared.length > 0 && shared.every((name) => record[name] === focus[name]);
}

/** Whether it is about this and nothing else: a class alone is another place than the class in a bin. */
export function isIt(record, focus) {
  return agrees(record, focus) && NAMES.every((name) => (record[name] ?? null) === (focus[name] ?? null));
}

/** What tells a mark from the others of its trace, whatever its place in the list. */
export function keyOf(record, index) {
  if (!record || typeof record !== "object" || Array.isArray(record)) return `#${index}`;
  const parts = NAMES.filter((name) => record[name] != null).map((name) => `${name}=${record[name]}`);
  return parts.length ? parts.join(" ") : `#${index}`;
}

export function recordAt(trace, index) {
  const record = trace.customdata?.[index];
  return record && typeof record === "object" && !Array.isArray(record) ? record : null;
}

/** Traces on screen that are drawn as SVG, with the group that holds each one's marks. */
export function* drawnTraces(node) {
  const bars = new Map();
  for (const group of node.querySelectorAll("g.trace.bars")) {
    const trace = group.__data__?.[0]?.trace; // bars carry no class of their own
    if (trace) bars.set(trace.uid, group);
  }
  for (const trace of node._fullData ?? []) {
    if (trace.visible !== true || !trace.xaxis) continue;
    const group = trace.type === "bar" ? bars.get(trace.uid) : node.querySelector(`g.scatter.trace${trace.uid}`);
    if (group) yield { trace, group };
  }
}

/** A trace's marks: the drawn path and the record of each; two of the same key are told apart by their order. */
export function marksOf({ trace, group }) {
  const seen = new Map();
  const query = trace.type === "bar" ? "g.point > path" : "path.point";
  return [...group.querySelectorAll(query)].map((path, place) => {
    const index = (path.__data__ ?? path.parentNode.__data__)?.i ?? place;
    const record = recordAt(trace, index);
    const key = keyOf(record, index);
    const times = seen.get(key) ?? 0;
    seen.set(key, times + 1);
    return { path, record, index, key: `${key} ${times}` };
  });
}

export function axisOf(node, id) {
  return node._fullLayout[`${id[0]}axis${id.slice(1)}`];
}
