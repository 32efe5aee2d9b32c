const summary = JSON.parse(document.getElementById("summary").textContent);
const { rows, messages } = decodeEvents(document.getElementById("events").textContent.trim());
const byId = (id) => document.getElementById(id);
const CALL = 0, COLLECTIVE = 1, WAIT = 2, ACCESS = 3;
const COLOURS = ["#005ab5", "#008c64", "#d55e00", "#963c96"];
const COMPUTES = "#dee4ea";
const KINDS = ["in a call", "in a collective", "waits", "accesses memory of another rank"];

function element(parent, tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  parent.appendChild(made);
  return made;
}

// Times are in ns here, in µs in the summary.
function time(ns) {
  const size = Math.abs(ns);
  if (size < 1e3) return ns.toFixed(0) + " ns";
  if (size < 1e6) return (ns / 1e3).toFixed(1) + " µs";
  if (size < 1e9) return (ns / 1e6).toFixed(2) + " ms";
  return (ns / 1e9).toFixed(2) + " s";
}
const micros = (us) => time(us * 1e3);
function bytes(count) {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let unit = 0;
  while (count >= 10000 && unit < units.length - 1) { count /= 1000; unit++; }
  return (unit ? count.toFixed(1) : count) + " " + units[unit];
}

// Shares of each stretch of a row: what is looked at when its slices are too many to be drawn.
const rowOfRank = new Map();
rows.forEach((row, at) => {
  row.until = row.latest.length ? row.latest[row.latest.length - 1] : 0;
  if (!rowOfRank.has(row.rank)) rowOfRank.set(row.rank, at);
});
for (let n = 0; n < messages.count; n++) {
  for (const [rank, at] of [[messages.from[n], messages.sent[n]], [messages.to[n], messages.received[n]]]) {
    const row = rows[rowOfRank.get(rank)];
    if (row) row.until = Math.max(row.until, at);
  }
}
const end = rows.reduce((latest, row) => Math.max(latest, row.until), 1);
const BINS = 2 ** Math.max(9, Math.min(15, Math.floor(Math.log2(4e6 / Math.max(1, rows.length)))));
function addShare(sums, row, first, last) {
  const scale = BINS / end;
  let at = first * scale;
  const to = Math.min(last * scale, BINS);
  for (let bin = Math.floor(at); bin < to; bin++) {
    const next = Math.min(to, bin + 1);
    sums[bin] += next - at;
    at = next;
  }
}
for (const row of rows) {
  row.levels = [[0, 1, 2].map(() => new Float32Array(BINS))];
  for (let n = 0; n < row.start.length; n++) {
    if (row.kind[n] !== ACCESS) addShare(row.levels[0][row.kind[n]], row, row.start[n], row.end[n]);
  }
  for (let size = BINS / 2; size >= 256; size /= 2) {
    const finer = row.levels[row.levels.length - 1];
    row.levels.push(finer.map((sums) => Float32Array.from({ length: size }, (_, n) => (sums[2 * n] + sums[2 * n + 1]) / 2)));
  }
}

// The first place from which on `is` holds.
function firstWhere(count, is) {
  let low = 0, high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (is(middle)) high = middle; else low = middle + 1;
  }
  return low;
}

const canvas = byId("lanes"), tip = byId("tip");
const LEFT = 76, AXIS = 42, MOST_EXACT = 20000, MOST_ARROWS = 400;
const laneHeight = Math.max(10, Math.min(34, 480 / Math.max(1, rows.length)));
const shownLanes = Math.min(rows.length, Math.floor(560 / laneHeight));
const view = { from: 0, to: end, top: 0 };
const hasThreads = rows.length > rowOfRank.size;

const width = () => canvas.clientWidth - LEFT;
const xOf = (ns) => LEFT + ((ns - view.from) / (view.to - view.from)) * width();
const timeOf = (x) => view.from + ((x - LEFT) / width()) * (view.to - view.from);
const yOf = (row) => (row - view.top) * laneHeight;

function drawExact(context, row, y, first, last) {
  for (const kind of [CALL, COLLECTIVE, WAIT, ACCESS]) {
    context.fillStyle = COLOURS[kind];
    for (let n = first; n < last; n++) {
      if (row.kind[n] !== kind || row.end[n] < view.from) continue;
      const x = Math.max(LEFT, xOf(row.start[n]));
      context.fillRect(x, y + 1 + kind, Math.max(kind === ACCESS ? 2 : 0.6, xOf(row.end[n]) - x), laneHeight - 2 - 2 * kind);
    }
  }
}

