/** Modules of fapi2-security-profile-final-client-test-plan that apply to every code-flow client. */
import { describe, expect, test } from 'vitest';
import { withoutSignature } from '../../../testkit/src/oidc/fake-issuer.ts';
import type { OidcErrorCode } from '../../src/lib/errors.ts';
import {
  claiming,
  makeClient,
  type Peculiarity,
  type RefusedModule,
  refused,
  signedIn,
  signInWith,
  titled,
} from './client.ts';

const PREFIX = 'fapi2-security-profile-final-client-test-';
const NOW_S = Date.UTC(2026, 0, 1, 12) / 1000;

describe('an authorization response is refused, and its code never redeemed', () => {
  test.each(
    titled<RefusedModule & { code: OidcErrorCode }>([
      {
        module: 'ensure-authorization-response-with-invalid-state-fails',
        fault: 'answers with the state and one character more',
        code: 'state_mismatch',
        because: 'The state is none of those that this browser was given.',
        answer: (parameters) => parameters.set('state', `${parameters.get('state')}1`),
      },
      {
        module: 'ensure-authorization-response-with-invalid-missing-state-fails',
        fault: 'answers without the state',
        code: 'state_mismatch',
        because: 'The state is none of those that this browser was given.',
        answer: (parameters) => parameters.delete('state'),
      },
      {
        module: 'invalid-authorization-response-iss',
        fault: 'answers under another name',
        code: 'issuer_mismatch',
        because: 'The authorization response names another issuer.',
        answer: (parameters) => parameters.set('iss', 'https://other.example'),
      },
      {
        module: 'remove-authorization-response-iss',
        fault: 'promises its name in every answer, and leaves it out',
        code: 'issuer_mismatch',
        because: 'The authorization response lacks the issuer that is always sent.',
        behaviour: { metadata: { authorization_response_iss_parameter_supported: true } },
        answer: (parameters) => parameters.delete('iss'),
      },
    ]),
  )(`${PREFIX}%s: the issuer %s`, async (_module, _fault, { code, because, ...peculiarity }) => {
    const client = await makeClient();
    expect(await signInWith(client, peculiarity)).toEqual(refused(code, because));
    expect(client.issuer.count('/token')).toBe(0);
  });
});

describe('an ID token is refused', () => {
  test.each(
    titled<RefusedModule>([
      {
        module: 'invalid-secondary-aud',
        fault: 'adds an audience that the client does not know',
        because: 'The ID token has several audiences and no authorized party.',
        behaviour: claiming({ aud: ['client-1', 'client-of-another-tenant'] }),
      },
      {
        module: 'invalid-expired-exp',
        fault: 'sends an ID token that expired five minutes ago',
        because: 'ERR_JWT_EXPIRED exp',
        behaviour: claiming({ exp: NOW_S - 300 }),
      },
      {
        module: 'invalid-missing-exp',
        fault: 'does not say when the ID token expires',
        because: 'ERR_JWT_CLAIM_VALIDATION_FAILED exp',
        behaviour: claiming({ exp: undefined }),
      },
      {
        module: 'invalid-missing-iss',
        fault: 'leaves its name out of the ID token',
        because: 'ERR_JWT_CLAIM_VALIDATION_FAILED iss',
        behaviour: claiming({ iss: undefined }),
      },
      {
        module: 'invalid-missing-aud',
        fault: 'leaves the audience out of the ID token',
        because: 'ERR_JWT_CLAIM_VALIDATION_FAILED aud',
        behaviour: claiming({ aud: undefined }),
      },
      {
        module: 'invalid-missing-nonce',
        fault: 'leaves the nonce out of the ID token',
        because: 'ERR_JWT_CLAIM_VALIDATION_FAILED nonce',
        behaviour: claiming({ nonce: undefined }),
      },
      {
        module: 'invalid-null-alg',
        fault: 'says `alg: none` and does not sign',
        because: 'ERR_JOSE_ALG_NOT_ALLOWED',
        behaviour: { idToken: withoutSignature },
      },
      {
        module: 'invalid-alternate-alg',
        fault: 'announces ES256 and signs with RS256 and a published key',
        because: 'ERR_JOSE_ALG_NOT_ALLOWED',
        behaviour: { algorithm: 'RS256', metadata: { id_token_signing_alg_values_supported: ['ES256'] } },
      },
    ]),
  )(`${PREFIX}%s: the issuer %s`, async (_module, _fault, { because, ...peculiarity }) => {
    const outcome = await signInWith(await makeClient(), peculiarity);
    expect(outcome).toEqual(refused('id_token_invalid', because));
  });
});

describe('an unusual but correct token is accepted', () => {
  test.each(
    titled<Peculiarity & { module: string; fault: string }>([
      {
        module: 'valid-aud-as-array',
        fault: 'writes the one audience as a list',
        behaviour: claiming({ aud: ['client-1'] }),
      },
      {
        module: 'token-type-case-insensitivity',
        fault: 'writes the token type as bEaReR',
        behaviour: { tokens: (body) => ({ ...body, token_type: 'bEaReR' }) },
      },
      {
        module: 'token-endpoint-response-without-expires_in',
        fault: 'does not say how long the access token lives',
        behaviour: { tokens: ({ expires_in: _, ...body }) => body },
      },
    ]),
  )(`${PREFIX}%s: the issuer %s`, async (_module, _fault, peculiarity) => {
    expect(await signInWith(await makeClient(), peculiarity)).toEqual(signedIn());
  });
});
