/** From the headers of a request to a principal, with one call of the identity directory where nothing changed. */
import { PlatformError, type PrincipalId } from '@freehold/contracts';
import type { InstanceAuth } from './instance-auth.ts';
import type { CachedInstance, InstanceAuthCache } from './instance-auth-cache.ts';
import type { Presented, VerifiedSubject, VerifyingAuthProvider } from './lib/subject.ts';

/** A configuration that changes more often during one request is refused. */
const LOOKS_MAX = 5;

export interface RecognitionOptions<S> {
  /** The copies of instances that are held between requests. */
  readonly cache: InstanceAuthCache;
  readonly instance: CachedInstance;
  readonly headers: Headers;
  /** Returns the application's way of signing in under a configuration. */
  readonly signInOf: (auth: InstanceAuth) => Promise<S>;
}

export interface RecognisedCaller<S> {
  readonly signIn: S;
  /** Null for an anonymous request. */
  readonly subject: VerifiedSubject | null;
  /** Null for a person who is no member, and for an anonymous request. */
  readonly principal: PrincipalId | null;
}

/**
 * Recognises the caller. While the owner seat waits to be claimed, this claims it: then, and where a profile changed,
 * the directory is called a second time, for a write.
 * @throws PlatformError as the directory and the provider do: an error never turns into a caller.
 */
export async function recogniseCaller<S extends { readonly provider: VerifyingAuthProvider }>(
  options: RecognitionOptions<S>,
): Promise<RecognisedCaller<S>> {
  const { cache, instance, headers, signInOf } = options;
  const { directory, scopeId } = instance;
  let known = cache.known(instance);
  for (let looks = 1; looks <= LOOKS_MAX; looks++) {
    if (!known) {
      await cache(instance);
      known = cache.known(instance);
    }
    if (!known) break;
    const signIn = await signInOf(known.auth);
    const presented = await presentedBy(signIn.provider, headers);
    const answer = await directory.recognise({ scopeId, knownVersion: known.version, presented });
    if (answer.changed) {
      known = undefined;
      continue;
    }
    const { subject, found } = answer;
    if (!subject || !found) return { signIn, subject: null, principal: null };
    if (!found.mustWrite) return { signIn, subject, principal: found.principal };
    const { session, ...issued } = subject;
    const resolved = await directory.resolvePrincipal({
      scopeId,
      subject: issued,
      ...(session ? { session } : {}),
    });
    return resolved.session === 'ended'
      ? { signIn, subject: null, principal: null }
      : { signIn, subject, principal: resolved.principal };
  }
  throw new PlatformError(
    'unavailable',
    'The sign-in of this instance is being changed. Try again in a moment.',
    { reason: 'configuration_changing', headers: { 'retry-after': '1' } },
  );
}

/** A provider that needs no directory names the subject at once. */
async function presentedBy(provider: VerifyingAuthProvider, headers: Headers): Promise<readonly Presented[]> {
  if (provider.present) return provider.present(headers);
  const subject = await provider.resolve(headers);
  return subject ? [{ subject }] : [];
}
