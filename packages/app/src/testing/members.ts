/** People of a test, made members on first use: by the tenant's real identity directory, and with real sessions. */
import type { IdentityDirectory } from '@freehold/auth';
import type { PrincipalId, ScopeRef, VerticalManifest } from '@freehold/contracts';
import type { ScopeHost } from '@freehold/kernel';
import { makeRelyingParty } from '@freehold/oidc-rp';
import type { TestClock } from './clock.ts';

/** The rights of a person. Each call of `as` with some replaces those that the person had before. */
export interface MemberOptions {
  readonly role?: string;
  readonly roles?: readonly string[];
  /** Permissions for the whole instance, beside those of the roles. */
  readonly permissions?: readonly string[];
}

/** The issuer whose sessions the people of a test have. */
export const ISSUER = 'https://issuer.test';
export const CLIENT_ID = 'test';
/** After this time a person signs in again. */
const SESSION_MS = 3_600_000;

export interface Members {
  /** Gives a person a membership with these rights. */
  join(name: string, rights: MemberOptions): Promise<void>;
  /** Resolves when every membership that was asked for is there. Null for a person who has none. */
  principal(name: string): Promise<PrincipalId | null>;
  /** The Cookie header of a person, who may be no member. */
  cookie(name: string): Promise<string>;
}

export interface MembersOptions {
  readonly host: ScopeHost;
  readonly directory: IdentityDirectory;
  readonly manifest: VerticalManifest;
  readonly ref: ScopeRef;
  readonly clock: TestClock;
}

export function makeMembers({ host, directory, manifest, ref, clock }: MembersOptions): Members {
  const { tenantId, scopeId } = ref;
  const principals = new Map<string, PrincipalId>();
  const projected: Record<string, readonly string[]> = {};
  const sessions = new Map<string, { readonly cookie: string; readonly atMs: number }>();
  let line: Promise<unknown> = Promise.resolve();

  const subjectOf = (name: string) => ({
    issuer: ISSUER,
    sub: name,
    name,
    email: `${encodeURIComponent(name)}@example.org`,
    emailVerified: true,
  });

  const seat = async (name: string): Promise<PrincipalId> => {
    const { token } = await directory.mintOwnerClaim({ scopeId });
    return (await directory.claimOwner({ scopeId, token, subject: subjectOf(name) })).principal;
  };

  const invite = async (name: string, role: string): Promise<PrincipalId> => {
    const principal = await directory.newPrincipal();
    const { principal: createdBy } = await directory.setPendingOwner({ scopeId });
    const { token } = await directory.createInvite({ scopeId, principal, role, createdBy });
    await directory.claimInvite({ scopeId, token, subject: subjectOf(name) });
    return principal;
  };

  const join = async (name: string, rights: MemberOptions): Promise<void> => {
    const { permissions = [] } = rights;
    const roles = [
      ...new Set([...(rights.role === undefined ? [] : [rights.role]), ...(rights.roles ?? [])]),
    ];
    requireDeclared(manifest, roles, permissions);
    if (permissions.length > 0) {
      const own = `test-${principals.size}-${Object.keys(projected).length}`;
      projected[own] = permissions;
      await host.projectRolesLocal(ref, projected);
      roles.push(own);
    }
    let principal = principals.get(name);
    if (principal === undefined) {
      const isOwner = roles.includes(manifest.ownerRole) && (await directory.needsSetup({ scopeId }));
      principal = isOwner ? await seat(name) : await invite(name, roles[0] ?? manifest.ownerRole);
      principals.set(name, principal);
    }
    await host.scope(scopeId).setRoles({ principal, roles, by: 'platform' });
  };

  return {
    join: (name, rights) => {
      const task = line.then(() => join(name, rights));
      // The failure reaches the next use of any person.
      line = task;
      task.catch(() => undefined);
      return task;
    },
    principal: async (name) => {
      await line;
      return principals.get(name) ?? null;
    },
    cookie: async (name) => {
      const known = sessions.get(name);
      if (known && Math.abs(clock.now() - known.atMs) < SESSION_MS) return known.cookie;
      const relyingParty = makeRelyingParty({
        env: { issuer: ISSUER, clientId: CLIENT_ID, sessionSecrets: [await directory.sessionSecret()] },
        audience: `${tenantId}/${scopeId}`,
        now: clock.now,
        fetch: async () => new Response(null, { status: 503 }),
      });
      const { sub, name: shown, email, emailVerified } = subjectOf(name);
      const cookie = `sb_session=${relyingParty.mintSession({ id: sub, name: shown, email, emailVerified })}`;
      sessions.set(name, { cookie, atMs: clock.now() });
      return cookie;
    },
  };
}

/** @throws TypeError that names the role or permission that the manifest does not have. */
function requireDeclared(
  { roles: declared, permissions: known, slug }: VerticalManifest,
  roles: readonly string[],
  permissions: readonly string[],
): void {
  const role = roles.find((each) => !Object.hasOwn(declared, each));
  if (role !== undefined)
    throw new TypeError(`${slug} has no role ${role}: its roles are ${Object.keys(declared).join(', ')}`);
  const permission = permissions.find((each) => !Object.hasOwn(known, each));
  if (permission !== undefined) throw new TypeError(`${slug} has no permission ${permission}`);
}
