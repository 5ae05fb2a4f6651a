/** The routes of the management contract by which a connection writes files back, and reads them (spec 4.4, D-02). */
import { ATTACHMENT_RECORD_HEADER, parseInput, MANAGEMENT_ROUTES as ROUTES } from '@freehold/contracts';
import type { Env } from 'hono';
import type { PlatformSurfaceDeps } from '../platform-surface-deps.ts';
import { textToBase64Url } from './base64url.ts';
import { type InternalRoute, internalRoute, judged, judgedBytes, requestReader } from './internal-route.ts';
import { jsonResponse } from './json-response.ts';
import { receivedBytes } from './received-bytes.ts';
import { requestBody } from './request-body.ts';
import { bytesResponse } from './sent-bytes.ts';
import { readUploadForm } from './upload-form.ts';

export function attachmentRoutes<E extends Env>(
  deps: PlatformSurfaceDeps<E['Bindings']>,
): InternalRoute<E>[] {
  return [uploadRoute(deps), openRoute(deps)];
}

function uploadRoute<E extends Env>(deps: PlatformSurfaceDeps<E['Bindings']>): InternalRoute<E> {
  const route = ROUTES.connectorAttachmentUpload;
  return internalRoute(route, async (c) => {
    // What nobody reads of it, the server drops. Cancelling it would say nothing more, and undici (Node 26) answers the
    // cancelling of a FormData that it made itself with a rejection that nobody can catch.
    const { body } = receivedBytes(await requestBody(c));
    const { meta: given, file } = await readUploadForm(c.req.raw.headers, body);
    const { tenantId, scopeId, connection, ...meta } = parseInput('The field meta', route.request, given);
    const host = await deps.hostFor(c.env);
    // How large a file may be, the host says: it counts the bytes as it takes them.
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
          // Whatever the file says it is: here it is bytes. The record tells the rest.
          'content-type': 'application/octet-stream',
          [ATTACHMENT_RECORD_HEADER]: textToBase64Url(JSON.stringify(record)),
        },
      },
      deps,
    );
  });
}
