/**
 * When a scope of a process that does not run is due. workerd keeps the alarms of its objects in a table of its own beside
 * them, and rings them only while it runs.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** The file of the alarms, below the folder of a process: `scopes` is the unique key of its objects (`config.ts`). */
const FILE = join('objects', 'scopes', 'metadata.sqlite');

/** The earliest alarm, in milliseconds since the epoch; null for none. A table of another form counts as none. */
export function earliestAlarm(folder: string): number | null {
  const path = join(folder, FILE);
  if (!existsSync(path)) return null;
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    // It counts nanoseconds, which no number of JavaScript holds.
    const row = db.prepare('SELECT min(scheduled_time) / 1000000 AS atMs FROM _cf_ALARM').get();
    return typeof row?.atMs === 'number' ? row.atMs : null;
  } catch {
    return null;
  } finally {
    db.close();
  }
}
