// The doctor's page: findings with their lines and fixes, then what was not checked.

const findings = data.findings;
const base = (file) => file.split("/").pop();
const several = new Set(findings.flatMap((f) => [f.file, ...f.related.map((r) => r.file)])).size > 1;
const where = (file, line) => `${base(file)}:${line}`;

function excerpt(file, first, last, roles) {
  const text = data.sources[file] || {}, out = [];
  for (let n = first; n <= last; ++n) {
    if (!(n in text)) continue;
    const role = roles.get(n);
    out.push(h("li", { class: role === undefined ? null : role === "" ? "fault" : "named" },
      h("span", { class: "at" }, n), h("span", {}, role === undefined ? "" : role === "" ? "\u25b6" : "\u25b7"), h("code", {}, text[n]),
      role && h("span", { class: "role" }, role)));
  }
  return out;
}
function linesOf(f) {
  const byFile = new Map([[f.file, new Map([[f.line, ""]])]]);
  for (const r of f.related) {
    if (!byFile.has(r.file)) byFile.set(r.file, new Map());
    const roles = byFile.get(r.file);
    if (roles.get(r.line) === undefined) roles.set(r.line, r.role);
  }
  return [...byFile].map(([file, roles]) => {
    const parts = [], numbers = [...roles.keys()].sort((a, b) => a - b);
    let last = -9;
    for (const n of numbers) {
      const first = Math.max(n - 2, last + 1);
      if (first > last + 1 && parts.length) parts.push(h("li", {}, h("span", { class: "at" }, "\u22ee")));
      last = Math.max(last, n + 2);
      parts.push(...excerpt(file, first, last, roles));
    }
    return [several && h("p", { class: "quiet" }, base(file)), h("ol", { class: "lines", "aria-label": `Lines of ${base(file)}` }, parts)];
  });
}
function editLines(edit) {
  const text = data.sources[edit.file] || {};
  const before = [], after = edit.text ? edit.text.split("\n") : [];
  for (let n = edit.line; n <= edit.end_line; ++n) before.push([n, text[n] || ""]);
  const same = [];
  while (before.length && after.length && before[0][1] === after[0]) { same.push(before.shift()); after.shift(); }
  const tail = [];
  while (before.length && after.length && before.at(-1)[1] === after.at(-1)) { tail.unshift(before.pop()); after.pop(); }
  const row = (kind, n, sign, code) => h("li", { class: kind }, h("span", { class: "at" }, n), h("span", {}, sign), h("code", {}, code));
  return h("ol", { class: "lines", "aria-label": `Change of ${where(edit.file, edit.line)}` },
    same.slice(-1).map(([n, code]) => row(null, n, "", code)), before.map(([n, code]) => row("gone", n, "-", code)),
    after.map((code) => row("come", "", "+", code)), tail.slice(0, 1).map(([n, code]) => row(null, n, "", code)));
}
function finding(f, k) {
  const kind = data.kinds[f.id];
  return h("section", { class: `finding ${f.severity.split(" ")[0]}`, id: `finding-${k + 1}`, tabindex: "-1" },
    h("h2", {}, `${k + 1}. ${f.title}`),
    h("p", {}, h("span", { class: "severity" }, f.severity), " ", h("code", {}, where(f.file, f.line)), " ", h("span", { class: "quiet" }, f.id)),
    linesOf(f), f.evidence && h("pre", {}, f.evidence),
    f.fixes.length > 0 && h("h3", {}, "What would help"),
    f.fixes.map((fix) => h("div", { class: "fix" }, h("p", {}, fix.text, " ", fix.tried && h("span", { class: "tried" }, `\u2713 ${fix.tried}`)),
      fix.edits.map(editLines))),
    kind && h("details", {}, h("summary", {}, "What this kind means"), h("h3", {}, kind.title), h("pre", {}, kind.text)));
}
let at = -1;
function go(by) {
  if (!findings.length) return false;
  at = Math.min(Math.max(at + by, 0), findings.length - 1);
  const section = document.getElementById(`finding-${at + 1}`);
  section.scrollIntoView({ block: "start" });
  section.focus({ preventScroll: true });
  remember("finding", at + 1);
}
key(["ArrowDown", "j"], "to the next finding", () => go(1));
key(["ArrowUp", "k"], "to the finding before", () => go(-1));
key(["?"], "this list", showKeys);

const total = findings.length ? plural(findings.length, "finding") + ", worst first" : "No finding";
document.body.append(
  head(`doctor: ${data.title}`, [`${data.command} \u00b7 ${data.date} \u00b7 exit status ${data.status}`,
    `${total}. Checked ${plural(data.checked, "kind")}` + (data.not_checked.length ? `, ${data.not_checked.length} not in this run.` : ".") +
    (data.silenced ? ` Silenced: ${data.silenced}.` : "")]),
  h("main", {}, findings.map(finding),
    data.not_checked.length > 0 && h("details", {}, h("summary", {}, `Not checked in this run: ${data.not_checked.length}`),
      h("ul", {}, data.not_checked.map((n) => h("li", {}, h("code", {}, n.id), ` ${n.why}`))))));
if (state.has("finding")) { at = Number(state.get("finding")) - 2; go(1); }
