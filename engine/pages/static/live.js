// Keeps the part of the page that changes up to date: fetches the page again and applies what is different.
import { showMessage } from "./actions.js";
import { morph } from "./morph.js";
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
    if (answer.redirected || !fresh) return showMessage("This page is no longer up to date. Reload it.");
    update(live, fresh);
    document.title = page.title;
    if (misses > 1) showMessage("");
    misses = 0;
  } catch {
    misses += 1;
    if (misses > 1) showMessage("The engine does not answer; trying again.");
  }
  schedule();
}

function update(live, fresh) {
  const { status } = fresh.dataset;
  const changed = status !== live.dataset.status;
  showTimes(fresh);
  morph(live, fresh);
  if (changed) document.getElementById("news").textContent = `The run is now ${status}.`;
}
