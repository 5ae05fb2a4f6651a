/**
 * The library of the kernel's contract suite as an application: its management contract, and the channel of the tests.
 * It does not depend on the runtime.
 */
import { makeScopeHost, makeUnitVault, type ScopeHost } from '@freehold/kernel';
import { type BlobStore, type Engine, type EngineTools, failureOf } from '@freehold/store';
import { mountPlatformSurface } from '@freehold/vertical-host';
import { Hono } from 'hono';
import { libraryUnit, libraryVaultUnit } from '../../packages/testkit/src/scope-contract/library.ts';
import {
  CHANNEL_PATH,
  type ChannelAnswer,
  type ChannelCall,
  CLOCK_PATH,
  type ClockSetting,
  INCIDENTS_HEADER,
  pack,
  type ReportedIncident,
  unpack,
} from './library-channel.ts';

/** The bindings of the worker, beside its objects. */
export interface LibraryBindings {
  readonly PLATFORM_SECRET: string;
  /** The bucket's store; the bucket is `attachments`. */
  readonly BUCKET_URL: string;
}

export interface LibraryOptions {
  readonly engine: Engine & EngineTools;
  readonly blobs: (scopeId: string) => BlobStore;
  readonly platformSecret: string;
  readonly clock: LibraryClock;
  readonly incidents: Incidents;
}

export function makeLibraryApplication(options: LibraryOptions): (request: Request) => Promise<Response> {
  const { engine, blobs, platformSecret, clock, incidents } = options;
  const host = makeScopeHost({
    engine,
    unit: libraryUnit,
    now: clock.now,
    vault: makeUnitVault((tenantId) => engine.unit(libraryVaultUnit, tenantId, { create: true })),
    blobs,
  });
  const app = new Hono();
  app.post(CHANNEL_PATH, async (c) => c.json(await answer(host, await c.req.json<ChannelCall>())));
  app.post(CLOCK_PATH, async (c) => {
    clock.set((await c.req.json<ClockSetting>()).aheadMs);
    return c.json(null);
  });
  mountPlatformSurface(app, {
    platformSecret: () => platformSecret,
    hostFor: () => host,
    roles: {},
    ownerRoleKey: 'librarian',
    resolveOwner: async () => ({ ownerSeat: null }),
    onIncident: (error, { path }) => incidents.record(error, { method: path }),
  });
  return async (request) => {
    const response = await app.fetch(request);
    const headers = new Headers(response.headers);
    headers.set(INCIDENTS_HEADER, encodeURIComponent(JSON.stringify(incidents.take())));
    return new Response(response.body, { status: response.status, headers });
  };
}

type Member = (...args: readonly unknown[]) => unknown;

async function answer(host: ScopeHost, { member, args }: ChannelCall): Promise<ChannelAnswer> {
  try {
    return { ok: true, value: await pack(await memberOf(host, member)(...args.map(unpack))) };
  } catch (error) {
    return { ok: false, failure: failureOf(error) };
  }
}

function memberOf(host: ScopeHost, member: string): Member {
  if (member === 'scope')
    return (scopeId, method, input) => {
      const scope = host.scope(String(scopeId)) as unknown as Record<string, Member>;
      return scope[String(method)]?.(input);
    };
  if (member === 'operations')
    return (scopeId, principal, request) =>
      host.operations(String(scopeId), principal as never).invoke(request as never);
  const [first = '', second] = member.split('.');
  const owner = (second === undefined ? host : host[first as 'attachments']) as unknown;
  return (owner as Record<string, Member>)[second ?? first] as Member;
}

export interface LibraryClock {
  readonly now: () => number;
  set(aheadMs: number): void;
}

/** The system's clock, with an offset for the scopes. */
export function makeLibraryClock(): LibraryClock {
  let aheadMs = 0;
  return {
    now: () => Date.now() + aheadMs,
    set: (ms) => {
      aheadMs = ms;
    },
  };
}

export interface Incidents {
  record(error: unknown, where: { readonly method: string }): void;
  /** Returns the incidents since the last call. */
  take(): ReportedIncident[];
}

export function makeIncidents(): Incidents {
  const incidents: ReportedIncident[] = [];
  return {
    record: (error, { method }) => void incidents.push({ error: textOf(error), method }),
    take: () => incidents.splice(0),
  };
}

/** Some errors that the suite throws refuse to be inspected. */
function textOf(error: unknown): string {
  try {
    return String(error);
  } catch {
    return 'something that cannot be written down';
  }
}
