/**
 * Tickets: what a consent URL carries (spec 4.7). A ticket says what it was issued for and is signed by the directory, so
 * that issuing one stores nothing; its id is written down when it is used, and so it is used once.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

/** What a vertical asked for, with the vertical as the directory knows it. */
export interface TicketClaims {
  /** Names the round; no other ticket has it. */
  readonly id: string;
  readonly tenant: string;
  readonly scope: string;
  readonly vertical: string;
  readonly provider: string;
  readonly createdBy: string;
  readonly subjectRef: string;
  readonly returnUrl: string;
  readonly expiresAtMs: number;
}

/** In this order on the wire, without names: the address stays short. */
const wire = z.tuple([
  z.string(),
  z.string(),
  z.string(),
  z.string(),
  z.string(),
  z.string(),
  z.string(),
  z.string(),
  z.int(),
]);

/** Keeps the signature from meaning anything where the same key might sign something else. */
const PURPOSE = 'freehold.connect-ticket.v1';

/** `<claims>.<HMAC-SHA256>`, both base64url. */
export function signTicket(key: Uint8Array, claims: TicketClaims): string {
  const { id, tenant, scope, vertical, provider, createdBy, subjectRef, returnUrl, expiresAtMs } = claims;
  const fields: z.infer<typeof wire> = [
    ...([id, tenant, scope, vertical, provider] as const),
    ...([createdBy, subjectRef, returnUrl, expiresAtMs] as const),
  ];
  const body = Buffer.from(JSON.stringify(fields), 'utf8').toString('base64url');
  return `${body}.${tagOf(key, body).toString('base64url')}`;
}

/** The claims of a ticket that this key signed; null for anything else. Says nothing about its age or use. */
export function readTicket(key: Uint8Array, ticket: string): TicketClaims | null {
  const [body, tag, more] = ticket.split('.');
  if (body === undefined || tag === undefined || more !== undefined) return null;
  const expected = tagOf(key, body);
  const presented = Buffer.from(tag, 'base64url');
  // The encoded forms are compared too: base64url has spellings that decode alike, and a ticket has one.
  if (presented.length !== expected.length || !timingSafeEqual(presented, expected)) return null;
  if (expected.toString('base64url') !== tag) return null;
  const [id, tenant, scope, vertical, provider, createdBy, subjectRef, returnUrl, expiresAtMs] = wire.parse(
    JSON.parse(Buffer.from(body, 'base64url').toString('utf8')),
  );
  return { id, tenant, scope, vertical, provider, createdBy, subjectRef, returnUrl, expiresAtMs };
}

function tagOf(key: Uint8Array, body: string): Buffer {
  return createHmac('sha256', key).update(`${PURPOSE}\n${body}`).digest();
}
