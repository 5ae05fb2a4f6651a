/** The scopes of a vertical that runs elsewhere: the management contract over HTTP (spec 4.4). */
import {
  ATTACHMENT_RECORD_HEADER,
  attachmentRecord,
  EXPORT_BOOKMARK_HEADER,
  EXPORT_FORMAT_HEADER,
  EXPORT_MEDIA_TYPES,
  exportHead,
  type ManagementRoute,
  PlatformError,
  MANAGEMENT_ROUTES as ROUTES,
  type restoreQuery,
  type ScopeErasure,
  type ScopeExamination,
  type ScopeRetries,
  type VerticalScopeHost,
} from '@freehold/contracts';
import type { z } from 'zod';
import { base64UrlToText } from '../lib/base64url.ts';
import { type SetTimer, systemTimer } from '../lib/watchdog.ts';
import { type Content, makeExchange } from './exchange.ts';
import { unusable } from './judge-answer.ts';
import { writeUploadForm } from './upload-form.ts';

/** The remote implementation of the management contract. */
export type VerticalClient = VerticalScopeHost & ScopeRetries & ScopeErasure & ScopeExamination;

export interface VerticalClientOptions {
  /**
   * The address of the vertical, without `/internal/…`. Default: `http://vertical.internal`, for a `fetch` that knows
   * it.
   */
  readonly baseUrl?: string;
  /** Moves a request; rejects only when the vertical cannot be reached. Default: the platform's. */
  readonly fetch?: (request: Request) => Promise<Response>;
  readonly platformSecret: string;
  /** The time for an answer, in milliseconds. Default: 30 seconds. */
  readonly timeoutMs?: number;
  /**
   * The same for routes that move or copy a scope or a file. Bytes in transit, in either direction, have that long for
   * each piece. Default: 5 minutes.
   */
  readonly transferTimeoutMs?: number;
  /** Default: the system's timers. */
  readonly setTimer?: SetTimer;
  /** That many bytes from a cryptographic source. Default: the platform's. */
  readonly random?: (bytes: number) => Uint8Array;
}

const TIMEOUT_MS = 30_000;
const TRANSFER_TIMEOUT_MS = 300_000;

/** Routes that take longer for a larger scope or file. */
const LONG: ReadonlySet<ManagementRoute> = new Set<ManagementRoute>([
  ROUTES.examineCopy,
  ROUTES.export,
  ROUTES.restore,
  ROUTES.rewind,
  ROUTES.snapshot,
  ROUTES.deleteScope,
  ROUTES.connectorAttachmentUpload,
  ROUTES.connectorAttachmentOpen,
]);

/**
 * Members reject with a `PlatformError`: the vertical's refusal, with its code, reason, field errors and status;
 * `unavailable` (503), reason `vertical_unreachable` or `vertical_timeout`; `runtime_fault` (502), reason
 * `vertical_answer`, for an answer outside of the contract. After the last three the outcome is unknown. There are no
 * retries. Both directions stream, one piece at a time.
 */
