/** One instance of an application in memory, for its builder's tests. */
import type { Mail } from '@freehold/auth';
import {
  type EntityRef,
  type EventRecord,
  ID_PREFIXES,
  makeIdFactory,
  PLATFORM_SECRET_HEADER,
  type ScopeRef,
} from '@freehold/contracts';
import { type MemoryEngine, makeMemoryBlobStore, openMemoryEngine } from '@freehold/engine-node';
import { makeUnitVault, makeVaultUnit } from '@freehold/kernel';
import type { OperationTable } from '@freehold/operations';
import { makeKeyring, type SqlRow, type SqlValue } from '@freehold/store';
import type { App } from '../declaration/app.ts';
import type { Bindings, WebFiles } from '../declaration/env.ts';
import { makeApp, type RunningApp } from '../make-app.ts';
import { type Duration, durationMs, makeTestClock, type TestClock } from './clock.ts';
import { type Delivered, type Deliveries, makeDeliveries } from './deliveries.ts';
import { type Http, requestInit } from './http.ts';
import { CLIENT_ID, ISSUER, type MemberOptions, type Members, makeMembers } from './members.ts';
import {
  type AnswerFetch,
  type AnswerModel,
  answeringFetch,
  answeringModel,
  MODEL_BINDINGS,
} from './outside.ts';
import { makePerson, type Person } from './person.ts';

/** Differences from one that reaches nothing, without settings. */
export interface TestOptions {
  /** Where the clock begins. Default: 2026-03-03T07:00:00Z, a Tuesday. */
  readonly start?: number | string;
  /** Default: `Test Instance`. */
  readonly name?: string;
  /** Settings of the manifest, delivered as a platform does it. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Answers the outgoing calls of executors (`tools.fetch`). Default: each fails, and says so. */
  readonly fetch?: AnswerFetch;
  /** Answers as the language model of the instance. Default: there is none. */
  readonly model?: AnswerModel;
  /** The built pages. Default: none. */
  readonly webFiles?: WebFiles;
}

/** An error that no caller was told of, and where it came up. */
export interface Incident {
  readonly error: unknown;
  readonly where: { readonly kind: string; readonly key: string; readonly method: string };
}

export interface TestInstance<O extends OperationTable = OperationTable> extends AsyncDisposable {
  readonly tenantId: ScopeRef['tenantId'];
  readonly scopeId: ScopeRef['scopeId'];
  /** The origin of the instance: `https://instance.test`. */
  readonly origin: string;
  readonly clock: TestClock;
  /**
   * A person, who is the same for the same name. Roles or permissions make a member of them, at once on first use, and
   * replace what they could do before. Without any, they are who they were: at first, signed in and no member.
   * @throws TypeError, at the first use of the person, for a role or permission that the manifest does not have.
   */
  as(name: string, rights?: MemberOptions): Person<O>;
  /** A caller who is not signed in. */
  readonly anonymous: { readonly http: Http };
  /** A visitor of another site, whose page asks the public surface: `https://shop.example`. */
  visitor(origin: string): { readonly http: Http };
  /** Runs subscriptions, executors and schedules that are due, and what follows from them, until nothing is due. */
  deliver(): Promise<Delivered>;
  /** Lets time pass: moves the clock from one due time to the next, and delivers at each. Returns everything that ran. */
  pass(duration: Duration): Promise<Delivered>;
  /** The history of a record, oldest event first. */
  events(entity: EntityRef | `${string}/${string}`): Promise<readonly EventRecord[]>;
  /** Reads the tables of the instance by one SQL statement, the platform's own (`_spine_…`) too. */
  sql<Row = SqlRow>(statement: string, ...params: readonly SqlValue[]): readonly Row[];
  /** Delivers settings; null removes one. @throws Error with the refusal. */
  settings(patch: Readonly<Record<string, string | null>>): Promise<void>;
  /** The mails that were sent, oldest first. */
  readonly mails: readonly Mail[];
  /** Unexpected errors, oldest first: those that handlers threw, too. */
  readonly incidents: readonly Incident[];
  close(): Promise<void>;
}

