// One life: lanes, a slider through its steps, what each step changed, and the state by path.

const STATE_ROWS_MAX = 300;
const CHANGES_MAX = 40;
const [NUMBER, MS, AGENT, READING, EVENT, ARROWS, TELLING, CHANGES] = [0, 1, 2, 3, 4, 5, 6, 7];
const needed = new Set(data.needed);
const first = data.steps.length ? data.steps[0][NUMBER] : 0;
const last = data.steps.length ? data.steps.at(-1)[NUMBER] : 0;
const stepAt = (number) => data.steps[number - first];
let current = 0;

// The board.

/** The lanes with the arrows of these steps; `name` makes the addresses of steps. */
function board(steps, name, label, split) {
  const list = el("ol", { class: "steps" });
  for (const step of steps) list.append(stepRow(step, name, split));
  const lanes = el("div", { class: "lanes", "aria-hidden": "true" });
  for (const lane of data.lanes) lanes.append(el("span", {}, lane));
  const made = el("div", { class: "board", tabindex: "0", role: "group", "aria-label": label }, lanes, list);
  made.style.setProperty("--count", data.lanes.length);
  return made;
}

function stepRow(step, name, split) {
  const id = `${name}-${step[NUMBER]}`;
  const rows = step[ARROWS].map(arrow);
  const link = el("a", { href: `#${id}`, "aria-label": `Step ${step[NUMBER]}` }, String(step[NUMBER]));
  const time = el("span", { class: "time" }, `${spaced(step[MS])} ms`);
  const made = el("li", { id, class: step[NUMBER] === split ? "apart" : "" }, el("div", { class: "when" }, link, time),
    el("div", { class: "arrows" }, ...rows));
  if (name === "step") {
    made.addEventListener("click", () => go(step[NUMBER]));
    if (data.rule && step[NUMBER] === last) made.lastChild.append(broken());
  }
  return made;
}

function broken() {
  return el("div", { class: "row broken" }, `\u2716 ${data.rule} broke here`);
}

/** One arrow, or a mark in one lane. */
function arrow([source, target, kind, text, event, item]) {
  const isNeeded = item !== "" && needed.has(item);
  const words = el("span", { class: "text", title: text }, kind === "fault" ? `\u26a1 ${text}` : text);
  const line = el("span", { class: "line" });
  const made = el("div", { class: `row ${kind}`, "data-event": event }, line, words);
  made.style.setProperty("--from", Math.min(source, target));
  made.style.setProperty("--span", Math.abs(source - target));
  made.classList.toggle("back", target < source);
  made.classList.toggle("spot", target === source);
  made.classList.toggle("late", target === source && source >= data.lanes.length / 2);
  made.classList.toggle("needed", isNeeded);
  if (isNeeded) words.append(el("span", { class: "hint" }, " (needed)"));
  return made;
}

/** A bar in the lane of a service for as long as a question waits there for its answer. */
function waits(board) {
  const asked = new Map();
  const bars = [];
  const list = board.querySelector(".steps");
  for (const row of list.querySelectorAll(".question, .answer, .lost, .life")) {
    const event = row.dataset.event.replace(/\/answer(\.\d+)?$/, "");
    const agent = row.style.getPropertyValue("--from");
    if (row.classList.contains("question")) asked.set(event, row);
    else if (row.classList.contains("life")) forget(asked, agent); // a new life waits for nothing
    else if (asked.has(event)) {
      const question = asked.get(event);
      asked.delete(event);
      const lane = Number(question.style.getPropertyValue("--from")) + Number(question.style.getPropertyValue("--span"));
      bars.push([lane, bottom(question, list), bottom(row, list)]);
    }
  }
  for (const row of asked.values()) row.classList.add("unanswered");
  for (const [lane, from, to] of bars) {
    const bar = el("li", { class: "wait", role: "presentation", "aria-hidden": "true" });
    bar.style.setProperty("--from", lane);
    bar.style.top = `${from}px`;
    bar.style.height = `${to - from}px`;
    list.append(bar);
  }
}

function forget(asked, agent) {
  for (const [event, row] of asked) {
    if (row.style.getPropertyValue("--from") !== agent) continue;
    row.classList.add("unanswered");
    asked.delete(event);
  }
}

function bottom(row, list) {
  return row.getBoundingClientRect().bottom - list.getBoundingClientRect().top - 4;
}

// States: numbers of paths and texts, as the steps have changed them.

const below = data.paths.map(() => []);
data.paths.forEach(([parent], path) => parent >= 0 && below[parent].push(path));
const roots = data.paths.flatMap(([parent], path) => (parent < 0 ? [path] : []));

