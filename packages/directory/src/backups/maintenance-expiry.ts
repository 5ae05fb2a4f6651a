/**
 * The end of backups that have had their time: some at once, with one pair of rows in the admin log. The intent names all
 * that are to go before the first one goes; `done` names those that went. A crash in between leaves the intent open, and
 * the next sweep takes it up: deleting once more what is gone already does nothing.
 */
import { PlatformError } from '@freehold/contracts';
import type { UnitContext, UnitStub } from '@freehold/store';
import type { Actor } from '../actors.ts';
import { type AuditedCall, appendAdminLog, loadAdminLogRow } from '../audit/admin-log.ts';
import { endLease, startLease } from '../audit/open-intents.ts';
import type { LogHead, LogTarget } from '../declarations/records.ts';
import { logEnd } from '../lib/changes.ts';
import type { DirectoryMethods } from '../unit.ts';
import type { BackupOrder, BackupStore } from './backup-store.ts';
import { directoryTimes } from './schedule.ts';
import { forgetBackup } from './store.ts';

/** Who the log names for what the platform backs up, and deletes, by itself. */
export const PLATFORM: Actor = { kind: 'system', id: 'backups', name: "The platform's own backups" };

/** What the log calls it. No route leads to it. */
const ACTION = 'backups.expire';
const NO_PRINCIPAL: LogTarget = { tenant: null, scope: null, vertical: null, other: null };

/** Those that nobody is working on. It goes over all open intents, which are few, and not over the log. */
const LEFT_EXPIRIES = `SELECT o.sequence FROM open_intents o CROSS JOIN admin_log l ON l.sequence = o.sequence
   WHERE o.running_until <= ? AND l.action = '${ACTION}' ORDER BY o.sequence LIMIT 20`;

/** What is about to be deleted. */
export interface StartedExpiry {
  readonly head: LogHead | null;
  readonly intent: number;
  readonly copies: readonly BackupOrder[];
}

/** The methods of the unit. */
export function expiryOfBackupsMethods(context: UnitContext) {
  const { db, now } = context;

  /** Of what a person ordered, and of what somebody else has deleted meanwhile, nothing is. */
  const known = (ids: readonly string[]): BackupOrder[] =>
    ids.flatMap((id) =>
      db.all<BackupOrder & Record<string, string>>(
        "SELECT id, address FROM backups WHERE id = ? AND origin = 'scheduled'",
        id,
      ),
    );

  return {
    /** Writes down what is about to be deleted. Null when there is nothing. */
    beginExpiry: ({ ids, requestId }: Ids & { readonly requestId: string }): StartedExpiry | null => {
      const copies = known(ids);
      if (copies.length === 0) return null;
      const after = { backups: copies.map(({ id }) => id) };
      const row = { target: NO_PRINCIPAL, before: null, after, outcome: 'intent' } as const;
      const head = appendAdminLog(context, by(requestId), row);
      startLease(db, head.sequence, now());
      return { head, intent: head.sequence, copies };
    },

    /** When the directory was backed up, newest first, in milliseconds since the epoch. A query. */
    directoryTimes: (): readonly number[] => directoryTimes(db),

    /** The intents that a crash left open. A query. */
    leftExpiries: (): readonly number[] =>
      db.all<{ sequence: number }>(LEFT_EXPIRIES, now()).map(({ sequence }) => sequence),

    /** Takes one of those up. */
    resumeExpiry: ({ intent }: { readonly intent: number }): StartedExpiry => {
      startLease(db, intent, now());
      const { backups } = JSON.parse(loadAdminLogRow(db, intent)?.after ?? '{"backups":[]}') as {
        readonly backups: readonly string[];
      };
      return { head: null, intent, copies: known(backups) };
    },

    /** Writes down what was deleted, and how many were not. `failed` when that is all of them. */
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

    /** Whoever could not write down the end lets the next sweep do it. */
    leaveExpiry: ({ intent }: { readonly intent: number }): null => {
      endLease(db, intent);
      return null;
    },
  };
}

export interface ExpiryOfBackups {
  /** Ends what a crash left open. */
  settleLeft(signal: AbortSignal): Promise<void>;
  /** Deletes these, and answers those that are left. It does not reject. */
  expire(ids: readonly string[], signal: AbortSignal): Promise<ReadonlySet<string>>;
}

export interface ExpiryDeps {
  readonly directory: Pick<
    UnitStub<DirectoryMethods>,
    'beginExpiry' | 'leftExpiries' | 'resumeExpiry' | 'settleExpiry' | 'leaveExpiry'
  >;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly newRequestId: () => string;
  /** Offers a head to the anchor. It does not reject. */
  readonly publish: (head: LogHead) => Promise<void>;
  /** Receives what nobody expected. */
  readonly incident: (error: unknown) => void;
}

/** Most ids of one row of the log. A sweep has a hundred units, and most have one that goes. */
const IDS_MAX = 200;
/** Deletions end before the lease of their intent does: nobody else may take it for left behind. */
const DELETING_MAX_MS = 90_000;
/** So many in a row, and it is not they. */
const FAILURES_MAX = 3;

export function makeExpiryOfBackups(deps: ExpiryDeps, store: BackupStore): ExpiryOfBackups {
  const { directory, now, newRequestId, publish, incident } = deps;

  /** Answers the ids that are gone. */
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
          // Somebody was quicker.
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

interface Ids {
  readonly ids: readonly string[];
}

function by(requestId: string): AuditedCall {
  const { kind, id, name } = PLATFORM;
  return { actor: { kind, id, name }, token: null, requestId, action: ACTION };
}
