// Keeps the page equal to a fresh load: every change leads to one, at most a few a second; progress moves without it.
import { followFocus, keepFocus } from "./focus.js";
import { morph } from "./morph.js";
import { showLocalTimes } from "./times.js";

const KINDS = ["message", "task", "turn", "card", "generation", "object", "notice", "skill", "memory"];
const FINAL = new Set(["succeeded", "failed", "cancelled", "unresolved"]);
const HIDDEN_MS = 20_000;
const live = document.getElementById("live");
const line = document.getElementById("line");

let lastId = document.body.dataset.seq;
let source = null;
let broken = false;
let pause = 500;
let due = null;
let loading = false;
let again = false;
let sleep = null;

export function startLive() {
  if (!live) return;
  if (document.body.classList.contains("talk") && !document.body.classList.contains("panel")) toTheEnd();
  followFocus(live);
  connect();
  document.addEventListener("visibilitychange", onVisibility);
  window.addEventListener("pageshow", (event) => event.persisted && wake());
  window.addEventListener("online", wake);
  // An open stream would keep the page out of the browser's memory of pages.
  window.addEventListener("pagehide", disconnect);
}

export function toTheEnd() {
  window.scrollTo({ top: document.documentElement.scrollHeight });
}

export function refreshSoon(wait = live && "slow" in live.dataset ? 1500 : 120) {
  if (due === null) due = setTimeout(refresh, wait);
}

async function refresh() {
  due = null;
  if (loading) {
    again = true;
    return;
  }
  loading = true;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
    if (answer.status === 401) location.reload();
    if (answer.ok) show(new DOMParser().parseFromString(await answer.text(), "text/html"));
  } catch {
    broken = true;
  } finally {
    loading = false;
    if (again) {
      again = false;
      refreshSoon();
    }
  }
}

function show(page) {
  const fresh = page.getElementById("live");
  if (!fresh) return;
  const atEnd = window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 120;
  const grew = document.documentElement.scrollHeight;
  morph(live, fresh);
  followTask(page);
  keepFocus();
  document.title = page.title;
  showLocalTimes(live);
  if (atEnd && document.body.classList.contains("talk") && document.documentElement.scrollHeight > grew) toTheEnd();
}

function followTask(page) {
  // A task that has ended takes no more messages; the words typed so far stay as a draft.
  const [place, next] = [document, page].map((one) => one.getElementById("speak"));
  if (!place || !next || place.dataset.open === next.dataset.open) return;
  if (next.dataset.open === "yes") location.reload();
  else place.replaceWith(document.importNode(next, true));
}

function connect() {
  disconnect();
  source = new EventSource(`/api/v1/events?last_event_id=${lastId}`);
  for (const kind of KINDS) source.addEventListener(`${kind}.changed`, onChange);
  source.addEventListener("reset", (event) => {
    lastId = event.lastEventId;
    refreshSoon(0);
  });
  source.addEventListener("open", () => {
    pause = 500;
    say("live", "live");
    if (broken) refreshSoon(0);
    broken = false;
  });
  source.addEventListener("error", () => {
    broken = true;
    say("broken", "reconnecting");
    if (source && source.readyState === EventSource.CLOSED) {
      setTimeout(wake, pause);
      pause = Math.min(pause * 2, 15_000);
    }
  });
}

function disconnect() {
  if (source) source.close();
  source = null;
}

function wake() {
  if (document.hidden) return;
  if (!source || source.readyState === EventSource.CLOSED) {
    broken = true;
    connect();
    refreshSoon(0);
  }
}

function onVisibility() {
  clearTimeout(sleep);
  // A browser has few lines to one host: a hidden page gives its own back, and catches up when it is seen again.
  if (document.hidden) sleep = setTimeout(disconnect, HIDDEN_MS);
  else wake();
}

function onChange(event) {
  lastId = event.lastEventId;
  if (event.type === "generation.changed" && moveProgress(JSON.parse(event.data))) return;
  refreshSoon();
}

function moveProgress(order) {
  const rows = document.querySelectorAll(`[data-generation="${CSS.escape(order.id)}"]`);
  if (!rows.length || FINAL.has(order.state) || order.progress === undefined) return false;
  const percent = Math.round(100 * Math.min(Math.max(order.progress, 0), 1));
  for (const row of rows) {
    row.querySelector("progress").value = percent;
    row.querySelector('[data-part="percent"]').textContent = `${percent} %`;
    if (row.dataset.state !== order.state) refreshSoon();
  }
  return true;
}

function say(state, word) {
  line.dataset.state = state;
  line.querySelector(".word").textContent = word;
}
