/** The per-request path into an identity directory: a read when nothing changes, a command only when something does. */
import type { ResolvedPrincipal, ResolvePrincipalInput } from '../people/operations.ts';
import type { IdentityDirectory } from './unit.ts';

/**
 * The principal of a verified subject in a scope (spec 2.6, `resolvePrincipal`). Costs one read, and a write only
 * for the claim of an open seat or for a profile that changed.
 * @throws PlatformError as the directory does; a directory that fails never makes somebody out of anybody.
 */
export async function resolvePrincipal(
  directory: Pick<IdentityDirectory, 'findPrincipal' | 'resolvePrincipal'>,
  input: ResolvePrincipalInput,
): Promise<ResolvedPrincipal> {
  const found = await directory.findPrincipal(input);
  if (found.mustWrite) return directory.resolvePrincipal(input);
  const { principal, claimedNow, session } = found;
  return { principal, claimedNow, session };
}
