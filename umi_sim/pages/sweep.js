// A sweep: what failed, which faults met which rules, what was reached, and which runs were long.

function table(label, heads, rows) {
  const top = el("tr", {}, ...heads.map((head) => el("th", { scope: "col" }, head)));
  return el("div", { class: "wide", tabindex: "0", role: "group", "aria-label": label },
    el("table", {}, el("thead", {}, top), el("tbody", {}, ...rows)));
}

function cells(first, ...others) {
  return el("tr", {}, el("th", { scope: "row" }, first), ...others.map((each) => el("td", {}, each)));
}

function section(id, title, ...inside) {
  return el("section", { id, "aria-labelledby": `${id}-head` }, el("h2", { id: `${id}-head` }, title), ...inside);
}

const PAGE = /^[A-Za-z0-9_-][A-Za-z0-9_.-]*\/[A-Za-z0-9_.-]+\.html$/; // beside this page, and nothing else that a link can be

function failures() {
  if (!data.failures.length) return section("failures", "Failures", el("p", {}, "None."));
  const made = data.failures.map(([isNew, kind, rule, message, hits, where, repeat, look, page]) =>
    el("li", {}, el("h3", {}, isNew ? el("span", { class: "badge fail" }, "NEW") : el("span", { class: "badge" }, "KNOWN"), ` ${kind === rule ? kind : `${kind} ${rule}`}`),
      el("p", {}, message), el("p", {}, `${hits} of the runs; the smallest is ${where}`),
      PAGE.test(page) ? el("p", {}, el("a", { href: page }, "every message of this run, step by step")) : null,
      el("p", {}, el("code", {}, repeat)), look ? el("p", {}, el("code", {}, look)) : null));
  return section("failures", `Failures: ${made.length}`, el("ol", {}, ...made));
}

/** What a field of the map says under the pointer. */
function metTold(rule, fault, count) {
  const met = `${rule} judged ${spaced(Math.abs(count))} runs with ${fault}`;
  return count < 0 ? `${met}, and broke` : count ? `${met}, and held` : `${rule} judged no run with ${fault}`;
}

function metCell(rule, fault, count) {
  const how = count < 0 ? "broke" : count ? "held" : "apart";
  return el("td", { class: how, title: metTold(rule, fault, count) }, count < 0 ? "\u2716" : count ? spaced(count) : "");
}

function map() {
  const { faults, rows } = data.map;
  if (!faults.length) return section("map", "What met what", el("p", {}, "These scenarios have no faults."));
  const heads = faults.map((kind) => {
    const [injected, idle] = data.injected[kind];
    return el("th", { scope: "col", class: "slant", title: `injected ${spaced(injected)} times, ${spaced(idle)} times without effect` },
      el("span", {}, `${kind} ${spaced(injected)}`));
  });
  const made = rows.map(([rule, promise, counts]) => el("tr", {}, el("th", { scope: "row", title: promise }, rule),
    ...counts.map((count, at) => metCell(rule, faults[at], count))));
  const note = "Each column is a fault with how often it was injected, each row a rule. A number says how many runs the rule judged with this fault; \u2716: it broke there. What is empty did not meet.";
  const heading = `${rows.length} rules under ${faults.length} kinds of faults`;
  const inside = [el("p", {}, note), el("div", { class: "wide tall", tabindex: "0", role: "group", "aria-label": "Rules by faults" },
      el("table", { class: "map" }, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "rule"), ...heads)), el("tbody", {}, ...made)))];
  return section("map", "What met what", el("details", { class: "map" }, el("summary", {}, heading), ...inside));
}

function marks() {
  const rows = data.marks.map(([name, counts]) => {
    const never = counts.filter(([, count]) => !count).map(([what]) => what);
    const met = counts.filter(([, count]) => count).map(([what, count]) => `${what} ${spaced(count)}`);
    return cells(name, el("span", { class: "share-of" }, `${met.length} of ${counts.length}`), never.join(", "), el("details", {}, el("summary", {}, "counts"), met.join(", ") || "nothing"));
  });
  return section("marks", "What was reached", table("What was reached", ["part", "met", "never", "how often"], rows));
}

function page() {
  const scenarios = data.scenarios.map(([name, runs, operations, failed]) => cells(name, spaced(runs), spaced(operations), failed ? `${failed} different` : "none"));
  const longest = data.longest.map(([name, seed, steps]) => cells(`${name} seed ${seed}`, spaced(steps), el("code", {}, `umi-sim run ${name} --seed ${seed}`)));
  document.getElementById("page").append(head(), failures(),
    section("scenarios", "What was run", table("What was run", ["scenario", "runs", "operations", "failures"], scenarios)), map(),
    section("longest", "Longest runs", table("Longest runs", ["run", "steps", "again"], longest)), marks());
}

page();
