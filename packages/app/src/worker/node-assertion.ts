/**
 * The node of a request, in a token that the router signs for each request, in a header (design: vertical-host, "Node
 * assertion"). Without a valid one, the worker serves no tenant.
 */

import { PlatformError, scopeId, tenantId } from '@freehold/contracts';
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { z } from 'zod';
import type { Bindings } from '../declaration/env.ts';

export const NODE_ASSERTION_HEADER = 'x-freehold-node';
/** Keeps it apart from every other token that the same key might sign (RFC 8725, section 3.11). */
export const NODE_ASSERTION_TYPE = 'freehold-node+jwt';
export const NODE_ASSERTION_ISSUER = 'freehold-router';
/** The greatest age of a token, whatever its own expiry. */
export const NODE_ASSERTION_AGE_MAX_S = 60;
/** The greatest difference between the clocks of the router and the worker. */
const CLOCK_TOLERANCE_S = 5;

/** The claims of a node assertion beside `iss`, `aud` (the vertical's slug), `iat` and `exp`. */
export const nodeClaims = z.object({
  tenant: tenantId,
  scope: scopeId,
  vertical: z.string(),
  version: z.string(),
  surface: z.string(),
  /** The origin that browsers see. */
  origin: z.url({ protocol: /^https?$/ }),
  /** The network address of the sender; null when it is not known. */
  clientAddress: z.string().nullable(),
});
export type NodeClaims = z.infer<typeof nodeClaims>;

export interface NodeVerifierOptions {
  /** The router's public keys, Ed25519: more than one while they are replaced. Empty: no tenant is served. */
  readonly keys: JSONWebKeySet;
  /** The slug of this vertical. */
  readonly vertical: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** The request's own part of the bindings. */
export type RequestNode = Pick<Bindings, 'node' | 'clientAddress'>;

/**
 * Makes the function that verifies the header of a request. A request without one belongs to no instance.
 * @throws PlatformError `forbidden`, reason `node_assertion_refused`, for one that is malformed, too old, for another
 * vertical, or signed by an unknown key.
 */
export function makeNodeVerifier({
  keys,
  vertical,
  now,
}: NodeVerifierOptions): (headers: Headers) => Promise<RequestNode> {
  const keyFor = createLocalJWKSet(keys);
  return async (headers) => {
    const token = headers.get(NODE_ASSERTION_HEADER);
    if (token === null) return { node: null, clientAddress: null };
    const { payload } = await jwtVerify(token, keyFor, {
      algorithms: ['EdDSA'],
      typ: NODE_ASSERTION_TYPE,
      issuer: NODE_ASSERTION_ISSUER,
      audience: vertical,
      requiredClaims: ['exp'],
      maxTokenAge: NODE_ASSERTION_AGE_MAX_S,
      clockTolerance: CLOCK_TOLERANCE_S,
      currentDate: new Date(now()),
    }).catch(refuse);
    const claims = nodeClaims.safeParse(payload);
    if (!claims.success || claims.data.vertical !== vertical) return refuse();
    const { clientAddress, ...node } = claims.data;
    return { node, clientAddress };
  };
}

function refuse(cause?: unknown): never {
  throw new PlatformError('forbidden', 'This request does not say in a way that counts whose it is.', {
    reason: 'node_assertion_refused',
    cause,
  });
}
