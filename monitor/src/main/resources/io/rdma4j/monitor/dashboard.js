"use strict";
/* The live page. Each second a message comes from /stream: figures for the charts, the health, the metrics that
   are read here, all tables, the incidents. At news of an incident one comes with health and incidents alone.
   Texts from outside are set as text, never as HTML. */

const $ = id => document.getElementById(id);
const MOST_CHANGES = 100;
const TRY_TOKEN = Symbol("a token was given");
const state = { points: [], latest: null, paused: false, filter: "", states: new Set(), seen: null, open: new Set() };

// ---- words and elements ------------------------------------------------------------------------

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") made.className = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

const known = v => v !== null && v !== undefined;

function scaled(value, units, step) {
  if (!known(value)) return "-";
  let unit = 0;
  while (Math.abs(value) >= step && unit < units.length - 1) { value /= step; unit++; }
  const digits = value !== 0 && Math.abs(value) < 10 && !Number.isInteger(value) ? 1 : 0;
  return `${value.toFixed(digits)} ${units[unit]}`.trim();
}
const count = v => scaled(v, ["", "k", "M", "G", "T"], 1000);
const rate = v => known(v) ? count(v) + "/s" : "-";
const bytes = v => scaled(v, ["B", "KiB", "MiB", "GiB", "TiB"], 1024);
const byteRate = v => known(v) ? bytes(v) + "/s" : "-";
const percent = v => known(v) ? (100 * v).toFixed(1) + " %" : "-";
function duration(seconds) {
  if (!known(seconds)) return "-";
  for (const [unit, size] of [["s", 1], ["ms", 1e-3], ["µs", 1e-6]]) {
    if (seconds >= size) return (seconds / size).toPrecision(3) + " " + unit;
  }
  return Math.round(seconds * 1e9) + " ns";
}
function age(seconds) {
  if (!known(seconds)) return "-";
  if (seconds < 100) return seconds.toFixed(0) + " s";
  return seconds < 6000 ? (seconds / 60).toFixed(0) + " min" : (seconds / 3600).toFixed(1) + " h";
}
const time = epochMs => new Date(epochMs).toLocaleTimeString([], { hour12: false });

// ---- what a message holds ----------------------------------------------------------------------

/** Of a metric that Sampler sends. */
function samples(name) {
  return state.latest.snapshot.metrics.find(m => m.name === name)?.samples ?? [];
}
const rows = table => state.latest.tables[table]?.rows ?? [];

// ---- charts ------------------------------------------------------------------------------------

const CHARTS = [
  ["Messages", [["sent_per_second", "sent", "used"], ["received_per_second", "received", "second", [5, 3]]], rate, { base: 10 }],
  ["Payload", [["sent_bytes_per_second", "sent", "used"], ["received_bytes_per_second", "received", "second", [5, 3]]], byteRate, { base: 1024 }],
  ["Requests", [["request_p50_seconds", "p50", "used"], ["request_p99_seconds", "p99", "second", [5, 3]]], duration, { base: 10, log: true }],
  ["Pool", [["pool_registered_bytes", "registered", "cached", [5, 3]], ["pool_used_bytes", "used", "used"]], bytes, { base: 1024 }],
];

for (const [title, lines, format, scale] of CHARTS) {
  new Chart($("charts"), title,
    lines.map(([figure, label, colour, dash]) => ({ figure, label, colour, dash })), format, scale, readOut);
}

function readOut(point) {
  $("reading").textContent = point === null
    ? "Point at a chart, or use the arrow keys in it, to read one second."
    : time(point.epoch_ms) + ": " + CHARTS.map(([title, lines, format]) =>
        `${title.toLowerCase()} ` + lines.map(([f, label]) => `${label} ${format(point[f])}`).join(", ")).join("; ");
}

// ---- sections ----------------------------------------------------------------------------------

function showHealth() {
  const { status, findings } = state.latest.health;
  const signs = { OK: "✓ ", DEGRADED: "△ ", FAILING: "✕ " };
  $("status").textContent = signs[status] + status;
  $("status").className = "pill " + status;
  document.title = (status === "OK" ? "" : signs[status]) + "rdma4j";
  $("findings").replaceChildren(...findings.map(f => element("li", { class: f.level, "data-id": f.id }, f.text)));
}

