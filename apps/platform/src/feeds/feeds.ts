/**
 * Reports of faults: every incident goes to the operator's log and to the issues, every failure of the platform's own work
 * to the operations log. A report keeps no caller waiting, and never fails.
 */

import { ID_PREFIXES, idSchema, PlatformError } from '@freehold/contracts';
import type { RequestLine } from '@freehold/control-plane';
import type { DirectoryHostAdmin, Incident, OpsFailureInput } from '@freehold/directory';
import { storageFaultOf } from '@freehold/engine-node';
import type { IncidentSink } from '@freehold/store';
import { placeOf, type ServedNode, type ServedRequest, servedNode } from '../network/router.ts';

/** Something that an operator should know and that is no defect; the message is one sentence. */
export class OperatorNotice extends Error {
  override readonly name = 'OperatorNotice';
}

/** The part of the directory that receives reports. */
export type FeedAdmin = Pick<DirectoryHostAdmin, 'ingestIncident' | 'recordOpsFailure'>;
export type FailureSink = (failure: OpsFailureInput) => void;

export interface Feeds {
  readonly onIncident: IncidentSink;
  /** Records a failure. The same failure of the same thing is one row an hour: retries each minute would hide all else. */
  readonly onFailure: FailureSink;
  /** Begins to report to the directory; earlier reports are sent now. */
  open(admin: FeedAdmin): void;
}

export interface FeedsOptions {
  /** The operator's own log. It must not throw. */
  readonly report: IncidentSink;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** The version of a vertical that runs here; undefined for a slug that is none. */
  readonly versionOf: (slug: string) => string | undefined;
  /** The tenant of a scope that this process has seen; undefined for another scope. */
  readonly tenantOf: (scope: string) => string | undefined;
}

const HOUR_MS = 3_600_000;
/** The number of reports that wait until the directory is open. */
const WAITING_MAX = 100;
/** Methods of the directory that take reports: an incident of these goes to the operator alone, or it would loop. */
const OWN_METHODS = new Set(['ingestIncidents', 'recordOpsFailures']);

export function makeFeeds({ report, now, ...fleet }: FeedsOptions): Feeds {
  const repeats = makeRepeats(now);
  let admin: FeedAdmin | null = null;
  const waiting: ((admin: FeedAdmin) => void)[] = [];
  const send = (task: (admin: FeedAdmin) => void): void => {
    if (admin) task(admin);
    else if (waiting.length < WAITING_MAX) waiting.push(task);
  };

  const onFailure: FailureSink = (failure) => {
    const { operation, tenant = '', scope = '', subject = '', reason } = failure;
    if (!repeats.isNews([operation, tenant, scope, subject].join(' '), reason, HOUR_MS)) return;
    send((to) => {
      // Where the operations log fails, only the operator's log is left.
      to.recordOpsFailure(failure).catch((error: unknown) =>
        report(error, { kind: 'platform', key: 'operations-log', method: 'recordOpsFailure' }),
      );
    });
  };

  return {
    onIncident: (error, where) => {
      const fault = storageFaultIn(error);
      const isTold = fault !== null && !repeats.isNews('storage', fault, HOUR_MS);
      if (isTold && where.key !== 'storage') return;
      report(error, where);
      if (where.kind === 'directory' && OWN_METHODS.has(where.method)) return;
      const incident = incidentOf(error, where, servedNode(), fleet);
      send((to) => void to.ingestIncident(incident));
      const failure = archiveFailure(error, where);
      if (failure) onFailure(failure);
    },
    onFailure,
    open: (opened) => {
      admin = opened;
      for (const task of waiting.splice(0)) task(opened);
    },
  };
}

/** The faults of the data directory, for which each scheduled job fails. The engine reports them, with the key `storage`. */
const STORAGE_FAULTS: ReadonlySet<unknown> = new Set([
  'storage_full',
  'storage_read_only',
  'too_many_open_files',
]);

/** Null for every other error, also for one of the archive's or the backups' disk. */
function storageFaultIn(error: unknown): string | null {
  const { reason } = (error ?? {}) as { readonly reason?: unknown };
  return STORAGE_FAULTS.has(reason) ? String(reason) : null;
}

/** An incident of the archive is also a failure of the platform's own work; null for every other incident. */
function archiveFailure(
  error: unknown,
  { kind, key, method }: Parameters<IncidentSink>[1],
): OpsFailureInput | null {
  if (kind !== 'archive' && method !== 'archive') return null;
  return {
    operation: 'archive.ship',
    subject: `${kind}/${key}`.slice(0, 128),
    reason: reasonOf(error),
    detail: `Something did not arrive in the archive; it is tried again. ${causeOf(error)}`.trim(),
  };
}

