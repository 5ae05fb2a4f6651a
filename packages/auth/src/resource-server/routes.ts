/** Routes for the metadata of an application's resources (RFC 9728): the entry of `@freehold/auth/resource-server`. */
import { PlatformError } from '@freehold/contracts';
import type { Context, Env, Hono } from 'hono';
import { problemAnswer } from '../lib/answers.ts';
import {
  PROTECTED_RESOURCE_PATH,
  type ProtectedResource,
  protectedResourceMetadata,
  protectedResourceMetadataUrl,
} from './metadata.ts';

export {
  type BearerChallengeOptions,
  type BearerError,
  bearerChallenge,
  bearerErrorOf,
  PROTECTED_RESOURCE_PATH,
  type ProtectedResource,
  type ProtectedResourceMetadata,
  protectedResourceMetadata,
  protectedResourceMetadataUrl,
} from './metadata.ts';

/** Short, because an instance can be given another issuer while it runs. */
const MAX_AGE_S = 60;
/** Public metadata: pages of every origin may read it, and no credentials come along (RFC 9728, section 3.1). */
const CORS = { 'access-control-allow-origin': '*' };

export interface ProtectedResourceDeps<E extends Env = Env> {
  /**
   * Returns the resources of the instance that a request is for; null when it takes no access tokens. Its errors go to
   * the application's error handler.
   */
  resource(
    c: Context<E>,
  ):
    | ProtectedResource
    | readonly ProtectedResource[]
    | null
    | Promise<ProtectedResource | readonly ProtectedResource[] | null>;
}

/**
 * Mounts GET `/.well-known/oauth-protected-resource`, and the same with the path of a resource behind it. A resource
 * is described at its own address alone (RFC 9728, section 3.1); any other is 404. The routes are anonymous: mount them
 * before those that demand a sign-in.
 */
export function mountProtectedResource<E extends Env>(app: Hono<E>, deps: ProtectedResourceDeps<E>): void {
  // The star matches the path without anything behind it too.
  app.all(`${PROTECTED_RESOURCE_PATH}/*`, async (c) => {
    const { method } = c.req;
    if (method === 'OPTIONS') return preflight();
    if (method !== 'GET' && method !== 'HEAD')
      return refused(
        new PlatformError('method_not_allowed', 'This address takes GET.', {
          headers: { allow: 'GET, HEAD, OPTIONS' },
        }),
      );
    const resources = [(await deps.resource(c)) ?? []].flat();
    const path = new URL(c.req.url).pathname;
    const found = resources.find((each) => pathOf(each) === path.replace(/^(\/[^/]+\/[^/]+)\/$/, '$1'));
    if (!found)
      return refused(
        new PlatformError('not_found', 'No resource that takes access tokens is described here.'),
      );
    return Response.json(protectedResourceMetadata(found), {
      headers: {
        ...CORS,
        'cache-control': `public, max-age=${MAX_AGE_S}`,
        'x-content-type-options': 'nosniff',
      },
    });
  });
}

function pathOf({ resource }: ProtectedResource): string {
  return new URL(protectedResourceMetadataUrl(resource)).pathname;
}

/** Clients in a page send their own headers, such as the version of MCP, and the browser asks for permission first. */
function preflight(): Response {
  return new Response(null, {
    status: 204,
    headers: {
      ...CORS,
      allow: 'GET, HEAD, OPTIONS',
      'access-control-allow-methods': 'GET, HEAD',
      'access-control-allow-headers': '*',
      'access-control-max-age': '86400',
    },
  });
}

/** Without CORS headers a page could not read a refusal. */
function refused(error: PlatformError): Response {
  const response = problemAnswer(error);
  for (const [name, value] of Object.entries(CORS)) response.headers.set(name, value);
  return response;
}
