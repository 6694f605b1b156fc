// Sends an action to the engine, and shows messages to the person.
export async function post(address, body) {
  const headers = { "X-Engine-Token": document.querySelector("meta[name=engine-token]").content };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  try {
    const answer = await fetch(address, { method: "POST", headers, body: body === undefined ? undefined : JSON.stringify(body) });
    const result = await answer.json();
    return answer.ok ? result : { error: result.error || `The engine answered ${answer.status}.` };
  } catch {
    return { error: "The engine does not answer." };
  }
}

export function showMessage(text) {
  const message = document.getElementById("message");
  message.textContent = text;
  message.hidden = !text;
}
