/**
 * Brings in the usage lines that a scope has raised as platform requests (spec 4.3.13). A line counts once: it is
 * written down before the scope is told, and known again by its request when the scope was not told.
 *
 * A line is the word of the vertical that wrote it. Whose it is, is not: it must be attributed to the scope that it was
 * found in, and the vertical and its version are those that the directory knows.
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
import type { VerticalGateway } from '../gateway.ts';
import type { DirectoryMethods } from '../unit.ts';
import { askVertical, type Deadline } from '../verticals/client.ts';
import { noVertical } from '../verticals/reach.ts';
import type { UsageEntry } from './lines-store.ts';
import type { RefusedUsage, UsageScope } from './operations.ts';

/** What a collection brought. */
export interface CollectedUsage {
  /** New lines. */
  readonly taken: number;
  /** Lines that had been taken before, and of which the scope has been told now. */
  readonly repeated: number;
  readonly refused: number;
  /** True when more may wait: collect again. */
  readonly more: boolean;
}

export interface CollectDeps {
  readonly directory: Pick<
    UnitStub<DirectoryMethods>,
    'usageVertical' | 'takeModelUsage' | 'settledModelUsage'
  >;
  readonly gateway: VerticalGateway;
  readonly deadline: Deadline;
  /** The version of a vertical that the registry does not know. */
  readonly unregistered: (vertical: string) => string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

const PAGE = 100;
/** One scope does not hold the others up for longer than this many pages, whatever it goes on answering. */
const PAGES_MAX = 10;
/** How late a line may come in and still count for its own day; a scope's clock decides nothing beyond that. */
const LATE_MAX_MS = 31 * 24 * 60 * 60 * 1000;

type Requests = z.output<typeof platformRequestsResponse>;

/**
 * Builds the function that collects one scope's lines. It rejects with `not_found` for a scope that is not there,
 * `unsupported` where nothing answers for its vertical, and with what the vertical refused.
 */
export function makeCollect(deps: CollectDeps): (ref: UsageScope) => Promise<CollectedUsage> {
  const { directory, now } = deps;

  return async (ref) => {
    const scope = parseInput('The scope', scopeRef, { tenantId: ref.tenant, scopeId: ref.scope });
    const vertical = await directory.usageVertical(ref);
    const unregistered = deps.unregistered(vertical);
    const door = signInOf(deps, vertical, scope);
    const totals = { taken: 0, repeated: 0, refused: 0 };

    const collectPage = async (requests: readonly PlatformRequest[]): Promise<void> => {
      const entries: UsageEntry[] = [];
      const refused: RefusedUsage[] = [];
      for (const request of requests) {
        const judged = judge(request, ref, now());
        if ('line' in judged) entries.push(judged);
        else refused.push(judged);
      }
      const { taken } = await directory.takeModelUsage({ ...ref, unregistered, entries, refused });
      totals.taken += taken;
      totals.repeated += entries.length - taken;
      totals.refused += refused.length;
      const reasons = new Map(refused.map(({ request, reason }) => [request, reason]));
      const told: string[] = [];
      try {
        for (const { id, revision } of requests) {
          const reason = reasons.get(id);
          const end =
            reason === undefined
              ? ({ status: 'done' } as const)
              : ({ status: 'refused', result: { reason } } as const);
          if (await settle(door, { ...scope, id, revision, ...end })) told.push(id);
        }
      } finally {
        if (told.length > 0) await directory.settledModelUsage({ scope: ref.scope, requests: told });
      }
    };

    let cursor: string | undefined;
    for (let page = 0; page < PAGES_MAX; page++) {
      const { items, nextCursor } = await door.list(cursor);
      const ours = items.filter(isOurs);
      if (ours.length > 0) await collectPage(ours);
      if (nextCursor === null) return { ...totals, more: false };
      cursor = nextCursor;
    }
    return { ...totals, more: true };
  };
}

function isOurs({ kind, status }: PlatformRequest): boolean {
  return kind === MODEL_USAGE_KIND && status === 'pending';
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

/** The two questions of a collection, on either rung of the ladder. */
interface Door {
  list(cursor: string | undefined): Promise<Requests>;
  settle(request: SettleRequest): Promise<unknown>;
}

function signInOf({ gateway, deadline }: CollectDeps, vertical: string, scope: ScopeRef): Door {
  const query = { kind: MODEL_USAGE_KIND, limit: PAGE };
  const bound = gateway.bound(vertical);
  if (bound)
    return {
      list: (cursor) =>
        askVertical(
          bound,
          { path: 'platform-requests', scope, query: { ...query, cursor }, answer: platformRequestsResponse },
          deadline,
        ),
      settle: ({ tenantId: _tenant, scopeId: _scope, ...body }) =>
        askVertical(
          bound,
          { path: 'platform-requests/settle', scope, body, answer: platformRequest },
          deadline,
        ),
    };
  const local = gateway.local(vertical);
  if (!local) throw noVertical(vertical);
  return {
    list: async (cursor) => {
      const page = { ...scope, ...query, ...(cursor === undefined ? {} : { cursor }) };
      const parsed = platformRequestsResponse.safeParse(await local.listPlatformRequests(page));
      if (parsed.success) return parsed.data;
      throw new PlatformError(
        'runtime_fault',
        'The application answered something that is not part of its contract.',
        { reason: 'vertical_answer' },
      );
    },
    settle: (request) => local.settlePlatformRequest(request),
  };
}

/** Tells the scope. @returns false where the request has changed in the meantime, which the next collection sees. */
async function settle(door: Door, request: SettleRequest): Promise<boolean> {
  try {
    await door.settle(request);
    return true;
  } catch (error) {
    const code = error instanceof PlatformError ? error.code : 'internal';
    if (code === 'precondition_failed') return false;
    // Somebody has answered it, or it is gone: either way it waits no more.
    if (code === 'invalid_transition' || code === 'not_found') return true;
    throw error;
  }
}
