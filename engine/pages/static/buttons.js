import { post, showMessage } from "./actions.js";
import { refresh } from "./live.js";

export function listenForButtons() {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-post]");
    if (!button || (button.dataset.confirm && !window.confirm(button.dataset.confirm))) return;
    button.disabled = true;
    const result = await post(button.dataset.post);
    button.disabled = false;
    showMessage(result.error || "");
    if (result.goto && result.goto !== location.pathname) location.assign(result.goto);
    else await refresh();
  });
}
