/** Recognition of programs, where the directory cannot write. */
import { PlatformError } from '@freehold/contracts';
import { makeRateLimiter } from '@freehold/contracts/http';
import { expect, test } from 'vitest';
import { openServer, signedIn } from '../test/programs.ts';
import { ISSUER, SCOPE } from '../test/support.ts';
import { makeInstanceAuthCache } from './instance-auth-cache.ts';
import { recogniseCaller } from './recognise-caller.ts';

const choice = (issuer: string) => ({
  'platform:auth': JSON.stringify({ mode: 'oidc', issuer, clientId: 'app' }),
});

/** A member of an instance that signs in at an issuer, with a program, and the question who a token is of. */
async function open() {
  const platform = await openServer();
  await platform.directory.putConfig({ scopeId: SCOPE, config: choice(ISSUER) });
  const { access } = await signedIn(platform);
  const now = () => platform.clock.nowMs;
  const told: unknown[] = [];
  const cache = makeInstanceAuthCache({ envSpec: {}, env: {}, runtime: { now } });
  const recognise = (directory = platform.directory) =>
    recogniseCaller({
      cache,
      instance: { directory, scopeId: SCOPE },
      headers: new Headers({ authorization: `Bearer ${access}` }),
      signInOf: async (auth) => ({ provider: auth.provider() }),
      clientAddress: null,
      now,
      limiter: makeRateLimiter(now, { calls: 1, windowSeconds: 60 }),
      onIncident: (error) => told.push(error),
    });
  return { ...platform, recognise, told };
}

test('a program whose use cannot be noted, as on a full disk, is recognised all the same', async () => {
  const { directory, principal, recognise, told } = await open();
  const full = new PlatformError('unavailable', 'The disk is full.', { reason: 'storage_full' });
  const failing = new Proxy(directory, {
    get: (target, method) =>
      method === 'noteProgramUse' ? () => Promise.reject(full) : Reflect.get(target, method),
  });
  expect(await recognise(failing)).toMatchObject({ principal, grant: { name: 'Desktop' } });
  expect(told).toEqual([full]);
});

test('a program of a person of a former issuer goes no further, and goes on when that one is back', async () => {
  const { directory, principal, recognise } = await open();
  await directory.putConfig({ scopeId: SCOPE, config: choice('https://other.example') });
  expect(await recognise()).toMatchObject({ subject: null, principal: null, grant: null });
  await directory.putConfig({ scopeId: SCOPE, config: choice(ISSUER) });
  expect(await recognise()).toMatchObject({ principal });
});