function drawShares(context, row, y) {
  const perPixel = ((view.to - view.from) / width()) * (BINS / end);
  const level = Math.max(0, Math.min(row.levels.length - 1, Math.floor(Math.log2(Math.max(1, perPixel)))));
  const [calls, collectives, waits] = row.levels[level];
  const scale = calls.length / end, height = laneHeight - 2;
  for (let x = 0; x < width(); x++) {
    const bin = Math.floor(timeOf(LEFT + x) * scale);
    if (bin < 0 || bin >= calls.length) continue;
    let bottom = y + laneHeight - 1;
    const wait = Math.min(1, waits[bin]);
    const collective = Math.max(0, Math.min(1, collectives[bin]) - wait);
    const call = Math.max(0, Math.min(1, calls[bin]) - collective - wait);
    for (const [share, kind] of [[wait, WAIT], [collective, COLLECTIVE], [call, CALL]]) {
      if (share <= 0) continue;
      context.fillStyle = COLOURS[kind];
      context.fillRect(LEFT + x, bottom - share * height, 1, share * height);
      bottom -= share * height;
    }
  }
}

function drawArrows(context) {
  const first = firstWhere(messages.count, (n) => messages.sent[n] >= view.from - (view.to - view.from));
  const last = firstWhere(messages.count, (n) => messages.sent[n] > view.to);
  // Spread over all ranks: a fixed stride would find the same sender again and again.
  const stride = Math.max(1, (last - first) / MOST_ARROWS), count = Math.min(last - first, MOST_ARROWS);
  context.strokeStyle = "rgba(20, 30, 40, 0.45)";
  context.fillStyle = "rgba(20, 30, 40, 0.7)";
  context.lineWidth = 1;
  for (let arrow = 0; arrow < count; arrow++) {
    const n = first + Math.floor(arrow * stride + ((arrow * 0.618) % 1) * (stride - 1));
    const from = rowOfRank.get(messages.from[n]), to = rowOfRank.get(messages.to[n]);
    if (from === undefined || to === undefined || from === to || messages.received[n] < view.from) continue;
    const [x, y, toX, toY] = [xOf(messages.sent[n]), yOf(from), xOf(messages.received[n]), yOf(to)].map((v, i) => v + (i % 2) * laneHeight / 2);
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(toX, toY);
    context.stroke();
    context.fillRect(toX - 1.5, toY - 1.5, 3, 3);
  }
  return { drawn: count, all: last - first };
}

function drawAxis(context, y, thinned) {
  const span = view.to - view.from;
  const step = [1, 2, 5, 10].map((n) => n * 10 ** Math.floor(Math.log10(span / 6))).find((n) => n >= span / 8);
  const [unit, name] = view.to < 1e4 ? [1, "ns"] : view.to < 1e7 ? [1e3, "µs"] : view.to < 1e10 ? [1e6, "ms"] : [1e9, "s"];
  const digits = Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9));
  context.fillStyle = "#5b6b7a";
  context.strokeStyle = "#d5dbe1";
  context.textAlign = "center";
  for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
    const x = xOf(at);
    context.beginPath(); context.moveTo(x, 0); context.lineTo(x, y + 4); context.stroke();
    context.fillText((at / unit).toFixed(digits) + " " + name, Math.min(Math.max(x, LEFT + 20), LEFT + width() - 24), y + 17);
  }
  context.textAlign = "left";
  if (thinned.drawn < thinned.all) context.fillText(`${thinned.drawn} of ${thinned.all} messages are drawn`, LEFT, y + 34);
}

function draw() {
  const ratio = window.devicePixelRatio || 1, height = shownLanes * laneHeight;
  canvas.style.height = height + AXIS + "px";
  canvas.width = canvas.clientWidth * ratio;
  canvas.height = (height + AXIS) * ratio;
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  context.font = "12px system-ui, sans-serif";
  const visible = rows.slice(view.top, view.top + shownLanes).map((row) => [
    row, firstWhere(row.start.length, (n) => row.latest[n] > view.from), firstWhere(row.start.length, (n) => row.start[n] > view.to)]);
  const slices = visible.reduce((sum, [, first, last]) => sum + last - first, 0);
  context.save();
  context.beginPath(); context.rect(LEFT, 0, width(), height); context.clip();
  visible.forEach(([row, first, last], at) => {
    context.fillStyle = COMPUTES;
    const [x, y] = [Math.max(LEFT, xOf(row.start[0] || 0)), at * laneHeight];
    context.fillRect(x, y + 1, xOf(row.until) - x, laneHeight - 2);
    if (slices <= Math.min(MOST_EXACT, 1.5 * width() * visible.length)) drawExact(context, row, y, first, last); else drawShares(context, row, y);
  });
  const thinned = drawArrows(context);
  context.restore();
  context.fillStyle = "#1c2733";
  visible.forEach(([row], at) => {
    const name = hasThreads ? `rank ${row.rank}.${row.thread}` : `rank ${row.rank}`;
    context.fillText(name, 4, at * laneHeight + laneHeight / 2 + 4);
  });
  drawAxis(context, height, thinned);
}

