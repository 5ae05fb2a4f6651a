/** A whole directory on the real embedded engine, in a directory of its own, with a clock that only tests move. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PlatformError, parseInput } from '@freehold/contracts';
import { onTestFinished } from 'vitest';
import { openTestEngine } from '../../testkit/src/index.ts';
import {
  type AccessLogEntry,
  type AdminLogEntry,
  type AdminOperation,
  type AdminOperationName,
  adminOperations,
  type HostnameRecord,
  type OperationRecord,
  type ScopeRecord,
  type TenantRecord,
} from '../src/admin-operations.ts';
import {
  type Actor,
  type AdminCall,
  type AdminResult,
  type DirectoryHostAdmin,
  type HostAdminOptions,
  makeHostAdmin,
  type VerticalGateway,
} from '../src/index.ts';
import { makeVerticalDouble, type VerticalDouble } from './vertical-double.ts';

/** The issuer at which members of the roster sign in. */
export const STAFF_ISSUER = 'https://id.example.test';
export const STAFF: Actor = { kind: 'staff', id: 'ada', name: 'Ada', role: 'admin' };
export const SERVICE: Actor = { kind: 'service', id: 'tok_01jd0000000000000000000001', name: 'cli' };

export interface CallParts {
  readonly params?: Record<string, unknown>;
  readonly query?: Record<string, unknown>;
  readonly body?: Record<string, unknown>;
  readonly as?: Actor;
  readonly key?: string;
  readonly ifMatch?: string;
  readonly upload?: NonNullable<AdminCall['upload']>;
  readonly events?: true;
}

export interface Platform {
  readonly admin: DirectoryHostAdmin;
  readonly clock: { ms: number };
  readonly fieldwork: VerticalDouble;
  /** The vertical behind `fieldwork`; a test may change it. */
  reach: 'bound' | 'local' | 'both' | 'none';
  /** Verticals beside `fieldwork` for which the same double answers. */
  readonly ownVerticals: Set<string>;
  readonly incidents: unknown[];
  /** Parses as the transport does, then performs. */
  call(operation: AdminOperationName, parts?: CallParts): Promise<AdminResult>;
  value<T>(operation: AdminOperationName, parts?: CallParts): Promise<T>;
  adminLog(query?: Record<string, unknown>): Promise<AdminLogEntry[]>;
  accessLog(): Promise<AccessLogEntry[]>;
  tenant(slug: string): Promise<TenantRecord>;
  scope(tenant: string, slug?: string): Promise<ScopeRecord>;
  hostname(scope: ScopeRecord, hostname: string): Promise<HostnameRecord>;
  builder(tenant: string): Actor;
  /** Long work, from its beginning to its end. */
  finish(call: Promise<AdminResult> | AdminResult): Promise<OperationRecord>;
  /** Closes the engine and lets a test at the file itself; afterwards the platform is open again. */
  tamper(work: (database: DatabaseSync) => void): Promise<void>;
  /** Reads the file beside the engine. */
  look<T>(read: (database: DatabaseSync) => T): T;
  /** Ends it before the test does, where one test opens many. */
  close(): Promise<void>;
}

