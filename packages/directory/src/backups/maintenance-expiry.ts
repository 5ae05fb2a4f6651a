/**
 * Deletes expired backups, several at once, with one pair of rows in the admin log. The intent names all of them before the
 * first is deleted; `done` names those that were. A crash in between leaves the intent open, and the next sweep resumes it:
 * deleting a backup twice is harmless.
 */
import { PlatformError } from '@freehold/contracts';
import type { UnitContext, UnitStub } from '@freehold/store';
import type { Actor } from '../access/actors.ts';
import { type AuditedCall, appendAdminLog, loadAdminLogRow } from '../audit/admin-log.ts';
import { endLease, startLease } from '../audit/open-intents.ts';
import { logEnd } from '../changes/changes.ts';
import type { LogHead, LogTarget } from '../declarations/records.ts';
import type { BackupOrder, BackupStore } from './backup-store.ts';
import { directoryTimes } from './schedule.ts';
import { forgetBackup } from './store.ts';

/** The actor of scheduled backups and of their deletion. */
export const PLATFORM: Actor = { kind: 'system', id: 'backups', name: "The platform's own backups" };

/** The action in the log. No route leads to it. */
const ACTION = 'backups.expire';
const NO_PRINCIPAL: LogTarget = { tenant: null, scope: null, vertical: null, other: null };

/** Those whose lease is over. It scans the open intents, which are few, and not the log. */
const LEFT_EXPIRIES = `SELECT o.sequence FROM open_intents o CROSS JOIN admin_log l ON l.sequence = o.sequence
   WHERE o.running_until <= ? AND l.action = '${ACTION}' ORDER BY o.sequence LIMIT 20`;

export interface StartedExpiry {
  readonly head: LogHead | null;
  readonly intent: number;
  readonly copies: readonly BackupOrder[];
}

export function expiryOfBackupsMethods(context: UnitContext) {
  const { db, now } = context;

  /** Leaves out backups that a person ordered, and those that were deleted meanwhile. */
  const known = (ids: readonly string[]): BackupOrder[] =>
    ids.flatMap((id) =>
      db.all<BackupOrder & Record<string, string>>(
        "SELECT id, address FROM backups WHERE id = ? AND origin = 'scheduled'",
        id,
      ),
    );

  return {
    /** Writes the intent. Null when there is nothing to delete. */
    beginExpiry: ({ ids, requestId }: Ids & { readonly requestId: string }): StartedExpiry | null => {
      const copies = known(ids);
      if (copies.length === 0) return null;
      const after = { backups: copies.map(({ id }) => id) };
      const row = { target: NO_PRINCIPAL, before: null, after, outcome: 'intent' } as const;
      const head = appendAdminLog(context, by(requestId), row);
      startLease(db, head.sequence, now());
      return { head, intent: head.sequence, copies };
    },

    /** The times of the directory's backups, newest first, in milliseconds since the epoch. */
    directoryTimes: (): readonly number[] => directoryTimes(db),

    /** The intents that a crash left open. */
    leftExpiries: (): readonly number[] =>
      db.all<{ sequence: number }>(LEFT_EXPIRIES, now()).map(({ sequence }) => sequence),

    /** Resumes one of those. */
    resumeExpiry: ({ intent }: { readonly intent: number }): StartedExpiry => {
      startLease(db, intent, now());
      const { backups } = JSON.parse(loadAdminLogRow(db, intent)?.after ?? '{"backups":[]}') as {
        readonly backups: readonly string[];
      };
      return { head: null, intent, copies: known(backups) };
    },

    /** Writes the outcome: the deleted ids, and how many are left. `failed` when none was deleted. */
    settleExpiry: ({
      intent,
      ids,
      left,
      requestId,
    }: Ids & { readonly intent: number; readonly left: number; readonly requestId: string }): LogHead => {
      for (const id of ids) forgetBackup(db, id);
      if (ids.length === 0 && left > 0)
        return logEnd(context, by(requestId), intent, { outcome: 'failed', code: 'unavailable' });
      const after = { backups: ids, left };
      return appendAdminLog(context, by(requestId), {
        ...{ target: NO_PRINCIPAL, before: null, after, outcome: 'done', intent },
      });
    },

    /** Leaves an intent whose outcome could not be written to the next sweep. */
    leaveExpiry: ({ intent }: { readonly intent: number }): null => {
      endLease(db, intent);
      return null;
    },
  };
}

