/** One good request for every route of the management contract, and a host that notes what it is asked. */
import {
  EXPORT_MEDIA_TYPES,
  MANAGEMENT_ROUTES,
  type ManagementRoute,
  type PlatformRequest,
  type VerticalScopeHost,
} from '@freehold/contracts';

const ULID = '01hzzzzzzzzzzzzzzzzzzzzzzz';
export const SCOPE = { tenantId: `tnt_${ULID}`, scopeId: `scp_${ULID}` };
export const AT = '2026-11-21T08:30:00.000Z';
export const CONNECTION = `con_${ULID}`;
export const ATTACHMENT = `att_${ULID}`;
const SNAPSHOT = `snp_${ULID}`;
const EVENT_ID = `evt_${ULID}`;
const INVOCATION_ID = `inv_${ULID}`;
const REQUEST_ID = `prq_${ULID}`;

export type RouteName = keyof typeof MANAGEMENT_ROUTES;
export const ROUTE_NAMES = Object.keys(MANAGEMENT_ROUTES) as RouteName[];

const META = {
  entity: { type: 'order', id: '17' },
  filename: 'Résumé "1".pdf',
  mediaType: 'application/pdf',
};
export const FILE = 'the bytes of a file';
export const COPY = 'the bytes of a copy';

/** The fields of each route's request, beside the scope; defaults are left out. */
export const FIELDS: Readonly<Record<RouteName, Readonly<Record<string, unknown>>>> = {
  export: { format: 'ndjson' },
  restore: { format: 'ndjson' },
  examineCopy: { format: 'ndjson' },
  bookmarks: { at: AT },
  migrations: {},
  rewind: { bookmark: 'bm_7' },
  snapshot: { name: 'before the move' },
  snapshotOpen: { snapshot: SNAPSHOT },
  snapshotDelete: { snapshot: SNAPSHOT },
  deleteScope: {},
  tables: {},
  table: {
    table: 'orders/50% & "more"',
    filters: [
      { column: 'état', op: 'like', value: 'a%&=' },
      { column: 'n', op: '>=', value: 2.5 },
      { column: 'gone', op: 'is null' },
    ],
    order: 'desc',
  },
  query: { sql: 'SELECT ?', params: ['x', 1, null] },
  history: { entityType: 'order', entityId: '17', limit: 5, cursor: 'abc' },
  facets: { groupBy: 'day', since: AT },
  cause: { event: EVENT_ID },
  effects: { event: EVENT_ID },
  invocation: { invocation: INVOCATION_ID },
  deadLetters: { subscriber: 'invoices' },
  retryDeadLetter: { event: EVENT_ID, subscriber: 'invoices' },
  shredSubject: { subject: 'customer-17' },
  denials: { permission: 'order.create' },
  denialsSummary: { groupBy: 'operation' },
  platformRequests: { kind: 'mail.send' },
  platformRequestHistory: { status: 'done' },
  settlePlatformRequest: { id: REQUEST_ID, revision: 1, status: 'done', result: { sent: true } },
  connectorInvoke: {
    connection: CONNECTION,
    operation: 'order/create',
    input: { n: 1 },
    idempotencyKey: 'k',
  },
  connectorAttachmentUpload: { connection: CONNECTION, ...META },
  connectorAttachmentOpen: { connection: CONNECTION, attachment: ATTACHMENT },
  connectorGrant: { connection: CONNECTION, permission: 'order.create' },
  provision: { name: 'Acme' },
  reconcile: { roles: { auditor: ['order.read'] } },
  configure: { config: { 'platform:auth': '{}', OLD: null } },
  ownerSeat: {},
  ownerClaim: { origin: 'https://acme.example' },
  sessionSecretRotate: { by: 'ada', keepFormer: false },
  ownerReplacement: { origin: 'https://acme.example', by: 'ada', why: 'Ticket 18.', replace: true },
  ownerRecoveryEnd: { by: 'ada', why: 'Ticket 19.' },
  ownerRecovery: { origin: 'https://acme.example', by: 'ada', why: 'Ticket 17.', recover: true },
};

/** The host's arguments, where they are not the scope and the fields with these defaults. */
const DEFAULTS: Partial<Record<RouteName, Readonly<Record<string, unknown>>>> = {
  bookmarks: { limit: 20 },
  table: { limit: 20 },
  facets: {},
  deadLetters: { limit: 20 },
  denials: { limit: 20 },
  platformRequests: { limit: 20 },
  platformRequestHistory: { limit: 20 },
};

export function askedWith(name: RouteName): Readonly<Record<string, unknown>> {
  return { ...SCOPE, ...FIELDS[name], ...DEFAULTS[name] };
}

