import { post, showMessage } from "./actions.js";

export function startSending() {
  const form = document.getElementById("send");
  if (!form) return;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const { name, data } = form.elements;
    const value = parse(data.value);
    const problems = [
      [name, name.value.trim() ? "" : "An event has a name."],
      [data, value.problem],
    ].filter(([field, problem]) => mark(field, problem));
    showMessage("");
    if (problems.length) return problems[0][0].focus();
    const button = form.querySelector("button[type=submit]");
    button.disabled = true;
    const result = await post(form.getAttribute("action"), { name: name.value.trim(), data: value.data });
    button.disabled = false;
    if (result.goto) location.assign(result.goto);
    else showMessage(result.error);
  });
}

function parse(text) {
  let data;
  try {
    data = JSON.parse(text.trim() || "{}");
  } catch (error) {
    return { problem: `This is not JSON: ${error.message}` };
  }
  const isObject = typeof data === "object" && data !== null && !Array.isArray(data);
  return isObject ? { data, problem: "" } : { problem: "The data must be an object, such as {\"id\": 1}." };
}

function mark(field, problem) {
  document.getElementById(`${field.id}-problem`).textContent = problem;
  if (problem) field.setAttribute("aria-invalid", "true");
  else field.removeAttribute("aria-invalid");
  return problem;
}