export function makeVerticalClient(options: VerticalClientOptions): VerticalClient {
  const {
    baseUrl = 'http://vertical.internal',
    fetch = (request: Request) => globalThis.fetch(request),
    platformSecret,
    timeoutMs = TIMEOUT_MS,
    transferTimeoutMs = TRANSFER_TIMEOUT_MS,
    setTimer = systemTimer,
    random = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes)),
  } = options;
  const exchange = makeExchange({ baseUrl, fetch, platformSecret, setTimer });
  const silenceMs = (route: ManagementRoute) => (LONG.has(route) ? transferTimeoutMs : timeoutMs);

  const ask = <R extends ManagementRoute>(
    route: R,
    fields: z.output<R['request']> & Readonly<Record<string, unknown>>,
    content?: Content,
  ): Promise<z.output<R['response']>> =>
    exchange.ask({ route, fields, silenceMs: silenceMs(route), ...(content ? { content } : {}) });

  const sendCopy = async <R extends typeof ROUTES.restore | typeof ROUTES.examineCopy>(
    route: R,
    { tenantId, scopeId, format, ifMissing }: z.infer<typeof restoreQuery>,
    body: ReadableStream<Uint8Array>,
  ): Promise<z.output<R['response']>> => {
    try {
      // A copy can be large: a missing scope should be found before the copy is sent.
      if (ifMissing === undefined) await ask(ROUTES.migrations, { tenantId, scopeId });
    } catch (error) {
      // A damaged scope is there, and a restore is its way back.
      if (!(error instanceof PlatformError) || error.reason !== 'unit_unreadable') {
        body.cancel(error).catch(() => undefined);
        throw error;
      }
    }
    const content = { mediaType: EXPORT_MEDIA_TYPES[format], body };
    return ask(route, { tenantId, scopeId, format, ifMissing } as z.output<R['request']>, content);
  };

  return {
    provisionScopeLocal: async ({ tenantId, scopeId, name }) =>
      (await ask(ROUTES.provision, { tenantId, scopeId, name })).status,
    projectRolesLocal: async ({ tenantId, scopeId }, roles) =>
      void (await exchange.ask({
        route: ROUTES.reconcile,
        fields: { tenantId, scopeId, roles },
        silenceMs: timeoutMs,
      })),
    appliedMigrationsLocal: async ({ tenantId, scopeId }) =>
      (await ask(ROUTES.migrations, { tenantId, scopeId })).items,

    entityHistoryLocal: (query) => ask(ROUTES.history, query),
    facetEventsLocal: (query) => ask(ROUTES.facets, query),
    eventCauseLocal: (ref) => ask(ROUTES.cause, ref),
    eventEffectsLocal: (ref) => ask(ROUTES.effects, ref),
    invocationEventsLocal: (ref) => ask(ROUTES.invocation, ref),
    deadLettersLocal: (query) => ask(ROUTES.deadLetters, query),
    retryDeadLetterLocal: async (ref) => void (await ask(ROUTES.retryDeadLetter, ref)),
    shredSubjectLocal: ({ tenantId, scopeId, subject }) =>
      ask(ROUTES.shredSubject, { tenantId, scopeId, subject }),
    listDenialsLocal: (query) => ask(ROUTES.denials, query),
    summarizeDenialsLocal: (query) => ask(ROUTES.denialsSummary, query),

    introspectScopeTables: async ({ tenantId, scopeId }) =>
      (await ask(ROUTES.tables, { tenantId, scopeId })).items,
    introspectScopeTable: (query) => ask(ROUTES.table, query),
    introspectScopeQuery: (request) => ask(ROUTES.query, request),

    exportScopeLocal: async (query) => {
      const route = ROUTES.export;
      const { head, body } = await exchange.open({
        route,
        fields: query,
        silenceMs: silenceMs(route),
        head: (headers) =>
          requireHead(exportHead, {
            format: headers.get(EXPORT_FORMAT_HEADER),
            bookmark: headers.get(EXPORT_BOOKMARK_HEADER),
          }),
        mediaType: ({ format }) => EXPORT_MEDIA_TYPES[format],
      });
      return { ...head, body };
    },
    restoreScopeLocal: (query, body) => sendCopy(ROUTES.restore, query, body),
    examineCopyLocal: (query, body) => sendCopy(ROUTES.examineCopy, query, body),
    snapshotScopeLocal: (request) => ask(ROUTES.snapshot, request),
    deleteScopeLocal: async ({ tenantId, scopeId }) =>
      void (await ask(ROUTES.deleteScope, { tenantId, scopeId })),
    migrationBookmarksLocal: (query) => ask(ROUTES.bookmarks, query),
    rewindScopeLocal: (request) => ask(ROUTES.rewind, request),

    listPlatformRequests: (query) => ask(ROUTES.platformRequests, query),
    listPlatformRequestHistory: (query) => ask(ROUTES.platformRequestHistory, query),
    settlePlatformRequest: (request) => ask(ROUTES.settlePlatformRequest, request),

    connectorInvokeLocal: (request) => ask(ROUTES.connectorInvoke, request),
    connectorGrantLocal: (grant) => ask(ROUTES.connectorGrant, grant),
    connectorAttachmentUploadLocal: ({ tenantId, scopeId, connection, meta }, body) => {
      const request = { ...meta, tenantId, scopeId, connection };
      return ask(ROUTES.connectorAttachmentUpload, request, writeUploadForm(request, body, random));
    },
    connectorAttachmentOpenLocal: async (ref) => {
      const route = ROUTES.connectorAttachmentOpen;
      const { head, body } = await exchange.open({
        route,
        fields: ref,
        silenceMs: silenceMs(route),
        head: (headers) => requireHead(attachmentRecord, decoded(headers.get(ATTACHMENT_RECORD_HEADER))),
        mediaType: () => 'application/octet-stream',
        bytes: ({ bytes }) => bytes,
      });
      return { record: head, body };
    },
  };
}

function requireHead<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw unusable('The application answered bytes without saying what they are.');
}

function decoded(header: string | null): unknown {
  try {
    return JSON.parse(base64UrlToText(header ?? ''));
  } catch {
    return undefined;
  }
}
