// Turns one element into another in place, so that it keeps its focus, its scroll position and what is open.
export function morph(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  morphAttributes(old, fresh);
  const kept = new Map();
  for (const child of old.children) if (child.dataset.key) kept.set(child.dataset.key, child);
  let place = old.firstChild;
  for (const next of [...fresh.childNodes]) {
    const same = next.nodeType === Node.ELEMENT_NODE && next.dataset.key ? kept.get(next.dataset.key) : matching(place, next);
    if (same) {
      if (same !== place) old.insertBefore(same, place);
      else place = place.nextSibling;
      if (same.nodeType === Node.ELEMENT_NODE) morph(same, next);
      else if (same.data !== next.data) same.data = next.data;
    } else old.insertBefore(next, place);
  }
  while (place) {
    const gone = place;
    place = place.nextSibling;
    gone.remove();
  }
}

function matching(old, fresh) {
  if (!old || old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName) return null;
  return old.nodeType === Node.ELEMENT_NODE && old.dataset.key ? null : old;
}

function morphAttributes(old, fresh) {
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !isKept(old, name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
}

// Attributes that the page itself sets: what a person opened, and a button whose action is under way.
function isKept(element, name) {
  return (element.nodeName === "DETAILS" && name === "open") || (element.nodeName === "BUTTON" && name === "disabled");
}
