/**
 * The intake of incidents. It counts them in memory by issue and writes batches, one at a time and about one a second: a
 * storm of errors costs the directory no more than a handful.
 *
 * Waiting incidents are written with a later batch, or when staff list the issues. A process that dies loses them; apart from
 * that the counts are exact.
 */
import { scopeId, slug, tenantId } from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import { errorShapeOf, fingerprintOf, groupOf } from './fingerprint.ts';
import { type CountedIncident, OVERFLOW } from './ingest.ts';
import type { issueMethods } from './operations.ts';

/** An unexpected error and the place where it was thrown. */
export interface Incident {
  /** The thrown value, or a plain one with `name`, `message` and `stack`. The message is redacted before it is kept. */
  readonly error: unknown;
  /** The unit and method, as an engine's incident sink gets them. */
  readonly where: { readonly kind: string; readonly method: string };
  /** Left out: the platform itself. */
  readonly vertical?: string;
  readonly version?: string;
  readonly scope?: { readonly tenant: string; readonly scope: string };
}

export interface IncidentIntake {
  /**
   * Takes an incident in. An incident sink may call it: it never throws or rejects, and resolves once the incident is written
   * or waits for the next batch.
   */
  ingestIncident(incident: Incident): Promise<void>;
}

/** Batches that may follow each other at once, and the interval after which one more may. */
const BATCHES_BURST = 20;
const BATCH_EVERY_MS = 1000;
/** The most waiting issues. Further incidents are counted together. */
const WAITING_MAX = 200;

/** Builds the intake. `flush` writes all waiting incidents, whatever the rate; it does not reject either. */
export function makeIncidentIntake({
  directory,
  now,
}: {
  readonly directory: UnitStub<ReturnType<typeof issueMethods>>;
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
    // A clock that was set back refills nothing, and refilling goes on from there.
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
        // The engine has reported the failure. The incidents wait for the next batch: an immediate retry would add to the
        // load of a directory that cannot write.
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
      // A batch that is being written may leave some behind.
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