const EVENT = {
  id: EVENT_ID,
  type: 'order.created',
  entity: { type: 'order', id: '17' },
  actor: `prn_${ULID}`,
  operation: 'order/create',
  invocation: INVOCATION_ID,
  cause: null,
  piiClass: 'none',
  subject: null,
  payload: { total: 3 },
  at: AT,
};
const BOOKMARK = { bookmark: 'bm_7', at: AT };
const REQUEST: PlatformRequest = {
  id: REQUEST_ID,
  kind: 'mail.send',
  payload: { to: 'Ada' },
  status: 'pending',
  revision: 1,
  requestedBy: `prn_${ULID}`,
  invocation: INVOCATION_ID as never,
  cause: null,
  at: AT,
  settledAt: null,
  result: null,
};
const COLUMN = { name: 'id', type: 'TEXT', notNull: true, primaryKey: 1 };
export const RECORD = {
  id: ATTACHMENT,
  ...META,
  bytes: FILE.length,
  digest: 'abc',
  by: `connection:${CONNECTION}`,
  at: AT,
};

/** The result of each member of the host; those of byte routes without their bytes. */
export const ANSWERS = {
  provisionScopeLocal: 'provisioned',
  projectRolesLocal: undefined,
  appliedMigrationsLocal: [{ set: 'vertical', version: 1, name: 'orders', digest: 'abc', appliedAt: AT }],
  entityHistoryLocal: { items: [EVENT], nextCursor: 'more' },
  facetEventsLocal: {
    groupBy: 'day',
    since: AT,
    until: AT,
    total: 1,
    buckets: [{ key: '2026-11-21', count: 1, firstAt: AT, lastAt: AT }],
    others: 0,
    truncated: false,
  },
  eventCauseLocal: { items: [EVENT], truncated: true },
  eventEffectsLocal: { items: [], truncated: false },
  invocationEventsLocal: {
    invocation: {
      id: INVOCATION_ID,
      operation: 'order/create',
      principal: `prn_${ULID}`,
      parent: null,
      cause: null,
      idempotencyKey: null,
      startedAt: AT,
      durationMs: 3,
      outcome: 'ok',
    },
    items: [EVENT],
    truncated: false,
  },
  deadLettersLocal: {
    items: [
      {
        event: EVENT,
        subscriber: 'invoices',
        attempts: 5,
        firstAttemptAt: AT,
        lastAttemptAt: AT,
        error: { code: 'unavailable', detail: 'The printer is away.' },
      },
    ],
    nextCursor: null,
  },
  listDenialsLocal: {
    items: [
      {
        id: `dnl_${ULID}`,
        actor: `prn_${ULID}`,
        permission: 'order.create',
        entity: null,
        operation: null,
        at: AT,
      },
    ],
    nextCursor: null,
  },
  summarizeDenialsLocal: {
    groupBy: 'operation',
    total: 2,
    buckets: [{ operation: null, count: 2, lastAt: AT }],
  },
  introspectScopeTables: [{ name: 'orders', kind: 'vertical', type: 'table', columns: [COLUMN], rows: null }],
  introspectScopeTable: {
    table: 'orders',
    columns: [COLUMN],
    rows: [['17'], [{ $integer: '9223372036854775807' }], [null]],
    nextCursor: null,
    truncated: false,
  },
  introspectScopeQuery: {
    columns: ['a', 'a'],
    rows: [[1, { $bytes: 'AP8', length: 2 }]],
    truncated: 'rows',
    limits: { rows: 1_000, bytes: 4_194_304, timeMs: 5_000 },
    durationMs: 1.5,
  },
  exportScopeLocal: { format: 'ndjson', bookmark: 'bm_7' },
  restoreScopeLocal: { format: 'ndjson', tables: 2, rows: 9, undo: 'bm_6' },
  snapshotScopeLocal: {
    id: `snp_${ULID}`,
    name: 'before the move',
    bytes: 12,
    digest: 'abc',
    bookmark: null,
    at: AT,
  },
  deleteScopeLocal: undefined,
  migrationBookmarksLocal: { items: [BOOKMARK], nextCursor: 'more', current: BOOKMARK, earliest: null },
  rewindScopeLocal: { ...BOOKMARK, undo: 'bm_9' },
  listPlatformRequests: { items: [REQUEST], nextCursor: null },
  listPlatformRequestHistory: { items: [], nextCursor: 'more' },
  settlePlatformRequest: { ...REQUEST, status: 'done', revision: 2, settledAt: AT, result: { sent: true } },
  connectorInvokeLocal: { output: { id: '17' }, invocation: INVOCATION_ID, version: null, replayed: true },
  connectorGrantLocal: { subject: `connection:${CONNECTION}`, permission: 'order.create', entity: null },
  connectorAttachmentUploadLocal: RECORD,
  connectorAttachmentOpenLocal: RECORD,
} as const satisfies Record<keyof VerticalScopeHost, unknown>;

