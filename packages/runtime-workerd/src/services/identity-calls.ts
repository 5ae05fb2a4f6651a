/**
 * The calls of a tenant's identity directory that a deployed vertical may make. The directory is shared by all verticals of
 * the tenant, and a bundle may be hostile: it names its own scope alone, and never holds the tenant's session secret.
 */
import { createHmac } from 'node:crypto';
import { PlatformError } from '@freehold/contracts';
import type { InstanceRef } from './ports.ts';

/** Methods whose input names the scope. Any other scope than the caller's is refused. */
const OF_SCOPE: ReadonlySet<string> = new Set([
  ...[
    'listMembers',
    'namePrincipals',
    'findMember',
    'setPendingOwner',
    'ownerSeat',
    'needsSetup',
    'claimOwner',
  ],
  ...[
    'mintOwnerClaim',
    'mintOwnerClaimLink',
    'mintOwnerRecovery',
    'mintOwnerReplacement',
    'endOwnerRecovery',
  ],
  ...[
    'createInvite',
    'listInvites',
    'showInvite',
    'revokeInvite',
    'claimInvite',
    'inviteTerms',
    'pendingInvites',
  ],
  ...['withdrawInvites', 'leftoverRoles', 'leftoverRolesTaken', 'limitRoles', 'noteRoles', 'removeMember'],
  ...['transferOwner', 'requireTransferable', 'putConfig', 'getConfig', 'readInstanceConfig', 'recordSignIn'],
  ...[
    'listIdentityEvents',
    'recognise',
    'findPrincipal',
    'resolvePrincipal',
    'forgetScope',
    'membersForCopy',
  ],
  ...['standingForCopy', 'endOwnerWindow', 'moveMembersIn'],
]);

/**
 * Methods about the tenant's people and their sessions, which all its instances share: they name the scope where they
 * record something. The directory takes the caller's word for a judged password and for a session, since the pages of an
 * instance judge both: a hostile bundle acts for every account of its tenant (docs/runtime.md).
 */
const OF_TENANT: ReadonlySet<string> = new Set([
  ...['newPrincipal', 'sessionSecret', 'rotateSessionSecret', 'listSessions', 'sessionState', 'endSession'],
  ...['endOwnSession', 'endAllSessions', 'endIssuerSessions', 'beginSignUp', 'completeSignUp', 'beginReset'],
  ...[
    'completeReset',
    'beginEmailChange',
    'completeEmailChange',
    'revertEmailChange',
    'showLink',
    'beginPassword',
  ],
  ...['beginConfirm', 'finishPassword', 'finishSecondFactor', 'findPasskey', 'finishPasskey', 'addPasskey'],
  ...['renamePasskey', 'removePasskey', 'enableTotp', 'disableTotp', 'makeRecoveryCodes', 'accountSecurity'],
  ...['findAccount', 'renameAccount', 'setPassword', 'deleteAccount'],
]);

/** @throws PlatformError `forbidden`, reason `capability_refused`. */
export function requireOwnCall(method: string, input: unknown, { scope }: InstanceRef): void {
  const named = (input as { readonly scopeId?: unknown } | null | undefined)?.scopeId;
  const isOwn = named === scope || (named === undefined && OF_TENANT.has(method));
  if ((OF_SCOPE.has(method) || OF_TENANT.has(method)) && isOwn) return;
  throw new PlatformError('forbidden', 'An application may ask about its own instance alone.', {
    reason: 'capability_refused',
  });
}

/**
 * Replaces the tenant's session secrets in an answer by secrets of this instance: with the tenant's own, one vertical could
 * sign sessions of every other.
 */
export function withOwnSecrets(
  method: string,
  value: unknown,
  ref: InstanceRef & { vertical: string },
): unknown {
  const own = (secret: string): string =>
    createHmac('sha256', secret).update(`session/${ref.vertical}/${ref.scope}`).digest('base64url');
  if (method === 'sessionSecret') return own(value as string);
  if (method !== 'readInstanceConfig' && method !== 'recognise') return value;
  return mapSecrets(value, own);
}

function mapSecrets(value: unknown, own: (secret: string) => string): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const { sessionSecret, sessionSecrets, ...rest } = value as Record<string, unknown>;
  return {
    ...rest,
    ...(sessionSecret === undefined
      ? {}
      : { sessionSecret: typeof sessionSecret === 'string' ? own(sessionSecret) : null }),
    ...(Array.isArray(sessionSecrets) ? { sessionSecrets: sessionSecrets.map(String).map(own) } : {}),
  };
}
