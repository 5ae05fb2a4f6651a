/** The shared parts of the sections: a provisioned library for each test, and sections that need a capability. */

import type { ActorId, InvokeResult, PrincipalId, ScopeId, ScopeRef, TenantId } from '@freehold/contracts';
import type { IncidentSink } from '@freehold/store';
import { describe } from 'vitest';
import type { ScopeStub } from '../../../kernel/src/contract/scope-methods.ts';
import type { ScopeHost } from '../../../kernel/src/scope-host.ts';
import type { Missing, ScopeHostSetup, ScopeHostUnderTest } from './index.ts';

/** The suite's view of an engine in its own process or isolate. */
export const observed = { incidents: [] as { readonly error: unknown; readonly method: string }[] };

export const recordIncident: IncidentSink = (error, { method }) => {
  observed.incidents.push({ error, method });
};

export const tenant = 'tnt_01j00000000000000000000001' as TenantId;
export const otherTenant = 'tnt_01j00000000000000000000002' as TenantId;
export const librarian = 'prn_01j00000000000000000000001' as PrincipalId;
export const clerk = 'prn_01j00000000000000000000002' as PrincipalId;
export const visitor = 'prn_01j00000000000000000000003' as PrincipalId;
export const anonymous = 'prn_01j00000000000000000000004' as PrincipalId;

let scopes = 0;

/** An id that no test had before. */
export function newScopeId(): ScopeId {
  scopes += 1;
  return `scp_01j${String(scopes).padStart(23, '0')}` as ScopeId;
}

type Extra = { readonly idempotencyKey?: string; readonly ifMatch?: string };

/** One provisioned scope, with a librarian, a clerk and a visitor in it. */
export interface Library {
  readonly ref: ScopeRef;
  readonly host: ScopeHost;
  readonly scope: ScopeStub;
  pass(ms: number): Promise<void>;
  reopen(): Promise<void>;
  /** Runs an operation as an actor, as a surface does. */
  run(who: ActorId, operation: string, input: unknown, extra?: Extra): Promise<InvokeResult>;
  /** The same, for its output. */
  ask<T>(who: ActorId, operation: string, input: unknown): Promise<T>;
  /** Adds a book as the librarian, and answers its id. */
  add(title?: string): Promise<string>;
  /** Returns the number of rows of tables. */
  count(...tables: string[]): Promise<(number | null | undefined)[]>;
}

/** @param beside a library whose host holds this one too. Default: a host of its own. */
export async function openLibrary(
  setup: Pick<ScopeHostSetup, 'open'>,
  ref: ScopeRef = { tenantId: tenant, scopeId: newScopeId() },
  beside?: Library,
): Promise<Library> {
  const opened = beside ? hostOf(beside) : await setup.open();
  let present = opened.host;
  // A test may hold on to these two over a reopening.
  const host = forward(() => present);
  const scope = forward(() => present.scope(ref.scopeId));
  await host.provisionScopeLocal({ ...ref, name: 'City library' });
  for (const [principal, role] of [
    [librarian, 'librarian'],
    [clerk, 'clerk'],
    [visitor, 'visitor'],
  ] as const)
    await scope.assignRole({ principal, role, by: 'platform' });

  const run: Library['run'] = (who, operation, input, extra = {}) =>
    host.operations(ref.scopeId, who).invoke({ operation, input, ...extra });
  const ask = async <T>(who: ActorId, operation: string, input: unknown): Promise<T> =>
    (await run(who, operation, input)).output as T;

  return {
    ref,
    host,
    scope,
    pass: opened.pass,
    reopen: async () => {
      present = await opened.reopen();
    },
    run,
    ask,
    add: async (title = 'a book') => (await ask<{ book: string }>(librarian, 'book/add', { title })).book,
    count: async (...tables) => {
      const all = await host.introspectScopeTables(ref);
      return tables.map((table) => all.find(({ name }) => name === table)?.rows);
    },
  };
}

function hostOf({ host, pass, reopen }: Library): ScopeHostUnderTest {
  return {
    host,
    pass,
    reopen: async () => {
      await reopen();
      return host;
    },
  };
}

/** Stands for the result of `present` at the moment of use. */
function forward<T extends object>(present: () => T): T {
  return new Proxy({} as T, { get: (_target, name) => Reflect.get(present(), name) });
}

/** Everything that a call can leave behind in the library. */
export const TRACES = [
  'books',
  'notes',
  '_spine_events',
  '_spine_invocations',
  '_spine_idempotency',
  '_spine_grants',
  '_spine_denials',
];

/** Every page of a list, put together. */
export async function allPages<T>(
  page: (cursor: { readonly cursor?: string }) => Promise<{ items: T[]; nextCursor: string | null }>,
): Promise<T[]> {
  const items: T[] = [];
  let cursor: string | null = null;
  do {
    const next: { items: T[]; nextCursor: string | null } = await page(cursor === null ? {} : { cursor });
    items.push(...next.items);
    cursor = next.nextCursor;
  } while (cursor !== null);
  return items;
}

/**
 * Declares tests that need a capability. Without it they are skipped under its reason, and those of `without` run
 * instead.
 */
export function withCapability(
  name: string,
  { capability, on }: { readonly capability: unknown; readonly on: string },
  declare: () => void,
  without: () => void,
): void {
  const { missing } = capability as Partial<Missing>;
  if (missing === undefined) {
    describe(name, declare);
    return;
  }
  const because = `not on ${on}, because ${missing}`;
  describe.skipIf(true)(`${name} (${because})`, declare);
  describe(`${name}: ${because}`, without);
}
