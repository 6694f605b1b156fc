// Asking the engine for a change, and telling what it said.
export async function ask(address, body) {
  const headers = { "X-Engine-Token": document.querySelector("meta[name=engine-token]").content };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  try {
    const answer = await fetch(address, { method: "POST", headers, body: body === undefined ? undefined : JSON.stringify(body) });
    const told = await answer.json();
    return answer.ok ? told : { error: told.error || `The engine answered ${answer.status}.` };
  } catch {
    return { error: "The engine does not answer." };
  }
}

export function tell(text) {
  const told = document.getElementById("told");
  told.textContent = text;
  told.hidden = !text;
}
