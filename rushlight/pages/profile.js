// The profiler's page: one selection (an op, a line or a module) that all views share.

const OP = 0, NODE = 1, MODULE = 2, RANGE = 3;
const N = data.length.length, verdict = data.verdict;
const begin = new Float64Array(N), depth = new Uint8Array(N);
for (let i = 0, at = 0; i < N; ++i) {
  at += data.begin[i];
  begin[i] = at;
  depth[i] = data.parent[i] >= 0 ? Math.min(255, depth[data.parent[i]] + 1) : 0;
}
const span = N ? Math.max(1, ...sampleEnds()) : 1;
function sampleEnds() {                    // the last ends: a spread of 100,000 is too long a call
  let most = 0;
  for (let i = 0; i < N; ++i) most = Math.max(most, begin[i] + data.length[i]);
  return [most];
}

const fileName = (path) => path.split("/").pop();
const placeName = (k) => k < 0 ? "" : `${fileName(data.places[k][0])}:${data.places[k][1]}`;
const moduleName = (k) => k < 0 ? "" : data.modules[k];

// ---- The selection: {by: "row" | "place" | "module", at: number}

let chosen = null;
const watchers = [];
const chosenBar = h("div", { class: "chosen-bar", role: "status" });
function chosenText() {
  return { row: () => data.rows[chosen.at], place: () => placeName(chosen.at), module: () => moduleName(chosen.at) }[chosen.by]();
}
function choose(by, at) {
  chosen = by === null || at < 0 || (chosen && chosen.by === by && chosen.at === at) ? null : { by, at };
  remember("chosen", chosen && `${chosen.by}.${chosen.at}`);
  chosenBar.replaceChildren(...(chosen ? ["Shown in all views: ", h("b", {}, chosenText()), " ",
    h("button", { type: "button", click: () => choose(null) }, "Show all ", h("kbd", {}, "Esc"))] : []));
  for (const f of watchers) f();
}
const isChosen = (row, place, module) => !chosen ||
  (chosen.by === "row" ? row === chosen.at : chosen.by === "place" ? place === chosen.at : within(module));
function within(module) {                  // a module and those in it
  const name = moduleName(module), outer = moduleName(chosen.at);
  return name === outer || name.startsWith(outer + ".");
}
const rowLink = (k) => k < 0 ? "" : link(data.rows[k], () => choose("row", k));
const placeLink = (k) => k < 0 ? "" : link(placeName(k), () => choose("place", k));
const moduleLink = (k) => k < 0 ? "" : link(moduleName(k), () => choose("module", k));

// ---- The verdict

