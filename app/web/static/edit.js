// The edit of a text. Its base is the version that was shown when the edit began: what comes meanwhile is announced
// beside the field, and only the person decides that their text goes on top of it.
export function hasBegun(form) {
  const field = form.elements.content;
  return form.closest("details").open || field.value !== field.defaultValue;
}

export function announceNewer(form, version) {
  if (Number(version) <= Number(form.dataset.base)) return;
  const notice = form.querySelector("[data-newer]");
  if (notice.dataset.newer === String(version)) return;
  notice.dataset.newer = version;
  notice.querySelector("span").textContent = `Version ${version} came meanwhile.`;
  notice.querySelector("a").href = `/objects/${form.dataset.edit}?version=${version}`;
  notice.querySelector("a").textContent = `See version ${version}`;
  notice.hidden = false;
}

export function keepMine(form) {
  rest(form, form.querySelector("[data-newer]").dataset.newer);
  form.elements.content.focus();
}

export function takeSaved(form, content, version) {
  // What was typed while the answer was on its way is not saved: the edit goes on.
  form.elements.content.defaultValue = content;
  rest(form, version);
  if (form.elements.content.value === content) form.closest("details").open = false;
}

function rest(form, version) {
  const notice = form.querySelector("[data-newer]");
  notice.hidden = true;
  notice.dataset.newer = "";
  form.dataset.base = version;
  form.querySelector("[type=submit]").textContent = `Save as version ${Number(version) + 1}`;
}
