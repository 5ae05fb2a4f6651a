/**
 * The challenge that proves a host name: a TXT record beside it, or a document at it.
 *
 * A token belongs to one claim, so that one tenant's record proves nothing for another. The document holds a hash of the
 * token and not the token, so that a server that echoes the requested address proves nothing.
 */
import { createHash } from 'node:crypto';
import type { HostnameChallenge } from '../declarations/hostnames.ts';

/** The label below which the TXT record lies (RFC 8552: an underscored name that no host has). */
const DNS_LABEL = '_freehold-challenge';
const DNS_PREFIX = 'freehold-challenge=';
/** The path of the document (RFC 8615). */
export const CHALLENGE_PATH = '/.well-known/freehold-challenge/';
const TOKEN = /^[0-9a-f]{32}$/;

/** A token: 128 bits. @param random that many bytes from a cryptographic source. */
export function mintChallengeToken(random: (bytes: number) => Uint8Array): string {
  return Array.from(random(16), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The record and the document of a claim; either is enough. */
export function challengeOf(hostname: string, token: string): HostnameChallenge {
  return {
    dns: { name: `${DNS_LABEL}.${hostname}`, type: 'TXT', value: `${DNS_PREFIX}${token}` },
    http: { url: `http://${hostname}${CHALLENGE_PATH}${token}`, body: challengeBody(hostname, token) },
  };
}

export function challengeBody(hostname: string, token: string): string {
  return createHash('sha256').update(`freehold.hostname.v1\n${hostname}\n${token}`).digest('hex');
}

/**
 * Answers a request for the document of a claim, proven or not; null for every other request. A router asks this before it
 * looks for an application: of a name that is not active only this document is served.
 * @param find the document of the claim on this name with this token, or null.
 */
export async function answerChallenge(
  request: Request,
  find: (claim: { readonly hostname: string; readonly token: string }) => Promise<string | null>,
): Promise<Response | null> {
  const url = new URL(request.url);
  if (!url.pathname.startsWith(CHALLENGE_PATH)) return null;
  if (request.method !== 'GET' && request.method !== 'HEAD') return null;
  const token = url.pathname.slice(CHALLENGE_PATH.length);
  if (!TOKEN.test(token)) return null;
  const body = await find({ hostname: url.hostname.replace(/\.$/, ''), token });
  if (body === null) return null;
  return new Response(request.method === 'HEAD' ? null : body, {
    headers: {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    },
  });
}
