/** The API over the real host administration on the embedded engine, in a directory of its own. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PlatformError, toTimestamp, type VerticalScopeHost } from '@freehold/contracts';
import type { PlatformSecret, RateLimit } from '@freehold/contracts/http';
import {
  type BackupStore,
  type ConnectionsOptions,
  makeHostAdmin,
  type VerticalRuntime,
} from '@freehold/directory';
import { openTestEngine } from '../../../testkit/src/index.ts';
import { controlPlaneApp } from '../../src/app.ts';
import type { ClientOptions } from '../../src/client/index.ts';
import type { RequestLine } from '../../src/http/env.ts';
import type { StaffRelyingParty } from '../../src/index.ts';

const NOW_MS = Date.parse('2026-11-21T08:00:00.000Z');

const NONE = { items: [], nextCursor: null };
const unknown = (what: string) => () =>
  Promise.reject(new PlatformError('not_found', `There is no such ${what}.`));
const unsupported = () => Promise.reject(new PlatformError('unsupported', 'This vertical keeps nothing.'));

/** A co-located vertical with nothing in it. */
const emptyVertical: VerticalScopeHost = {
  provisionScopeLocal: async () => 'provisioned',
  projectRolesLocal: async () => undefined,
  appliedMigrationsLocal: async () => [],
  entityHistoryLocal: async () => NONE,
  facetEventsLocal: async ({ groupBy }) => ({
    groupBy,
    since: toTimestamp(NOW_MS),
    until: toTimestamp(NOW_MS),
    total: 0,
    buckets: [],
    others: 0,
    truncated: false,
  }),
  eventCauseLocal: unknown('event'),
  eventEffectsLocal: unknown('event'),
  invocationEventsLocal: unknown('invocation'),
  deadLettersLocal: async () => NONE,
  listDenialsLocal: async () => NONE,
  summarizeDenialsLocal: async ({ groupBy }) => ({ groupBy, total: 0, buckets: [] }),
  introspectScopeTables: async () => [],
  introspectScopeTable: unknown('table'),
  introspectScopeQuery: unsupported,
  exportScopeLocal: unsupported,
  restoreScopeLocal: unsupported,
  snapshotScopeLocal: unsupported,
  deleteScopeLocal: async () => undefined,
  migrationBookmarksLocal: async () => ({ ...NONE, current: null, earliest: null }),
  rewindScopeLocal: unknown('bookmark'),
  listPlatformRequests: async () => NONE,
  listPlatformRequestHistory: async () => NONE,
  settlePlatformRequest: unknown('request'),
  connectorInvokeLocal: unknown('operation'),
  connectorGrantLocal: unsupported,
  connectorAttachmentUploadLocal: unsupported,
  connectorAttachmentOpenLocal: unknown('attachment'),
};

/** The secret from which those of verticals are derived. */
export const PLATFORM_SECRET = 'the platform secret of these tests, long enough';

export interface RealPlatformOptions {
  /** Default: nothing can be connected, and the door for verticals is shut. */
  readonly connections?: ConnectionsOptions;
  /** The methods of the co-located vertical. Default: none. */
  readonly vertical?: Partial<VerticalScopeHost>;
  /** Default: nowhere. */
  readonly backups?: BackupStore;
  /** The runtime of uploaded versions. Default: none. */
  readonly runtime?: VerticalRuntime;
  /** The secret from which those of verticals are derived. Default: `PLATFORM_SECRET`. */
  readonly platformSecret?: PlatformSecret;
  /** Default: no caller is counted. */
  readonly rateLimit?: RateLimit | null;
  /**
   * Its origin, with an authorization server for programs, tools, and a reference to read. A cookie `who=<login>` is
   * then the session of that member of the staff. Default: none, and no sign-in.
   */
  readonly origin?: string;
}

const PAGE = { headers: { 'content-type': 'text/html' } };
const SCRIPT = { headers: { 'content-type': 'text/javascript' } };

/** The issuer of members who sign in by a cookie. */
export const ISSUER = 'https://id.example.test';

/** The session that a cookie `who=<login>` is, without any proof. */
const cookieParty: StaffRelyingParty = {
  handle: () => Promise.reject(new Error('there is no sign-in in this test')),
  handleBackchannelLogout: () => Promise.reject(new Error('there is no sign-out in this test')),
  session: (headers) => {
    const login = /who=(\w+)/.exec(headers.get('cookie') ?? '')?.[1];
    return login === undefined ? null : { sid: `sid-${login}`, issuer: ISSUER, subject: login };
  },
};

/** Opens it. `await using` closes it. */
export async function openRealPlatform({
  connections,
  vertical = {},
  backups,
  runtime,
  rateLimit = null,
  origin,
  ...given
}: RealPlatformOptions = {}) {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-control-plane-'));
  const incidents: unknown[] = [];
  const world = {
    now: () => NOW_MS,
    random: randomBytes,
    onIncident: (error: unknown) => void incidents.push(error),
  };
  const engine = openTestEngine({ dataDirectory, ...world });
  const gateway = {
    bound: () => null,
    local: (slug: string) => (slug === 'fieldwork' ? { ...emptyVertical, ...vertical } : null),
  };
  const originOf = (hostname: string) => `http://${hostname}:8787`;
  const hostAdmin = makeHostAdmin({
    engine,
    gateway,
    originOf,
    staffIssuer: ISSUER,
    ...world,
    ...(connections === undefined ? {} : { connections }),
    ...(backups === undefined ? {} : { backups }),
    ...(runtime === undefined ? {} : { runtime }),
  });
  const { secret } = await hostAdmin.mintServiceToken({ name: 'tests' });
  let requests = 0;
  const lines: RequestLine[] = [];
  const app = controlPlaneApp({
    hostAdmin,
    ...world,
    // The clock stands still here, so that no allowance would ever come back.
    rateLimit,
    newRequestId: () => `req_${++requests}`,
    onRequest: (line) => lines.push(line),
    platformSecret: PLATFORM_SECRET,
    ...given,
    ...(connections === undefined ? {} : { connect: hostAdmin.connections }),
    ...(origin === undefined
      ? {}
      : {
          origin: () => origin,
          staff: { signIns: hostAdmin.staff, relyingParty: () => cookieParty },
          docs: {
            page: () => new Response('page', PAGE),
            script: async () => new Response('script', SCRIPT),
          },
        }),
  });
  const send = async (request: Request): Promise<Response> => app.fetch(request);
  return {
    incidents,
    hostAdmin,
    dataDirectory,
    /** One a request, as a log would have them. */
    lines,
    /** A service token. */
    secret,
    send,
    /** Options for a client that calls this platform with a token. */
    clientOptions: (token = secret): ClientOptions => ({
      baseUrl: 'https://control.example',
      token,
      fetch: send,
    }),
    [Symbol.asyncDispose]: async () => {
      await engine.close();
      rmSync(dataDirectory, { recursive: true, force: true });
    },
  };
}
