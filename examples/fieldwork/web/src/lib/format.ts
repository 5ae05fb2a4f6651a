/** Dates, amounts and names the way people read them. */

const day = new Intl.DateTimeFormat(undefined, { weekday: 'short', day: 'numeric', month: 'short' });
const dayWithYear = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', year: 'numeric' });
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** "Today", "Tomorrow", "Tue, 3 Mar", and the year when it is another one. */
export function formatDay(at: string | Date, now = new Date()): string {
  const date = new Date(at);
  const days = Math.round((startOfDay(date).getTime() - startOfDay(now).getTime()) / DAY_MS);
  if (days === 0) return 'Today';
  if (days === 1) return 'Tomorrow';
  if (days === -1) return 'Yesterday';
  return date.getFullYear() === now.getFullYear() ? day.format(date) : dayWithYear.format(date);
}

export function formatTime(at: string | Date): string {
  return clock.format(new Date(at));
}

/** "Today, 10:00–12:00", and both days when an appointment goes over midnight. */
export function formatSpan(from: string, to: string): string {
  const sameDay = startOfDay(new Date(from)).getTime() === startOfDay(new Date(to)).getTime();
  const end = sameDay ? formatTime(to) : `${formatDay(to)}, ${formatTime(to)}`;
  return `${formatDay(from)}, ${formatTime(from)}–${end}`;
}

/** "Tue, 3 Mar, 10:12" */
export function formatMoment(at: string): string {
  return `${formatDay(at)}, ${formatTime(at)}`;
}

/** "in 5 minutes", "yesterday" */
export function formatRelative(at: string, now = Date.now()): string {
  const ms = Date.parse(at) - now;
  const size = Math.abs(ms);
  if (size < MINUTE_MS) return 'just now';
  if (size < HOUR_MS) return relative.format(Math.round(ms / MINUTE_MS), 'minute');
  if (size < DAY_MS) return relative.format(Math.round(ms / HOUR_MS), 'hour');
  return relative.format(Math.round(ms / DAY_MS), 'day');
}

export function formatMoney(cents: number, currency: string): string {
  return new Intl.NumberFormat(undefined, { style: 'currency', currency }).format(cents / 100);
}

/** "3.4 MB" */
export function formatBytes(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB'];
  const step = Math.min(units.length - 1, Math.floor(Math.log(Math.max(1, bytes)) / Math.log(1_000)));
  const size = bytes / 1_000 ** step;
  return `${new Intl.NumberFormat(undefined, { maximumFractionDigits: size < 10 ? 1 : 0 }).format(size)} ${units[step]}`;
}

/** "1 h 30 min" */
export function formatDuration(minutes: number): string {
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
  return [hours > 0 ? `${hours} h` : '', rest > 0 || hours === 0 ? `${rest} min` : '']
    .filter(Boolean)
    .join(' ');
}

/** Reads "12", "12.5" or "12,50" as cents; null when it is no amount. */
export function parseMoney(text: string): number | null {
  const match = /^\s*(\d{1,7})(?:[.,](\d{1,2}))?\s*$/.exec(text);
  if (!match) return null;
  return Number(match[1]) * 100 + Number((match[2] ?? '').padEnd(2, '0'));
}

export function startOfDay(at: Date): Date {
  return new Date(at.getFullYear(), at.getMonth(), at.getDate());
}

/** The values that date and time fields take, in the person's own time zone. */
export function toDateField(at: Date): string {
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
}
export function toTimeField(at: Date): string {
  return `${pad(at.getHours())}:${pad(at.getMinutes())}`;
}
export function fromFields(date: string, time: string): Date {
  return new Date(`${date}T${time}`);
}

/** "Ada Lovelace" → "AL" */
export function initials(name: string): string {
  const words = name.trim().split(/\s+/);
  const last = words.length > 1 ? (words.at(-1)?.[0] ?? '') : '';
  return `${words[0]?.[0] ?? '?'}${last}`.toUpperCase();
}

function pad(number: number): string {
  return String(number).padStart(2, '0');
}