function verdictSection() {
  if (!verdict) return h("section", {}, h("h2", {}, "Verdict"), h("p", {}, "No op ran."));
  const v = verdict, m = v.machine, whole = v.seconds * 1e9;
  const head = v.unit === "step"
    ? `${plural(v.steps, "step")}, ${time(whole)} each (${time(v.times[0] * 1e9)} to ${time(v.times[1] * 1e9)}), ${plural(m.threads, "thread")}`
    : `${time(whole)} from the first op to the last, ${plural(m.threads, "thread")}`;
  const columns = [
    { title: `time per ${v.unit}`, number: true, value: (r) => r.seconds, show: (r) => time(r.seconds * 1e9) },
    { title: "share", number: true, value: (r) => r.seconds, show: (r) => `${(100 * r.seconds / v.seconds).toFixed(0)} %` },
    { title: "", value: (r) => r.seconds, show: (r) => h("span", { class: "share", "aria-hidden": "true", style: `width:${(6 * r.seconds / v.seconds).toFixed(2)}rem` }) },
    { title: "what", value: (r) => r.what, show: (r) => rowLink(r.row) },
    { title: "lines", value: (r) => r.lines.length ? placeName(r.lines[0]) : "", show: (r) => r.lines.slice(0, 4).map((k, i) => [i ? ", " : "", placeLink(k)]) },
    { title: "bound by", value: (r) => r.bound },
    { title: "of the limit", number: true, value: (r) => r.of_limit || 0, show: (r) => r.rate && r.bound !== "overhead" && r.of_limit ? `${(100 * r.of_limit).toFixed(0)} %` : "" },
    { title: "reached", tight: true, value: (r) => r.rate },
  ];
  return h("section", { id: "verdict" },
    h("h2", {}, "Verdict"), h("p", {}, head),
    table(columns, v.rows, { label: "Where the time went", most: 8, row: mark((r) => isChosen(r.row, -2, -2) || r.lines.some((k) => chosen.by === "place" && k === chosen.at)) }),
    v.findings.length > 0 && [h("h3", {}, "What there is to gain at most, none of it measured"),
      h("ol", { class: "findings" }, v.findings.map((f) => h("li", {}, f.place >= 0 ? [placeLink(f.place), " "] : "",
        f.module ? `in ${f.module}: ` : "", f.what, ". ", h("b", {}, f.try), `: at most ${time(f.at_most_seconds * 1e9)} per ${v.unit}`)))],
    trialsPart(),
    h("p", { class: "quiet" }, `Limits of this machine, measured on ${m.date}: ${short(m.gflops)} GFLOP/s, ${short(m.gbytes)} GB/s, ${time(m.op_ns)} per op. ${m.cpu}`));
}
function trialsPart() {
  const tried = (data.trials || []).filter((t) => t.measured), not = (data.trials || []).filter((t) => !t.measured);
  if (!tried.length && !not.length) return null;
  return [h("h3", {}, "What was tried"),
    h("ol", { class: "findings" }, tried.map((t) => h("li", {}, t.said + ". ",
      h("span", { class: "quiet" }, `${t.measured.runs} runs each, alternating; ${t.outputs}.` + (t.measured.noisy ? " The machine is too noisy to tell small differences." : ""))))),
    not.length > 0 && h("p", { class: "quiet" }, "Not tried: " + not.map((t) => `${t.change} (${t.not_tried})`).join(", "))];
}
function mark(test) {
  const pairs = [];
  watchers.push(() => { for (const [tr, row] of pairs) tr.classList.toggle("chosen", chosen !== null && test(row)); });
  return (tr, row) => { pairs.push([tr, row]); tr.classList.toggle("chosen", chosen !== null && test(row)); };
}

// ---- Timeline and memory: one canvas, one scale of time

const LANE = 18, MEMORY_HEIGHT = 120;
const threads = [...new Set(data.thread)].sort((a, b) => a - b);
let left = 0, right = span;                // ns, what is seen
const lanes = new Map();                   // thread -> [first row, rows]
let laneRows = 0;
for (const thread of threads) {
  let deep = 0;
  for (let i = 0; i < N; ++i) if (data.thread[i] === thread) deep = Math.max(deep, depth[i]);
  deep = Math.min(deep, 11);
  lanes.set(thread, [laneRows, deep + 1]);
  laneRows += deep + 1.5;
}
const lanesHeight = Math.max(1, laneRows) * LANE + 22;
const canvas = h("canvas", { tabindex: "0", role: "img",
  "aria-label": "Timeline of what ran, by thread and nesting, and live memory below. The table of ops below holds the same sums. Keys: plus, minus, left, right, 0." });
const tip = h("div", { class: "tip", hidden: true });
const CATEGORY_COLOURS = ["accent", "backward", "purple", "teal", "quiet", "pink"];

