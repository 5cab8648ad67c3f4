"use strict";
const POLL_MS = 1000, RETRY_MAX_MS = 5000, TIMEOUT_MS = 10000, SUMMARY_MS = 15000;
const TOKEN_KEY = "undertone-token";
const STATES = {
  gathering: "Waiting for records for the next release.", waiting: "Has released. Waiting for neighbours.",
  finished: "All rounds are done.", exhausted: "The budget is spent. There are no more releases.",
};
const PRESENCES = {
  away: "Away: missed a deadline. It is not waited for until it is heard again.",
  left: "Left: sent a farewell and will not come back.",
  "cut-off": "Cut off: sent two different releases of one round. It is ignored.",
};
const REASONS = {
  size: "wrong size", format: "an unknown format, or another version of it", checksum: "wrong checksum",
  network: "another network, or another agreement", sender: "not made by its sender", round: "impossible round",
  dimension: "wrong dimension", value: "a value is out of range", "unknown-sender": "from unknown learners or learners cut off",
  repeated: "duplicate", "too-far-ahead": "of a round far ahead, on the word of too few",
};
const LOOKS = {
  gathering: ["▸", "good"], waiting: ["◐", "good"], finished: ["✓", "good"], exhausted: ["✕", "stop"],
  present: ["●", "good"], away: ["◐", "warn"], left: ["○", ""], "cut-off": ["✕", "stop"],
  live: ["●", "good"], lost: ["▲", "warn"], locked: ["○", ""],
};
// ---- Numbers

const count = (value) => (value == null ? "–" : value.toLocaleString("en-GB"));
const percent = (share) => (share == null ? "–" : number(100 * share) + "%");

/** Four significant digits. */
function number(value) {
  if (value == null || !Number.isFinite(value)) return "–";
  const size = Math.abs(value), digits = size === 0 ? 1 : 4;
  if (size === 0 || (size >= 1e-4 && size < 1e9)) return value.toLocaleString("en-GB", { minimumSignificantDigits: digits, maximumSignificantDigits: digits });
  const [head, power] = value.toExponential(3).split("e");
  const raised = String(Number(power)).replace(/[-\d]/g, (sign) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(sign)]);
  return (head === "1.000" ? "" : head + "×") + "10" + raised;
}

/** Four significant digits, rounded up: spent budget must not look smaller than it is. */
function roundedUp(value) {
  // JSON has no infinity: null is a cost without a bound.
  if (value === null) return "no bound";
  if (value === undefined) return number(value);
  if (Number(value.toPrecision(4)) >= value) return number(Number(value.toPrecision(4)));
  // Done on the decimal digits: a product such as 3.21 × 1000 may be slightly too large.
  const [head, power] = value.toExponential(3).split("e");
  return number(Number(`${Number(head.replace(".", "")) + 1}e${Number(power) - 3}`));
}

// ---- Helpers. They write only changes, so that a selection or a screen reader's position is not lost each second.

const $ = (id) => document.getElementById(id);
const put = (element, text) => element.textContent === text || (element.textContent = text);
const putAll = (texts) => Object.entries(texts).forEach(([id, text]) => put($(id), text));

function mark(element, kind, text = kind) {
  [element.dataset.sign, element.dataset.tone] = LOOKS[kind] ?? ["○", ""];
  put(element, text);
}

function fillBar(element, value, end, words) {
  for (const [key, text] of [["max", end], ["now", value], ["text", words]]) element.setAttribute(`aria-value${key}`, text);
  element.querySelector(".track > div").style.width = `${Math.min(100, 100 * value / end) || 0}%`;
}

function fillRows(body, rows, empty) {
  const shown = JSON.stringify(rows);
  if (body.shown === shown) return;
  body.shown = shown;
  body.replaceChildren(...(rows.length ? rows : [[empty]]).map((cells) => {
    const row = document.createElement("tr");
    cells.forEach((text, column) => {
      const cell = row.appendChild(document.createElement(column ? "td" : "th"));
      if (!column) cell.scope = "row";
      if (!rows.length) cell.colSpan = 9;
      if (!text.kind) return put(cell, text);
      cell.className = "sign words";
      mark(cell, text.kind, text.word);
    });
    return row;
  }));
}

// ---- Charts

const CHARTS = [
  { key: "loss", title: "Loss", format: number },
  { key: "accuracy", title: "Prequential accuracy", format: percent },
  { key: "distance", title: "Consensus distance", format: number },
  { key: "epsilon", title: "Privacy spent, epsilon", format: roundedUp, fromZero: true },
];