const ORIGIN = 'https://instance.test';
const START = '2026-03-03T07:00:00.000Z';
/** The instance is older than the time in which the first person to sign in becomes its owner. */
const AGE_MS = 3_600_000;
const SECRET = 'the platform secret of a test';
const SEAL_KEYS = ['a sealing key that is for tests only'];
const CLIENT_ADDRESS = '203.0.113.7';

/**
 * Opens a fresh instance. It holds nothing outside of memory, reaches no network, and knows of no other instance.
 * Close it, or declare it with `await using`.
 */
export async function testApp<O extends OperationTable>(
  app: App<O>,
  options: TestOptions = {},
): Promise<TestInstance<O>> {
  const clock = makeTestClock(options.start ?? START);
  const startMs = clock.now();
  clock.set(startMs - AGE_MS);
  const random = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes));
  const newId = makeIdFactory({ now: clock.now, random });
  const ref = { tenantId: newId(ID_PREFIXES.tenant), scopeId: newId(ID_PREFIXES.scope) } as ScopeRef;
  const incidents: Incident[] = [];
  const onIncident = (error: unknown, where: Incident['where']) => void incidents.push({ error, where });
  const mails: Mail[] = [];
  const engine = openMemoryEngine({ now: clock.now, random, onIncident });
  const blobs = makeMemoryBlobStore({ now: clock.now });
  const keyring = makeKeyring(SEAL_KEYS);
  const vaultUnit = makeVaultUnit(keyring);
  const running = makeApp(app, {
    engine,
    vault: makeUnitVault((tenantId) => engine.unit(vaultUnit, tenantId, { create: true })),
    sealing: keyring,
    blobs: () => blobs,
    platformSecret: SECRET,
    now: clock.now,
    random,
    fetch: async () => new Response(null, { status: 503 }),
    onIncident,
    mailer: { send: async (mail) => void mails.push(mail) },
    ...(options.model ? { modelFetch: answeringModel(options.model) } : {}),
    ...(options.webFiles ? { webFiles: options.webFiles } : {}),
  });
  const instance: Instance = { running, ref, bindings: options.model ? MODEL_BINDINGS : {} };
  await provision(instance, options);
  const members = makeMembers({
    host: running.host,
    directory: engine.unit(running.units.identity, ref.tenantId),
    manifest: running.manifest,
    ref,
    clock,
  });
  const deliveries = makeDeliveries({
    vertical: running.units.scope.vertical,
    scope: running.host.scope(ref.scopeId),
    scopeId: ref.scopeId,
    clock,
    onIncident,
    attachments: running.host.attachments,
    fetch: answeringFetch(options.fetch),
  });
  clock.set(startMs);
  // Schedules count from here.
  await deliveries.deliver();
  return testInstanceOf<O>({ ...instance, engine, clock, members, deliveries, incidents, mails });
}

interface Instance {
  readonly running: RunningApp;
  readonly ref: ScopeRef;
  readonly bindings: Readonly<Record<string, string>>;
}

interface Parts extends Instance {
  readonly engine: MemoryEngine;
  readonly clock: TestClock;
  readonly members: Members;
  readonly deliveries: Deliveries;
  readonly incidents: readonly Incident[];
  readonly mails: readonly Mail[];
}

