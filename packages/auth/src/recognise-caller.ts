/** From the headers of a request to a principal, with one call of the identity directory where nothing changed. */
import { PlatformError, type PrincipalId, type ProgramGrant } from '@freehold/contracts';
import { type RateLimiter, tooManyCalls } from '@freehold/contracts/http';
import type { PresentedProgram } from './identity-directory/recognise.ts';
import type { InstanceAuth } from './instance-auth.ts';
import type { CachedInstance, InstanceAuthCache } from './instance-auth-cache.ts';
import type { Presented, VerifiedSubject, VerifyingAuthProvider } from './lib/subject.ts';
import { presentedTokenHash } from './programs/secrets.ts';

/** The time in which another use of a program from the same address is not noted. */
const USE_NOTED_MS = 10 * 60_000;
/** The same from another address: a program in a data centre comes from many. */
const ADDRESS_NOTED_MS = 60_000;
/** A configuration that changes more often during one request is refused. */
const LOOKS_MAX = 5;

export interface RecognitionOptions<S> {
  /** The copies of instances that are held between requests. */
  readonly cache: InstanceAuthCache;
  readonly instance: CachedInstance;
  readonly headers: Headers;
  /** Returns the application's way of signing in under a configuration. */
  readonly signInOf: (auth: InstanceAuth) => Promise<S>;
  /** The network address of the caller, which people see beside a program; null when it is not known. */
  readonly clientAddress: string | null;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Counts the calls of programs, by grant. */
  readonly limiter: RateLimiter;
  /** Gets the failure to note the use of a program. */
  readonly onIncident: (error: unknown) => void;
}

export interface RecognisedCaller<S> {
  readonly signIn: S;
  /** Null for an anonymous request. */
  readonly subject: VerifiedSubject | null;
  /** Null for a person who is no member, and for an anonymous request. */
  readonly principal: PrincipalId | null;
  /** The program through which the person acts; null for the person themself. */
  readonly grant: ProgramGrant | null;
  /** The version of the instance's configuration by which all this was judged. */
  readonly version: string;
}

/**
 * Recognises the caller. While the owner seat waits to be claimed, this claims it: then, and where a profile changed,
 * the directory is called a second time, for a write.
 * @throws PlatformError as the directory and the provider do: an error never turns into a caller; `rate_limited` for a
 * program beyond the owner's limit.
 */
export async function recogniseCaller<S extends { readonly provider: VerifyingAuthProvider }>(
  options: RecognitionOptions<S>,
): Promise<RecognisedCaller<S>> {
  const { cache, instance, headers, signInOf } = options;
  const { directory, scopeId } = instance;
  let known = cache.known(instance);
  // A held copy may be of a sign-in that did not work, and was repaired since.
  if (known && (await isBroken(signInOf(known.auth)))) known = undefined;
  for (let looks = 1; looks <= LOOKS_MAX; looks++) {
    if (!known) {
      await cache(instance);
      known = cache.known(instance);
    }
    if (!known) break;
    const { version } = known;
    const signIn = await signInOf(known.auth);
    const presented = await presentedBy(signIn.provider, headers);
    const answer = await directory.recognise({ scopeId, knownVersion: version, presented });
    if (answer.changed) {
      known = undefined;
      continue;
    }
    const { subject, found, program } = answer;
    // A person of a former issuer can sign in no more, and their programs go no further.
    const isFormer = program !== undefined && subject?.issuer !== signIn.provider.issuer;
    if (!subject || !found || isFormer)
      return { signIn, version, subject: null, principal: null, grant: null };
    if (program) {
      countCall(options, program);
      // On a full disk a program still reads.
      await noteUse(options, program).catch(options.onIncident);
    }
    const grant = program?.grant ?? null;
    if (!found.mustWrite) return { signIn, version, subject, principal: found.principal, grant };
    const { session, ...issued } = subject;
    const resolved = await directory.resolvePrincipal({
      scopeId,
      subject: issued,
      ...(session ? { session } : {}),
    });
    return resolved.session === 'ended'
      ? { signIn, version, subject: null, principal: null, grant }
      : { signIn, version, subject, principal: resolved.principal, grant };
  }
  throw new PlatformError(
    'unavailable',
    'The sign-in of this instance is being changed. Try again in a moment.',
    { reason: 'configuration_changing', headers: { 'retry-after': '1' } },
  );
}

function countCall<S>({ limiter }: RecognitionOptions<S>, { grant, callsPerMinute }: PresentedProgram): void {
  if (callsPerMinute === null) return;
  const allowance = limiter.take(grant.id, { calls: callsPerMinute, windowSeconds: 60 });
  if (!allowance.admitted) throw tooManyCalls(allowance);
}

/** Notes the use of a program, at most every ten minutes, or every minute from changing addresses: few calls write. */
async function noteUse<S>(
  { instance, clientAddress, now }: RecognitionOptions<S>,
  { grant, usedMs, usedFrom }: PresentedProgram,
): Promise<void> {
  const notedMs = usedFrom === clientAddress ? USE_NOTED_MS : ADDRESS_NOTED_MS;
  if (usedMs !== null && Math.abs(now() - usedMs) < notedMs) return;
  await instance.directory.noteProgramUse({ grant: grant.id, from: clientAddress });
}

async function isBroken(signIn: Promise<unknown>): Promise<boolean> {
  return signIn.then(
    () => false,
    () => true,
  );
}

/** A program's token counts alone: a cookie beside it is not looked at. A provider without a directory names the subject. */
async function presentedBy(provider: VerifyingAuthProvider, headers: Headers): Promise<readonly Presented[]> {
  const programToken = presentedTokenHash(headers);
  if (programToken !== null) return [{ programToken }];
  if (provider.present) return provider.present(headers);
  const subject = await provider.resolve(headers);
  return subject ? [{ subject }] : [];
}
