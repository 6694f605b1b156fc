// Writing a message: Enter sends, files go along, and nothing that was written is lost when sending fails.
import { call, freshName, Refused } from "./api.js";
import { refreshSoon, toTheEnd } from "./live.js";
import { tell } from "./toasts.js";

const form = document.getElementById("composer");
const LARGEST = 50 * 1024 * 1024;
const attached = new Map();
// What was sent without an answer, and its name: the same sent again is the same wish, anything else another one.
let tried = null;
let sending = false;

export function startComposer() {
  if (!form) return;
  const text = form.querySelector("textarea");
  const files = form.querySelector("#files");
  text.value = sessionStorage.getItem(draftKey()) || "";
  fit(text);
  text.addEventListener("input", () => {
    sessionStorage.setItem(draftKey(), text.value);
    fit(text);
  });
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  text.addEventListener("paste", (event) => {
    if (event.clipboardData.files.length) attach(event.clipboardData.files);
  });
  files.addEventListener("change", () => {
    attach([...files.files]);
    files.value = "";
  });
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    attach(event.dataTransfer.files);
  });
  document.addEventListener("click", (event) => {
    const idea = event.target.closest("[data-idea]");
    if (!idea) return;
    text.value = text.value.trim() ? `${text.value}\n${idea.textContent}` : idea.textContent;
    sessionStorage.setItem(draftKey(), text.value);
    fit(text);
    text.focus();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(text);
  });
  if (!document.body.classList.contains("panel")) text.focus({ preventScroll: true });
}

async function send(text) {
  const typed = text.value;
  const words = text.value.trim();
  const works = [...attached.keys()];
  if (sending || (!words && !works.length)) return;
  sending = true;
  form.classList.add("busy");
  const what = JSON.stringify([words, works]);
  if (tried?.what !== what) tried = { what, name: freshName() };
  const message = { text: words, attachments: works, client_id: tried.name };
  if (form.dataset.task) message.task_id = form.dataset.task;
  try {
    const taken = await call("POST", "/api/v1/messages", message);
    if (!taken.message_id) throw new Refused(0, { detail: "Nobody said that the message was taken in; send it again." });
    tried = null;
    // What was typed or attached while it was on its way was not taken in.
    if (text.value.startsWith(typed)) text.value = text.value.slice(typed.length);
    if (text.value) sessionStorage.setItem(draftKey(), text.value);
    else sessionStorage.removeItem(draftKey());
    for (const work of works) attached.delete(work);
    showAttached();
    fit(text);
    refreshSoon(0);
    setTimeout(toTheEnd, 250);
  } catch (error) {
    tell(error.message);
  } finally {
    sending = false;
    form.classList.remove("busy");
    text.focus();
  }
}

async function attach(files) {
  for (const file of files) {
    if (file.size > LARGEST) {
      tell(`${file.name} is larger than 50 MB`);
      continue;
    }
    const body = new FormData();
    body.append("file", file);
    body.append("title", file.name || "Pasted");
    form.classList.add("busy");
    try {
      const work = await call("POST", "/api/v1/objects", body, { "Idempotency-Key": freshName() });
      attached.set(work.id, work.title);
      showAttached();
    } catch (error) {
      tell(error.message);
    } finally {
      form.classList.remove("busy");
    }
  }
}

function showAttached() {
  const place = form.querySelector("#attached");
  place.replaceChildren(
    ...[...attached].map(([id, title]) => {
      const chip = document.createElement("button");
      chip.type = "button";
      chip.className = "chip";
      chip.textContent = `${title} ✕`;
      chip.setAttribute("aria-label", `Leave ${title} out`);
      chip.addEventListener("click", () => {
        attached.delete(id);
          showAttached();
      });
      return chip;
    }),
  );
}

function fit(text) {
  // Without a style attribute, which the page's policy forbids: rows follow the lines.
  const lines = text.value.split("\n").reduce((sum, one) => sum + 1 + Math.floor(one.length / 90), 0);
  text.rows = Math.min(Math.max(lines, 1), 10);
}

function draftKey() {
  return `draft:${location.pathname}`;
}