function showTiles() {
  const p = state.points[state.points.length - 1] ?? {};
  const tiles = [
    ["Connections", count(p.connections)],
    ["Sent", rate(p.sent_per_second)],
    ["Received", rate(p.received_per_second)],
    ["Request p50", duration(p.request_p50_seconds)],
    ["Request p99", duration(p.request_p99_seconds)],
    ["Back-pressured", rate(p.back_pressured_per_second)],
    ["Allocations", rate(p.allocations_per_second)],
    ["Thread cache", percent(p.thread_cache_hit_ratio)],
    ["Pool used", bytes(p.pool_used_bytes)],
  ];
  $("tiles").replaceChildren(...tiles.map(([name, value]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, value))));
}

/** A table with sortable columns: [field, heading, format, isNumber]. */
function table(id, columns, data, key) {
  const target = $(id);
  const sort = table.sorts[id] ??= { field: null, down: false };
  if (sort.field !== null) {
    const sign = sort.down ? -1 : 1;
    data = [...data].sort((a, b) => {
      const x = a[sort.field], y = b[sort.field];
      return sign * (x === y ? 0 : !known(x) ? 1 : !known(y) ? -1 : x < y ? -1 : 1);
    });
  }
  const focused = target.contains(document.activeElement) ? document.activeElement.dataset.field : null;
  const heads = columns.map(([field, heading, , number]) => {
    const order = sort.field === field ? (sort.down ? "descending" : "ascending") : "none";
    const arrow = { ascending: " ↑", descending: " ↓", none: "" }[order];
    return element("th", { "aria-sort": order, class: number ? "number" : "", scope: "col" },
      element("button", { type: "button", "data-field": field, onclick: () => {
        table.sorts[id] = { field, down: sort.field === field ? !sort.down : Boolean(number) };
        render();
      } }, heading + arrow));
  });
  const body = data.map(row => element("tr", key ? { "data-key": row[key] } : {},
    ...columns.map(([field, , format, number, look]) => {
      const cell = element("td", { class: [number ? "number" : "", look?.(row) ?? ""].join(" ").trim() });
      const shown = format(row[field], row);
      cell.append(shown instanceof Node ? shown : String(shown));
      return cell;
    })));
  target.replaceChildren(...(data.length || sort.field ? [element("thead", {}, element("tr", {}, ...heads))] : []),
    ...(data.length ? [element("tbody", {}, ...body)] : []));
  if (focused) target.querySelector(`[data-field="${focused}"]`)?.focus();
}
table.sorts = {};

const text = v => known(v) ? v : "-";

function stateOf(c) {
  return known(c.queue_pair_state) ? `${c.state} ${c.queue_pair_state}` : c.state;
}

function showConnections() {
  const all = rows("connections");
  noteChanges(all);
  const counts = new Map();
  for (const c of all) counts.set(stateOf(c), (counts.get(stateOf(c)) ?? 0) + 1);
  for (const s of state.states) if (!counts.has(s)) counts.set(s, 0);
  const focused = document.activeElement?.dataset?.state;
  $("states").replaceChildren(...[...counts].sort().map(([name, n]) =>
    element("button", { type: "button", class: name.split(" ").pop(), "data-state": name, "aria-pressed": state.states.has(name), onclick: () => {
      if (!state.states.delete(name)) state.states.add(name);
      render();
    } }, `${name} ${n}`)));
  if (focused) $("states").querySelector(`[data-state="${focused}"]`)?.focus();
  const wanted = state.filter.toLowerCase();
  const shown = all.filter(c => (state.states.size === 0 || state.states.has(stateOf(c)))
    && (!wanted || `${c.peer} ${c.path} ${c.device} ${c.choice}`.toLowerCase().includes(wanted)));
  table("connection-table", [
    ["id", "id", text, true],
    ["peer", "peer", text],
    ["path", "path", text],
    ["state", "state", text, false, c => c.state],
    ["queue_pair", "queue pair", text, true],
    ["queue_pair_state", "its state", text, false, c => c.queue_pair_state ?? ""],
    ["age_seconds", "age", age, true],
    ["sent_rate", "sent", rate, true],
    ["received_rate", "received", rate, true],
    ["requests_outstanding", "waiting", count, true],
    ["back_pressured", "refused", count, true],
    ["path_changes", "moved", count, true],
    ["handler_errors", "errors", count, true],
    ["choice", "path in words", text, false, () => "wide"],
  ], withRates(shown), "id");
  const left = state.latest.tables.connections?.leftOut ?? 0;
  $("connections-more").textContent = all.length === 0 ? "No connections."
    : left > 0 ? `${left} more are left out here; /connections has them.` : "";
}