/** Round numbers that cover the range between two values. */
function ticksBetween(low, high, most, smallest = 0) {
  const rough = Math.max((high - low) / most, smallest, Number.MIN_VALUE);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * power).find((one) => one >= rough * 0.999) || 1;
  const ticks = [];
  for (let at = Math.floor(low / step + 1e-9); at <= Math.ceil(high / step - 1e-9); at++) ticks.push(Number((at * step).toPrecision(12)));
  return ticks;
}

function draw(chart) {
  const svg = $(chart.key + "-chart"), width = svg.clientWidth, height = svg.clientHeight;
  const { rounds = [], values = [] } = chart;
  const known = values.flatMap((value, place) => (value == null ? [] : [place]));
  if (!width) return;
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const add = (name, attributes, text) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return svg.appendChild(element);
  };
  if (!known.length) return add("text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, "nothing to show yet");
  const lowest = Math.min(...known.map((place) => values[place])), highest = Math.max(...known.map((place) => values[place]));
  let [low, high] = [lowest, highest];
  // The axis starts at zero unless that would take more than half the height.
  if (chart.fromZero || (low > 0 && low < high / 2)) low = 0;
  if (high === low) [low, high] = [low - Math.abs(low || 1) / 10, high + Math.abs(high || 1) / 10];
  const up = ticksBetween(low, high, 4);
  const extreme = (value) => value !== 0 && (Math.abs(value) < 1e-4 || Math.abs(value) >= 1e6);
  const short = (value) => (extreme(value) ? number(value) : value.toLocaleString("en-GB", { maximumSignificantDigits: 6 }));
  const labels = up.map((tick) => (chart.format === percent ? short(100 * tick) + "%" : short(tick)));
  const left = 10 + 7 * Math.max(...labels.map((label) => label.length)), right = width - 8, top = 8, bottom = height - 34;
  const first = rounds[0], last = Math.max(rounds.at(-1), first + 1);
  const x = (round) => left + ((round - first) / (last - first)) * (right - left);
  const y = (value) => bottom - ((value - up[0]) / (up.at(-1) - up[0])) * (bottom - top);
  up.forEach((tick, place) => {
    const at = y(tick);
    add("line", { class: place ? "grid" : "axis", x1: left, x2: right, y1: at, y2: at });
    add("text", { x: left - 7, y: at + 4, "text-anchor": "end" }, labels[place]);
  });
  for (const tick of ticksBetween(first, last, Math.min(6, (right - left) / 52), 1)) {
    if (tick < first || tick > last) continue;
    add("line", { class: "axis", x1: x(tick), x2: x(tick), y1: bottom, y2: bottom + 4 });
    add("text", { x: x(tick), y: bottom + 17, "text-anchor": x(tick) > right - 14 ? "end" : "middle" }, count(tick));
  }
  add("text", { x: (left + right) / 2, y: height - 2, "text-anchor": "middle" }, "round");
  // A missing value is a gap, not a zero. "h0" draws a single value between two gaps as a dot.
  let path = "";
  for (const place of known) {
    const point = `${x(rounds[place]).toFixed(1)} ${y(values[place]).toFixed(1)}`;
    path += place > 0 && values[place - 1] != null ? `L${point}` : `M${point}h0`;
  }
  add("path", { class: "line", d: path });
  let shown = known.at(-1);
  if (chart.pointer !== undefined) {
    const away = (place) => Math.abs(x(rounds[place]) - chart.pointer);
    shown = known.reduce((best, place) => (away(place) < away(best) ? place : best));
    const at = x(rounds[shown]);
    add("line", { class: "axis", x1: at, x2: at, y1: top, y2: bottom });
    add("text", { class: "read", x: at > width / 2 ? at - 8 : at + 8, y: top + 6, "text-anchor": at > width / 2 ? "end" : "start" },
      `round ${count(rounds[shown])}: ${chart.format(values[shown])}`);
  }
  add("circle", { class: "dot", cx: x(rounds[shown]), cy: y(values[shown]), r: 4 });
  // The summary changes rarely: some screen readers speak every change of a label.
  if (!(performance.now() - chart.summarised < SUMMARY_MS)) {
    chart.summarised = performance.now();
    const say = (place) => chart.format(values[place]), from = known[0], to = known.at(-1);
    svg.setAttribute("aria-label", `${chart.title}, rounds ${count(rounds[from])} to ${count(rounds[to])}: first ${say(from)}, ` +
      `lowest ${chart.format(lowest)}, highest ${chart.format(highest)}, latest ${say(to)}.`);
  }
}

