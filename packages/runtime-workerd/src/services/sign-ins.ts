/**
 * The sign-in of deployed verticals, in the platform's own process: their bundles see no cookie, no password and no token,
 * and no answer of theirs sets a cookie of signing in.
 */
import { makeSignInProxy, type SignInProxy } from '@freehold/app/hosting';
import type { HostedCall, HostedCaller } from '@freehold/app/worker/capabilities';
import { presentedTokenHash } from '@freehold/auth';
import { PlatformError } from '@freehold/contracts';
import type { IncidentSink } from '@freehold/store';
import type { ScriptRow } from '../store/bundle-unit.ts';
import type { PlatformPorts } from './ports.ts';
import { Recognised } from './recognised.ts';

export interface SignInsOptions {
  readonly ports: PlatformPorts;
  readonly now: () => number;
  readonly onIncident: IncidentSink;
}

type Node = NonNullable<HostedCall['node']>;

/** A request of a visitor, and the way to ask the instance in the name of a caller. */
export interface Visit {
  readonly node: Node;
  readonly clientAddress: string | null;
  readonly ask: (request: Request, caller: HostedCaller) => Promise<Response>;
}

/** The number of versions whose sign-ins are cached. */
const PROXIES_MAX = 500;
/** The cookies of signing in (`packages/oidc-rp`, `packages/auth`), with a prefix of RFC 6265bis. */
const COOKIE = /^(?:__Host-|__Secure-)?sb_/;

export class SignIns {
  /** Whom each instance was told about. */
  readonly recognised: Recognised;
  readonly #options: SignInsOptions;
  /** By the digest of the bundle, in the order in which they were made. */
  readonly #proxies = new Map<string, SignInProxy>();

  constructor(options: SignInsOptions) {
    this.#options = options;
    this.recognised = new Recognised(options.now);
  }

  /** Returns the answer of the sign-in itself, or what the instance is told about the caller. */
  async meet(
    script: ScriptRow,
    request: Request,
    { node, clientAddress, ask }: Visit,
  ): Promise<{ readonly answer: Response } | { readonly caller: HostedCaller }> {
    const { signInBindings } = this.#options.ports;
    const met = await this.#proxyOf(script).meet(request, {
      node,
      clientAddress,
      bindings: signInBindings(),
      ask: (question, caller) => {
        this.#note(node, caller);
        return ask(question, caller);
      },
    });
    if ('caller' in met) this.#note(node, met.caller);
    return met;
  }

  #note({ scope }: Node, caller: HostedCaller): void {
    if (caller.ok && caller.subject) this.recognised.note(scope, caller.subject);
  }

  /** Drops what is cached about a scope that is deleted. */
  forget(scopeId: string): void {
    for (const proxy of this.#proxies.values()) proxy.forget({ scopeId });
  }

  #proxyOf({ bundle, declared }: ScriptRow): SignInProxy {
    const known = this.#proxies.get(bundle);
    if (known) return known;
    const { ports, now, onIncident } = this.#options;
    if (declared === null)
      throw new PlatformError(
        'unavailable',
        'This application was deployed for an earlier platform. Its builder deploys it again.',
        { reason: 'bundle_outdated' },
      );
    const made = makeSignInProxy({
      ...declared,
      mailer: ports.mailer,
      directory: (tenant) => ports.engine.unit(ports.identity, tenant),
      nameOf: async (instance) => (await ports.nameOf(instance)) ?? '',
      now,
      random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
      fetch: (url, init, purpose) => ports.issuerFetch(String(url), init ?? {}, purpose),
      onIncident,
    });
    this.#proxies.set(bundle, made);
    if (this.#proxies.size > PROXIES_MAX) this.#proxies.delete(this.#proxies.keys().next().value as string);
    return made;
  }
}

/**
 * Removes from the headers of a request what the platform judged: the cookies of signing in, and the token of a caller whom
 * it recognised by one. Another `Authorization` is the application's own.
 */
export function withoutProofs(headers: Headers, caller: HostedCaller): void {
  const cookies = headers.get('cookie');
  if (cookies !== null) {
    const others = cookies.split(/;\s*/).filter((each) => !COOKIE.test(each.trimStart()));
    if (others.length === 0) headers.delete('cookie');
    else headers.set('cookie', others.join('; '));
  }
  const isRecognised = caller.ok && caller.subject !== null && caller.subject.session === undefined;
  // One of another instance, or one that has ended, is no business of this one either.
  if (isRecognised || presentedTokenHash(headers) !== null) headers.delete('authorization');
}

/** The answer of a bundle, without cookies of signing in: it would choose who its visitors are. */
export function withoutSessionCookies(response: Response): Response {
  const set = response.headers.getSetCookie();
  if (!set.some((each) => COOKIE.test(each.trimStart()))) return response;
  response.headers.delete('set-cookie');
  for (const each of set) if (!COOKIE.test(each.trimStart())) response.headers.append('set-cookie', each);
  return response;
}