function paintTimeline() {
  const width = canvas.clientWidth, height = lanesHeight + (data.curve ? MEMORY_HEIGHT : 0);
  if (!width) return;
  const sharp = window.devicePixelRatio || 1;
  canvas.style.height = height + "px";
  canvas.width = width * sharp;
  canvas.height = height * sharp;
  const g = canvas.getContext("2d");
  g.scale(sharp, sharp);
  g.font = "12px system-ui, sans-serif";
  paintScale(g, width, height);
  paintLanes(g, width);
  if (data.curve) paintMemory(g, width);
}
function paintScale(g, width, height) {
  let step = 10 ** Math.floor(Math.log10((right - left) / (width / 110)));
  for (const k of [2, 5, 10]) if ((right - left) / step > width / 80) step *= k === 10 ? 2 : k === 5 ? 2.5 : 2;
  g.fillStyle = colour("quiet");
  g.strokeStyle = colour("line");
  g.beginPath();
  for (let t = Math.ceil(left / step) * step; t <= right; t += step) {
    const x = (t - left) / (right - left) * width;
    g.moveTo(x, 0);
    g.lineTo(x, height);
    g.fillText(time(t), x + 3, 12);
  }
  g.stroke();
}
function paintLanes(g, width) {
  const inks = [colour("forward-ground"), colour("backward-ground"), colour("accent-ground"), colour("raised")];
  const quiet = colour("line"), text = colour("text"), scale = width / (right - left);
  const ends = new Float64Array(Math.ceil(laneRows) + 2);     // the last pixel painted of each row
  for (let i = 0; i < N; ++i) {
    const a = begin[i], b = a + data.length[i];
    if (b < left || a > right) continue;
    const [first, rows] = lanes.get(data.thread[i]);
    if (depth[i] >= rows) continue;
    const row = first + depth[i], x = Math.max(0, (a - left) * scale);
    const w = Math.max(0.5, Math.min(width, (b - left) * scale) - x);
    if (x + w < ends[Math.floor(row)] + 0.5) continue;
    ends[Math.floor(row)] = x + w;
    g.fillStyle = isChosen(data.row[i], data.place[i], data.module[i]) ? inks[data.kind[i]] : quiet;
    g.fillRect(x, 20 + row * LANE, Math.max(w - (w > 3 ? 0.5 : 0), 0.5), LANE - 2);
    if (w > 34) {
      g.fillStyle = text;
      g.fillText(clip(labelOf(i), w), x + 3, 20 + row * LANE + 12);
    }
  }
}
const labelOf = (i) => data.kind[i] === MODULE ? moduleName(data.module[i]) : data.names[data.name[i]];
const clip = (text, w) => text.length * 6.6 < w ? text : text.slice(0, Math.max(1, Math.floor(w / 6.6) - 1)) + "\u2026";
function paintMemory(g, width) {
  const c = data.curve, top = lanesHeight, n = c.time.length;
  const total = c.time.map((_, k) => c.live.reduce((s, l) => s + l[k], 0));
  const most = Math.max(1, ...total), x = (t) => (t - left) / (right - left) * width;
  const below = new Float64Array(n);
  const y = (v) => top + MEMORY_HEIGHT - 4 - v / most * (MEMORY_HEIGHT - 22);
  c.live.forEach((live, category) => {
    g.fillStyle = colour(CATEGORY_COLOURS[category]);
    g.globalAlpha = 0.75;
    g.beginPath();
    for (let k = 0; k < n; ++k) {
      g.lineTo(x(c.time[k]), y(below[k] + live[k]));
      if (k + 1 < n) g.lineTo(x(c.time[k + 1]), y(below[k] + live[k]));
    }
    for (let k = n - 1; k >= 0; --k) {
      if (k + 1 < n) g.lineTo(x(c.time[k + 1]), y(below[k]));
      g.lineTo(x(c.time[k]), y(below[k]));
    }
    g.fill();
    g.globalAlpha = 1;
    for (let k = 0; k < n; ++k) below[k] += live[k];
  });
  g.fillStyle = colour("text");
  g.fillText(`live memory, ${bytes(most)} at most`, 4, top + 12);
}
function eventAt(x, y) {
  const t = left + x / canvas.clientWidth * (right - left), row = (y - 20) / LANE;
  const near = (right - left) / canvas.clientWidth;
  let found = -1;
  for (let i = 0; i < N; ++i) {
    const [first, rows] = lanes.get(data.thread[i]);
    if (depth[i] < rows && row >= first + depth[i] && row < first + depth[i] + 1 &&
        begin[i] - near <= t && t <= begin[i] + data.length[i] + near) found = i;
  }
  return found;
}
function zoom(factor, at = (left + right) / 2) {
  const size = Math.min(span, Math.max(200, (right - left) * factor)), part = (at - left) / (right - left);
  left = Math.max(0, Math.min(span - size, at - part * size));
  right = left + size;
  paintTimeline();
}
function pan(by) {
  const size = right - left;
  left = Math.max(0, Math.min(span - size, left + by * size));
  right = left + size;
  paintTimeline();
}
function timelineSection() {
  let from = null, moved = false;
  canvas.addEventListener("wheel", (e) => {
    if (!e.ctrlKey && Math.abs(e.deltaX) > Math.abs(e.deltaY)) pan(e.deltaX / canvas.clientWidth);
    else zoom(e.deltaY > 0 ? 1.25 : 0.8, left + e.offsetX / canvas.clientWidth * (right - left));
    e.preventDefault();
  }, { passive: false });
  canvas.addEventListener("pointerdown", (e) => { from = e.offsetX; moved = false; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener("pointermove", (e) => {
    if (from !== null) {
      if (Math.abs(e.offsetX - from) > 3) moved = true;
      if (moved) { pan((from - e.offsetX) / canvas.clientWidth); from = e.offsetX; }
    }
    hover(e);
  });
  canvas.addEventListener("pointerup", (e) => {
    if (!moved && from !== null) { const i = eventAt(e.offsetX, e.offsetY); pick(i); }
    from = null;
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("keydown", (e) => {
    if (e.key === "ArrowLeft") pan(-0.2);
    else if (e.key === "ArrowRight") pan(0.2);
    else return;
    e.preventDefault();
  });
  const missing = data.count - N;
  return h("section", { id: "timeline" }, h("h2", {}, "Timeline"),
    h("div", { class: "bar" },
      h("button", { type: "button", click: () => zoom(0.5) }, "Closer ", h("kbd", {}, "+")),
      h("button", { type: "button", click: () => zoom(2) }, "Wider ", h("kbd", {}, "-")),
      h("button", { type: "button", click: () => { left = 0; right = span; paintTimeline(); } }, "All ", h("kbd", {}, "0")),
      h("span", { class: "quiet" }, "wheel to zoom, drag to move, click to choose")),
    canvas, data.curve && h("div", { class: "legend" }, data.curve.categories.map((name, k) =>
      h("span", {}, h("i", { style: `background:var(--${CATEGORY_COLOURS[k]})` }), name))),
    h("div", { class: "legend" }, [["forward-ground", "op"], ["backward-ground", "graph node (backward)"], ["accent-ground", "module"], ["raised", "range"]]
      .map(([ink, name]) => h("span", {}, h("i", { style: `background:var(--${ink})` }), name))),
    missing > 0 && h("p", { class: "quiet" }, `The first ${count(N)} of ${count(data.count)} events are drawn; the sums are of all.`));
}
function pick(i) {
  if (i < 0) choose(null);
  else if (data.kind[i] === MODULE) choose("module", data.module[i]);
  else if (data.row[i] >= 0) choose("row", data.row[i]);
  else choose("place", data.place[i]);
}
function hover(e) {
  const i = eventAt(e.offsetX, e.offsetY);
  tip.hidden = i < 0;
  if (i < 0) return;
  tip.replaceChildren(h("b", {}, labelOf(i)), h("br"), time(data.length[i]), data.place[i] >= 0 ? ` \u00b7 ${placeName(data.place[i])}` : "",
    data.module[i] >= 0 ? ` \u00b7 ${moduleName(data.module[i])}` : "");
  tip.style.left = Math.min(e.clientX + 12, innerWidth - tip.offsetWidth - 8) + "px";
  tip.style.top = Math.min(e.clientY + 14, innerHeight - tip.offsetHeight - 8) + "px";
}

// ---- Ops, summed up by what the reader wants

const BY = {
  op: [(g) => g[0], (k) => data.names[k], 4], line: [(g) => g[1], placeName, 1],
  module: [(g) => g[2], moduleName, 2], shape: [(g) => `${g[0]} ${g[3]}`, null, 4],
};
function opsSection() {
  let by = state.get("by") in BY ? state.get("by") : "op";
  const place = h("div");
  const groupBy = h("select", { "aria-label": "Sum up by", change: () => { by = groupBy.value; remember("by", by); fill(); } },
    Object.keys(BY).map((name) => h("option", { value: name, selected: name === by }, name)));
  function fill() {
    const sums = new Map();
    for (const g of data.groups) {
      if (!isChosen(g[4], g[1], g[2])) continue;
      const id = BY[by][0](g);
      if (!sums.has(id)) sums.set(id, { g, times: 0, own: 0, total: 0, flops: 0, moved: 0, made: 0 });
      const s = sums.get(id);
      s.times += g[5]; s.own += g[6]; s.total += g[7]; s.flops += g[8]; s.moved += g[9]; s.made += g[10];
    }
    const name = (s) => by === "shape" ? `${data.names[s.g[0]]} ${s.g[3] >= 0 ? data.shapes[s.g[3]] : ""}` : BY[by][1](s.g[BY[by][2] === 4 ? 0 : BY[by][2]]) || "(none)";
    const go = (s) => by === "line" && s.g[1] >= 0 ? placeLink(s.g[1]) : by === "module" && s.g[2] >= 0 ? moduleLink(s.g[2])
      : s.g[4] >= 0 && by !== "line" && by !== "module" ? link(name(s), () => choose("row", s.g[4])) : name(s);
    place.replaceChildren(table([
      { title: by, value: name, show: go },
      { title: "times", number: true, value: (s) => s.times, show: (s) => count(s.times) },
      { title: "self", number: true, value: (s) => s.own, show: (s) => time(s.own) },
      { title: "total", number: true, value: (s) => s.total, show: (s) => time(s.total) },
      { title: "each", number: true, value: (s) => s.total / s.times, show: (s) => time(s.total / s.times) },
      { title: "FLOPs", number: true, value: (s) => s.flops, show: (s) => s.flops ? amount(s.flops, "") : "" },
      { title: "bytes moved", number: true, value: (s) => s.moved, show: (s) => s.moved ? bytes(s.moved) : "" },
      { title: "allocated", number: true, value: (s) => s.made, show: (s) => s.made ? bytes(s.made) : "" },
    ], [...sums.values()], { by: 2, label: `Ops by ${by}`, most: 30 }));
  }
  watchers.push(fill);
  fill();
  return h("section", { id: "ops" }, h("h2", {}, "Ops"), h("div", { class: "bar" }, h("label", {}, "Sum up by ", groupBy)), place);
}

// ---- Roofline

function rooflineSection() {
  if (!verdict) return null;
  const m = verdict.machine;
  const spots = verdict.rows.filter((r) => r.flops > 0 && r.bytes > 0 && r.seconds > 0)
    .map((r) => ({ r, x: r.flops / r.bytes, y: r.flops / r.seconds / 1e9 }));
  const rest = verdict.rows.filter((r) => !r.flops && r.bytes > 0 && r.seconds > 0.002 * verdict.seconds);
  const W = 640, H = 400, L = 62, R = 14, T = 16, B = 46;
  const ridge = m.gflops / m.gbytes;
  const xs = [...spots.map((s) => s.x), ridge], ys = [...spots.map((s) => s.y), m.gflops];
  const low = (list) => Math.floor(Math.log10(Math.min(...list)) - 0.3), high = (list) => Math.ceil(Math.log10(Math.max(...list)) + 0.15);
  const [x0, x1, y0, y1] = [low(xs), high(xs), low(ys), high(ys)];
  const X = (v) => L + (Math.log10(v) - x0) / (x1 - x0) * (W - L - R), Y = (v) => H - B - (Math.log10(v) - y0) / (y1 - y0) * (H - T - B);
  const marks = [];
  for (let k = x0; k <= x1; ++k)
    marks.push(svg("line", { class: "axis", x1: X(10 ** k), x2: X(10 ** k), y1: T, y2: H - B }), svg("text", { x: X(10 ** k), y: H - B + 18, "text-anchor": "middle" }, amount(10 ** k, "")));
  for (let k = y0; k <= y1; ++k)
    marks.push(svg("line", { class: "axis", x1: L, x2: W - R, y1: Y(10 ** k), y2: Y(10 ** k) }), svg("text", { x: L - 6, y: Y(10 ** k) + 4, "text-anchor": "end" }, amount(10 ** k, "")));
  const start = Math.max(10 ** x0, 10 ** y0 / m.gbytes);
  const roof = svg("path", { class: "roof", d: `M${X(start)} ${Y(start * m.gbytes)} L${X(ridge)} ${Y(m.gflops)} L${W - R} ${Y(m.gflops)}` });
  const taken = [];
  const dots = spots.map(({ r, x, y }) => {
    const size = 4 + 14 * Math.sqrt(r.seconds / verdict.seconds);
    const spot = svg("circle", { class: "spot", cx: X(x), cy: Y(y), r: size, "fill-opacity": 0.8 }, svg("title", {}, `${r.what}: ${short(x)} FLOP/B, ${short(y)} GFLOP/s`));
    watchers.push(() => spot.classList.toggle("chosen", chosen !== null && chosen.by === "row" && chosen.at === r.row));
    let at = Y(y) + 4;
    const right = X(x) > W - 170;
    while (taken.some(([u, v]) => Math.abs(v - at) < 13 && Math.abs(u - X(x)) < 150)) at += 13;
    taken.push([X(x), at]);
    const label = svg("text", { x: X(x) + (right ? -size - 4 : size + 4), y: at, "text-anchor": right ? "end" : "start" }, r.what.slice(0, 24));
    return svg("g", { tabindex: "0", role: "button", "aria-label": `${r.what}: ${short(x)} FLOP per byte, ${short(y)} GFLOP/s`,
      click: () => choose("row", r.row), keydown: (e) => { if (e.key === "Enter") choose("row", r.row); } }, spot, label);
  });
  return h("section", { id: "roofline" }, h("h2", {}, "Roofline"),
    svg("svg", { class: "plot", viewBox: `0 0 ${W} ${H}`, role: "group", "aria-label": "Roofline: FLOPs per byte against GFLOP/s, and what this machine can do" },
      marks, roof, svg("text", { x: W - R - 4, y: Y(m.gflops) - 7, "text-anchor": "end" }, `${short(m.gflops)} GFLOP/s`),
      svg("text", { x: L + 6, y: T + 14 }, `slope: ${short(m.gbytes)} GB/s`),
      svg("text", { x: (L + W) / 2, y: H - 8, "text-anchor": "middle" }, "FLOPs per byte that has to move"),
      svg("text", { x: 14, y: (H - B) / 2, "text-anchor": "middle", transform: `rotate(-90 14 ${(H - B) / 2})` }, "GFLOP/s"), dots),
    h("p", { class: "quiet" }, "The larger a mark, the more of the time it takes. Data that stays in a cache may pass the slope."),
    rest.length > 0 && h("p", {}, "Without arithmetic that is counted: ", rest.slice(0, 8).map((r, k) => [k ? ", " : "", rowLink(r.row), ` ${short(r.bytes / r.seconds / 1e9)} GB/s`]), "."));
}

// ---- Flame graph by module

function flameSection() {
  const whole = data.flame.reduce((s, box) => s + box[1], 0) || 1;
  const place = h("div", { class: "flame" });
  let root = null;
  const path = h("div", { class: "bar" });
  function boxOf(box, size) {
    const [name, ns, module, row, inner] = box;
    const kind = name === "backward" || name.endsWith("Backward0") || name === "AccumulateGrad" ? "node" : row < 0 && module >= 0 ? "module" : "op";
    const element = h("div", { class: `box ${kind}`, style: `flex:0 0 ${(100 * ns / size).toFixed(3)}%` },
      h("button", { type: "button", title: `${name}: ${time(ns)}, ${(100 * ns / whole).toFixed(1)} %`,
        "aria-label": `${name}, ${time(ns)}`, click: () => { if (inner.length) show(box); else if (row >= 0) choose("row", row); else choose("module", module); } }, name),
      inner.length > 0 && h("div", {}, inner.map((b) => boxOf(b, ns))));
    watchers.push(() => element.classList.toggle("chosen", chosen !== null && (row >= 0 || module >= 0) && isChosen(row, -2, module)));
    return element;
  }
  const known = watchers.length;
  function show(box) {
    root = box;
    watchers.length = known;
    const size = box ? box[1] : whole;
    place.replaceChildren(h("div", { class: "box" }, h("div", {}, (box ? [box] : data.flame).map((b) => boxOf(b, size)))));
    path.replaceChildren(h("span", { class: "quiet" }, box ? `${box[0]}: ${time(box[1])}, ${(100 * box[1] / whole).toFixed(1)} % of all` : "Click a box to look into it."),
      ...(box ? [h("button", { type: "button", click: () => show(null) }, "Show all"),
        box[3] >= 0 ? h("button", { type: "button", click: () => choose("row", box[3]) }, `Choose ${data.rows[box[3]]}`)
          : box[2] >= 0 ? h("button", { type: "button", click: () => choose("module", box[2]) }, `Choose ${moduleName(box[2])}`) : ""] : []));
    for (const f of watchers.slice(known)) f();
  }
  show(null);
  return h("section", { id: "flame" }, h("h2", {}, "Time by module"), path, place);
}

// ---- Memory at the peak

function memorySection() {
  const m = data.memory;
  if (!m || !m.holders.length) return null;
  const index = (holder) => data.places.findIndex(([file, line]) => file === holder.file && line === holder.line);
  return h("section", { id: "memory" }, h("h2", {}, `Memory: ${bytes(m.peak)} at the peak`),
    h("p", {}, Object.entries(m.categories).sort((a, b) => b[1] - a[1]).map(([name, n], k) => `${k ? ", " : ""}${bytes(n)} ${name}`)),
    table([
      { title: "bytes", number: true, value: (r) => r.bytes, show: (r) => bytes(r.bytes) },
      { title: "blocks", number: true, value: (r) => r.count, show: (r) => count(r.count) },
      { title: "category", value: (r) => r.category },
      { title: "line", value: (r) => r.file ? `${fileName(r.file)}:${r.line}` : "", show: (r) => r.file ? index(r) >= 0 ? placeLink(index(r)) : `${fileName(r.file)}:${r.line}` : "(none)" },
      { title: "module", value: (r) => r.module || "" },
    ], m.holders, { label: "Who held memory at the peak", most: 10 }));
}

// ---- The page

key(["+", "="], "zoom in on the timeline", () => zoom(0.5));
key(["-"], "zoom out", () => zoom(2));
key(["0"], "the whole timeline", () => { left = 0; right = span; paintTimeline(); });
key(["Escape"], "show all in all views", () => choose(null));
key(["?"], "this list", showKeys);

document.body.append(
  head(`profile: ${data.title}`, [[data.command, data.date, data.status === undefined ? null : `exit status ${data.status}`].filter(Boolean).join(" \u00b7 ")]),
  h("main", {}, data.error && h("section", { class: "error", role: "alert" }, h("b", {}, "The program ended with an error: "), data.error),
    chosenBar, verdictSection(), timelineSection(), opsSection(),
    h("div", { class: "two" }, rooflineSection(), memorySection()), flameSection()), tip);
watchers.push(paintTimeline);
repaints.push(paintTimeline);
new ResizeObserver(paintTimeline).observe(canvas.parentElement);
if (state.has("chosen")) { const [by, at] = state.get("chosen").split("."); if (["row", "place", "module"].includes(by)) choose(by, Number(at)); }
paintTimeline();
