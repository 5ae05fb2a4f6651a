/**
 * A value signed for one purpose, one tenant and one scope is worth nothing for another, although one secret signed
 * all.
 */
import { describe, expect, test } from 'vitest';
import { oidcRpAuthProvider, type VerifyingAuthProvider } from '../src/index.ts';
import { makeBrowser } from './browser.ts';
import { makeFakeIssuer } from './fake-issuer.ts';
import { ISSUER, OTHER_SCOPE, openPlatform, SCOPE, TENANT_A, TENANT_B } from './support.ts';

const ORIGIN = 'https://app.example';
const COOKIES = { flow: 'sb_oidc_flow', session: 'sb_session', hint: 'sb_auth_idt' } as const;
type Kind = keyof typeof COOKIES;
const KINDS = Object.keys(COOKIES) as Kind[];

interface Instance {
  readonly name: string;
  readonly provider: VerifyingAuthProvider;
}

/** A signed value, and the place where it is valid. */
interface Credential {
  readonly kind: Kind;
  readonly instance: string;
  readonly value: string;
}

/** Two tenants with two scopes each. They share a secret and a directory, so that nothing else keeps them apart. */
async function open() {
  const { clock, directory } = await openPlatform();
  const issuer = await makeFakeIssuer(clock);
  const sessionSecret = await directory.sessionSecret();
  const runtime = { fetch: issuer.fetch, now: () => clock.nowMs, onError: '/failed' };
  const instances: Instance[] = [TENANT_A, TENANT_B].flatMap((tenantId) =>
    [SCOPE, OTHER_SCOPE].map((scopeId) => ({
      name: `${tenantId === TENANT_A ? 'A' : 'B'}/${scopeId === SCOPE ? 1 : 2}`,
      provider: oidcRpAuthProvider({
        ...{ tenantId, scopeId, issuer: ISSUER, clientId: 'app' },
        ...{ sessionSecret, directory, runtime },
      }),
    })),
  );
  const callbacks = new Map<string, string>();
  const credentials: Credential[] = [];
  for (const { name, provider } of instances) {
    const browser = makeBrowser(ORIGIN, (request) => provider.handle(request));
    const keep = (kind: Kind) => {
      const value = browser.cookies.get(COOKIES[kind])?.value ?? '';
      expect(value).not.toBe('');
      credentials.push({ kind, instance: name, value });
    };
    const begin = async () =>
      issuer.authorize((await browser.get('/api/auth/login')).headers.get('location') ?? '');
    await browser.get(await begin());
    keep('session');
    keep('hint');
    callbacks.set(name, await begin());
    keep('flow');
  }
  return { instances, credentials, callbacks };
}

/** Whether an instance takes a value for a credential of a kind. */
async function isTaken(
  kind: Kind,
  { provider }: Instance,
  { value, callback }: { value: string; callback: string },
): Promise<boolean> {
  const headers = new Headers({ cookie: `${COOKIES[kind]}=${value}` });
  if (kind === 'session') return (await provider.resolve(headers)) !== null;
  const address = kind === 'flow' ? callback : `${ORIGIN}/api/auth/logout?federated`;
  const answer = await provider.handle(new Request(address, { headers }));
  const location = new URL(answer.headers.get('location') ?? '', ORIGIN);
  return kind === 'flow' ? location.pathname !== '/failed' : location.searchParams.has('id_token_hint');
}

describe('A-22: of three kinds, two tenants and two scopes', () => {
  test.each(KINDS)('a %s is taken in its own place, and no other value is taken for one', async (kind) => {
    const { instances, credentials, callbacks } = await open();
    const taken: string[] = [];
    for (const instance of instances)
      for (const credential of credentials) {
        const callback = callbacks.get(credential.instance) ?? '';
        // A taken value is used up, so each value's own place is asked last.
        if (credential.kind === kind && credential.instance === instance.name) continue;
        if (await isTaken(kind, instance, { value: credential.value, callback }))
          taken.push(`${credential.kind} of ${credential.instance} at ${instance.name}`);
      }
    expect(taken).toEqual([]);
    for (const instance of instances) {
      const own = credentials.find((each) => each.kind === kind && each.instance === instance.name);
      const callback = callbacks.get(instance.name) ?? '';
      expect(await isTaken(kind, instance, { value: own?.value ?? '', callback })).toBe(true);
    }
  });

  test('a credential under another kind’s name and its own together is still only itself', async () => {
    const { instances, credentials } = await open();
    const [{ provider } = expect.fail()] = instances;
    const own = credentials.filter((each) => each.instance === 'A/1');
    const of = (kind: Kind) => own.find((each) => each.kind === kind)?.value ?? '';
    for (const kind of ['flow', 'hint'] as const) {
      const both = new Headers({ cookie: `sb_session=${of(kind)}; sb_session=${of('session')}` });
      expect(await provider.resolve(both)).toMatchObject({ sub: 'ada' });
      expect(await provider.resolve(new Headers({ cookie: `sb_session=${of(kind)}` }))).toBeNull();
    }
  });
});