let isDue = false;
function redraw() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => { isDue = false; draw(); });
}
function show(from, to) {
  const span = Math.min(end, Math.max(20, to - from));
  view.from = Math.max(0, Math.min(from, end - span));
  view.to = view.from + span;
  redraw();
}
const zoom = (factor, around) => show(around - (around - view.from) * factor, around + (view.to - around) * factor);
function scrollLanes(by) {
  view.top = Math.max(0, Math.min(rows.length - shownLanes, view.top + by));
  redraw();
}

function sliceAt(row, at) {
  let found = -1;
  const last = firstWhere(row.start.length, (n) => row.start[n] > at);
  for (let n = last - 1; n >= 0 && n > last - 4000; n--) {
    if (row.end[n] >= at && (found < 0 || row.end[n] - row.start[n] < row.end[found] - row.start[found])) found = n;
    if (row.latest[n] < at) break;
  }
  return found;
}
function showTip(event) {
  const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  const row = rows[view.top + Math.floor(y / laneHeight)];
  tip.hidden = !row || x < LEFT || y > shownLanes * laneHeight;
  if (tip.hidden) return;
  const at = timeOf(x), n = sliceAt(row, at);
  tip.textContent = `rank ${row.rank}, ${time(at)}\n` + (n < 0 ? "computes" :
    `${summary.names[row.name[n]]}\n${KINDS[row.kind[n]]}, ${time(row.end[n] - row.start[n])}` +
    (row.site[n] ? `\n${summary.sites[row.site[n] - 1]}` : ""));
  tip.style.left = Math.min(x + 12, canvas.clientWidth - 260) + "px";
  tip.style.top = y + 14 + "px";
}

let drag = null;
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  if (event.shiftKey) return scrollLanes(Math.sign(event.deltaY || event.deltaX) * 3);
  zoom(event.deltaY > 0 ? 1.25 : 0.8, timeOf(event.offsetX));
}, { passive: false });
canvas.addEventListener("mousedown", (event) => { drag = { x: event.clientX, y: event.clientY, from: view.from, top: view.top }; });
window.addEventListener("mouseup", () => { drag = null; });
window.addEventListener("mousemove", (event) => {
  if (!drag) return;
  const by = ((event.clientX - drag.x) / width()) * (view.to - view.from), span = view.to - view.from;
  view.top = Math.max(0, Math.min(rows.length - shownLanes, drag.top - Math.round((event.clientY - drag.y) / laneHeight)));
  show(drag.from - by, drag.from - by + span);
});
canvas.addEventListener("mousemove", showTip);
canvas.addEventListener("mouseleave", () => { tip.hidden = true; });
canvas.addEventListener("dblclick", () => show(0, end));
canvas.addEventListener("keydown", (event) => {
  const span = view.to - view.from, middle = (view.from + view.to) / 2;
  const actions = { "+": () => zoom(0.8, middle), "-": () => zoom(1.25, middle), ArrowLeft: () => show(view.from - span / 10, view.to - span / 10),
    ArrowRight: () => show(view.from + span / 10, view.to + span / 10), ArrowUp: () => scrollLanes(-1), ArrowDown: () => scrollLanes(1) };
  if (actions[event.key]) { event.preventDefault(); actions[event.key](); }
});
window.addEventListener("resize", redraw);

