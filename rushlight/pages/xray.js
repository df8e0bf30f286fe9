// The x-ray: source with what each line did beside it, a panel for the open line, tensors to follow.

const files = data.files, tensors = data.tensors;
const wide = matchMedia("(min-width: 1360px)");
const rows = new Map();                    // "0.15" -> the element of a line
const order = [];                          // lines that ran, [file, line], in the page's order
let open = null, variant = 0, followed = null, panel = null;

const idOf = (file, line) => `${file}.${line}`;
const rowOf = (file, line) => files[file].rows[line];
const several = files.length > 1;
const placeText = (at) => !at ? "code outside of these files"
  : several ? `${files[at[0]].name}:${at[1]}` : `line ${at[1]}`;
const placeLink = (at) => at ? link(placeText(at), () => choose(at[0], at[1])) : placeText(at);

// ---- Tensors in words

function layoutText(number, withStride) {
  const l = data.layouts[number];
  const size = `(${l.size.join(", ")}${l.size.length === 1 ? "," : ""})`;
  return `${size} ${l.dtype}` + (withStride && l.stride ? `, strides (${l.stride.join(", ")})` : "");
}
function tensorName(number) {
  if (number < 0) return "tensor";
  const t = tensors[number];
  if (t.name) return t.name;
  return t.op ? shortName(t.op) : "given";
}
const shortName = (op) => op.replace(/^_(?=[a-z])/, "").replace(/\..*$/, "");
function chip([number, layout]) {
  const text = `${tensorName(number)} ${layoutText(layout)}`;
  if (number < 0) return h("span", { class: "chip" }, text);
  return h("button", { class: "chip", type: "button", title: "Follow this tensor: " + layoutText(layout, true),
    click: () => follow(number) }, text);
}

// ---- Source: words, strings, comments, and the names of tensors as buttons

const WORDS = new Set(("and as assert async await break class continue def del elif else except False finally for " +
  "from global if import in is lambda None nonlocal not or pass raise return True try while with yield").split(" "));
