/** The style sheet and the script. They are the same for all users, so a cache may store them and revalidate. */
import { createHash } from 'node:crypto';
import { entityTag, isUnchanged } from '@freehold/contracts/http';
import { CLIENT_SCRIPT } from '../assets/client-script.ts';
import { styleSheet } from '../assets/style.ts';
import type { Exchange, Handler } from '../lib/context.ts';

export const showStyle: Handler = async (exchange) =>
  assetResponse(exchange, 'text/css; charset=utf-8', styleSheet(exchange.theme.accent));

export const showScript: Handler = async (exchange) =>
  assetResponse(exchange, 'text/javascript; charset=utf-8', CLIENT_SCRIPT);

function assetResponse({ request }: Exchange, contentType: string, text: string): Response {
  const version = createHash('sha256').update(text).digest('base64url').slice(0, 22);
  const headers = {
    etag: entityTag(version),
    // Stored, and revalidated each time: a page never runs with the script of another version.
    'cache-control': 'no-cache',
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
  };
  if (isUnchanged(request.headers.get('if-none-match'), version))
    return new Response(null, { status: 304, headers });
  return new Response(text, { headers: { ...headers, 'content-type': contentType } });
}
