/** A plain OAuth library, which checks every answer by the RFCs, at the authorization server. */
import * as oauth from 'oauth4webapi';
import { expect, test } from 'vitest';
import { callerWith, ORIGIN, openServer, RESOURCE, WEB } from '../../test/programs.ts';

test.each(['none', 'client_secret_post', 'client_secret_basic'] as const)(
  'the library discovers, registers with %s, is let in, refreshes and revokes',
  async (method) => {
    const { server, ada, directory, clock } = await openServer();
    const options = {
      [oauth.customFetch]: async (url: string, init: object) => {
        const answer = await server.handle(new Request(url, init as RequestInit));
        if (!answer) throw new TypeError(`nothing is at ${url}`);
        return answer;
      },
    };
    const issuer = new URL(ORIGIN);
    const as = await oauth.processDiscoveryResponse(
      issuer,
      await oauth.discoveryRequest(issuer, { ...options, algorithm: 'oauth2' }),
    );
    const client = await oauth.processDynamicClientRegistrationResponse(
      await oauth.dynamicClientRegistrationRequest(
        as,
        { client_name: 'Agent', redirect_uris: [WEB], token_endpoint_auth_method: method },
        options,
      ),
    );
    const secret = String(client.client_secret);
    const proof = {
      none: oauth.None(),
      client_secret_post: oauth.ClientSecretPost(secret),
      client_secret_basic: oauth.ClientSecretBasic(secret),
    }[method];

    const verifier = oauth.generateRandomCodeVerifier();
    const state = oauth.generateRandomState();
    const request = await server.readRequest(
      new URLSearchParams({
        response_type: 'code',
        client_id: client.client_id,
        redirect_uri: WEB,
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        resource: RESOURCE,
        state,
      }),
    );
    const back = new URL(await server.letIn(request, ada, { access: 'all' }));
    const callback = oauth.validateAuthResponse(as, client, back, state);
    const tokens = await oauth.processAuthorizationCodeResponse(
      as,
      client,
      await oauth.authorizationCodeGrantRequest(as, client, proof, callback, WEB, verifier, {
        ...options,
        additionalParameters: { resource: RESOURCE },
      }),
    );
    expect(tokens).toMatchObject({ token_type: 'bearer', expires_in: 3_600, scope: 'all' });
    expect(await callerWith(directory, tokens.access_token)).toMatchObject({ sub: 'ada' });

    clock.nowMs += 3_600_000;
    const next = await oauth.processRefreshTokenResponse(
      as,
      client,
      await oauth.refreshTokenGrantRequest(as, client, proof, String(tokens.refresh_token), options),
    );
    expect(await callerWith(directory, next.access_token)).toMatchObject({ sub: 'ada' });
    await oauth.processRevocationResponse(
      await oauth.revocationRequest(as, client, proof, String(next.refresh_token), options),
    );
    expect(await callerWith(directory, next.access_token)).toBeNull();
  },
);