function table(id, heads, lines) {
  const made = byId(id), isNumber = (text) => text.startsWith("#"), head = element(made, "tr");
  heads.forEach((text) => element(head, "th", text.replace("#", ""), isNumber(text) ? "number" : ""));
  lines.forEach((cells) => {
    const line = element(made, "tr");
    cells.forEach((cell, at) => element(line, "td", cell, isNumber(heads[at]) ? "number" : ""));
  });
}
function bars(id, lines, colour) {
  const made = element(byId(id), "div", undefined, "bars"), most = Math.max(1, ...lines.map(([, count]) => count));
  lines.forEach(([name, count, note]) => {
    element(made, "span", name);
    Object.assign(element(made, "b").style, { width: (100 * count) / most + "%", background: colour });
    element(made, "span", note);
  });
}
function matrix() {
  const pairs = new Map(summary.pairs.map((pair) => [pair.from + " " + pair.to, pair]));
  const ranks = summary.ranks.map((rank) => rank.rank), most = Math.max(1, ...summary.pairs.map((pair) => pair.bytes));
  const colour = (pair) => `rgba(0, 90, 181, ${pair ? 0.08 + (0.72 * Math.log1p(pair.bytes)) / Math.log1p(most) : 0.02})`;
  if (ranks.length > 16) {
    const canvas = element(byId("matrix"), "canvas"), cell = Math.max(1, Math.floor(420 / ranks.length));
    canvas.width = canvas.height = cell * ranks.length;
    canvas.style.cssText = `width: ${canvas.width}px; cursor: default`;
    const context = canvas.getContext("2d"), place = new Map(ranks.map((rank, at) => [rank, at]));
    for (const pair of summary.pairs) {
      context.fillStyle = colour(pair);
      context.fillRect(place.get(pair.to) * cell, place.get(pair.from) * cell, cell, cell);
    }
    canvas.addEventListener("mousemove", (event) => {
      const [from, to] = [ranks[Math.floor(event.offsetY / cell)], ranks[Math.floor(event.offsetX / cell)]], pair = pairs.get(from + " " + to);
      canvas.title = `${from} to ${to}: ${pair ? `${bytes(pair.bytes)} in ${pair.messages} messages` : "nothing"}`;
    });
    return;
  }
  const made = element(byId("matrix"), "table"), head = element(made, "tr");
  element(head, "th");
  ranks.forEach((rank) => element(head, "th", rank));
  ranks.forEach((from) => {
    const line = element(made, "tr");
    element(line, "th", from);
    ranks.forEach((to) => {
      const pair = pairs.get(from + " " + to), cell = element(line, "td", pair ? bytes(pair.bytes) : "");
      cell.style.background = colour(pair);
      if (pair) cell.title = `${pair.messages} messages`;
    });
  });
}
function waitLengths() {
  const counts = new Map();
  for (const row of rows) {
    for (let n = 0; n < row.start.length; n++) {
      if (row.kind[n] !== WAIT) continue;
      const took = row.end[n] - row.start[n], power = Math.max(2, Math.ceil(Math.log10(Math.max(1, took))));
      const known = counts.get(power) || [0, 0];
      counts.set(power, [known[0] + 1, known[1] + took]);
    }
  }
  return [...counts].sort((a, b) => a[0] - b[0]).map(([power, [count, took]]) => [`up to ${time(10 ** power)}`, count, `${count}, ${time(took)}`]);
}

document.title = "Trace: " + summary.command;
byId("title").textContent = `${summary.command}: ${summary.ranks.length} ranks, ${micros(summary.took)}`;
summary.findings.forEach((finding) => element(byId("findings"), "li", finding));
[["computes", COMPUTES], ...KINDS.map((name, kind) => [name, COLOURS[kind]])].forEach(([name, colour]) => {
  const item = element(byId("legend"), "span");
  element(item, "i").style.background = colour;
  item.append(name);
});
table("causes", ["#waited for it", "#rank", "what it does", "which rank waits for which"],
  summary.causes.slice(0, 30).map((cause) => [micros(cause.waited), cause.rank, cause.what, cause.chain]));
matrix();
bars("sizes", summary.sizes.map((size) => ["up to " + bytes(size.up_to), size.messages, `${size.messages}, ${bytes(size.bytes)}`]), COLOURS[0]);
bars("waits", waitLengths(), COLOURS[WAIT]);
table("calls", ["call", "#calls", "#time of all ranks", "#longest", "#on rank"],
  summary.calls.map((call) => [call.name, call.calls, micros(call.took), micros(call.longest), call.longest_on]));
byId("operations-section").hidden = !summary.operations.length;
table("operations", ["operation", "kind", "#count", "#bytes", "#under way, of all ranks"],
  summary.operations.map((one) => [one.name, one.kind, one.count, bytes(one.bytes), one.took === null ? "" : micros(one.took)]));
table("ranks", ["#rank", "#time", "#computes", "#inside", "#waits", "#sent", "#messages", "host"],
  summary.ranks.map((rank) => [rank.rank, micros(rank.took), micros(rank.computes), micros(rank.inside), micros(rank.waits), bytes(rank.bytes_sent), rank.messages_sent, rank.host]));
draw();
