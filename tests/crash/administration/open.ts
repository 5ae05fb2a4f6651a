/** The host administration of a real directory over real scopes, in a process that will be killed. */

import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeApp } from '@freehold/app';
import { PLATFORM_SECRET_HEADER, type PrincipalId, type ScopeId } from '@freehold/contracts';
import { makeNodeBlobStore, openNodeEngine } from '@freehold/engine-node';
import { fieldwork as declared } from '@freehold/fieldwork';
import { makeScopeHost, makeScopeUnit, makeUnitVault } from '@freehold/kernel';
import { makeKeyring } from '@freehold/store';
import { makeGateway } from '../../../apps/platform/src/applications/verticals.ts';
import { openAnchor } from '../../../apps/platform/src/storage/anchor.ts';
import { makeFileBackups } from '../../../apps/platform/src/storage/backups.ts';
import {
  type BackupStore,
  type ConnectionsOptions,
  type DirectoryHostAdmin,
  makeHostAdmin,
  type VerticalRuntime,
} from '../../../packages/directory/src/index.ts';
import {
  type ConsentProvider,
  makeConsentProvider,
} from '../../../packages/directory/test/consent-provider.ts';
import { makeKeyProvider } from '../../../packages/directory/test/key-provider.ts';
import { makeMemoryPreviews } from '../../../packages/directory/test/memory-previews.ts';
import { STAFF_ISSUER } from '../../../packages/directory/test/platform.ts';
import { library, libraryVaultUnit } from '../../../packages/testkit/src/scope-contract/index.ts';
import { type KillPoints, makeKillPoints } from './kill-points.ts';
import { PLACE } from './protocol.ts';

const LIBRARIAN = 'prn_01j00000000000000000000001' as PrincipalId;

export interface OpenedPlatform {
  readonly admin: DirectoryHostAdmin;
  readonly points: KillPoints;
  /** Lets so many milliseconds pass, also for later processes. */
  later(ms: number): void;
  /**
   * Providers that ask for consent, by their key. They start with the process and remember nothing of an earlier one.
   */
  readonly providers: Readonly<Record<string, ConsentProvider>>;
  /** Publishes a TXT record, in place of the one before. */
  publish(name: string, value: string): void;
  /** Blocks the storage of a backup at this address, until the returned function is called. */
  hold(scope: string): () => void;
  /** A person signs in to a new instance of fieldwork and becomes its owner. */
  claimSeat(at: { readonly tenant: string; readonly scope: string }): Promise<void>;
  /** Returns the export of an instance of fieldwork, as lines of text. */
  exportOf(at: { readonly tenant: string; readonly scope: string }): Promise<string>;
  /** A library with a librarian, and its operations. */
  readonly library: {
    admit(scope: string): Promise<void>;
    ask<T>(scope: string, operation: string, input: unknown): Promise<T>;
    /** Does the waiting work, and returns when there will be more. */
    work(scope: string): Promise<number | null>;
    repair(scope: string): Promise<void>;
  };
  close(): Promise<void>;
}

