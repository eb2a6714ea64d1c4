"use strict";
// What every page uses. Texts of a memory are hostile: they become text nodes, here and nowhere else.

const data = JSON.parse(document.getElementById("data").textContent);

/** An element with attributes and what is inside; a string inside is a text node, null is nothing. */
function el(tag, attributes, ...inside) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") made.addEventListener(name, value);
    else made.setAttribute(name, value);
  }
  made.append(...inside.filter((each) => each !== null));
  return made;
}

/** Terms with what is said of each. */
function terms(pairs) {
  return el("dl", {}, ...pairs.flatMap(([label, told]) => [el("dt", {}, label), el("dd", {}, told)]));
}

/** 10 000: thousands apart. */
/** A clock's reading as a date and a time; one beyond the years that a Date knows, in milliseconds. */
function timeOf(ms) {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? `${spaced(ms)} ms` : date.toISOString().replace("T", " ").replace("Z", " UTC");
}

function spaced(number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** A command with a button that copies it. */
function command(text) {
  const said = el("span", { role: "status" });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      said.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(code);
      said.textContent = "selected: copy it with your keyboard";
    }
  };
  const code = el("code", {}, text);
  return el("p", { class: "command" }, code, el("button", { type: "button", id: "copy", click: copy }, "Copy"), said);
}

/** The head of a page: verdict, title, facts, and the command that repeats it. */
function head() {
  document.title = `${data.result} ${data.title}`;
  const badge = el("span", { class: `badge ${data.result.toLowerCase()}` }, data.result);
  return el("header", {}, el("h1", {}, badge, ` ${data.title}`), terms(data.facts), command(data.repeat));
}
