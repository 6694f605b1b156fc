// Short words at the edge of the page.
const place = document.getElementById("toasts");

export function tell(words) {
  const toast = document.createElement("p");
  toast.className = "toast";
  toast.textContent = words;
  place.append(toast);
  setTimeout(() => toast.remove(), 7000);
}