/** A fault of the disk, of the archive or of the data, in a sentence; empty for every other error. */
function causeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  switch (storageFaultOf(error)) {
    case 'storage_full':
      return `The disk is full (${code}): make room.`;
    case 'storage_read_only':
      return `Its directory cannot be written (${code}): mount it for writing, or give it to the platform's user.`;
    case 'too_many_open_files':
      return `The process has too many files open (${code}).`;
    default:
      return code === 'ENOENT' || code === 'ENOTDIR' ? `Its directory is not there (${code}): mount it.` : '';
  }
}

const scopeId = idSchema(ID_PREFIXES.scope);
/** Units of a vertical that belong to a tenant: their faults belong to the request that led there. */
const OF_A_TENANT = new Set(['identity', 'vault']);

/** Adds to an incident which vertical, version, tenant and scope it is about. @param node of the request in progress. */
function incidentOf(
  error: unknown,
  { kind, key, method }: Parameters<IncidentSink>[1],
  node: ServedNode | null,
  { versionOf, tenantOf }: Pick<FeedsOptions, 'versionOf' | 'tenantOf'>,
): Incident {
  const where = { kind, method: methodName(method) };
  const slug = kind.replace(/^scope-/, '');
  const version = versionOf(slug);
  const isVertical = version !== undefined;
  if (!isVertical && !OF_A_TENANT.has(kind)) return { error, where };
  const ownKey = scopeId.safeParse(key).success ? key : null;
  // Calls of one unit are committed together: the request in progress may be another one's, and the key never is.
  const isOurs = node !== null && (ownKey === null || ownKey === node.scope);
  const scope = ownKey ?? node?.scope;
  const tenant = isOurs ? node.tenant : tenantOf(scope ?? '');
  const stamp = isVertical
    ? { vertical: slug, version: isOurs ? node.version : version }
    : node && { vertical: node.vertical, version: node.version };
  return {
    error,
    where,
    ...stamp,
    // The intake leaves out an unknown tenant, and keeps the scope.
    ...(scope === undefined ? {} : { scope: { tenant: tenant ?? '', scope } }),
  };
}

/** The method and address of a request become a place. */
function methodName(method: string): string {
  const [verb = '', path, ...more] = method.split(' ');
  if (path === undefined || more.length > 0 || !/^[A-Z]+$/.test(verb) || !path.startsWith('/')) return method;
  return placeOf(verb, path);
}

/** The stable reason of an error: its own, a fault of the disk, or the code of the system; `internal` for one without. */
export function reasonOf(error: unknown): string {
  const fault = error instanceof PlatformError ? null : storageFaultOf(error);
  if (fault !== null && fault !== 'unclear') return fault;
  const code =
    error instanceof PlatformError ? (error.reason ?? error.code) : (error as { code?: unknown })?.code;
  const reason = typeof code === 'string' && /^E[A-Z0-9]+$/.test(code) ? code.toLowerCase() : code;
  return typeof reason === 'string' && /^[a-z][a-z0-9_.-]{0,63}$/.test(reason) ? reason : 'internal';
}

export interface Repeats {
  /** Whether this reason was not reported of this unit within that time. News is remembered as reported. */
  isNews(unit: string, reason: string, forMs: number): boolean;
}

/** Units remembered, at some hundred bytes each; beyond, the one reported longest ago is forgotten, and is news again. */
const UNITS_MAX = 100_000;

/** Keeps the last report of each unit in memory: a new process reports once again. @param now milliseconds since the epoch. */
export function makeRepeats(now: () => number): Repeats {
  const reported = new Map<string, { readonly reason: string; readonly atMs: number }>();
  return {
    isNews: (unit, reason, forMs) => {
      const last = reported.get(unit);
      if (last?.reason === reason && now() - last.atMs < forMs && now() >= last.atMs) return false;
      reported.delete(unit);
      reported.set(unit, { reason, atMs: now() });
      const [oldest] = reported.keys();
      if (reported.size > UNITS_MAX && oldest !== undefined) reported.delete(oldest);
      return true;
    },
  };
}

/** Takes one line, without its line break. It must not throw. */
export type LineSink = (line: string) => void;

export interface RequestLog {
  /** A request to the control plane. */
  onRequest(line: RequestLine): void;
  /** A request to an application. */
  onServed(served: ServedRequest): void;
}

/** Writes a line for each request. A line holds the sender's method and request id, and no address: addresses hold tokens. */
export function makeRequestLog(write: LineSink, now: () => number): RequestLog {
  const line = (kind: string, fields: object): void =>
    write(JSON.stringify({ level: 'info', at: new Date(now()).toISOString(), kind, ...fields }));
  return {
    onRequest: ({ requestId, clientRequestId, operation, method, status, durationMs, actor }) =>
      line('control-plane', {
        requestId,
        ...(clientRequestId === null ? {} : { clientRequestId }),
        operation,
        method,
        status,
        durationMs,
        actor: actor && { kind: actor.kind, id: actor.id },
      }),
    onServed: (served) => line('application', served),
  };
}
