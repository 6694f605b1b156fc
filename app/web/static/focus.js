// What had the focus may be gone with the next change: then it goes to what that stood in, not to the top of the page.
let trail = [];

export function followFocus(live) {
  document.addEventListener("focusin", (event) => {
    trail = [];
    for (let one = event.target; one && one !== live; one = one.parentElement) trail.push(one);
    if (!live.contains(event.target)) trail = [];
  });
}

export function keepFocus() {
  if (document.activeElement !== document.body || !trail.length || trail[0].isConnected) return;
  const place = trail.find((one) => one.isConnected && one.dataset.key);
  trail = [];
  if (!place) return;
  place.tabIndex = -1;
  place.focus({ preventScroll: true });
}