export async function openPlatform(
  options: Partial<
    Pick<
      HostAdminOptions,
      | 'anchor'
      | 'baseDomains'
      | 'reservedHostnames'
      | 'deadline'
      | 'connections'
      | 'staffIdleMs'
      | 'staffIssuer'
      | 'destroyTenantKeys'
      | 'hostnames'
      | 'runtime'
      | 'sealing'
      | 'egress'
      | 'telemetry'
      | 'versionOf'
      | 'backups'
      | 'sleep'
      | 'modelMarginBasisPoints'
      | 'newScopeSettings'
    >
  > = {},
  /** Registers the closing. Default: when the present test has finished. */
  onEnd: (close: () => Promise<void>) => void = onTestFinished,
): Promise<Platform> {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-directory-'));
  const clock = { ms: Date.parse('2026-11-21T08:00:00.000Z') };
  const incidents: unknown[] = [];
  const fieldwork = makeVerticalDouble();
  const ownVerticals = new Set<string>();
  const isKnown = (vertical: string) => vertical === 'fieldwork' || ownVerticals.has(vertical);
  const gateway: VerticalGateway = {
    bound: (vertical) =>
      isKnown(vertical) && ['bound', 'both'].includes(platform.reach) ? fieldwork.bound : null,
    local: (vertical) =>
      isKnown(vertical) && ['local', 'both'].includes(platform.reach) ? fieldwork.local : null,
  };
  const open = () => {
    const world = {
      now: () => clock.ms,
      random: randomBytes,
      onIncident: (error: unknown) => void incidents.push(error),
    };
    const engine = openTestEngine({ dataDirectory, ...world });
    const originOf = (hostname: string) => `http://${hostname}:8787`;
    // No test waits for a clock: events are reported at once.
    const sleep: HostAdminOptions['sleep'] = (_ms, signal) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
    const wiring = { engine, gateway, originOf, sleep, staffIssuer: STAFF_ISSUER, ...world, ...options };
    return { engine, admin: makeHostAdmin(wiring) };
  };
  let running = open();
  /** Work that a test holds up for ever is left as a crash would leave it. */
  const stopWork = () =>
    Promise.race([running.admin.stopLongWork(), new Promise((resolve) => setTimeout(resolve, 50))]);
  let isOpen = true;
  const close = async (): Promise<void> => {
    if (!isOpen) return;
    isOpen = false;
    await stopWork();
    await running.engine.close();
    rmSync(dataDirectory, { recursive: true });
  };
  onEnd(close);

  let requests = 0;
  const platform: Platform = {
    get admin() {
      return running.admin;
    },
    clock,
    fieldwork,
    reach: 'bound',
    ownVerticals,
    incidents,
    call: async (name, { params, query, body, as = STAFF, key, ifMatch, upload, events } = {}) => {
      const { input }: AdminOperation = adminOperations[name];
      requests += 1;
      return running.admin.perform({
        operation: name,
        params: input.params ? parseInput('The path', input.params, params) : {},
        query: input.query ? parseInput('The query', input.query, query ?? {}) : {},
        body: input.body ? parseInput('The body', input.body, body) : {},
        actor: as,
        requestId: `req-${requests}`,
        ...(key === undefined ? {} : { idempotencyKey: key }),
        ...(ifMatch === undefined ? {} : { ifMatch }),
        ...(upload === undefined ? {} : { upload }),
        ...(events === undefined ? {} : { events }),
      });
    },
    value: async <T>(name: AdminOperationName, parts?: CallParts) =>
      (await platform.call(name, parts)).value as T,
    adminLog: async (query = {}) => {
      const page = await platform.value<{ items: AdminLogEntry[] }>('admin-log.list', {
        query: { limit: 200, ...query },
      });
      return page.items.reverse();
    },
    accessLog: async () => {
      const page = await platform.value<{ items: AccessLogEntry[] }>('access-log.list', {
        query: { limit: 200 },
      });
      return page.items.reverse();
    },
    tenant: (slug) => platform.value('tenants.create', { body: { slug, name: `Tenant ${slug}` } }),
    scope: (tenant, slug = 'main') =>
      platform.value('scopes.provision', {
        params: { tenant },
        body: { slug, name: `Scope ${slug}`, vertical: 'fieldwork' },
      }),
    hostname: (scope, hostname) =>
      platform.value('hostnames.bind', { body: { hostname, tenant: scope.tenant, scope: scope.id } }),
    builder: (tenant) => ({
      kind: 'builder',
      id: 'tok_01jd0000000000000000000002',
      name: 'ci',
      tenant: tenant as never,
    }),
    finish: async (call) => {
      const { id } = (await call).value as OperationRecord;
      return platform.value('operations.get', { params: { operation: id }, query: { wait: '60s' } });
    },
    tamper: async (work) => {
      await stopWork();
      await running.engine.close();
      const database = new DatabaseSync(join(dataDirectory, 'directory', 'main.sqlite'));
      try {
        work(database);
      } finally {
        database.close();
      }
      running = open();
    },
    look: (read) => {
      const path = join(dataDirectory, 'directory', 'main.sqlite');
      const database = new DatabaseSync(path, { readOnly: true });
      try {
        return read(database);
      } finally {
        database.close();
      }
    },
    close,
  };
  return platform;
}

/** Returns the refusal of a call; a call that was not refused fails the test. */
export async function refusal(
  call: Promise<unknown>,
): Promise<{ status: number; code: string; reason: string | undefined; message: string }> {
  try {
    await call;
  } catch (error) {
    if (error instanceof PlatformError)
      return {
        status: error.status,
        code: error.code,
        reason: error.reason,
        message: error.message,
      };
    throw error;
  }
  throw new Error('the call was not refused');
}
