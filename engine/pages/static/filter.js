// Shows the filter's times in the viewer's time zone and sends them in UTC.
export function startFilter() {
  const form = document.getElementById("run-filter");
  if (!form) return;
  const fields = form.querySelectorAll("input[type=datetime-local]");
  for (const field of fields) {
    if (!field.dataset.utc) continue;
    const at = new Date(field.dataset.utc);
    field.value = new Date(at - at.getTimezoneOffset() * 60000).toISOString().slice(0, 19);
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const query = new URLSearchParams();
    for (const [name, value] of new FormData(form)) {
      if (value) query.set(name, form.elements[name].type === "datetime-local" ? new Date(value).toISOString() : value);
    }
    location.assign(`${form.getAttribute("action")}?${query}`);
  });
}
