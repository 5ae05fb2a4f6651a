/** The routes of the management contract that carry bytes: a scope's copy out and in, an attachment in and out (spec 4.4, D-02). */
import {
  ATTACHMENT_RECORD_HEADER,
  EXPORT_BOOKMARK_HEADER,
  EXPORT_FORMAT_HEADER,
  EXPORT_MEDIA_TYPES,
  parseInput,
  MANAGEMENT_ROUTES as ROUTES,
  type ScopeExport,
  type VerticalScopeHost,
} from '@freehold/contracts';
import type { Env } from 'hono';
import type { z } from 'zod';
import { textToBase64Url } from './base64url.ts';
import { beyond } from './beyond.ts';
import {
  bytesResponse,
  mediaTypeOf,
  receivedBytes,
  requireLength,
  requireUncompressed,
  wrongMediaType,
} from './bytes.ts';
import {
  type InternalRoute,
  internalRoute,
  judged,
  judgedBytes,
  type RequestOf,
  requestReader,
} from './internal-route.ts';
import type { PlatformSurfaceDeps } from './platform-surface-deps.ts';
import { jsonResponse, requestBody } from './request.ts';
import { readUploadForm } from './upload-form.ts';

export function bytesRoutes<E extends Env>(deps: PlatformSurfaceDeps<E['Bindings']>): InternalRoute<E>[] {
  return [
    copyOutRoute(deps, ROUTES.export, (host, query) => host.exportScopeLocal(query)),
    copyOutRoute(deps, ROUTES.snapshotOpen, (host, ref) => beyond(host, 'openSnapshotLocal')(ref)),
    copyRoute(deps, ROUTES.restore, (host, query, body) => host.restoreScopeLocal(query, body)),
    copyRoute(deps, ROUTES.examineCopy, (host, query, body) => beyond(host, 'examineCopyLocal')(query, body)),
    uploadRoute(deps),
    openRoute(deps),
  ];
}

/** A route that hands a copy out. */
function copyOutRoute<E extends Env, R extends typeof ROUTES.export | typeof ROUTES.snapshotOpen>(
  deps: PlatformSurfaceDeps<E['Bindings']>,
  route: R,
  open: (host: VerticalScopeHost, query: RequestOf<R>) => Promise<ScopeExport>,
): InternalRoute<E> {
  const read = requestReader(route);
  return internalRoute(route, async (c) => {
    const query = await read(c);
    const host = await deps.hostFor(c.env);
    const { body, ...head } = await open(host, query);
    const { format, bookmark } = judgedBytes(route, head, body);
    return bytesResponse(
      c,
      {
        body,
        filename: `${query.scopeId}.${format}`,
        headers: {
          'content-type': EXPORT_MEDIA_TYPES[format],
          [EXPORT_FORMAT_HEADER]: format,
          ...(bookmark === null ? {} : { [EXPORT_BOOKMARK_HEADER]: bookmark }),
        },
      },
      deps,
    );
  });
}

/** A route that takes a copy in. */
function copyRoute<E extends Env, R extends CopyRoute>(
  deps: PlatformSurfaceDeps<E['Bindings']>,
  route: R,
  take: (
    host: VerticalScopeHost,
    query: RequestOf<R>,
    body: ReadableStream<Uint8Array>,
  ) => Promise<z.input<R['response']>>,
): InternalRoute<E> {
  const read = requestReader(route);
  return internalRoute(route, async (c) => {
    const query = await read(c);
    const { headers } = c.req.raw;
    const mediaType = EXPORT_MEDIA_TYPES[query.format];
    if (mediaTypeOf(headers) !== mediaType) throw wrongMediaType(mediaType);
    requireUncompressed(headers);
    requireLength(headers, deps.restoreBytesMax);
    const host = await deps.hostFor(c.env);
    const received = receivedBytes(await requestBody(c), deps.restoreBytesMax);
    try {
      return jsonResponse(c, judged(route, await take(host, query, received.body)), route.status);
    } catch (error) {
      throw received.fault() ?? error;
    } finally {
      received.end();
    }
  });
}

type CopyRoute = typeof ROUTES.restore | typeof ROUTES.examineCopy;

function uploadRoute<E extends Env>(deps: PlatformSurfaceDeps<E['Bindings']>): InternalRoute<E> {
  const route = ROUTES.connectorAttachmentUpload;
  return internalRoute(route, async (c) => {
    // The server drops what is left unread. Cancelling adds nothing, and undici (Node 26) answers the cancelling of a
    // FormData of its own with an unhandled rejection.
    const { body } = receivedBytes(await requestBody(c));
    const { meta: given, file } = await readUploadForm(c.req.raw.headers, body);
    const { tenantId, scopeId, connection, ...meta } = parseInput('The field meta', route.request, given);
    const host = await deps.hostFor(c.env);
    // The host limits the size of a file: it counts the bytes as it takes them.
    const content = receivedBytes(file);
    try {
      const record = await host.connectorAttachmentUploadLocal(
        { tenantId, scopeId, connection, meta },
        content.body,
      );
      return jsonResponse(c, judged(route, record), route.status);
    } catch (error) {
      throw content.fault() ?? error;
    }
  });
}

function openRoute<E extends Env>(deps: PlatformSurfaceDeps<E['Bindings']>): InternalRoute<E> {
  const route = ROUTES.connectorAttachmentOpen;
  const read = requestReader(route);
  return internalRoute(route, async (c) => {
    const ref = await read(c);
    const host = await deps.hostFor(c.env);
    const { record: given, body } = await host.connectorAttachmentOpenLocal(ref);
    const record = judgedBytes(route, given, body);
    return bytesResponse(
      c,
      {
        body,
        filename: record.filename,
        headers: {
          // The answer is plain bytes, whatever the file claims to be. The record has the media type.
          'content-type': 'application/octet-stream',
          [ATTACHMENT_RECORD_HEADER]: textToBase64Url(JSON.stringify(record)),
        },
      },
      deps,
    );
  });
}
