/** The authorization server of a request's instance. */
import { type AuthorizationServer, makeAuthorizationServer } from '@freehold/auth/programs';
import { PlatformError } from '@freehold/contracts';
import type { Instance, SignIn } from '../declaration/env.ts';
import { MCP_PATH } from '../request/caller.ts';
import type { ProgramParts } from './parts.ts';

/** The identifiers of an instance as a resource (RFC 8707): its endpoint for agents, and all of it. */
export function resourcesOf({ origin }: Pick<Instance, 'origin'>): readonly string[] {
  return [origin + MCP_PATH, origin];
}

/** @throws PlatformError `not_found` where people sign in elsewhere, and access tokens are made there. */
export function serverOf({
  parts,
  node,
  signIn,
}: {
  readonly parts: ProgramParts;
  readonly node: Instance;
  readonly signIn: SignIn;
}): AuthorizationServer {
  const { sessionSecrets } = signIn;
  if (!sessionSecrets)
    throw new PlatformError('not_found', 'Access tokens for this application are made elsewhere.');
  const { tenant, scope, origin } = node;
  const { documents, now, random } = parts;
  return makeAuthorizationServer({
    tenantId: tenant,
    scopeId: scope,
    origin,
    resources: resourcesOf(node),
    sessionSecrets,
    directory: parts.directory(tenant),
    documents,
    now,
    random,
  });
}