function pathName(path) {
  const names = [];
  for (let at = path; at >= 0; at = data.paths[at][0]) names.unshift(data.paths[at][1]);
  return names.join(".");
}

/** What stands at each path after a step: an array of numbers of texts. */
function stateAfter(number) {
  const state = new Int32Array(data.paths.length).fill(-1);
  for (const [path, text] of data.base) state[path] = text;
  for (const step of data.steps) {
    if (step[NUMBER] > number) break;
    for (const [path, text] of step[CHANGES]) state[path] = text;
  }
  return state;
}

const told = (text) => (text < 0 ? "absent" : data.texts[text]);

/** How many values there are below each path, and at it. */
function counts(state) {
  const found = new Int32Array(data.paths.length);
  // Children have larger numbers than their parents, so each is counted before it is added above.
  for (let path = data.paths.length - 1; path >= 0; path--) {
    if (state[path] >= 0) found[path]++;
    if (data.paths[path][0] >= 0) found[data.paths[path][0]] += found[path];
  }
  return found;
}

/** What a step changed; all that came or went together is one line. */
function changesOf(step, before, after) {
  const [then, now] = [counts(before), counts(after)];
  const lines = new Map();
  step[CHANGES].forEach(([path, text], at) => {
    if ((text < 0 ? now : then)[path] > 0) return; // nothing was in it, or is: what came or went says so
    let top = path;
    const gone = text < 0;
    const counted = gone ? now : then;
    // Up to the highest path that is empty on the other side: a whole row that came is one line, not one for
    // each field.
    while (data.paths[top][0] >= 0 && counted[data.paths[top][0]] === 0) top = data.paths[top][0];
    if (before[path] >= 0 && !gone) top = path;
    const line = lines.get(top) ?? { top, isTelling: at < step[TELLING], inside: [] };
    line.inside.push([path, before[path], text]);
    lines.set(top, line);
  });
  return [...lines.values()];
}

function changeRow({ top, inside }) {
  const name = el("code", {}, pathName(top));
  const [[path, was, is]] = inside;
  if (inside.length === 1 && path === top) {
    return el("li", {}, name, " ", el("del", {}, told(was)), " \u2192 ", el("ins", {}, told(is)));
  }
  const isGone = inside.every(([, , text]) => text < 0);
  const prefix = pathName(top).length + 1;
  const parts = inside.slice(0, 8).map(([at, from, to]) => `${pathName(at).slice(prefix)}=${told(isGone ? from : to)}`);
  const more = inside.length > 8 ? `, and ${inside.length - 8} more` : "";
  const words = `${isGone ? "went" : "came"}: ${parts.join(", ")}${more}`;
  return el("li", {}, name, " ", el(isGone ? "del" : "ins", {}, words));
}

function changeList(lines) {
  const shown = lines.slice(0, CHANGES_MAX).map(changeRow);
  if (lines.length > CHANGES_MAX) shown.push(el("li", {}, `and ${lines.length - CHANGES_MAX} more places`));
  return el("ul", { class: "changes" }, ...shown);
}

// The state as a tree, opened where the reader clicks; or as a list of what a text finds.

const opened = new Set(["memory"]);
const filter = el("input", { type: "search", id: "filter", placeholder: "path or value" });
const tree = el("div", { id: "tree" });

function showState(state, changed) {
  const wanted = filter.value.toLowerCase();
  tree.replaceChildren(wanted ? foundList(state, changed, wanted) : branch(roots, state, counts(state), changed));
}

function branch(paths, state, found, changed) {
  return el("ul", {}, ...paths.filter((path) => found[path]).map((path) => node(path, state, found, changed)));
}

function node(path, state, found, changed) {
  if (state[path] >= 0) return leaf(data.paths[path][1], path, state, changed);
  const name = pathName(path);
  const fold = el("details", {}, el("summary", {}, data.paths[path][1], el("small", {}, ` ${found[path]}`)));
  const fill = () => {
    if (fold.open && !fold.querySelector("ul")) fold.append(branch(below[path], state, found, changed));
    if (fold.open) opened.add(name);
    else opened.delete(name);
  };
  fold.open = opened.has(name);
  if (fold.open) fill();
  fold.addEventListener("toggle", fill);
  return el("li", {}, fold);
}

function leaf(name, path, state, changed) {
  return el("li", { class: changed.has(path) ? "changed" : "" }, el("code", {}, name), " ", told(state[path]));
}