/** Opens the platform of this place, or an empty one. */
export async function openInPlace(
  place: string,
  onIncident: (error: unknown) => void,
): Promise<OpenedPlatform> {
  const dataDirectory = join(place, PLACE.data);
  const clock = makeClock(place);
  const world = { now: clock.now, random: (bytes: number) => randomBytes(bytes), onIncident };
  const inner = openNodeEngine({ dataDirectory, ...world });
  const points = makeKillPoints(inner);
  const { engine } = points;
  const vault = makeUnitVault((tenant) => engine.unit(libraryVaultUnit, tenant, { create: true }));
  const platformSecret = 'the platform secret of the crash suite, long enough';
  const fieldwork = makeApp(declared, {
    engine,
    vault,
    sealing: makeKeyring(['a sealing key of the crash suite, long enough']),
    blobs: (scopeId) => makeNodeBlobStore({ dataDirectory, scopeId, now: world.now }),
    platformSecret,
    fetch: () => Promise.reject(new TypeError('these tests have no network')),
    ...world,
  });
  const libraryHost = makeScopeHost({ engine, unit: makeScopeUnit(library), vault, ...world });
  const own = makeGateway(
    new Map([
      [
        'fieldwork',
        {
          host: fieldwork.host,
          platformSecret,
          bindings: () => ({}),
          fetch: (request) => fieldwork.app.fetch(request),
        },
      ],
    ]),
  );
  const held = new Map<string, Promise<void>>();
  const providers = makeProviders();
  const admin = makeHostAdmin({
    engine,
    gateway: {
      bound: own.bound,
      local: (vertical) => (vertical === 'library' ? libraryHost : own.local(vertical)),
    },
    baseDomains: ['apps.example'],
    staffIssuer: STAFF_ISSUER,
    anchor: openAnchor({ file: join(place, PLACE.anchor) }),
    backups: withHolds(makeFileBackups(join(place, PLACE.backups)), held),
    hostnames: {
      resolver: {
        resolveTxt: async (name) => ({ outcome: 'found', values: published(place, name) }),
        resolveAddress: async () => ({ outcome: 'found', cname: [], addresses: ['192.0.2.7'] }),
      },
      fetch: () => Promise.reject(new TypeError('these tests have no network')),
    },
    runtime: makeFileRuntime(join(place, PLACE.runtime)),
    sealing: makeKeyring(['k'.repeat(43)]),
    connections: connectionsOf(providers),
    permissionsOf: () => [],
    ...world,
  });
  await admin.registerBuiltIn({ manifest: fieldwork.manifest, migrations: [] });
  const scopeOf = (scope: string) => libraryHost.scope(scope as ScopeId);
  return {
    admin,
    points,
    later: clock.later,
    providers,
    publish: (name, value) => {
      mkdirSync(join(place, PLACE.dns), { recursive: true });
      writeFileSync(join(place, PLACE.dns, name), value);
    },
    hold: (scope) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      held.set(scope, promise);
      return resolve;
    },
    claimSeat: async ({ tenant, scope }) => {
      const subject = { issuer: 'https://id.example', sub: 'ada', email: null, name: 'Ada' };
      await engine.unit(fieldwork.units.identity, tenant).resolvePrincipal({ scopeId: scope, subject });
    },
    exportOf: async ({ tenant: tenantId, scope: scopeId }) => {
      const query = new URLSearchParams({ tenantId, scopeId, format: 'ndjson' });
      const headers = { [PLATFORM_SECRET_HEADER]: platformSecret };
      const request = new Request(`http://fieldwork.internal/internal/export?${query}`, { headers });
      const answer = await fieldwork.app.fetch(request);
      if (answer.status !== 200) throw new Error(`the export answered ${answer.status}`);
      return answer.text();
    },
    library: {
      admit: async (scope) =>
        void (await scopeOf(scope).assignRole({ principal: LIBRARIAN, role: 'librarian', by: 'platform' })),
      ask: async <T>(scope: string, operation: string, input: unknown) =>
        (await libraryHost.operations(scope as ScopeId, LIBRARIAN).invoke({ operation, input })).output as T,
      work: async (scope) => (await scopeOf(scope).work({})).nextAtMs,
      repair: async (scope) => void (await scopeOf(scope).projectSettings({ settings: { REPAIRED: 'yes' } })),
    },
    close: async () => {
      await admin.stopLongWork();
      await inner.close();
    },
  };
}

/** The time of this machine plus the time that was let pass. */
function makeClock(place: string): { readonly now: () => number; readonly later: (ms: number) => void } {
  const path = join(place, PLACE.clock);
  let aheadMs = existsSync(path) ? Number(readFileSync(path, 'utf8')) : 0;
  return {
    now: () => Date.now() + aheadMs,
    later: (ms) => {
      aheadMs += ms;
      writeFileSync(path, String(aheadMs));
    },
  };
}

/** `calendar` gives tokens that can be refreshed; those of `notes` expire at once and cannot. */
function makeProviders() {
  const notes = 'https://notes.example';
  const provider = {
    name: 'Notes',
    authorizationEndpoint: `${notes}/authorize`,
    tokenEndpoint: `${notes}/token`,
    revocationEndpoint: `${notes}/revoke`,
    identity: { endpoint: `${notes}/me` },
  };
  const brief = makeConsentProvider({ provider });
  brief.lifetimeS = 0;
  brief.givesRefreshTokens = false;
  return { calendar: makeConsentProvider(), notes: brief };
}

function connectionsOf({ calendar, notes }: ReturnType<typeof makeProviders>): ConnectionsOptions {
  const keys = makeKeyProvider().options;
  const consent = calendar.options.providers.calendar;
  const brief = notes.options.providers.calendar;
  if (!consent || !brief) throw new TypeError('the double of a provider has another name');
  const byHost: Readonly<Record<string, ConnectionsOptions>> = {
    'calendar.example': calendar.options,
    'notes.example': notes.options,
  };
  return {
    ...keys,
    providers: { ...keys.providers, calendar: consent, notes: brief },
    fetch: (url, init) => (byHost[new URL(url).hostname] ?? keys).fetch(url, init),
  };
}

/** Returns the published records of a name, also those of an earlier process. */
function published(place: string, name: string): string[] {
  const path = join(place, PLACE.dns, name);
  return existsSync(path) ? [readFileSync(path, 'utf8')] : [];
}

function withHolds(store: BackupStore, held: ReadonlyMap<string, Promise<void>>): BackupStore {
  return {
    ...store,
    put: async (address, body) => {
      await [...held].find(([scope]) => address.includes(scope))?.[1];
      return store.put(address, body);
    },
  };
}

/** Runs nothing; records what was uploaded, and what serves. */
function makeFileRuntime(directory: string): VerticalRuntime {
  const write = (name: string, text: string): void => {
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, name), text);
  };
  return {
    move: async () => ({ failure: null }),
    modules: async () => [],
    previews: makeMemoryPreviews(),
    settingsChanged: async (vertical) => write(`settings-${vertical}`, vertical),
    discard: async ({ script, dryRun }) => {
      if (!dryRun) write(`discarded-${script}`, script);
      return { files: 1, bytes: 1 };
    },
    upload: async ({ script }) => write(`uploaded-${script}`, script),
    serve: async ({ vertical, version }) => write(`serving-${vertical}-${version}`, version),
  };
}
