import { ask, tell } from "./asking.js";
import { refresh } from "./live.js";

export function listenForButtons() {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-post]");
    if (!button || (button.dataset.confirm && !window.confirm(button.dataset.confirm))) return;
    button.disabled = true;
    const told = await ask(button.dataset.post);
    button.disabled = false;
    tell(told.error || "");
    if (told.goto && told.goto !== location.pathname) location.assign(told.goto);
    else await refresh();
  });
}
