/** The addresses of the outbox: the list, one message, and that message's HTML alone for the frame that shows it. */
import type { OutboxMessage } from './outbox.ts';
import { framedHtml, listPage, messagePage, missingPage, styleHash } from './outbox-pages.ts';

export interface OutboxView {
  /** Newest first. */
  readonly messages: readonly OutboxMessage[];
  readonly basePath: string;
}

const PAGE_POLICY = [
  "default-src 'none'",
  `style-src '${styleHash}'`,
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** A message is markup of unknown origin: no scripts, no requests, no cookies, and links only when they are clicked. */
const MESSAGE_POLICY = [
  'sandbox allow-popups allow-popups-to-escape-sandbox allow-top-navigation-by-user-activation',
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  'img-src data:',
  "frame-ancestors 'self'",
].join('; ');

export function answerOutbox(request: Request, { messages, basePath }: OutboxView): Response {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return new Response('This address takes GET.\n', { status: 405, headers: { allow: 'GET, HEAD' } });
  }
  const { pathname } = new URL(request.url);
  const [id, part, more] = pathname.slice(basePath.length).split('/').filter(Boolean);
  const isJson = prefersJson(request.headers);
  if (id === undefined) {
    return isJson ? json({ items: messages.map(toWire) }) : page(200, listPage(messages, basePath));
  }
  const message = messages.find((each) => each.id === id);
  if (message !== undefined && part === undefined) {
    return isJson ? json(toWire(message)) : page(200, messagePage(message, basePath));
  }
  if (message?.html != null && part === 'html' && more === undefined) return framed(message.html);
  return isJson ? json({ detail: 'There is no such message.' }, 404) : page(404, missingPage(basePath));
}

/** A browser lists `text/html` first; a script that wants JSON says so and does not mention HTML. */
function prefersJson(headers: Headers): boolean {
  const accept = headers.get('accept')?.toLowerCase() ?? '';
  return accept.includes('application/json') && !accept.includes('text/html');
}

function toWire({ sentAtMs, ...message }: OutboxMessage) {
  return { ...message, sentAt: new Date(sentAtMs).toISOString() };
}

function json(body: unknown, status = 200): Response {
  return Response.json(body, { status, headers: COMMON });
}

function page(status: number, body: string): Response {
  return new Response(body, {
    status,
    headers: { ...COMMON, 'content-type': HTML, 'content-security-policy': PAGE_POLICY },
  });
}

function framed(html: string): Response {
  return new Response(framedHtml(html), {
    headers: { ...COMMON, 'content-type': HTML, 'content-security-policy': MESSAGE_POLICY },
  });
}

const HTML = 'text/html; charset=utf-8';
/** A link in a message is a credential: it stays out of caches and out of the Referer header. */
const COMMON = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
} as const;