const TOKEN = /(#.*$)|([rbfuRBFU]{0,2}(?:"""(?:\\.|[^\\])*?(?:"""|$)|'''(?:\\.|[^\\])*?(?:'''|$)|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'))|((?:[^\W\d]\w*\.)*[^\W\d]\w*)|(\d[\w.]*)/gu;

function namesOn(file, line) {             // name -> tensor, of those that the line makes or reads
  const names = new Map();
  for (const v of rowOf(file, line)?.variants || [])
    for (const op of v.ops)
      for (const [number] of [...op.in, ...op.out])
        if (number >= 0 && tensors[number].name && !names.has(tensors[number].name))
          names.set(tensors[number].name, number);
  return names;
}
let quote = null;                          // what a string that goes on will end with
function sourceOf(file, line) {
  const text = files[file].lines[line], names = namesOn(file, line), out = [];
  let last = 0;
  if (quote) {                             // the line begins inside of a string of several lines
    const end = text.indexOf(quote);
    last = end < 0 ? text.length : end + 3;
    out.push(h("span", { class: "string" }, text.slice(0, last)));
    if (end >= 0) quote = null;
  }
  TOKEN.lastIndex = last;
  for (let m; (m = TOKEN.exec(text)) && last < text.length;) {
    if (m.index > last) out.push(text.slice(last, m.index));
    last = m.index + m[0].length;
    const [all, comment, string, word, digits] = m;
    if (comment) out.push(h("span", { class: "comment" }, all));
    else if (string) {
      out.push(h("span", { class: "string" }, all));
      const begun = string.match(/^[a-zA-Z]*("""|''')/);
      if (begun && (string.length < begun[0].length + 3 || !string.endsWith(begun[1]))) quote = begun[1];
    }
    else if (digits) out.push(h("span", { class: "digits" }, all));
    else out.push(...wordOf(word, names));
  }
  out.push(text.slice(last));
  return out;
}
function wordOf(word, names) {
  if (WORDS.has(word)) return [h("span", { class: "word" }, word)];
  const parts = word.split(".");
  for (let k = parts.length; k > 0; --k) {
    const name = parts.slice(0, k).join(".");
    if (names.has(name))
      return [h("button", { class: "tensor", type: "button", title: `Follow ${name}`,
        click: (e) => { e.stopPropagation(); follow(names.get(name)); } }, name), word.slice(name.length)];
  }
  return [word];
}

// ---- Lines with their margin

// The line that calls backward is no part of the scale: its time is that of the lines it walks.
const isPass = (row) => row.walked > 0;
const greatest = Math.max(1, ...files.flatMap((f) => Object.values(f.rows).filter((r) => !isPass(r)).map((r) => Math.max(r.forward, r.backward))));

const sum = (list, k) => list.reduce((all, item) => all + item[k], 0);

function margin(row) {
  const part = (ns) => `--part:${Math.min(100, 100 * ns / greatest).toFixed(1)}%`;
  const cell = (label, text, title) => h("span", { class: "cell", title }, text && h("span", { class: "label" }, label + " "), text);
  const filled = (kind, ns) => ns ? h("span", { class: `fill ${kind}`, style: part(ns) }, time(ns)) : "";
  const each = (n) => n / row.times;
  return h("span", { class: "cells" },
    cell("ran", row.times > 1 ? `\u00d7${count(row.times)}` : "once"),
    cell("made / left", row.made || row.held ? `${bytes(each(row.made))} / ${bytes(each(row.held))}` : "",
      "bytes made each time / of these alive when the program went on"),
    cell("nodes", [row.nodes || "", row.walked ? `-${row.walked}` : ""].filter(Boolean).join(" "),
      row.walked ? "graph nodes made, and walked, each time" : "graph nodes made each time"),
    cell("forward", row.forward || !row.calls.length ? filled("forward", row.forward)
      : h("i", { title: "all that the called modules took, on their own lines" }, `(${time(sum(row.calls, 2))})`)),
    cell("backward", filled("backward", row.backward), isPass(row) ? "the backward passes of this line" : "what the graph nodes of this line took in backward passes"));
}
function lineElement(file, line) {
  const row = rowOf(file, line), id = idOf(file, line);
  const mark = h("span", { class: "mark" });
  const hang = `--hang:${files[file].lines[line].search(/\S|$/) + 4}ch`;
  if (!row) {
    const at = h("span", { class: "at" }, line);
    return remembered(id, h("li", { class: "row moves" }, mark, at, h("code", { class: "source", style: hang }, sourceOf(file, line))));
  }
  order.push([file, line]);
  const button = h("button", { type: "button", "aria-expanded": "false", "aria-label": `Line ${line}, ran ${plural(row.times, "time")}` }, line);
  return remembered(id, h("li", { class: "row ran moves", click: (e) => { if (!getSelection().toString()) toggle(file, line); } },
    mark, h("span", { class: "at" }, button), h("code", { class: "source", style: hang }, sourceOf(file, line)), margin(row)));
}
function remembered(id, element) { rows.set(id, element); return element; }

function loopNote(file, line) {
  const loop = files[file].loops[line];
  if (!loop) return null;
  const head = plural(loop.turns, "turn") + (loop.groups.length ? "" : " in all");
  if (loop.groups.length <= 1) return h("li", { class: "note" }, head + (loop.turns > 1 && loop.groups.length ? ", all alike" : ""));
  const others = loop.groups.slice(1, 5).map((g) => [
    `; ${g.count === 1 ? "turn" : "turns"} ${g.turns} differ${g.count === 1 ? "s" : ""} at `,
    g.rows.slice(0, 5).map((at, k) => [k ? ", " : "", placeLink(at)])]);
  return h("li", { class: "note" }, `${head}: ${loop.groups[0].turns} alike`, others);
}
function fileElement(number) {
  const file = files[number];
  const items = [h("li", { class: "row names", "aria-hidden": "true" }, h("span"), h("span", { class: "at" }, "line"),
    h("span", {}, "source"), h("span", { class: "cells" },
      ["times", "made / left each", "nodes", "forward", "backward"].map((t) => h("span", { class: "cell" }, t))))];
  let before = 0;
  for (const line of Object.keys(file.lines).map(Number)) {
    if (line > before + 1) items.push(h("li", { class: "note" }, "\u22ee"));
    before = line;
    items.push(lineElement(number, line), loopNote(number, line), errorNote(number, line));
  }
  const list = h("ol", { class: "file", "aria-label": file.name }, items);
  if (!file.library) return [h("h2", {}, file.name), list];
  return h("details", {}, h("summary", {}, `${file.name}: a library's file, the lines that ran`), list);
}

// ---- The error that ended the program

const errorPlaces = new Map();             // "0.15" -> how deep it lies
if (data.error)
  data.error.at.forEach(([path, line], depth) => {
    const file = files.findIndex((f) => f.path === path);
    if (file >= 0) errorPlaces.set(idOf(file, line), depth);
  });
function errorNote(file, line) {
  const depth = errorPlaces.get(idOf(file, line));
  if (depth === undefined) return null;
  rows.get(idOf(file, line)).classList.add("failed");
  if (depth !== Math.max(...errorPlaces.values()))
    return h("li", { class: "note bad" }, "The error passed through this line.");
  return h("li", { class: "note error" }, h("b", {}, data.error.type + ": "), data.error.text);
}
function errorBanner() {
  if (!data.error) return null;
  const deepest = [...errorPlaces].sort((a, b) => b[1] - a[1])[0];
  return h("section", { class: "error", role: "alert" },
    h("p", {}, h("b", {}, `The program ended with ${data.error.type}`), deepest ? [" at ", placeLink(deepest[0].split(".").map(Number))] : "", "."),
    h("pre", {}, data.error.text), data.error.notes.map((note) => h("pre", {}, note)));
}

// ---- The open line

function opElement(op, times) {
  const per = (n) => n / times;
  const facts = [];
  if (op.forward) facts.push(`${time(per(op.forward))} each`);
  if (op.backward && op.kind !== "backward") facts.push(`${time(per(op.backward))} in backward`);
  if (op.made) facts.push(`${bytes(per(op.made))} made`);
  if (op.nodes) facts.push(plural(op.nodes, "graph node"));
  if (op.module >= 0) facts.push(`in ${data.modules[op.module]}`);
  const name = op.kind === "backward" || op.kind === "step" ? op.name : shortName(op.name);
  return h("li", {},
    h("div", {}, h("b", { class: "code" }, name), " ", op.text && h("code", { class: "quiet" }, op.text),
      op.failed && h("b", { class: "bad" }, " raised")),
    op.in.length + op.out.length > 0 && h("div", { class: "chips" }, op.in.map(chip),
      op.moreIn && `and ${op.moreIn} more`, op.out.length > 0 && " \u2192 ", op.out.map(chip), op.moreOut && `and ${op.moreOut} more`),
    story(op, times),
    h("div", { class: "quiet" }, facts.join(" \u00b7 ")),
    op.walked && op.kind !== "backward" && h("div", { class: "quiet" }, "backward: " + op.walked.map(([n, c]) => `${n} \u00d7${count(c)}`).join(", ")));
}
function story(op, times) {
  const base = op.in.find(([number]) => number >= 0);
  const strided = op.in.length && data.layouts[op.in[0][1]].stride;
  switch (op.kind) {
    case "view": {
      const strides = op.out.length && data.layouts[op.out[0][1]].stride;
      return h("p", {}, `A view: 0 bytes, the same storage${base ? " as " + tensorName(base[0]) : ""}.`,
        strides && ` Its strides are (${strides.join(", ")}), not in row order.`);
    }
    case "copy":
      return h("p", {}, `Copied ${bytes(op.made / times)}` + (strided ? `: the strides (${strided.join(", ")}) were not in row order.` : "."));
    case "write": return h("p", {}, `Changed ${tensorName(op.in[0][0])} in place.`);
    case "same": return h("p", {}, "Nothing to do: gave back the tensor it was given.");
    case "step": return op.inner && h("p", {}, "Ran " + op.inner.map(([n, c]) => `${shortName(n)} \u00d7${count(c)}`).join(", ") + ".");
    case "backward": return passStory(op, times);
    case "new": return op.name === "new tensor" ? h("p", {}, "Memory that no op made: a tensor of values from Python, or of another library.") : null;
    default: return null;
  }
}
function passStory(op, times) {
  const p = op.pass;
  return [
    h("p", {}, `Walked ${plural(p.nodes, "graph node")}, newest first: ${count(p.nodes - p.leaves)} of ops, ${count(p.leaves)} of parameters. ` +
      `Left ${bytes(p.kept)} in ${plural(p.gradients, "block")}: the gradients. ` +
      (p.freed ? `Freed ${bytes(p.freed)} of saved values, so the same graph can not be walked again.` : "Freed nothing: what was saved is still held by the program, or there was nothing.")),
    op.lines.length > 0 && h("p", {}, "Costliest: ", op.lines.map(([at, ns], k) => [k ? ", " : "", placeLink(at), ` ${time(ns / times)}`]), "."),
    h("p", { class: "quiet" }, op.walked.map(([n, c]) => `${n} \u00d7${count(c / times)}`).join(", ")),
  ];
}
function linePanel(file, line) {
  const row = rowOf(file, line), v = row.variants[variant];
  const called = row.calls.slice(0, 12).map(([module, n, ns]) =>
    h("p", {}, `Called ${data.modules[module]} ${plural(n, "time")}, ${time(ns / n)} each with all that ran in it.`));
  const top = [h("h2", {}, `${several ? files[file].name + ", " : ""}line ${line}`),
    h("pre", { class: "code" }, files[file].lines[line].trim())];
  if (!v) return [top, called];
  const many = row.variants.length + (row.more || 0);
  const about = [];
  if (v.module >= 0) about.push(`in module ${data.modules[v.module]}`);
  about.push(`${plural(v.count, "time")}` + (v.turns ? `, ${v.turns.match(/[-,]/) ? "turns" : "turn"} ${v.turns} of the loop at line ${v.loop}` : ""));
  about.push(`each made ${bytes(v.made / v.count)}, left ${bytes(v.held / v.count)}`);
  return [
    top,
    many > 1 && h("div", { class: "bar" },
      h("button", { type: "button", "aria-label": "The kind of call before", click: () => turn(-1) }, "\u2039"),
      h("span", { role: "status" }, `call ${variant + 1} of ${many} that differ`),
      h("button", { type: "button", "aria-label": "The next kind of call", click: () => turn(1) }, "\u203a")),
    h("p", { class: "quiet" }, about.join(" \u00b7 ")), called,
    h("ol", { class: "ops" }, v.ops.map((op) => opElement(op, v.count))),
    v.more > 0 && h("p", { class: "quiet" }, `and ${plural(v.more, "more op")}`),
    row.more > 0 && variant === row.variants.length - 1 && h("p", { class: "quiet" }, `${plural(row.more, "more kind")} of call are not shown.`)];
}

// ---- Following a tensor

const rootOf = (number) => { while (tensors[number].base !== undefined) number = tensors[number].base; return number; };
const LETTERS = { made: "M", view: "V", copy: "C", read: "r", write: "W", update: "W", freed: "F", saved: "S" };
const SAID = { made: "made by", view: "seen as a view by", copy: "copied by", read: "read by", write: "changed in place by",
  update: "updated by", freed: "freed by", saved: "saved for backward by" };

function stopsOf(number) {
  const root = rootOf(number), stops = [];
  tensors.forEach((t, k) => {
    if (rootOf(k) !== root) return;
    if (t.row && (k === root)) stops.push({ at: t.row, role: "made", op: shortName(t.op), of: k });
    for (const [file, line, role, op, n] of t.uses)
      stops.push({ at: [file, line], role, op: role === "update" ? op : shortName(op), of: k, n });
    for (const [how, row, saved] of t.ends) {
      if (how === "backward" && saved) stops.push({ at: saved, role: "saved", op: "its graph node", of: k });
      if (row) stops.push({ at: row, role: "freed", op: how === "backward" ? "the backward pass" : "the program: nothing refers to it any more", of: k });
    }
  });
  return stops.sort((a, b) => a.at[0] - b.at[0] || a.at[1] - b.at[1]);
}
function endText([how, row, saved, n]) {
  const times = n > 1 ? ` (\u00d7${count(n)})` : "";
  if (how === "kept") return ["Its memory is still held when the recording ends" + times + "."];
  if (how === "line") return ["Its memory is let go of at ", placeLink(row), times + "."];
  return ["Kept for backward", saved ? [" by the graph node of ", placeLink(saved)] : "", ", freed by the pass of ", placeLink(row), times + "."];
}
function tensorPanel(number) {
  const t = tensors[number], root = rootOf(number);
  return [
    h("h2", {}, t.parameter ? "Parameter " : "Tensor ", h("code", {}, tensorName(number))),
    h("p", {}, layoutText(t.layout, true), `, ${bytes(t.bytes)}`),
    t.row && h("p", {}, `Made by ${shortName(t.op)} at `, placeLink(t.row), "."),
    root !== number && h("p", {}, "A view of ", link(tensorName(root), () => follow(root)), ": the same storage."),
    t.ends.map((end) => h("p", {}, endText(end))),
    (t.walked || []).map(([node, row, n]) => h("p", {}, `Its gradient went through ${node}${n > 1 ? ` \u00d7${count(n)}` : ""} in the backward pass of `, placeLink(row), ".")),
    t.gradient && h("p", {}, `Its gradient, ${bytes(t.gradient.bytes)}, is made by ${t.gradient.node}`,
      t.gradient.forward ? [" of ", placeLink(t.gradient.forward)] : "", " in the backward pass of ", placeLink(t.gradient.row), "."),
    h("h3", {}, "Lines that touch its storage"),
    h("ol", { class: "stops" }, stopsOf(number).map((s) => h("li", {}, placeLink(s.at), `: ${s.of !== number ? tensorName(s.of) + " " : ""}${SAID[s.role]} ${s.op}`,
      s.n > 1 ? ` \u00d7${count(s.n)}` : ""))),
    h("button", { type: "button", click: leave }, "Leave ", h("kbd", {}, "Esc"))];
}
function follow(number) {
  followed = number;
  remember("tensor", number);
  document.body.classList.add("following");
  for (const row of rows.values()) { row.classList.remove("stop"); row.querySelector(".mark").replaceChildren(); }
  for (const s of stopsOf(number)) {
    const row = rows.get(idOf(...s.at));
    if (!row) continue;
    const mark = row.querySelector(".mark");
    row.classList.add("stop");
    if (!mark.textContent.includes(LETTERS[s.role]))
      mark.append(h("span", { title: SAID[s.role] + " " + s.op }, LETTERS[s.role]));
  }
  show(tensorPanel(number), open);
}
function leave() {
  followed = null;
  remember("tensor", null);
  document.body.classList.remove("following");
  for (const row of rows.values()) { row.classList.remove("stop"); row.querySelector(".mark").replaceChildren(); }
  if (open) show(linePanel(...open), open); else show([], null);
}

// ---- Choosing

function show(content, at) {
  panel.replaceChildren(...content.flat(Infinity).filter(Boolean));
  const row = at && rows.get(idOf(...at));
  if (wide.matches || !row) document.getElementById("xray").append(panel);
  else row.after(panel);
  panel.scrollTop = 0;
}
function choose(file, line, focus = true) {
  const row = rows.get(idOf(file, line));
  if (!row) return;
  row.closest("details")?.setAttribute("open", "");
  if (rowOf(file, line)) openLine(file, line);
  row.scrollIntoView({ block: "nearest" });
  if (focus) row.querySelector("button")?.focus({ preventScroll: true });
}
function close() {
  if (!open) return;
  const row = rows.get(idOf(...open));
  row.classList.remove("open");
  row.querySelector(".at button").setAttribute("aria-expanded", "false");
  open = null;
}
function openLine(file, line) {
  close();
  open = [file, line];
  variant = 0;
  const row = rows.get(idOf(file, line));
  row.classList.add("open");
  row.querySelector(".at button").setAttribute("aria-expanded", "true");
  remember("line", idOf(file, line));
  if (followed === null) show(linePanel(file, line), open);
  else show(tensorPanel(followed), open);
}
function toggle(file, line) {
  if (followed !== null) leave();
  if (open && open[0] === file && open[1] === line) { close(); remember("line", null); show([], null); }
  else openLine(file, line);
}
function turn(by) {
  if (!open || followed !== null) return false;
  const n = rowOf(...open).variants.length;
  variant = (variant + by + n) % n;
  show(linePanel(...open), open);
}
function move(by) {
  const focused = document.activeElement?.closest?.(".row");
  let k = order.findIndex((at) => rows.get(idOf(...at)) === focused);
  if (k < 0 && open) k = order.findIndex((at) => at[0] === open[0] && at[1] === open[1]);
  const next = order[k < 0 ? 0 : Math.min(Math.max(k + by, 0), order.length - 1)];
  if (!next) return;
  const row = rows.get(idOf(...next));
  row.closest("details")?.setAttribute("open", "");
  row.querySelector(".at button").focus();
  row.scrollIntoView({ block: "nearest" });
}
let ranked = null, rank = -1;
function costliest() {
  ranked = ranked || [...order].sort((a, b) => cost(b) - cost(a));
  if (!ranked.length) return;
  rank = (rank + 1) % ranked.length;
  if (followed !== null) leave();
  choose(...ranked[rank]);
}
const cost = (at) => isPass(rowOf(...at)) ? 0 : rowOf(...at).forward + rowOf(...at).backward;

// ---- Finding

const search = h("input", { type: "search", placeholder: "Find in the source", "aria-label": "Find in the source" });
let found = 0;
search.addEventListener("input", () => { found = 0; });
search.addEventListener("keydown", (event) => {
  if (event.key === "Escape") search.blur();
  if (event.key !== "Enter" || !search.value) return;
  const text = search.value.toLowerCase();
  const hits = files.flatMap((f, k) => Object.keys(f.lines).filter((n) => f.lines[n].toLowerCase().includes(text)).map((n) => [k, Number(n)]));
  if (hits.length) choose(...hits[found++ % hits.length], false);
});

// ---- The page

key(["ArrowDown", "j"], "to the next line that ran", () => move(1));
key(["ArrowUp", "k"], "to the line before", () => move(-1));
key(["Enter"], "open or close the line", () => false);
key(["ArrowRight"], "the next kind of call of the open line", () => turn(1));
key(["ArrowLeft"], "the kind of call before", () => turn(-1));
key(["s"], "to the costliest line, then to the next", costliest);
key(["f"], "follow the tensor that the open line makes", () => {
  const ops = open && rowOf(...open).variants[variant].ops;
  const made = ops && ops.flatMap((op) => op.out).map(([n]) => n).filter((n) => n >= 0).pop();
  if (made === undefined || made === null) return false;
  follow(made);
});
key(["/"], "find in the source", () => search.focus());
key(["Escape"], "leave what is followed, close the line", () => {
  if (followed !== null) leave();
  else if (open) { const at = open; close(); remember("line", null); show([], null); rows.get(idOf(...at)).querySelector("button").focus(); }
});
key(["?"], "this list", showKeys);

const t = data.totals;
panel = h("aside", { id: "panel", class: "panel", "aria-label": "What the line did", "aria-live": "polite" });
document.body.append(
  head(`x-ray: ${data.title}`, [
    `${data.command} \u00b7 ${data.date} \u00b7 exit status ${data.status}`,
    `${time(t.seconds * 1e9)} \u00b7 ${count(t.ops)} calls, ${time(t.forward * 1e9)} \u00b7 ${plural(t.passes, "backward pass", "backward passes")}, ${time(t.backward * 1e9)} \u00b7 ` +
    `${count(t.nodes)} graph nodes \u00b7 ${bytes(t.made)} made, ${bytes(t.peak)} at most at one time`,
    data.full ? `The program went on: only its first ${count(data.limit)} events were recorded (--events).` : null,
  ].filter(Boolean),
  h("button", { type: "button", click: costliest }, "Costliest line ", h("kbd", {}, "s")), search),
  h("main", {}, errorBanner(), h("div", { id: "xray" },
    h("div", {}, files.length ? files.map((_, k) => fileElement(k)) : h("p", {}, "No op ran in a file that can be shown.")), panel)));
wide.addEventListener("change", () => show([...panel.childNodes], open));
if (state.has("line")) choose(...state.get("line").split(".").map(Number), false);
if (state.has("tensor") && tensors[Number(state.get("tensor"))]) follow(Number(state.get("tensor")));
else if (!open && data.error && errorPlaces.size) rows.get([...errorPlaces].sort((a, b) => b[1] - a[1])[0][0])?.scrollIntoView({ block: "center" });
