/**
 * Where incidents come in. Counted in memory first, by issue, and written in batches, one at a time and at most about
 * one a second: a storm of errors costs the directory no more than a handful does.
 *
 * What waits in memory is written with the next incident that is let through, or when staff look; a process that dies
 * takes it along. Counts are exact but for that.
 */
import { scopeId, slug, tenantId } from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import type { DirectoryMethods } from '../unit.ts';
import { errorShapeOf } from './error-shape.ts';
import { fingerprintOf, groupOf } from './fingerprint.ts';
import { type CountedIncident, OVERFLOW } from './ingest.ts';

/** An error that nobody expected, and what is known about where it was thrown. */
export interface Incident {
  /** What was thrown, or a plain value with `name`, `message` and `stack`. Its message is redacted before it is kept. */
  readonly error: unknown;
  /** What was running: as an engine's incident sink hears of it. */
  readonly where: { readonly kind: string; readonly method: string };
  /** Left out: the platform itself. */
  readonly vertical?: string;
  readonly version?: string;
  readonly scope?: { readonly tenant: string; readonly scope: string };
}

export interface IncidentIntake {
  /**
   * Takes an incident in. Fit to be called by an incident sink: it never throws and never rejects, and resolves once
   * the incident is written down, or is counted and waits for the next batch.
   */
  ingestIncident(incident: Incident): Promise<void>;
}

/** Batches that may follow each other at once, and how long until there may be one more. */
const BATCHES_BURST = 20;
const BATCH_EVERY_MS = 1000;
/** Issues that wait at most. Beyond that incidents are counted, and not told apart. */
const WAITING_MAX = 200;

/** Builds the intake. `flush` writes whatever waits, however many batches there were; it does not reject either. */
export function makeIncidentIntake({
  directory,
  now,
}: {
  readonly directory: Pick<UnitStub<DirectoryMethods>, 'ingestIncidents'>;
  readonly now: () => number;
}): { readonly intake: IncidentIntake; readonly flush: () => Promise<void> } {
  const waiting = new Map<string, CountedIncident>();
  let writing: Promise<void> | null = null;
  let allowance = BATCHES_BURST;
  let refilledAtMs = now();

  const add = (line: CountedIncident): void => {
    const key = `${line.fingerprint} ${line.sample.version}`;
    const before = waiting.get(key);
    if (before) waiting.set(key, together(before, line));
    else if (waiting.size < WAITING_MAX || line.fingerprint === OVERFLOW.fingerprint) waiting.set(key, line);
    else add({ ...line, ...OVERFLOW, sample: { ...line.sample, version: null, frames: [] } });
  };

  const mayWrite = (): boolean => {
    const refill = Math.floor((now() - refilledAtMs) / BATCH_EVERY_MS);
    // A clock that was set back refills nothing, and does not stop the refilling for good either.
    if (refill !== 0) refilledAtMs = now();
    allowance = Math.min(BATCHES_BURST, allowance + Math.max(0, refill));
    if (allowance === 0) return false;
    allowance -= 1;
    return true;
  };

  const write = async (may: () => boolean): Promise<void> => {
    while (waiting.size > 0 && may()) {
      const incidents = [...waiting.values()];
      waiting.clear();
      try {
        await directory.ingestIncidents({ incidents });
      } catch {
        // The engine has told the operator. What could not be written waits for the next batch: to try again at once
        // would turn a directory that cannot write into a storm of its own.
        for (const incident of incidents) add(incident);
        return;
      }
    }
  };

  const start = (may: () => boolean): Promise<void> => {
    writing ??= write(may).finally(() => {
      writing = null;
    });
    return writing;
  };

  return {
    intake: {
      ingestIncident: async (incident) => {
        add(countedOf(incident, now()));
        await start(mayWrite);
      },
    },
    flush: async () => {
      // Whoever writes now may stop before all is written.
      while (writing) await writing;
      await start(() => true);
    },
  };
}

function countedOf({ error, where, vertical, version, scope }: Incident, nowMs: number): CountedIncident {
  const shape = errorShapeOf(error);
  const grouping = {
    vertical: slug.safeParse(vertical).data ?? null,
    where: `${place(where.kind)}.${place(where.method)}`,
  };
  const { name, message, frames } = shape;
  return {
    fingerprint: fingerprintOf(grouping, shape),
    kin: groupOf(grouping, shape),
    ...grouping,
    name,
    message,
    count: 1,
    firstSeenMs: nowMs,
    lastSeenMs: nowMs,
    sample: {
      atMs: nowMs,
      tenant: tenantId.safeParse(scope?.tenant).data ?? null,
      scope: scopeId.safeParse(scope?.scope).data ?? null,
      version: version !== undefined && /^[\w.+-]{1,100}$/.test(version) ? version : null,
      frames,
    },
  };
}

function together(before: CountedIncident, line: CountedIncident): CountedIncident {
  return {
    ...(line.lastSeenMs >= before.lastSeenMs ? line : before),
    count: before.count + line.count,
    firstSeenMs: Math.min(before.firstSeenMs, line.firstSeenMs),
    lastSeenMs: Math.max(before.lastSeenMs, line.lastSeenMs),
  };
}

/** Kinds and methods are names in code, never values. */
function place(text: string): string {
  return /^[A-Za-z][\w/-]{0,99}$/.test(text) ? text : 'unknown';
}
