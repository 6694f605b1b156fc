// Times in the zone and language of whoever looks.
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });

export function showLocalTimes(root) {
  const today = day.format(new Date());
  for (const element of root.querySelectorAll("time[datetime]")) {
    const at = new Date(element.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    const date = day.format(at);
    element.textContent = date === today ? clock.format(at) : `${date}, ${clock.format(at)}`;
    element.title = full.format(at);
  }
}
