// Keeps the part of the page that changes up to date: asks for the page again and takes over what is different.
import { tell } from "./asking.js";
import { become } from "./become.js";
import { showTimes } from "./times.js";

const SLOWEST = 15000;
let misses = 0;
let timer;

export function startLive() {
  document.addEventListener("visibilitychange", () => document.hidden || schedule(0));
  schedule();
}

function schedule(wait) {
  clearTimeout(timer);
  const every = Number(document.getElementById("live")?.dataset.every);
  if (!every || document.hidden) return;
  timer = setTimeout(refresh, wait ?? Math.min(every * 2 ** misses, SLOWEST));
}

export async function refresh() {
  const live = document.getElementById("live");
  if (!live) return;
  try {
    const answer = await fetch(location.href, { cache: "no-store" });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("live");
    if (answer.redirected || !fresh) return tell("This page is no longer up to date. Reload it.");
    takeOver(live, fresh);
    document.title = page.title;
    if (misses > 1) tell("");
    misses = 0;
  } catch {
    misses += 1;
    if (misses > 1) tell("The engine does not answer; trying again.");
  }
  schedule();
}

function takeOver(live, fresh) {
  const { status } = fresh.dataset;
  const changed = status !== live.dataset.status;
  showTimes(fresh);
  become(live, fresh);
  if (changed) document.getElementById("news").textContent = `The run is now ${status}.`;
}
