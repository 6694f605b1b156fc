// Requests to the API as this page's session; what it refuses is thrown as its own words.
const csrf = document.querySelector('meta[name="csrf"]').content;

export class Refused extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || `the server answered ${status}`);
    this.status = status;
    this.problem = problem;
  }
}

export async function call(method, path, body, headers = {}) {
  const sent = body instanceof FormData ? body : body === undefined ? undefined : JSON.stringify(body);
  const type = sent === undefined || body instanceof FormData ? {} : { "Content-Type": "application/json" };
  let answer;
  try {
    answer = await fetch(path, { method, body: sent, headers: { "X-CSRF-Token": csrf, ...type, ...headers } });
  } catch {
    throw new Refused(0, { detail: "Loopwright does not answer just now; nothing was lost, try again." });
  }
  const read = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, read);
  return read;
}

// A name for one wish of a person, so that its repetition stays one wish.
export function freshName() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
