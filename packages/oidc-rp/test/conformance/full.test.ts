/** The modules that oidcc-client-test-plan (the full plan) adds to the basic one for the code flow. */
import { expect, test } from 'vitest';
import { withHmac, withSpoiltSignature } from '../../../testkit/src/oidc/fake-issuer.ts';
import { claiming, makeClient, type RefusedModule, refused, signInWith, titled } from './client.ts';

test.each(
  titled<RefusedModule>([
    {
      module: 'oidcc-client-test-invalid-sig-hs256',
      fault: 'announces HS256 and signs with a secret that is not the client’s',
      // No secret would do: HS256 is never accepted.
      because: 'ERR_JOSE_ALG_NOT_ALLOWED',
      behaviour: {
        metadata: { id_token_signing_alg_values_supported: ['HS256', 'ES256'] },
        idToken: (token) => withHmac(token, new TextEncoder().encode('a secret of an attacker, of 32 bytes')),
      },
    },
    {
      module: 'oidcc-client-test-invalid-sig-es256',
      fault: 'sends a wrong ES256 signature',
      because: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED',
      behaviour: { algorithm: 'ES256', idToken: withSpoiltSignature },
    },
    {
      module: 'oidcc-client-test-missing-aud',
      fault: 'leaves the audience out of the ID token',
      because: 'ERR_JWT_CLAIM_VALIDATION_FAILED aud',
      behaviour: claiming({ aud: undefined }),
    },
  ]),
)('%s: the issuer %s', async (_module, _fault, { because, ...peculiarity }) => {
  const outcome = await signInWith(await makeClient(), peculiarity);
  expect(outcome).toEqual(refused('id_token_invalid', because));
});