function withRates(shown) {
  const before = state.before;
  return shown.map(c => {
    const then = before?.rows.get(c.id);
    const seconds = before ? (state.seenAt - before.at) / 1000 : 0;
    const per = field => then && seconds > 0 ? (c[field] - then[field]) / seconds : null;
    return { ...c, sent_rate: per("messages_sent"), received_rate: per("messages_received") };
  });
}

/** Writes down which connections came, went, or changed their state or path. */
function noteChanges(all) {
  const at = state.points[state.points.length - 1]?.epoch_ms;
  if (state.seenAt === at) return;
  state.before = state.seen && { rows: state.seen, at: state.seenAt };
  const now = new Map(all.map(c => [c.id, c]));
  const complete = (state.latest.tables.connections?.leftOut ?? 0) === 0;
  if (state.seen && complete) {
    for (const [id, c] of now) {
      const was = state.seen.get(id);
      if (!was) logChange(at, `connection ${id} to ${c.peer}: new, ${stateOf(c)} over ${c.path}`, stateOf(c));
      else if (stateOf(was) !== stateOf(c)) logChange(at, `connection ${id} to ${c.peer}: ${stateOf(was)} → ${stateOf(c)}`, c.queue_pair_state ?? c.state);
      if (was && was.path !== c.path) logChange(at, `connection ${id} to ${c.peer}: moved from ${was.path} to ${c.path}`, "SUSPENDED");
    }
    for (const [id, c] of state.seen) {
      if (!now.has(id)) logChange(at, `connection ${id} to ${c.peer}: ${stateOf(c)} → gone`, "CLOSED");
    }
  }
  state.seen = now;
  state.seenAt = at;
}

function logChange(at, words, look) {
  $("changes").prepend(element("li", { class: look.split(" ").pop() }, `${time(at)}  ${words}`));
  while ($("changes").children.length > MOST_CHANGES) $("changes").lastChild.remove();
}

function showPool() {
  const classes = new Map();
  for (const { labels, value } of samples("rdma4j_pool_bytes")) {
    const row = classes.get(labels.size_class)
      ?? { size_class: labels.size_class, used: 0, cached: 0, free: 0, pending: 0 };
    row[labels.state] += value;
    classes.set(labels.size_class, row);
  }
  const slabs = Object.fromEntries(samples("rdma4j_pool_slabs").map(s => [s.labels.size_class, s.value]));
  const most = Math.max(1, ...[...classes.values()].map(c => c.used + c.cached + c.free + c.pending));
  table("class-table", [
    ["size_class", "block size", className],
    ["slabs", "slabs", count, true],
    ["used", "used", bytes, true],
    ["cached", "cached", bytes, true],
    ["free", "free", bytes, true],
    ["pending", "pending", bytes, true],
    ["bar", "share", (_, row) => stack(row, most)],
  ], [...classes.values()].map(c => ({ ...c, slabs: slabs[c.size_class] })));
  showHeat();
}

const className = c => c.startsWith("receive_") ? "receive " + bytes(+c.slice(8)) : bytes(+c);

function stack(row, most) {
  const parts = ["used", "cached", "free", "pending"].map(part => {
    const piece = element("span", { class: part });
    piece.style.width = 100 * row[part] / most + "%";
    return piece;
  });
  return element("div", { class: "stack" }, ...parts);
}

function slabWords(s) {
  return `slab ${s.block_id}: ${s.live_blocks} of ${s.blocks} blocks of ${bytes(s.block_bytes)} on lease, ${count(s.use_count)} uses, `
    + `last used ${age(s.age_seconds)} ago, ${s.state}${known(s.node) ? ", NUMA node " + s.node : ""}${s.fallback ? ", fallback" : ""}`;
}

function showHeat() {
  const bySize = new Map();
  for (const slab of rows("pool")) {
    if (!bySize.has(slab.block_bytes)) bySize.set(slab.block_bytes, []);
    bySize.get(slab.block_bytes).push(slab);
  }
  const focused = document.activeElement?.dataset?.slab;
  const lines = [...bySize].sort((a, b) => a[0] - b[0]).map(([size, slabs]) =>
    element("div", { class: "row" }, element("b", {}, bytes(size)), element("div", { class: "cells" },
      ...slabs.sort((a, b) => a.block_id < b.block_id ? -1 : 1).map(slab => {
        const fill = element("span");
        fill.style.opacity = slab.live_blocks === 0 ? 0 : 0.25 + 0.75 * slab.live_blocks / slab.blocks;
        const words = slabWords(slab);
        const tell = () => { $("slab").textContent = words; };
        return element("button", { type: "button", class: slab.state, "data-slab": slab.block_id, "aria-label": words,
          onfocus: tell, onpointerenter: tell }, fill);
      }))));
  $("heat").replaceChildren(...lines);
  if (focused) $("heat").querySelector(`[data-slab="${focused}"]`)?.focus();
}