for (const chart of CHARTS) {
  const svg = $(chart.key + "-chart");
  svg.setAttribute("aria-label", `${chart.title}: nothing to show yet.`);
  const follow = (pointer) => draw(Object.assign(chart, { pointer }));
  svg.addEventListener("pointermove", (event) => follow(event.clientX - svg.getBoundingClientRect().left));
  svg.addEventListener("pointerleave", () => follow(undefined));
  new ResizeObserver(() => draw(chart)).observe(svg);
}

// ---- Showing the node's answers

function showStatus(status) {
  const share = status.rounds > 0 ? Math.min(1, status.round / status.rounds) : 0;
  const ended = status.state === "finished" || status.state === "exhausted";
  document.title = `${status.name}${ended ? `, ${status.state}` : ""} – Undertone node`;
  // The other two states alternate every round, so they are not announced.
  if (ended && $("state").textContent !== status.state) put($("announce"), `The node is ${status.state}.`);
  mark($("state"), status.state);
  putAll({
    name: status.name, who: `learner ${status.learner} of ${status.learners}`, "from-zero": ", numbered from 0",
    "state-words": STATES[status.state] ?? "", round: count(status.round), rounds: status.rounds === null ? "rounds so far" : `of ${count(status.rounds)} rounds`,
    // Rounded down: 100% is shown only when all rounds are done.
    share: status.rounds === null ? "" : ` · ${(Math.floor(share * 1000) / 10).toFixed(1)}%`,
    records: count(status.records), "waiting-records": count(status.waiting_records), room: count(status.room),
    loss: number(status.loss), accuracy: percent(status.accuracy), distance: number(status.distance),
    "epsilon-latest": roundedUp(status.history.epsilon.at(-1)), network: status.network, version: status.version,
  });
  $("network-words").hidden = false;
  fillBar($("progress"), status.round, status.rounds ?? 0, status.rounds === null ? `round ${count(status.round)}` : `round ${count(status.round)} of ${count(status.rounds)}`);
  $("accuracy").closest("figure").hidden = status.task === "regression";
  for (const chart of CHARTS) draw(Object.assign(chart, { rounds: status.history.round, values: status.history[chart.key] }));
  fillRows($("neighbours"), status.neighbours.map((one) => [
    String(one.learner), { kind: one.presence, word: one.presence.replace("-", " ") },
    one.newest == null ? "none yet" : count(one.newest), count(one.lag),
  ]), "none");
  const seen = Object.keys(PRESENCES).filter((presence) => status.neighbours.some((one) => one.presence === presence));
  put($("presences"), seen.map((presence) => PRESENCES[presence]).join(" "));
  const dropped = Object.entries(status.dropped).filter(([, times]) => times > 0);
  fillRows($("dropped"), dropped.map(([reason, times]) => [REASONS[reason] ?? reason, count(times)]), "none");
}