function testInstanceOf<O extends OperationTable>(parts: Parts): TestInstance<O> {
  const { running, ref, engine, clock, members, deliveries, incidents, mails } = parts;
  const { host, units } = running;
  const httpWith =
    (credentials: () => Promise<Readonly<Record<string, string>>>): Http =>
    async (method, path, body, headers = {}) =>
      request(parts, path, requestInit(method, body, { ...(await credentials()), ...headers }));
  const as: TestInstance<O>['as'] = (name, rights) => {
    if (rights !== undefined) void members.join(name, rights).catch(() => undefined);
    return makePerson<O>({
      host,
      scopeId: ref.scopeId,
      incidents,
      principal: () => members.principal(name),
      http: httpWith(async () => {
        await members.principal(name);
        return { cookie: await members.cookie(name) };
      }),
    });
  };
  const close = async (): Promise<void> => {
    await deliveries.stop();
    await engine.close();
  };
  return {
    ...ref,
    origin: ORIGIN,
    clock,
    as,
    anonymous: { http: httpWith(async () => ({})) },
    visitor: (origin) => ({ http: httpWith(async () => ({ origin })) }),
    deliver: () => deliveries.deliver(),
    pass: (duration) => pass(parts, durationMs(duration)),
    events: (entity) => historyOf(host.scope(ref.scopeId), entity),
    sql: (statement, ...params) => engine.query(units.scope, ref.scopeId, statement, ...params) as never,
    settings: (config) => platform(parts, '/internal/configure', { ...ref, config }),
    mails,
    incidents,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function request({ running, ref, bindings }: Instance, path: string, init: RequestInit): Promise<Response> {
  const { slug, version } = running.manifest;
  const node = {
    tenant: ref.tenantId,
    scope: ref.scopeId,
    vertical: slug,
    version,
    surface: 'app',
    origin: ORIGIN,
  };
  const env: Bindings = { ...bindings, node, clientAddress: CLIENT_ADDRESS };
  return Promise.resolve(running.app.fetch(new Request(`${ORIGIN}${path}`, init), env));
}

/** Makes the instance as a platform does it, with an issuer to sign in at. */
async function provision(
  instance: Instance,
  { name = 'Test Instance', settings }: TestOptions,
): Promise<void> {
  const choice = JSON.stringify({ mode: 'oidc', issuer: ISSUER, clientId: CLIENT_ID });
  const config = { 'platform:auth': choice, ...settings };
  await platform(instance, '/internal/provision', { ...instance.ref, name, config });
}

async function platform({ running, bindings }: Instance, path: string, body: object): Promise<void> {
  const headers = { [PLATFORM_SECRET_HEADER]: SECRET, 'content-type': 'application/json' };
  const asked = new Request(`${ORIGIN}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  const response = await running.app.fetch(asked, { ...bindings, node: null, clientAddress: null });
  if (!response.ok) throw new Error(`${path} was answered ${response.status}: ${await response.text()}`);
}

/** From one due time to the next, so that each schedule runs as often as it would have. */
async function pass({ clock, deliveries }: Parts, byMs: number): Promise<Delivered> {
  const endMs = clock.now() + byMs;
  const all = [await deliveries.deliver()];
  for (;;) {
    const nextAtMs = all.at(-1)?.nextAtMs ?? null;
    if (nextAtMs === null || nextAtMs > endMs) break;
    clock.set(nextAtMs);
    all.push(await deliveries.deliver());
  }
  clock.set(endMs);
  all.push(await deliveries.deliver());
  return {
    ran: all.flatMap(({ ran }) => ran),
    deadLetters: all.flatMap(({ deadLetters }) => deadLetters),
    nextAtMs: all.at(-1)?.nextAtMs ?? null,
  };
}

async function historyOf(
  scope: ReturnType<RunningApp['host']['scope']>,
  entity: EntityRef | `${string}/${string}`,
): Promise<readonly EventRecord[]> {
  const cut = typeof entity === 'string' ? entity.indexOf('/') : 0;
  const named =
    typeof entity === 'string' ? { type: entity.slice(0, cut), id: entity.slice(cut + 1) } : entity;
  const found: EventRecord[] = [];
  let cursor: string | undefined;
  do {
    const page = await scope.history({
      entity: named,
      limit: 200,
      ...(cursor === undefined ? {} : { cursor }),
    });
    found.push(...page.items);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return found;
}