function foundList(state, changed, wanted) {
  const rows = [];
  for (let path = 0; path < state.length && rows.length < STATE_ROWS_MAX; path++) {
    if (state[path] < 0) continue;
    const name = pathName(path);
    if (`${name} ${told(state[path])}`.toLowerCase().includes(wanted)) rows.push(leaf(name, path, state, changed));
  }
  return el("ul", {}, ...(rows.length ? rows : [el("li", {}, "nothing here has that")]));
}

// The panel: one step.

const panel = el("div", { id: "told" });
const slider = el("input", { type: "range", id: "slider", min: first, max: last, step: 1, value: first });
const place = el("output", { id: "place", for: "slider" });

function showStep(step) {
  const from = step[NUMBER] > first ? stateAfter(step[NUMBER] - 1) : stateAfter(first - 1);
  const now = stateAfter(step[NUMBER]);
  const lines = changesOf(step, from, now);
  const [telling, quiet] = [lines.filter((it) => it.isTelling), lines.filter((it) => !it.isTelling)];
  const clock = step[AGENT] ? `, the clock of ${step[AGENT]} shows ${timeOf(step[READING])}` : "";
  const words = step[ARROWS].map(([source, target, kind, text, event, item]) => {
    const way = source === target ? data.lanes[source] : `${data.lanes[source]} \u2192 ${data.lanes[target]}`;
    const which = event && !text.includes(event) && event !== item ? ` (${event})` : "";
    return el("li", { class: kind }, el("b", {}, `${way}: `), text, which);
  });
  if (data.rule && step[NUMBER] === last) words.push(el("li", { class: "fault" }, `${data.rule} broke here`));
  panel.replaceChildren(
    el("h2", {}, `Step ${step[NUMBER]}: ${step[EVENT]}`),
    el("p", {}, `${spaced(step[MS])} ms after the start${clock}`),
    el("ul", { class: "words" }, ...words),
    el("h3", {}, "What it changed"),
    !data.unseen
      ? telling.length ? changeList(telling) : el("p", {}, "Nothing of memory and storage but what is counted anyway.")
      : el("p", {}, data.unseen),
    ...(quiet.length ? [el("details", { class: "quiet" }, el("summary", {}, `and ${quiet.length} more: clocks and counters`), changeList(quiet))] : []),
  );
  if (!data.unseen) showState(now, new Set(step[CHANGES].map(([path]) => path)));
}

/** Scrolls the board, and never the page, so that a step stands in it as a whole. */
function intoView(row) {
  const around = row.closest(".board");
  const top = row.offsetTop - around.querySelector(".lanes").offsetHeight;
  const low = row.offsetTop + row.offsetHeight - around.clientHeight;
  around.scrollTop = Math.max(low, Math.min(top, around.scrollTop));
}

function go(number, isKept) {
  const wanted = Math.min(last, Math.max(first, number));
  if (wanted === current || !data.steps.length) return;
  document.getElementById(`step-${current}`)?.removeAttribute("aria-current");
  current = wanted;
  const row = document.getElementById(`step-${current}`);
  row.setAttribute("aria-current", "step");
  intoView(row);
  const step = stepAt(current);
  slider.value = current;
  slider.setAttribute("aria-valuetext", `step ${current} of ${data.count}: ${step[EVENT]}`);
  place.textContent = `step ${current} of ${data.count}`;
  showStep(step);
  if (!isKept) history.replaceState(null, "", `#step-${current}`);
}

function toAddress() {
  const asked = /^#step-(\d{1,9})$/.exec(location.hash);
  go(asked ? Number(asked[1]) : data.rule ? last : first, !asked);
}

/** The next step, forwards or back, with a fault or something needed in it. */
function nextTelling(by) {
  for (let at = current + by; at >= first && at <= last; at += by) {
    const isTelling = ([, , kind, , , item]) => kind === "fault" || needed.has(item);
    if (stepAt(at)[ARROWS].some(isTelling) || (data.rule && at === last)) return go(at);
  }
  return undefined;
}

const KEYS = {
  ArrowRight: () => go(current + 1), ArrowLeft: () => go(current - 1), j: () => go(current + 1), k: () => go(current - 1),
  PageDown: () => go(current + 10), PageUp: () => go(current - 10), Home: () => go(first), End: () => go(last),
  n: () => nextTelling(1), p: () => nextTelling(-1), c: () => document.getElementById("copy").click(),
  "/": () => filter.focus(),
};

