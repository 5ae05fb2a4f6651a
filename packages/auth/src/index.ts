/** Who is there, and who they are to a tenant. Start with `identity-directory/unit.ts` and `instance-auth.ts`. */
export { directoryIssuer } from './accounts/contract.ts';
export type { InstanceConfig } from './config/operations.ts';
export type { OwnerOrphaned as OwnerStranded } from './config/orphaned-owner.ts';
export { type CookieDomainInput, resolveCookieDomain } from './cookie-domain.ts';
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
export type { AuthTheme } from './directory-provider/pages/theme.ts';
export { AuthConfigError } from './errors.ts';
export type { IdentityEvent, IdentityEventType } from './events/operations.ts';
export type { ForgottenScope } from './identity-directory/forget-scope.ts';
export { IDENTITY_CHOICE_KEY, type IdentityChoice } from './config/identity-choice.ts';
export type { Presented, Recognised } from './identity-directory/recognise.ts';
export { resolvePrincipal } from './identity-directory/resolve-principal.ts';
export {
  type IdentityDirectory,
  type IdentityDirectoryOptions,
  type IdentityDirectoryUnit,
  identityDirectory,
  makeIdentityDirectory,
} from './identity-directory/unit.ts';
export { type InstanceAuth, type InstanceAuthInput, instanceAuthFor } from './instance-auth.ts';
export {
  type CachedInstance,
  type InstanceAuthCache,
  type InstanceAuthCacheOptions,
  makeInstanceAuthCache,
} from './instance-auth-cache.ts';
export type { AcceptedInvite, EmailMatch, Invite, InvitePreview, InviteState } from './invites/operations.ts';
export type { Mail, Mailer } from './mailer.ts';
export type {
  Member,
  NamedPrincipal,
  ResolvedPrincipal,
  ResolvePrincipalInput,
} from './people/operations.ts';
export type { AuthProvider, VerifyingAuthProvider } from './provider.ts';
export { type OidcAuthProviderOptions, oidcAuthProvider } from './providers/oidc-auth-provider.ts';
export { type OidcRpAuthProviderOptions, oidcRpAuthProvider } from './providers/oidc-rp-auth-provider.ts';
export { type RecognisedCaller, type RecognitionOptions, recogniseCaller } from './recognise-caller.ts';
export type { AuthRuntime } from './lib/runtime.ts';
export type { OwnerClaim, OwnerClaimLink, PendingOwner } from './seats/operations.ts';
export type { OwnerRecovery, OwnerRecoveryInput } from './seats/recovery.ts';
export { clientLabel } from './sessions/client-label.ts';
export type { ListedSession, SignInInput } from './sessions/operations.ts';
export type { AuthSubject, IssuedSubject, SubjectSession, VerifiedSubject } from './lib/subject.ts';
