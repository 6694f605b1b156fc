// What the buttons and forms of all pages do. Their effects come back as changes, like anybody else's.
import { call, freshName, Refused } from "./api.js";
import { announceNewer, keepMine, takeSaved } from "./edit.js";
import { refreshSoon } from "./live.js";
import { tell } from "./toasts.js";

const BUTTONS = {
  task: ({ taskId, command, turnId }) =>
    call("POST", `/api/v1/tasks/${taskId}/${command}`, turnId ? { turn_id: turnId } : {}),
  withdraw: ({ messageId }) => call("POST", `/api/v1/messages/${messageId}/withdraw`, {}),
  cancel: ({ generationId }) => call("POST", `/api/v1/generations/${generationId}/cancel`, {}),
  skill: ({ skillId, command, version }) =>
    call("POST", `/api/v1/skills/${skillId}/${command}`, version ? { version: Number(version) } : {}),
  dropSkill: ({ skillId }) => call("DELETE", `/api/v1/skills/${skillId}`),
  forget: ({ factId }) => call("POST", `/api/v1/memory/${factId}/forget`, {}),
  revoke: ({ keyId }) => call("DELETE", `/api/v1/keys/${keyId}`),
};

const FORMS = {
  card: answer,
  limits: setLimits,
  budget: setBudget,
  edit: saveText,
  newKey: makeKey,
  fix: askForChange,
  fact: correctFact,
  move: moveMessage,
};

export function listenForActions() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-act]");
    if (!button) return;
    const { ask, act } = button.dataset;
    if (ask && !window.confirm(ask)) return;
    during([button], () => BUTTONS[act](button.dataset));
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-keep-mine]");
    if (button) keepMine(button.form);
  });
  document.addEventListener("submit", (event) => {
    const kind = Object.keys(FORMS).find((name) => name in event.target.dataset);
    if (!kind) return;
    event.preventDefault();
    const buttons = [...event.target.querySelectorAll("button")];
    during(buttons, () => FORMS[kind](event.target, event.submitter));
  });
}

async function during(buttons, act) {
  for (const button of buttons) button.disabled = true;
  try {
    await act();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    tell(error.message);
  } finally {
    for (const button of buttons) button.disabled = false;
    refreshSoon(0);
  }
}

function answer(form, pressed) {
  const note = form.elements.text ? form.elements.text.value.trim() : "";
  return call("POST", `/api/v1/cards/${form.dataset.card}/answer`, {
    option: pressed.value,
    ...(note ? { text: note } : {}),
  });
}

function setLimits(form) {
  const budget = form.elements.budget.value.trim();
  return call("PATCH", `/api/v1/tasks/${form.dataset.limits}`, {
    autonomy: form.elements.autonomy.value,
    budget: budget || null,
  });
}

async function setBudget(form) {
  await call("PUT", "/api/v1/budget", {
    free_per_operation: form.elements.free_per_operation.value.trim(),
    free_per_day: form.elements.free_per_day.value.trim(),
  });
  tell("The budget is set.");
}

async function saveText(form) {
  const content = form.elements.content.value;
  try {
    const saved = await call("PUT", `/api/v1/objects/${form.dataset.edit}`, { content }, { "If-Match": form.dataset.base });
    takeSaved(form, content, saved.version);
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 409 || !error.problem.current_version) throw error;
    announceNewer(form, error.problem.current_version);
    throw new Refused(409, { detail: `Version ${error.problem.current_version} came in between. Nothing was saved; your words are still in the field.` });
  }
}

async function askForChange(form) {
  const typed = form.elements.text.value;
  // The same words sent again after a lost answer stay one wish.
  if (form.asked?.typed !== typed) form.asked = { typed, name: freshName() };
  await call("POST", `/api/v1/skills/${form.dataset.fix}/ask`, { text: typed.trim(), client_id: form.asked.name });
  delete form.asked;
  if (form.elements.text.value === typed) form.reset();
  tell("Sent. The answer comes in the thread.");
}

async function correctFact(form) {
  await call("POST", `/api/v1/memory/${form.dataset.fact}/correct`, { text: form.elements.text.value.trim() });
  form.closest("details").open = false;
}

async function moveMessage(form) {
  const place = form.elements.task_id;
  await call("POST", `/api/v1/messages/${form.dataset.move}/reroute`, { task_id: place.value });
  tell(`Moved to ${place.selectedOptions[0].label}.`);
}

async function makeKey(form) {
  const scopes = [...form.querySelectorAll("[name=scopes]:checked")].map((box) => box.value);
  const made = await call(
    "POST",
    "/api/v1/keys",
    { name: form.elements.name.value, scopes, speaks_as: form.elements.program.checked ? "program" : "person" },
    { "Idempotency-Key": freshName() },
  );
  const shown = document.getElementById("told");
  const secret = document.createElement("code");
  secret.textContent = made.key;
  shown.replaceChildren("This key is shown once: ", secret);
  form.reset();
}
