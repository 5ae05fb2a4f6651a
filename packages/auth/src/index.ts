/** Sign-in providers, and the identity directory of a tenant. Start with `identity-directory/unit.ts` and `instance-auth.ts`. */
export { directoryIssuer } from './accounts/contract.ts';
export { CLIENT_SECRET_KEY, IDENTITY_CHOICE_KEY, type IdentityChoice } from './config/identity-choice.ts';
export type { InstanceConfig } from './config/operations.ts';
export type { OwnerOrphaned as OwnerStranded } from './config/orphaned-owner.ts';
export { type CookieDomainInput, resolveCookieDomain } from './cookie-domain.ts';
export type { MemberInCopy, MovedMembers } from './copies/operations.ts';
export type { Mail, Mailer } from './directory-provider/lib/mails.ts';
export type { AuthTheme } from './directory-provider/pages/theme.ts';
export {
  makePasswordHasher,
  type PasswordHasher,
  type PasswordHasherOptions,
  type PasswordVerdict,
} from './directory-provider/passwords/password-hash.ts';
export {
  type DirectoryAuthProvider,
  type DoAuthProviderOptions,
  doAuthProvider,
} from './directory-provider/provider.ts';
export { type IdentityEvent, type IdentityEventType, identityEventCursor } from './events/operations.ts';
export type { ForgottenScope } from './identity-directory/forget-scope.ts';
export type { Recognised, ResolvedPrincipal, ResolvePrincipalInput } from './identity-directory/recognise.ts';
export { resolvePrincipal } from './identity-directory/recognise.ts';
export {
  type IdentityDirectory,
  type IdentityDirectoryOptions,
  type IdentityDirectoryUnit,
  identityDirectory,
  makeIdentityDirectory,
} from './identity-directory/unit.ts';
export {
  type InstanceAuth,
  type InstanceAuthInput,
  instanceAuthFor,
  readInstance,
  resolveSettings,
} from './instance-auth.ts';
export {
  type CachedInstance,
  type InstanceAuthCache,
  type InstanceAuthCacheOptions,
  makeInstanceAuthCache,
} from './instance-auth-cache.ts';
export type { AcceptedInvite, EmailMatch, Invite, InvitePreview, InviteState } from './invites/operations.ts';
export type { AuthRuntime } from './lib/runtime.ts';
export type {
  AuthProvider,
  AuthSubject,
  IssuedSubject,
  Presented,
  SubjectSession,
  VerifiedSubject,
  VerifyingAuthProvider,
} from './lib/subject.ts';
export {
  type MemberChange,
  type MembershipParts,
  type MembershipScope,
  makeMemberships,
} from './member-changes/memberships.ts';
export type { Member, NamedPrincipal } from './people/operations.ts';
export type { ListedProgram, ProgramPolicy } from './programs/contract.ts';
export type { ProgramReads } from './programs/reads.ts';
export { presentedTokenHash } from './programs/secrets.ts';
export { type OidcAuthProviderOptions, oidcAuthProvider } from './providers/oidc-auth-provider.ts';
export { type OidcRpAuthProviderOptions, oidcRpAuthProvider } from './providers/oidc-rp-auth-provider.ts';
export { type RecognisedCaller, type RecognitionOptions, recogniseCaller } from './recognise-caller.ts';
export type { OwnerClaim, OwnerClaimLink, PendingOwner } from './seats/operations.ts';
export type {
  OwnerRecovery,
  OwnerRecoveryInput,
  OwnerReplacement,
  OwnerReplacementInput,
} from './seats/recovery.ts';
export { AuthConfigError } from './select-provider.ts';
export { clientLabel } from './sessions/client-label.ts';
export type { ListedSession, SignInInput } from './sessions/operations.ts';
