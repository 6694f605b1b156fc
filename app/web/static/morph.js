// Makes what is shown equal to a fresh page, touching only what differs: a film goes on playing, a field keeps its words.
import { announceNewer, hasBegun } from "./edit.js";

export function morph(shown, fresh) {
  if (shown.matches("form[data-edit]")) {
    if (hasBegun(shown)) announceNewer(shown, fresh.dataset.base);
    else if (shown.dataset.base !== fresh.dataset.base) shown.replaceWith(document.importNode(fresh, true));
    return;
  }
  matchAttributes(shown, fresh);
  if (shown instanceof HTMLTimeElement) {
    return;
  }
  if (shown.matches("input, textarea, select, video, audio")) {
    return;
  }
  matchChildren(shown, fresh);
}

function matchAttributes(shown, fresh) {
  for (const { name, value } of fresh.attributes) {
    if (shown.getAttribute(name) !== value) shown.setAttribute(name, value);
  }
  for (const { name } of [...shown.attributes]) {
    const own = (name === "open" && shown.tagName === "DETAILS") || name === "tabindex";
    if (!own && !fresh.hasAttribute(name)) shown.removeAttribute(name);
  }
}

function matchChildren(shown, fresh) {
  const wanted = new Set([...fresh.children].map(keyOf).filter(Boolean));
  const known = new Map();
  for (const child of [...shown.children]) {
    const key = keyOf(child);
    if (key && !wanted.has(key)) child.remove();
    else if (key) known.set(key, child);
  }
  let place = shown.firstChild;
  for (const next of fresh.childNodes) {
    const found = counterpart(next, place, known);
    if (!found) {
      shown.insertBefore(document.importNode(next, true), place);
      continue;
    }
    if (found === place) place = place.nextSibling;
    else shown.insertBefore(found, place);
    if (found.nodeType === Node.ELEMENT_NODE) morphOrReplace(found, next);
    else if (found.nodeValue !== next.nodeValue) found.nodeValue = next.nodeValue;
  }
  while (place) {
    const gone = place;
    place = place.nextSibling;
    gone.remove();
  }
}

function morphOrReplace(found, next) {
  // The text of a time was put into the viewer's zone: it changes only with its moment.
  const otherTime = found instanceof HTMLTimeElement && found.dateTime !== next.dateTime;
  if (otherTime) found.replaceWith(document.importNode(next, true));
  else morph(found, next);
}

function counterpart(next, place, known) {
  const key = keyOf(next);
  if (key) {
    const found = known.get(key);
    return found && found.nodeName === next.nodeName ? found : null;
  }
  for (let candidate = place; candidate; candidate = candidate.nextSibling) {
    if (candidate.nodeName === next.nodeName && !keyOf(candidate)) return candidate;
  }
  return null;
}

function keyOf(node) {
  return node.nodeType === Node.ELEMENT_NODE ? node.dataset.key : undefined;
}
