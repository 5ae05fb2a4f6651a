/**
 * The story of a program at an instance (OAuth 2.1): it registers, is let in, calls, refreshes, and ends; the grant is in the
 * directory, so that it outlives the process.
 */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Answer, Caller } from '../support/http.ts';
import { ACCOUNTS_HOST, LET_IN_PATH } from './application.ts';
import type { Current } from './stories.ts';

const PASSWORD = 'three blind mice in a row';
/** The owner, who took the seat in the story of accounts before. */
const EMAIL = 'ada@example.test';
const CALLBACK = 'http://127.0.0.1:4711/callback';
const VERIFIER = 'v'.repeat(43);

interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly error?: string;
}

export function programsStory(world: Current): void {
  const origin = (): string => world().origin(ACCOUNTS_HOST);
  const me = (token: string, at = origin()): Promise<Answer> =>
    world()
      .browser()
      .ask(`${at}/api/me`, { headers: { authorization: `Bearer ${token}` } });
  const tokens = async (form: Record<string, string>): Promise<Tokens> =>
    (await world().browser().ask(`${origin()}/oauth/token`, { form })).json<Tokens>();
  const signedIn = async (): Promise<Caller> => {
    const browser = world().browser();
    const form = { email: EMAIL, password: PASSWORD };
    await browser.ask(`${origin()}/api/auth/login`, { form, headers: { origin: origin() } });
    return browser;
  };

  test('a program is let in, outlives the process, and ends when its refresh token comes twice', async () => {
    const browser = await signedIn();
    const person = (await browser.ask(`${origin()}/api/me`)).json<{ principal: string }>();
    const described = {
      client_name: 'Desktop',
      redirect_uris: [CALLBACK],
      token_endpoint_auth_method: 'none',
    };
    const registered = await browser.ask(`${origin()}/oauth/register`, { json: described });
    const { client_id } = registered.json<{ client_id: string }>();
    const asked = new URLSearchParams({
      ...{ response_type: 'code', client_id, redirect_uri: CALLBACK, resource: origin() },
      ...{
        code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
        code_challenge_method: 'S256',
      },
    });
    const back = new URL(
      (await browser.ask(`${origin()}${LET_IN_PATH}?${asked}`)).headers.get('location') ?? '',
    );
    expect(back.searchParams.get('iss')).toBe(origin());
    const code = back.searchParams.get('code') ?? '';
    const first = await tokens({
      grant_type: 'authorization_code',
      client_id,
      code,
      code_verifier: VERIFIER,
    });

    await world().restart();
    expect((await me(first.access_token)).json()).toMatchObject({
      principal: person.principal,
      grant: { name: 'Desktop', access: 'read' },
    });
    expect((await me(first.access_token, world().origin('birch.localhost'))).status).toBe(401);
    const renewal = { grant_type: 'refresh_token', client_id, refresh_token: first.refresh_token };
    const second = await tokens(renewal);
    expect((await me(second.access_token)).status).toBe(200);
    expect((await tokens(renewal)).error).toBe('invalid_grant');
    for (const { access_token } of [first, second]) expect((await me(access_token)).status).toBe(401);
  });
}
