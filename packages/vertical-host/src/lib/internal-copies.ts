/** The routes of the management contract that carry a whole scope: one out, one in. */
import {
  EXPORT_BOOKMARK_HEADER,
  EXPORT_FORMAT_HEADER,
  EXPORT_MEDIA_TYPES,
  MANAGEMENT_ROUTES as ROUTES,
} from '@freehold/contracts';
import type { Env } from 'hono';
import type { PlatformSurfaceDeps } from '../platform-surface-deps.ts';
import { type InternalRoute, internalRoute, judged, judgedBytes, requestReader } from './internal-route.ts';
import { jsonResponse } from './json-response.ts';
import {
  mediaTypeOf,
  receivedBytes,
  requireLength,
  requireUncompressed,
  wrongMediaType,
} from './received-bytes.ts';
import { requestBody } from './request-body.ts';
import { bytesResponse } from './sent-bytes.ts';

export function copyRoutes<E extends Env>(deps: PlatformSurfaceDeps<E['Bindings']>): InternalRoute<E>[] {
  return [exportRoute(deps), restoreRoute(deps)];
}

function exportRoute<E extends Env>(deps: PlatformSurfaceDeps<E['Bindings']>): InternalRoute<E> {
  const read = requestReader(ROUTES.export);
  return internalRoute(ROUTES.export, async (c) => {
    const query = await read(c);
    const host = await deps.hostFor(c.env);
    const { body, ...head } = await host.exportScopeLocal(query);
    const { format, bookmark } = judgedBytes(ROUTES.export, head, body);
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

function restoreRoute<E extends Env>(deps: PlatformSurfaceDeps<E['Bindings']>): InternalRoute<E> {
  const read = requestReader(ROUTES.restore);
  return internalRoute(ROUTES.restore, async (c) => {
    const query = await read(c);
    const { headers } = c.req.raw;
    const mediaType = EXPORT_MEDIA_TYPES[query.format];
    if (mediaTypeOf(headers) !== mediaType) throw wrongMediaType(mediaType);
    requireUncompressed(headers);
    requireLength(headers, deps.restoreBytesMax);
    const host = await deps.hostFor(c.env);
    const received = receivedBytes(await requestBody(c), deps.restoreBytesMax);
    try {
      const restored = await host.restoreScopeLocal(query, received.body);
      return jsonResponse(c, judged(ROUTES.restore, restored), ROUTES.restore.status);
    } catch (error) {
      throw received.fault() ?? error;
    } finally {
      received.end();
    }
  });
}