/** Which member answers a route, and what the route makes of its answer; hooks answer the others. */
export const MEMBERS = {
  export: 'exportScopeLocal',
  restore: 'restoreScopeLocal',
  bookmarks: 'migrationBookmarksLocal',
  migrations: 'appliedMigrationsLocal',
  rewind: 'rewindScopeLocal',
  snapshot: 'snapshotScopeLocal',
  deleteScope: 'deleteScopeLocal',
  tables: 'introspectScopeTables',
  table: 'introspectScopeTable',
  query: 'introspectScopeQuery',
  history: 'entityHistoryLocal',
  facets: 'facetEventsLocal',
  cause: 'eventCauseLocal',
  effects: 'eventEffectsLocal',
  invocation: 'invocationEventsLocal',
  deadLetters: 'deadLettersLocal',
  denials: 'listDenialsLocal',
  denialsSummary: 'summarizeDenialsLocal',
  platformRequests: 'listPlatformRequests',
  platformRequestHistory: 'listPlatformRequestHistory',
  settlePlatformRequest: 'settlePlatformRequest',
  connectorInvoke: 'connectorInvokeLocal',
  connectorAttachmentUpload: 'connectorAttachmentUploadLocal',
  connectorAttachmentOpen: 'connectorAttachmentOpenLocal',
  connectorGrant: 'connectorGrantLocal',
  provision: 'provisionScopeLocal',
  reconcile: 'projectRolesLocal',
} as const satisfies Partial<Record<RouteName, keyof VerticalScopeHost>>;

export type Call = readonly [what: string, ...with_: unknown[]];

/** A host that notes what it is asked, bytes included, and answers what a test can recognise. */
export function notingHost(calls: Call[], over: Partial<VerticalScopeHost> = {}): VerticalScopeHost {
  const note =
    (member: keyof VerticalScopeHost) =>
    async (...args: unknown[]): Promise<unknown> => {
      const seen = await Promise.all(
        args.map((arg) => (arg instanceof ReadableStream ? new Response(arg).text() : arg)),
      );
      calls.push([member, ...seen]);
      return ANSWERS[member];
    };
  const members = Object.keys(ANSWERS) as (keyof VerticalScopeHost)[];
  const host = Object.fromEntries(
    members.map((member) => [member, note(member)]),
  ) as unknown as VerticalScopeHost;
  const { exportScopeLocal, connectorAttachmentOpenLocal } = host;
  return {
    ...host,
    exportScopeLocal: async (query) => ({ ...(await exportScopeLocal(query)), body: bytes(COPY) }),
    connectorAttachmentOpenLocal: async (ref) => ({
      record: (await connectorAttachmentOpenLocal(ref)) as never,
      body: bytes(FILE),
    }),
    ...over,
  };
}

/** A stream of this text, in pieces of 7 bytes. */
export function bytes(text: string): ReadableStream<Uint8Array> {
  const all = new TextEncoder().encode(text);
  let at = 0;
  return new ReadableStream({
    pull: (controller) => {
      if (at >= all.length) return controller.close();
      controller.enqueue(all.slice(at, at + 7));
      at += 7;
    },
  });
}

/** The request of a route with these fields, as the wire has it. */
export function requestOf(
  name: RouteName,
  fields: Readonly<Record<string, unknown>> = { ...SCOPE, ...FIELDS[name] },
): { path: string; init: RequestInit } {
  const route: ManagementRoute = MANAGEMENT_ROUTES[name];
  const left = { ...fields };
  const path = route.path.replaceAll(/:(\w+)/g, (_, field: string) => {
    const value = encodeURIComponent(String(left[field]));
    delete left[field];
    return value;
  });
  const { method } = route;
  if (route.takes === 'json') {
    const headers = { 'content-type': 'application/json' };
    return { path: `/internal/${path}`, init: { method, headers, body: JSON.stringify(left) } };
  }
  if (route.takes === 'form') {
    const body = new FormData();
    body.append('meta', JSON.stringify(left));
    body.append('file', new Blob([FILE]), 'anything.bin');
    return { path: `/internal/${path}`, init: { method, body } };
  }
  const query = new URLSearchParams();
  for (const [field, value] of Object.entries(left)) {
    if (value !== undefined)
      query.set(field, typeof value === 'object' ? JSON.stringify(value) : String(value));
  }
  const init =
    route.takes === 'bytes'
      ? { method, body: COPY, headers: { 'content-type': EXPORT_MEDIA_TYPES.ndjson } }
      : { method };
  return { path: `/internal/${path}?${query}`, init };
}
