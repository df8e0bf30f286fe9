// What all pages share: elements, numbers with units, light and dark, the address, keys, tables.
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);

// ---- Elements. Text is always text: nothing of the data is read as markup.

function put(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else if (name === "style") element.style.cssText = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return element;
}
const h = (tag, attributes, ...children) => put(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  put(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
const link = (text, go) => h("button", { class: "link", type: "button", click: go }, text);

// ---- Numbers

function short(n) {
  const size = Math.abs(n);
  return size >= 100 || Number.isInteger(n) ? n.toFixed(0) : n.toFixed(size >= 10 ? 1 : 2);
}
function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let k = 0;
  while (Math.abs(n) >= 1024 && k < units.length - 1) { n /= 1024; ++k; }
  return `${short(k ? n : Math.round(n))} ${units[k]}`;
}
function time(ns) {
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["us", 1e3]])
    if (Math.abs(ns) >= size) return `${short(ns / size)} ${unit}`;
  return `${Math.round(ns)} ns`;
}
const count = (n) => Math.round(n).toLocaleString("en-US");
const plural = (n, one, many) => `${count(n)} ${n === 1 ? one : many || one + "s"}`;
function amount(n, unit) {                 // 1.5 GFLOP, 20 M
  const names = ["", "k", "M", "G", "T", "P"];
  let k = 0;
  while (Math.abs(n) >= 1000 && k < names.length - 1) { n /= 1000; ++k; }
  return `${short(n)} ${names[k]}${unit}`;
}

// ---- Light and dark: as the system has it, until the reader says otherwise

const darkness = matchMedia("(prefers-color-scheme: dark)");
let theme = null;
const repaints = [];                       // called when the colours change
function paint() {
  document.documentElement.dataset.theme = theme || (darkness.matches ? "dark" : "light");
  for (const f of repaints) f();
}
darkness.addEventListener("change", paint);
function switchTheme() {
  theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  paint();
}
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
paint();

// ---- The address keeps what is chosen: #line=0.15&tensor=3

const state = new URLSearchParams(location.hash.slice(1));
function remember(name, value) {
  if (value === null || value === undefined) state.delete(name);
  else state.set(name, value);
  history.replaceState(null, "", "#" + state);
}

// ---- Keys, and the list of them

const keys = new Map();                    // key -> [what it does in words, function]
function key(names, words, run) {
  for (const name of names) keys.set(name, [names.join(" "), words, run]);
}
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, select, textarea");
  if (event.target.closest("dialog") || event.ctrlKey || event.metaKey || event.altKey || (typing && event.key !== "Escape")) return;
  const found = keys.get(event.key);
  if (found && found[2](event) !== false) event.preventDefault();
});
function showKeys() {
  const seen = new Set();
  const rows = [...keys.values()].filter(([names]) => !seen.has(names) && seen.add(names));
  const box = h("dialog", { "aria-label": "Keys", close: () => box.remove() },
    h("dl", { class: "keys" }, rows.map(([names, words]) => [
      h("dt", {}, names.split(" ").map((n) => [h("kbd", {}, n.replace("Arrow", "")), " "])),
      h("dd", {}, words)])),
    h("form", { method: "dialog" }, h("button", {}, "Close")));
  document.body.append(box);
  box.showModal();
}

// ---- The top of a page

function head(title, lines, ...buttons) {
  return h("header", {},
    h("h1", {}, title), lines.map((line) => h("p", { class: "quiet" }, line)),
    h("div", { class: "bar", role: "toolbar", "aria-label": "Page" }, buttons,
      h("button", { type: "button", click: switchTheme }, "Light / dark"),
      keys.size ? h("button", { type: "button", click: showKeys }, "Keys ", h("kbd", {}, "?")) : null));
}

// ---- Tables that sort by any column
// columns: {title, value(row) to sort by, show(row) to print, number: right-aligned}

function table(columns, rows, options = {}) {
  let by = options.by ?? 0, down = options.down ?? true, most = options.most || 500;
  const body = h("tbody");
  const heads = columns.map((column, k) =>
    h("th", { scope: "col", class: column.number ? "number" : null },
      column.title && h("button", { type: "button", click: () => { down = by === k ? !down : Boolean(column.number); by = k; fill(); } },
        column.title, h("span", { "aria-hidden": "true" }))));
  function fill() {
    const value = columns[by].value;
    const order = [...rows].sort((a, b) => {
      const x = value(a), y = value(b);
      return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
    });
    heads.forEach((th, k) => {
      if (!columns[k].title) return;
      th.setAttribute("aria-sort", k !== by ? "none" : down ? "descending" : "ascending");
      th.querySelector("span").textContent = k !== by ? "" : down ? " \u25be" : " \u25b4";
    });
    body.replaceChildren(...order.slice(0, most).map((row) => {
      const tr = h("tr", {}, columns.map((column) =>
        h("td", { class: column.number ? "number" : column.tight ? "tight" : null, "data-title": column.title || null }, column.show ? column.show(row) : column.value(row))));
      if (options.row) options.row(tr, row);
      return tr;
    }));
    if (order.length > most)
      body.append(h("tr", {}, h("td", { colspan: columns.length },
        link(`Show ${count(order.length - most)} more`, () => { most = Infinity; fill(); }))));
  }
  fill();
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": options.label || "Table" },
    h("table", {}, h("caption", { class: "hidden" }, options.label || ""), h("thead", {}, h("tr", {}, heads)), body));
}