function showPorts() {
  table("path-table", [
    ["path", "path", text],
    ["usable", "usable", v => v ? "yes" : "no", false, p => p.usable ? "OK" : "DEGRADED"],
    ["connections", "connections", count, true],
    ["reason", "why", text, false, () => "wide"],
  ], rows("paths"), "path");
  const ports = rows("ports");
  table("port-table", [
    ["device", "device", text],
    ["port", "port", text, true],
    ["state", "state", text, false, p => p.state === "ACTIVE" ? "OK" : "DOWN"],
    ["link_layer", "link", text],
    ["rate", "rate", text],
    ["netdev", "interface", text],
    ["mtu_bytes", "MTU", text, true],
    ["gid", "address", text],
    ["gid_index", "at index", text, true],
  ], ports);
  $("ports-none").textContent = ports.length ? "" : "This machine has no RDMA device.";
  const signals = samples("rdma4j_port_signals_total").filter(s => s.value > 0)
    .map(s => ({ ...s.labels, value: s.value }));
  table("signal-table", [
    ["device", "device", text],
    ["port", "port", text, true],
    ["signal", "counted since the monitor began", s => s.replaceAll("_", " ")],
    ["value", "how many", count, true],
  ], signals);
}

function showIncidents() {
  const incidents = state.latest.incidents ?? [];
  if (incidents.length === 0) {
    $("timeline").replaceChildren();
    $("incident-list").replaceChildren(element("li", { class: "quiet" }, "None since the monitor began."));
    return;
  }
  timeline(incidents);
  const focused = document.activeElement?.dataset?.incident;
  $("incident-list").replaceChildren(...incidents.map(incident));
  if (focused) $("incident-list").querySelector(`[data-incident="${focused}"]`)?.focus();
}

function incident(i) {
  const lists = [];
  for (const cause of i.causes) {
    lists.push(element("p", { class: cause.confidence.toUpperCase() }, `${cause.confidence}: ${cause.title}`));
    lists.push(list("Evidence", cause.evidence), list("Not seen", cause.missing), list("Looks the same", cause.inseparableFrom));
    lists.push(element("p", {}, element("strong", {}, "Next: "), cause.nextStep));
  }
  lists.push(list("Events", i.events.map(eventWords)));
  lists.push(list("Counters", i.counters.flatMap(w => Object.entries(w.increases).map(
    ([name, by]) => `${w.device} port ${w.port}: ${name} +${by} in ${duration((w.toNs - w.fromNs) / 1e9)}`))));
  if (i.moreEvents > 0) lists.push(element("p", { class: "quiet" }, `and ${i.moreEvents} more events`));
  const opened = element("details", {}, element("summary", { "data-incident": i.id },
    `${time(i.openedNs / 1e6)} ${i.state}: ${i.headline}`), ...lists.filter(known));
  opened.open = state.open.has(i.id);
  opened.addEventListener("toggle", () => opened.open ? state.open.add(i.id) : state.open.delete(i.id));
  return element("li", { class: "incident" }, opened);
}

function eventWords(e) {
  const { device, port, queuePair, connection, peer } = e.subject;
  const about = [connection && `connection ${connection}`, peer, device && `${device} port ${port}`, queuePair && `queue pair ${queuePair}`];
  return `${time(e.timeNs / 1e6)}  ${e.kind.replaceAll("_", " ")} ${about.filter(Boolean).join(", ")}${e.text ? ": " + e.text : ""}`;
}

function list(title, items) {
  return items.length === 0 ? null
    : element("div", {}, element("strong", {}, title), element("ul", {}, ...items.map(item => element("li", {}, item))));
}

/** Incidents on one time axis, the last hour or as far back as the oldest. */
function timeline(incidents) {
  const now = state.points[state.points.length - 1]?.epoch_ms ?? Date.now();
  const first = Math.min(now - 300_000, ...incidents.map(i => i.openedNs / 1e6));
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `${incidents.length} incidents since ${time(first)}`);
  const draw = (tag, attributes, words) => {
    const made = document.createElementNS(svg.namespaceURI, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (words) made.textContent = words;
    svg.append(made);
    return made;
  };
  const x = ms => 1 + 97 * (ms - first) / Math.max(1, now - first) + "%";
  draw("line", { x1: "1%", x2: "98%", y1: "45%", y2: "45%", stroke: "currentColor", "stroke-opacity": .4 });
  for (const i of incidents) {
    const mark = draw("circle", { cx: x(i.openedNs / 1e6), cy: "45%", r: 6, class: i.state, fill: colour(i.causes.length ? "second" : "pending") });
    mark.append(Object.assign(document.createElementNS(svg.namespaceURI, "title"), { textContent: i.headline }));
  }
  draw("text", { x: "1%", y: "92%", "font-size": 11, fill: "currentColor" }, time(first));
  draw("text", { x: "98%", y: "92%", "font-size": 11, fill: "currentColor", "text-anchor": "end" }, time(now));
  $("timeline").replaceChildren(svg);
}