interface ExpiryOfBackups {
  /** Finishes expirations that a crash left open. */
  settleLeft(signal: AbortSignal): Promise<void>;
  /** Deletes these, and returns the ids that are left. It does not reject. */
  expire(ids: readonly string[], signal: AbortSignal): Promise<ReadonlySet<string>>;
}

export interface ExpiryDeps {
  readonly directory: Pick<
    UnitStub<ReturnType<typeof expiryOfBackupsMethods>>,
    'beginExpiry' | 'leftExpiries' | 'resumeExpiry' | 'settleExpiry' | 'leaveExpiry'
  >;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly newRequestId: () => string;
  /** Offers a head to the anchor. It does not reject. */
  readonly publish: (head: LogHead) => Promise<void>;
  /** Reports an unexpected error. */
  readonly incident: (error: unknown) => void;
}

/** The most ids in one row of the log. A sweep has a hundred units, and most have one expired backup. */
const IDS_MAX = 200;
/** Deletions end before the lease of their intent does, so that no other sweep resumes it meanwhile. */
const DELETING_MAX_MS = 90_000;
/** After so many failures in a row the store is at fault, not the backups. */
const FAILURES_MAX = 3;

export function makeExpiryOfBackups(deps: ExpiryDeps, store: BackupStore): ExpiryOfBackups {
  const { directory, now, newRequestId, publish, incident } = deps;

  /** Returns the ids that were deleted. */
  const deleteSome = async (copies: readonly BackupOrder[], signal: AbortSignal): Promise<string[]> => {
    const gone: string[] = [];
    const untilMs = now() + DELETING_MAX_MS;
    let inARow = 0;
    for (const { id, address } of copies) {
      if (signal.aborted || inARow >= FAILURES_MAX || now() > untilMs) break;
      try {
        await store.delete(address);
        gone.push(id);
        inARow = 0;
      } catch (error) {
        if (!(error instanceof PlatformError)) incident(error);
        inARow += 1;
      }
    }
    return gone;
  };

  const finish = async ({ intent, copies }: StartedExpiry, signal: AbortSignal): Promise<string[]> => {
    try {
      const ids = await deleteSome(copies, signal);
      const left = copies.length - ids.length;
      await publish(await directory.settleExpiry({ intent, ids, left, requestId: newRequestId() }));
      return ids;
    } catch (error) {
      await directory.leaveExpiry({ intent }).catch(incident);
      throw error;
    }
  };

  return {
    settleLeft: async (signal) => {
      for (const intent of await directory.leftExpiries()) {
        if (signal.aborted) return;
        await finish(await directory.resumeExpiry({ intent }), signal);
      }
    },

    expire: async (ids, signal) => {
      const left = new Set(ids);
      try {
        for (let at = 0; at < ids.length; at += IDS_MAX) {
          const some = ids.slice(at, at + IDS_MAX);
          const started = await directory.beginExpiry({ ids: some, requestId: newRequestId() });
          if (started?.head) await publish(started.head);
          const meant = new Set(started?.copies.map(({ id }) => id));
          // Already deleted by another call.
          for (const id of some) if (!meant.has(id)) left.delete(id);
          if (!started) continue;
          for (const id of await finish(started, signal)) left.delete(id);
        }
      } catch (error) {
        incident(error);
      }
      return left;
    },
  };
}

export interface Ids {
  readonly ids: readonly string[];
}

function by(requestId: string): AuditedCall {
  const { kind, id, name } = PLATFORM;
  return { actor: { kind, id, name }, token: null, requestId, action: ACTION };
}
