/** The suite that every implementation of `AuthProvider` runs. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AuthSubject, VerifyingAuthProvider } from '../src/index.ts';

/** Claims as an issuer, or a directory of users, holds them. */
export interface SuiteClaims {
  readonly sub: string;
  readonly email?: string;
  readonly name?: string;
  readonly email_verified?: boolean;
}

/** One provider, with ways to bring it a caller and to break its dependencies. */
export interface ProviderUnderTest {
  readonly provider: VerifyingAuthProvider;
  /** The issuer that its subjects name. */
  readonly issuer: string;
  /** The headers of a request that proves to be this person's. */
  headersOf(claims: SuiteClaims): Promise<Headers>;
  /** The `sub` that a provider with accounts of its own has given to this person. Default: theirs. */
  subOf?(sub: string): string;
  /** Headers as good as those of {@link headersOf}, made for another tenant's instance. */
  foreignHeaders(): Promise<Headers>;
  /** The header that carries a credential, with a given value. */
  readonly credential: (value: string) => Headers;
  /** Makes the dependencies of `resolve` fail. */
  breakDependency(): void;
  /** Lets the longest life of a credential pass. */
  passTime(): void;
}

export interface SuiteOptions {
  /**
   * The provider stores accounts itself, instead of passing on an issuer's claims: every account has an address,
   * whether that is verified is always known, and it has pages of its own. Default false.
   */
  readonly keepsAccounts?: boolean;
}

/** Runs the suite. `make` is called anew for every test. */
export function describeAuthProvider(
  name: string,
  make: () => Promise<ProviderUnderTest>,
  { keepsAccounts = false }: SuiteOptions = {},
): void {
  describe(`AuthProvider suite: ${name}`, () => {
    test('A-01: an anonymous request is null', async () => {
      const { provider } = await make();
      expect(await provider.resolve(new Headers())).toBeNull();
    });

    test('A-01, A-05: a signed-in person is a subject with sub, email and name, and names the issuer', async () => {
      const { provider, headersOf, issuer, subOf = same } = await make();
      const headers = await headersOf({ sub: 'ada', email: 'ada@example.com', name: 'Ada' });
      const { session: _, ...subject } = (await provider.resolve(headers)) ?? {};
      const known = { issuer, sub: subOf('ada'), email: 'ada@example.com', name: 'Ada' };
      expect(subject).toEqual(keepsAccounts ? { ...known, emailVerified: false } : known);
      expect(subOf('ada')).not.toBe('');
    });

    test('A-05: what the issuer does not say is null', async () => {
      const { provider, headersOf, subOf = same } = await make();
      const subject = await provider.resolve(await headersOf({ sub: 'ada' }));
      expect(subject).toMatchObject({ sub: subOf('ada'), name: null });
      if (!keepsAccounts) expect(subject?.email).toBeNull();
    });

    test.each([true, false])(
      'A-06, A-07: email_verified %s passes through, and admits and refuses no one',
      async (flag) => {
        const { provider, headersOf } = await make();
        const headers = await headersOf({ sub: 'ada', email: 'ada@example.com', email_verified: flag });
        expect((await provider.resolve(headers))?.emailVerified).toBe(flag);
      },
    );

    // A provider with accounts of its own always knows, and never leaves the flag out.
    if (!keepsAccounts)
      test('A-06, A-08: an absent email_verified stays absent, for the life of the credential', async () => {
        const { provider, headersOf } = await make();
        const headers = await headersOf({ sub: 'ada', email: 'ada@example.com' });
        for (let i = 0; i < 2; i++) {
          const subject: AuthSubject | null = await provider.resolve(headers);
          expect(subject).not.toBeNull();
          expect(subject).not.toHaveProperty('emailVerified');
        }
      });

    test('A-03: a subject holds no role, no grant, no principal and no tenant', async () => {
      const { provider, headersOf } = await make();
      const headers = await headersOf({ sub: 'ada', roles: ['admin'], tenant: 't' } as SuiteClaims);
      const subject = (await provider.resolve(headers)) ?? {};
      const known = ['issuer', 'sub', 'email', 'name', 'emailVerified', 'session'];
      expect(Object.keys(subject).filter((key) => !known.includes(key))).toEqual([]);
    });

    test('A-22: a credential of another tenant’s instance does not count here', async () => {
      const { provider, foreignHeaders } = await make();
      expect(await provider.resolve(await foreignHeaders())).toBeNull();
    });

    test('an expired credential does not count', async () => {
      const { provider, headersOf, passTime } = await make();
      const headers = await headersOf({ sub: 'ada' });
      passTime();
      expect(await provider.resolve(headers)).toBeNull();
    });

    test('a malformed credential does not count, and is never an exception', async () => {
      const { provider, credential } = await make();
      const part = fc
        .string({ unit: 'grapheme-ascii', maxLength: 30 })
        .map((text) => text.replace(/[\r\n]/g, ''));
      await fc.assert(
        fc.asyncProperty(fc.array(part, { maxLength: 5 }), async (parts) => {
          expect(await provider.resolve(credential(parts.join('.')))).toBeNull();
        }),
        { numRuns: 100 },
      );
    });

    test('a broken dependency is an error: neither a subject nor none', async () => {
      const { provider, headersOf, breakDependency } = await make();
      const headers = await headersOf({ sub: 'ada' });
      breakDependency();
      await expect(provider.resolve(headers)).rejects.toMatchObject({
        name: 'PlatformError',
        code: 'unavailable',
      });
      // An anonymous request needs no dependency for its answer.
      expect(await provider.resolve(new Headers())).toBeNull();
    });

    test('A-01: handle answers every address with a response that no cache stores', async () => {
      const { provider } = await make();
      for (const path of ['login', 'logout', 'callback', 'unknown', 'login/x', '']) {
        const response = await provider.handle(new Request(`https://app.example/api/auth/${path}`));
        expect(response.headers.get('cache-control')).toBe('no-store');
        expect(response.headers.get('x-content-type-options')).toBe('nosniff');
        // A bearer token does not work here: where it does, the application answers with its own challenge.
        expect(response.headers.get('www-authenticate')).toBeNull();
        const isPage = response.headers.get('content-type')?.startsWith('text/html') === true;
        expect(response.status).toBeGreaterThanOrEqual(keepsAccounts && isPage ? 200 : 300);
      }
    });
  });
}

function same(sub: string): string {
  return sub;
}
