/** Recognition of programs, where the directory cannot write. */
import { PlatformError } from '@freehold/contracts';
import { makeRateLimiter } from '@freehold/contracts/http';
import { expect, test } from 'vitest';
import { openServer, signedIn } from '../test/programs.ts';
import { ISSUER, SCOPE } from '../test/support.ts';
import { makeInstanceAuthCache } from './instance-auth-cache.ts';
import { recogniseCaller } from './recognise-caller.ts';

test('a program whose use cannot be noted, as on a full disk, is recognised all the same', async () => {
  const open = await openServer();
  const choice = { mode: 'oidc', issuer: ISSUER, clientId: 'app' };
  await open.directory.putConfig({ scopeId: SCOPE, config: { 'platform:auth': JSON.stringify(choice) } });
  const { access } = await signedIn(open);
  const full = new PlatformError('unavailable', 'The disk is full.', { reason: 'storage_full' });
  const directory = new Proxy(open.directory, {
    get: (target, method) =>
      method === 'noteProgramUse' ? () => Promise.reject(full) : Reflect.get(target, method),
  });
  const now = () => open.clock.nowMs;
  const told: unknown[] = [];
  const caller = await recogniseCaller({
    cache: makeInstanceAuthCache({ envSpec: {}, env: {}, runtime: { now } }),
    instance: { directory, scopeId: SCOPE },
    headers: new Headers({ authorization: `Bearer ${access}` }),
    signInOf: async (auth) => ({ provider: auth.provider() }),
    clientAddress: null,
    now,
    limiter: makeRateLimiter(now, { calls: 1, windowSeconds: 60 }),
    onIncident: (error) => told.push(error),
  });
  expect(caller).toMatchObject({ principal: open.principal, grant: { name: 'Desktop' } });
  expect(told).toEqual([full]);
});
