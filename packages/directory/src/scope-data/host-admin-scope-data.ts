/**
 * The read ladder (spec 4.3.1): what a scope holds is asked of the vertical's worker when one is bound, else of the
 * co-located host, else it cannot be asked. Whichever rung answers, the answer is judged by the same schema.
 */
import {
  denialsResponse,
  denialsSummaryResponse,
  historyResponse,
  migrationsResponse,
  PlatformError,
  type ScopeRef,
  type VerticalScopeHost,
  walkResponse,
} from '@freehold/contracts';
import type { z } from 'zod';
import type { AdminCall } from '../actors.ts';
import type { AdminOperation } from '../declarations/admin-operation.ts';
import type { LogTarget } from '../declarations/records.ts';
import type {
  causeGet,
  denialsList,
  denialsSummary,
  effectsGet,
  historyGet,
} from '../declarations/scope-data.ts';
import type { migrationsGet } from '../declarations/scopes.ts';
import type { EffectDeps } from '../lib/effects.ts';
import type { CallOf } from '../lib/handlers.ts';
import { logTargetOf, scopeRefOf } from '../scopes/target.ts';
import { askVertical } from '../verticals/client.ts';
import { noVertical } from '../verticals/reach.ts';

/** What was read, with what the access log is to say about it. */
export interface ScopeRead {
  readonly value: unknown;
  readonly target: LogTarget;
  readonly items: number;
}

type Query = Readonly<Record<string, string | number | undefined>>;

interface Rung {
  readonly path: string;
  readonly answer: z.ZodType;
  query(call: AdminCall): Query;
  local(host: VerticalScopeHost, scope: ScopeRef, call: AdminCall): Promise<unknown>;
  items(value: unknown): number;
  /** Which record or event was looked at, for the access log. */
  subject(call: AdminCall): string | null;
}

const RUNGS: Readonly<Record<string, Rung>> = {
  'history.get': rung<typeof historyGet, typeof historyResponse>({
    path: 'history',
    answer: historyResponse,
    query: ({ query }) => query,
    local: (host, scope, { query }) => host.entityHistoryLocal({ ...scope, ...query }),
    items: ({ items }) => items.length,
    subject: ({ query }) => `${query.entityType}/${query.entityId}`,
  }),
  'cause.get': rung<typeof causeGet, typeof walkResponse>({
    path: 'cause',
    answer: walkResponse,
    query: ({ params }) => ({ event: params.event }),
    local: (host, scope, { params }) => host.eventCauseLocal({ ...scope, event: params.event }),
    items: ({ items }) => items.length,
    subject: ({ params }) => params.event,
  }),
  'effects.get': rung<typeof effectsGet, typeof walkResponse>({
    path: 'effects',
    answer: walkResponse,
    query: ({ params }) => ({ event: params.event }),
    local: (host, scope, { params }) => host.eventEffectsLocal({ ...scope, event: params.event }),
    items: ({ items }) => items.length,
    subject: ({ params }) => params.event,
  }),
  'denials.list': rung<typeof denialsList, typeof denialsResponse>({
    path: 'denials',
    answer: denialsResponse,
    query: ({ query }) => query,
    local: (host, scope, { query }) => host.listDenialsLocal({ ...scope, ...query }),
    items: ({ items }) => items.length,
    subject: () => null,
  }),
  'denials.summary': rung<typeof denialsSummary, typeof denialsSummaryResponse>({
    path: 'denials/summary',
    answer: denialsSummaryResponse,
    query: ({ query }) => query,
    local: (host, scope, { query }) => host.summarizeDenialsLocal({ ...scope, ...query }),
    items: ({ buckets }) => buckets.length,
    subject: () => null,
  }),
  'migrations.get': rung<typeof migrationsGet, typeof migrationsResponse>({
    path: 'migrations',
    answer: migrationsResponse,
    query: () => ({}),
    local: async (host, scope) => ({ items: await host.appliedMigrationsLocal(scope) }),
    items: ({ items }) => items.length,
    subject: () => null,
  }),
};

/** Whether an operation is answered by the ladder. */
export function isScopeRead(operation: string): boolean {
  return Object.hasOwn(RUNGS, operation);
}

/**
 * Climbs the ladder for one call.
 * @throws PlatformError `unsupported` (501) with a diagnosis when nothing answers for the vertical, what the vertical
 * refused with, and `runtime_fault` (502) for an answer outside the contract.
 */
export async function readScopeData(deps: EffectDeps, call: AdminCall): Promise<ScopeRead> {
  const step = RUNGS[call.operation] as Rung;
  const { scope } = await deps.target(call);
  const value = await climb(deps, step, scope.vertical, scopeRefOf(scope), call);
  return { value, target: logTargetOf(scope, step.subject(call)), items: step.items(value) };
}

async function climb(
  { gateway, deadline }: EffectDeps,
  step: Rung,
  vertical: string,
  scope: ScopeRef,
  call: AdminCall,
): Promise<unknown> {
  const bound = gateway.bound(vertical);
  if (bound) {
    const { path, answer } = step;
    return askVertical(bound, { path, answer, scope, query: step.query(call) }, deadline);
  }
  const local = gateway.local(vertical);
  if (!local) throw noVertical(vertical);
  const parsed = step.answer.safeParse(await step.local(local, scope, call));
  if (parsed.success) return parsed.data;
  throw new PlatformError(
    'runtime_fault',
    'The application answered something that is not part of its contract.',
    { reason: 'vertical_answer' },
  );
}

interface TypedRung<Op extends AdminOperation, S extends z.ZodType> {
  readonly path: string;
  readonly answer: S;
  query(call: CallOf<Op>): Query;
  local(host: VerticalScopeHost, scope: ScopeRef, call: CallOf<Op>): Promise<z.input<S>>;
  items(value: z.output<S>): number;
  subject(call: CallOf<Op>): string | null;
}

/** Ties a rung to its declaration and its answer; the transport parsed the call with that declaration. */
function rung<Op extends AdminOperation, S extends z.ZodType>(typed: TypedRung<Op, S>): Rung {
  const own = (call: AdminCall): CallOf<Op> => call as unknown as CallOf<Op>;
  return {
    path: typed.path,
    answer: typed.answer,
    query: (call) => typed.query(own(call)),
    local: (host, scope, call) => typed.local(host, scope, own(call)),
    items: (value) => typed.items(value as z.output<S>),
    subject: (call) => typed.subject(own(call)),
  };
}