function onKey(event) {
  const isTyping = event.target === filter || event.ctrlKey || event.metaKey || event.altKey;
  if (event.key === "Escape" && event.target === filter) filter.blur();
  if (isTyping || !Object.hasOwn(KEYS, event.key)) return;
  if (event.target === slider && event.key.length > 2) return; // it moves by itself
  event.preventDefault();
  KEYS[event.key]();
}

// Why.

function why() {
  const found = data.why;
  if (!found.so) return null;
  const made = el("section", { id: "why", "aria-labelledby": "why-head" }, el("h2", { id: "why-head" }, "Why it fails"), el("p", { class: "so" }, found.so));
  if (found.stopped) made.append(el("p", {}, `${found.stopped}: this is what was found by then`));
  made.append(partList("Needed", found.needed, true), partList("No part", found.idle, false));
  if (found.shares.length) made.append(shares(found));
  else if (found.no_shares) made.append(el("p", {}, `Where it was decided is not known: ${found.no_shares}`));
  return made;
}

function partList(label, parts, isBold) {
  if (!parts.length) return "";
  const rows = parts.map(([name, what]) => el("li", {}, el(isBold ? "b" : "span", {}, name), ` \u2014 ${what}`));
  return isBold
    ? el("div", {}, el("h3", {}, label), el("ul", {}, ...rows))
    : el("details", {}, el("summary", {}, `${label}: ${parts.length}`), el("ul", {}, ...rows));
}

function shares(found) {
  const rows = found.shares.map(([kept, failed, runs, isDecided]) => {
    const meter = el("div", { class: "share" }, el("div", {}));
    meter.firstChild.style.width = `${(100 * failed) / runs}%`;
    return el("tr", { class: isDecided ? "decided" : "" }, el("th", { scope: "row" }, kept),
      el("td", { class: "number" }, `${failed}/${runs}`), el("td", {}, meter), el("td", {}, isDecided ? "\u2190 decided here" : ""));
  });
  const note = `Of so many runs each, how many fail in the same way if the items so far are kept, and all that follows is drawn afresh, as in ${found.from}.`;
  return el("div", {}, el("h3", {}, "Where it was decided"), el("p", {}, note), el("table", { class: "shares" }, el("tbody", {}, ...rows)));
}

function nearest() {
  const near = data.why.nearest;
  if (!near) return null;
  const lanes = board(near.steps, "pass", `Nearest passing run, without ${near.without}`, near.step);
  return el("section", { id: "nearest", "aria-labelledby": "nearest-head" },
    el("h2", { id: "nearest-head" }, el("span", { class: "badge pass" }, "PASS"), ` Nearest run that passes: without ${near.without}`),
    el("p", {}, `Up to step ${near.step}, where the dashed line is, it is the run that fails.`), lanes);
}

// The page.

function page() {
  const before = first > 1 ? el("p", {}, `${first - 1} steps before these are left out.`) : null;
  const main = board(data.steps, "step", "The run, step by step", data.why.nearest?.step);
  const run = el("section", { id: "run", "aria-labelledby": "run-head" }, el("h2", { id: "run-head" }, "The run"), before,
    el("p", {}, el("small", {}, "\u2192 request or question, dashed: reply or answer, \u26a1 fault, bar: waits for an answer")), main);
  const near = nearest();
  const back = el("button", { type: "button", "aria-label": "one step back", click: () => go(current - 1) }, "\u25c0");
  const on = el("button", { type: "button", "aria-label": "one step on", click: () => go(current + 1) }, "\u25b6");
  const keys = "keys: \u2190 \u2192 steps, n p next fault or needed item, Home End, / search the state, c copy";
  const bar = el("nav", { class: "bar", "aria-label": "Steps" }, el("label", { for: "slider" }, "Step"), back, slider, on, place, el("small", {}, keys));
  const state = el("section", { id: "state", "aria-labelledby": "state-head" },
    el("h3", { id: "state-head" }, "State after this step, by path"), el("label", { for: "filter" }, "Find "), filter, tree);
  const side = el("aside", { "aria-label": "The step" }, panel, data.unseen ? null : state);
  document.getElementById("page").append(head(), bar, el("div", { class: "sides" }, el("div", { class: "boards" }, run, near), side), why() ?? "");
  waits(main);
  if (near) waits(near.querySelector(".board"));
}

page();
slider.addEventListener("input", () => go(Number(slider.value)));
filter.addEventListener("input", () => {
  const step = stepAt(current);
  showState(stateAfter(current), new Set(step[CHANGES].map(([path]) => path)));
});
addEventListener("keydown", onKey);
addEventListener("hashchange", toAddress);
toAddress();
