/** Sends a request to an instance, with the words of the platform about it and without words that only look like them. */
import { CALL_HEADER, encodeCall, type HostedCall } from '@freehold/app/worker/capabilities';
import { withoutProofs } from '../services/sign-ins.ts';
import type { VerticalProcess } from './vertical-process.ts';

/** The requests of the platform that make a copy, or read one in. */
const COPIES: ReadonlySet<string> = new Set(
  ['export', 'restore', 'examine-copy', 'snapshot'].map((path) => `/internal/${path}`),
);

/** The copies that an instance keeps. */
const SNAPSHOTS = '/internal/snapshots/';

export function sendCall(process: VerticalProcess, request: Request, call: HostedCall): Promise<Response> {
  const headers = new Headers(request.headers);
  // Nothing that a sender wrote may look like a word of the platform.
  for (const name of [...headers.keys()]) if (name.startsWith('x-freehold-')) headers.delete(name);
  // The socket has no name of its own: the application compares this one with its origin.
  if (!headers.has('host')) headers.set('host', new URL(request.url).host);
  if (call.caller) withoutProofs(headers, call.caller);
  headers.set(CALL_HEADER, encodeCall(call));
  const { method, url, signal } = request;
  // The sign-in may have read it, before it failed.
  const body = request.bodyUsed ? null : request.body;
  if (request.bodyUsed) headers.delete('content-length');
  const { pathname } = new URL(url);
  const isCopy = call.node === null && (COPIES.has(pathname) || pathname.startsWith(SNAPSHOTS));
  return process.fetch(call.scope, { method, url, headers, body, signal }, isCopy);
}
