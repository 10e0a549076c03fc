const DAY_MS = 86_400_000;

let latest = { number: -1, day: '', month: '' };

/** `2026-11-15`, in UTC. */
export function dayOf(time: number): string {
  return lookUp(time).day;
}

/** `2026-11`, in UTC. */
export function monthOf(time: number): string {
  return lookUp(time).month;
}

// The latest answer is kept, because every request asks for today.
function lookUp(time: number): typeof latest {
  const number = Math.floor(time / DAY_MS);
  if (number !== latest.number) {
    const day = new Date(time).toISOString().slice(0, 10);
    latest = { number, day, month: day.slice(0, 7) };
  }
  return latest;
}