function render() {
  if (!state.latest) return;
  showHealth();
  showTiles();
  charts.forEach(chart => chart.show(state.points));
  const minutes = chartMinutes(state.points);
  $("span").textContent = minutes === 1 ? "the last minute" : `the last ${minutes} minutes`;
  showConnections();
  showPool();
  showPorts();
  showIncidents();
}

// ---- the stream --------------------------------------------------------------------------------

function take(message) {
  const points = [].concat(message.points ?? []); // none with news
  state.points = (points.length > 1 || Array.isArray(message.points) ? points : state.points.concat(points)).slice(-CHART_SECONDS);
  state.latest = { ...state.latest, ...message };
  const at = state.points[state.points.length - 1]?.epoch_ms;
  $("clock").textContent = at ? time(at) : "";
  if (!state.paused) render();
}

async function follow() {
  const token = sessionStorage.getItem("token");
  const answer = await fetch("stream", { headers: token ? { Authorization: "Bearer " + token } : {} });
  if (answer.status === 401) {
    await askToken();
    return TRY_TOKEN;
  }
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  document.body.classList.remove("stale");
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    buffer += value;
    let end;
    while ((end = buffer.indexOf("\n\n")) >= 0) {
      const event = buffer.slice(0, end);
      buffer = buffer.slice(end + 2);
      if (event.startsWith("data: ")) take(JSON.parse(event.slice(6)));
    }
  }
}

function askToken() {
  return new Promise(resolve => {
    $("login").addEventListener("close", () => {
      sessionStorage.setItem("token", $("token").value);
      resolve();
    }, { once: true });
    $("login").showModal();
  });
}

/** Follows for good; a server that is gone is asked again, less and less often. */
async function run() {
  let waitMs = 500;
  for (;;) {
    const began = Date.now();
    let why = "the stream ended";
    try {
      if (await follow() === TRY_TOKEN) continue;
    } catch (e) {
      why = e.message;
    }
    document.body.classList.add("stale");
    $("status").textContent = "no connection";
    $("status").className = "pill FAILING";
    $("status").title = why;
    waitMs = Date.now() - began > 5000 ? 500 : Math.min(8000, waitMs * 2);
    await new Promise(resolve => setTimeout(resolve, waitMs));
  }
}

// ---- buttons and keys --------------------------------------------------------------------------

function setTheme(theme) {
  localStorage.setItem("theme", theme);
  document.documentElement.dataset.theme = theme;
  $("theme").textContent = "Colours: " + theme;
  render();
}
function nextTheme() {
  const order = ["auto", "light", "dark"];
  setTheme(order[(order.indexOf(localStorage.getItem("theme") ?? "auto") + 1) % order.length]);
}
function pause() {
  state.paused = !state.paused;
  $("pause").textContent = state.paused ? "Go on" : "Pause";
  $("pause").setAttribute("aria-pressed", state.paused);
  if (!state.paused) render();
}

$("theme").addEventListener("click", nextTheme);
$("pause").addEventListener("click", pause);
$("help").addEventListener("click", () => $("keys").showModal());
$("filter").addEventListener("input", e => { state.filter = e.target.value; render(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", render);

document.addEventListener("keydown", e => {
  if (e.ctrlKey || e.altKey || e.metaKey || e.target instanceof HTMLInputElement) return;
  const sections = ["traffic", "connections", "pool", "ports", "incidents"];
  if (e.key === "p") pause();
  else if (e.key === "t") nextTheme();
  else if (e.key === "?") $("keys").showModal();
  else if (e.key === "/") { e.preventDefault(); $("filter").focus(); }
  else if (sections[e.key - 1]) {
    const section = $(sections[e.key - 1]);
    section.scrollIntoView();
    section.querySelector("h2").tabIndex = -1;
    section.querySelector("h2").focus({ preventScroll: true });
  }
});

setTheme(localStorage.getItem("theme") ?? "auto");
run();