function showBudget(budget, state) {
  const { epsilon, cap, lifetime_epsilon: lifetime, ledger } = budget, limit = cap ?? lifetime;
  const exhausted = budget.exhausted != null || state === "exhausted";
  // One unit for the whole table: pure ε when every release has one, else ρ, which adds up over rounds.
  const pure = ledger.length > 0 && ledger.every((entry) => entry.pure_cost != null && entry.pure_total != null);
  putAll({
    epsilon: roundedUp(epsilon), limit: limit == null ? "none" : roundedUp(limit), unit: budget.unit, counted: budget.counted === "persons" ? "Persons" : "Records", delta: number(budget.delta),
    "limit-share": limit == null ? "; there is no limit" : ` · ${(Math.ceil(1000 * epsilon / limit) / 10).toFixed(1)}%`,
    releases: count(budget.releases), zcdp: roundedUp(budget.zcdp), pure: roundedUp(budget.pure_epsilon),
    "cap-words": cap == null ? "No cap is set: no release is refused because of its cost." : `Cap ε ${roundedUp(cap)}: a release that would exceed it is refused.`,
    "lifetime-words": budget.statement.join(" "), "cost-unit": pure ? "ε" : "ρ", "total-unit": pure ? "ε" : "ρ",
    "exhausted-why": `Nothing more will be released. ${budget.exhausted ? `Why: ${budget.exhausted}.` : ""}`,
    "ledger-words": `The newest ${count(ledger.length)} of ${count(budget.releases)} releases. ` +
      (pure ? "Costs are ε with δ = 0, which add up." : "Costs are ρ (zCDP), which add up. The budget above is their total as ε at δ."),
  });
  $("pure-box").hidden = budget.pure_epsilon == null;
  $("exhausted").hidden = !exhausted;
  $("limit-words").hidden = $("gauge-box").hidden = limit == null;
  // A lifetime bound far above the cap is not shown: it cannot be reached, and would compress the gauge.
  const end = Math.max(limit, epsilon, lifetime <= 2 * limit ? lifetime : 0) || 1;
  const gauge = $("gauge"), place = (value) => `${100 * value / end}%`;
  fillBar(gauge, epsilon, end, `epsilon ${roundedUp(epsilon)}, limit ${roundedUp(limit)}`);
  gauge.classList.toggle("over", exhausted || epsilon > limit);
  // Approaching a lifetime bound is expected. Approaching a cap below it means that releases will stop.
  gauge.classList.toggle("near", cap != null && epsilon > 0.8 * cap && (lifetime == null || lifetime > cap));
  put($("gauge-end"), roundedUp(end));
  $("cap-mark").style.left = place(cap);
  $("lifetime-mark").style.left = place(lifetime);
  $("cap-mark").hidden = $("cap-key").hidden = cap == null;
  $("lifetime-key").hidden = lifetime == null;
  $("lifetime-mark").hidden = lifetime == null || lifetime > end;
  fillRows($("ledger"), [...ledger].reverse().map((entry) => [
    count(entry.round), count(entry.records), number(entry.sensitivity), number(entry.noise_scale),
    roundedUp(pure ? entry.pure_cost : entry.zcdp_cost), roundedUp(pure ? entry.pure_total : entry.zcdp_total),
  ]), "no release yet");
}

// ---- Requests to the node

const UNAUTHORISED = new Error("access token needed");
let busy = false, timer, failures = 0, lastSeen = "";

async function get(path) {
  const token = sessionStorage.getItem(TOKEN_KEY);
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const response = await fetch(path, { headers, cache: "no-store", redirect: "error", signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (response.status === 401) throw UNAUTHORISED;
  if (!response.ok) throw new Error(`answer ${response.status}`);
  return response.json();
}

let connected = "live";
function connection(kind, text, spoken, why = "") {
  if (connected !== kind) put($("announce"), spoken);
  connected = kind;
  mark($("connection"), kind, text);
  $("connection").title = why;
}

function askForToken() {
  const refused = sessionStorage.getItem(TOKEN_KEY) !== null;
  sessionStorage.removeItem(TOKEN_KEY);
  connection("locked", "locked", "Access token needed");
  // The values shown are private too: without a valid token they are hidden.
  $("content").hidden = $("nothing").hidden = true;
  $("token-form").hidden = false;
  put($("token-error"), refused ? "This token was not accepted." : "");
  $("token").focus();
}

async function poll() {
  clearTimeout(timer);
  if (busy || document.hidden || !$("token-form").hidden) return;
  busy = true;
  try {
    // One after the other, so that a slow node never has two requests of this page at once.
    const status = await get("v1/status"), budget = await get("v1/budget");
    $("content").hidden = false;
    $("nothing").hidden = true;
    showStatus(status);
    showBudget(budget, status.state);
    failures = 0;
    lastSeen = new Date().toLocaleTimeString("en-GB");
    connection("live", "live", "Connected again");
    document.documentElement.dataset.ready = "yes";
  } catch (error) {
    if (error === UNAUTHORISED) askForToken();
    else {
      failures += 1;
      const seen = lastSeen ? `last seen ${lastSeen}` : "not seen yet";
      connection("lost", `not reachable, ${seen}`, `Node not reachable, ${seen}`, error.message);
    }
  }
  busy = false;
  timer = setTimeout(poll, failures ? Math.min(RETRY_MAX_MS, POLL_MS * 2 ** (failures - 1)) : POLL_MS);
}

$("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const token = $("token").value.trim();
  $("token").value = "";
  // Other characters cannot be sent in a header: the node would seem unreachable.
  if (!/^[\x21-\x7e]+$/.test(token)) return put($("token-error"), "A token has letters, digits and punctuation only, without spaces.");
  sessionStorage.setItem(TOKEN_KEY, token);
  $("token-form").hidden = true;
  poll();
});
document.addEventListener("visibilitychange", poll);
poll();
