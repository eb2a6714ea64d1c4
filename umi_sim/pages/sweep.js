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

function failures() {
  if (!data.failures.length) return section("failures", "Failures", el("p", {}, "None."));
  const made = data.failures.map(([isNew, kind, rule, message, hits, where, repeat, look]) =>
    el("li", {}, el("h3", {}, isNew ? el("span", { class: "badge fail" }, "NEW") : el("span", { class: "badge" }, "KNOWN"), ` ${kind} ${rule}`),
      el("p", {}, message), el("p", {}, `${hits} of the runs; the smallest is ${where}`),
      el("p", {}, el("code", {}, repeat)), look ? el("p", {}, el("code", {}, look)) : null));
  return section("failures", `Failures: ${made.length}`, el("ol", {}, ...made));
}

const MET = ["not met", "met in a run, and the rule held", "the rule broke under this fault"];
const SIGNS = ["", "\u00b7", "\u2716"];

function map() {
  const { rules, promises, rows } = data.map;
  const top = el("tr", {}, el("th", { scope: "col" }, "fault"),
    ...rules.map((rule, at) => el("th", { scope: "col", class: "slant", title: promises[at] }, el("span", {}, rule))));
  const made = rows.map(([kind, met]) => {
    const [struck, idle] = data.struck[kind];
    const inside = [...met].map((how, at) => el("td", { class: `met${how}`, title: `${kind}, ${rules[at]}: ${MET[how]}` }, SIGNS[how]));
    return el("tr", { title: `struck ${struck} times, ${idle} times without effect` }, el("th", { scope: "row" }, kind, el("small", {}, ` ${struck}`)), ...inside);
  });
  if (!rows.length) return section("map", "What met what", el("p", {}, "These scenarios have no faults."));
  const note = `Each row is a fault with how often it struck, each column a rule. Filled: the rule judged a run in which the fault struck. ${SIGNS[2]}: the rule broke under it.`;
  return section("map", "What met what", el("p", {}, note),
    el("div", { class: "wide", tabindex: "0", role: "group", "aria-label": "Faults by rules" }, el("table", { class: "map" }, el("thead", {}, top), el("tbody", {}, ...made))));
}

function marks() {
  const rows = data.marks.map(([name, counts]) => {
    const never = counts.filter(([, count]) => !count).map(([what]) => what);
    const met = counts.filter(([, count]) => count).map(([what, count]) => `${what} ${spaced(count)}`);
    return cells(name, `${met.length} of ${counts.length}`, never.join(", "), el("details", {}, el("summary", {}, "counts"), met.join(", ") || "nothing"));
  });
  return section("marks", "What was reached", table("What was reached", ["part", "met", "never", "how often"], rows));
}

function page() {
  const scenarios = data.scenarios.map(([name, runs, operations, failed]) => cells(name, spaced(runs), spaced(operations), failed ? `${failed} different` : "none"));
  const longest = data.longest.map(([name, seed, steps]) => cells(`${name} seed ${seed}`, spaced(steps), el("code", {}, `umi-sim run ${name} --seed ${seed}`)));
  document.getElementById("page").append(head(), failures(), map(),
    section("scenarios", "What was run", table("What was run", ["scenario", "runs", "operations", "failures"], scenarios)),
    section("longest", "Longest runs", table("Longest runs", ["run", "steps", "again"], longest)), marks());
}

page();
