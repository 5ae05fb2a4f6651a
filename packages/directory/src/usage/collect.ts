/**
 * Brings in the usage lines that a scope has raised as platform requests (spec 4.3.13). A line counts once: it is stored
 * before the scope is told, and recognised by its request when the scope could not be told.
 *
 * A vertical's line is believed, but not its attribution: that must be the scope in which the line was found. The vertical
 * and its version are the directory's own record.
 */
import {
  fromTimestamp,
  MODEL_USAGE_KIND,
  modelUsageLine,
  PlatformError,
  type PlatformRequest,
  parseInput,
  platformRequest,
  platformRequestsResponse,
  type ScopeRef,
  type SettleRequest,
  scopeRef,
} from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import type { z } from 'zod';
import { askScope, type VerticalAccess } from '../verticals/client.ts';
import type { UsageEntry } from './lines-store.ts';
import type { RefusedUsage, UsageMethods, UsageScope } from './operations.ts';

/** The result of one collection. */
export interface CollectedUsage {
  /** New lines. */
  readonly taken: number;
  /** Lines that were stored before, and that the scope was told of only now. */
  readonly repeated: number;
  readonly refused: number;
  /** True when more may wait: collect again. */
  readonly more: boolean;
}

export interface CollectDeps extends VerticalAccess {
  readonly directory: Pick<UnitStub<UsageMethods>, 'usageVertical' | 'takeModelUsage' | 'settledModelUsage'>;
  /** The version of a vertical that the registry does not know. */
  readonly unregistered: (vertical: string) => string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

const PAGE = 100;
/** The most pages of one scope in a row, so that no scope keeps the others waiting. */
const PAGES_MAX = 10;
/** A line that comes in later than this does not count for its own day: a scope's clock decides nothing beyond that. */
const LATE_MAX_MS = 31 * 24 * 60 * 60 * 1000;

/**
 * Builds the function that collects one scope's lines. It rejects with `not_found` for a scope that is not there,
 * `unsupported` where nothing answers for its vertical, and with the vertical's own refusal.
 */
export function makeCollect(deps: CollectDeps): (ref: UsageScope) => Promise<CollectedUsage> {
  const { directory, now } = deps;

  return async (ref) => {
    const scope = parseInput('The scope', scopeRef, { tenantId: ref.tenant, scopeId: ref.scope });
    const vertical = await directory.usageVertical(ref);
    const unregistered = deps.unregistered(vertical);
    const requests = requestsOf(deps, vertical, scope);
    const totals = { taken: 0, repeated: 0, refused: 0 };

    const collectPage = async (page: readonly PlatformRequest[]): Promise<void> => {
      const judged = page.map((request) => judge(request, ref, now()));
      const entries = judged.filter((each): each is UsageEntry => 'line' in each);
      const refused = judged.filter((each): each is RefusedUsage => 'reason' in each);
      const { taken } = await directory.takeModelUsage({ ...ref, unregistered, entries, refused });
      totals.taken += taken;
      totals.repeated += entries.length - taken;
      totals.refused += refused.length;
      const reasons = new Map(refused.map(({ request, reason }) => [request, reason]));
      const settled: string[] = [];
      try {
        for (const { id, revision } of page) {
          const reason = reasons.get(id);
          const end =
            reason === undefined
              ? ({ status: 'done' } as const)
              : ({ status: 'refused', result: { reason } } as const);
          if (await settle(requests, { ...scope, id, revision, ...end })) settled.push(id);
        }
      } finally {
        if (settled.length > 0) await directory.settledModelUsage({ scope: ref.scope, requests: settled });
      }
    };

    let cursor: string | undefined;
    for (let page = 0; page < PAGES_MAX; page++) {
      const { items, nextCursor } = await requests.list(cursor);
      const lines = items.filter(({ kind, status }) => kind === MODEL_USAGE_KIND && status === 'pending');
      if (lines.length > 0) await collectPage(lines);
      if (nextCursor === null) return { ...totals, more: false };
      cursor = nextCursor;
    }
    return { ...totals, more: true };
  };
}

function judge(
  { id, payload, at }: PlatformRequest,
  { tenant, scope }: UsageScope,
  nowMs: number,
): UsageEntry | RefusedUsage {
  const parsed = modelUsageLine.safeParse(payload);
  if (!parsed.success) return { request: id, reason: 'not_a_usage_line' };
  const { attribution } = parsed.data;
  if (attribution.tenant !== tenant || attribution.scope !== scope)
    return { request: id, reason: 'attribution_mismatch' };
  const atMs = Math.min(Math.max(fromTimestamp(at), nowMs - LATE_MAX_MS), nowMs);
  return { request: id, atMs, line: parsed.data };
}

/** The two questions of a collection. */
interface Requests {
  list(cursor: string | undefined): Promise<z.output<typeof platformRequestsResponse>>;
  settle(request: SettleRequest): Promise<unknown>;
}

function requestsOf(deps: CollectDeps, vertical: string, { tenantId, scopeId }: ScopeRef): Requests {
  const scope = { tenant: tenantId, id: scopeId, vertical };
  return {
    list: (cursor) => {
      const query = { kind: MODEL_USAGE_KIND, limit: PAGE, ...(cursor === undefined ? {} : { cursor }) };
      return askScope(deps, scope, {
        path: 'platform-requests',
        query,
        answer: platformRequestsResponse,
        local: (host, ref) => host.listPlatformRequests({ ...ref, ...query }),
      });
    },
    settle: (request) => {
      const { tenantId: _tenant, scopeId: _scope, ...body } = request;
      return askScope(deps, scope, {
        path: 'platform-requests/settle',
        body,
        answer: platformRequest,
        local: (host) => host.settlePlatformRequest(request),
      });
    },
  };
}

/** Tells the scope. @returns false where the request has changed in the meantime: the next collection sees it anew. */
async function settle(requests: Requests, request: SettleRequest): Promise<boolean> {
  try {
    await requests.settle(request);
    return true;
  } catch (error) {
    const code = error instanceof PlatformError ? error.code : 'internal';
    if (code === 'precondition_failed') return false;
    // Already answered, or gone: it no longer waits.
    if (code === 'invalid_transition' || code === 'not_found') return true;
    throw error;
  }
}
