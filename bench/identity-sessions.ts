/** Verifying the session cookie of a request: ours beside a bare HMAC, and beside two libraries' own session checks. */
import { createHmac, createSecretKey, randomBytes, timingSafeEqual } from 'node:crypto';
import { makeRelyingParty } from '@freehold/oidc-rp';
import { sealData, unsealData } from 'iron-session';
import { compare, type Row } from './harness.ts';
import { ADA, FASTER, ISSUER, NEAR_BARE, requireVerdicts, spoil } from './identity-aims.ts';

const NAME = 'session of a request';

/** The library's own types would add a browser's types to every file of this repository. */
interface AuthCoreJwt {
  encode(params: { token: object; secret: string; salt: string; maxAge?: number }): Promise<string>;
  decode(params: { token: string; secret: string; salt: string }): Promise<Record<string, unknown> | null>;
}
const AUTH_CORE: string = '@auth/core/jwt';

/** Both peers encrypt their sessions, ours is only signed: none of the three holds a secret. */
export async function benchSessions(): Promise<Row[]> {
  const ours = await makeOurs();
  const peers = [
    { against: 'bare HMAC-SHA-256 and JSON.parse', atLeast: NEAR_BARE, peer: makeBare() },
    { against: 'iron-session 9: unsealData', atLeast: FASTER, peer: await makeIronSession() },
    { against: '@auth/core 0.41: jwt decode', atLeast: FASTER, peer: await makeAuthCore() },
  ];
  const rows: Row[] = [];
  for (const { atLeast, ...peer } of peers) rows.push(await compare({ name: NAME, ours, ...peer }, atLeast));
  return rows;
}

/** Ours reads the cookie header, and checks signature, kind, audience, issuer and lifetime. */
async function makeOurs(): Promise<() => unknown> {
  const party = makeRelyingParty({
    env: { issuer: ISSUER, clientId: 'bench', sessionSecrets: [randomBytes(32).toString('base64url')] },
    fetch: () => Promise.reject(new Error('nothing is fetched here')),
    now: Date.now,
  });
  const token = party.mintSession(ADA);
  const headersWith = (value: string): Headers => new Headers({ cookie: `sb_session=${value}` });
  await requireVerdicts('ours', (it) => party.verifiedSessionFromHeaders(headersWith(it))?.user.id, {
    good: token,
    spoilt: spoil(token),
  });
  const headers = headersWith(token);
  return () => party.verifiedSessionFromHeaders(headers);
}

/** The least work of checking a signed session: the tag, a comparison, and the claims. */
function makeBare(): () => unknown {
  const key = createSecretKey(randomBytes(32));
  const nowS = Date.now() / 1000;
  const claims = {
    aud: 'bench',
    idp: ISSUER,
    sub: ADA.id,
    sid: 'sid',
    iat: nowS,
    exp: nowS + 604_800,
    ...ADA,
  };
  const payload = Buffer.from(JSON.stringify(claims)).toString('base64url');
  const signed = `${Buffer.from('{"alg":"HS256","typ":"session+jwt"}').toString('base64url')}.${payload}`;
  const tag = createHmac('sha256', key).update(signed).digest();
  return () => {
    if (!timingSafeEqual(createHmac('sha256', key).update(signed).digest(), tag)) throw new Error('bad tag');
    return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
  };
}

async function makeIronSession(): Promise<() => unknown> {
  const password = randomBytes(32).toString('base64url');
  const seal = await sealData(ADA, { password });
  const read = (it: string) => unsealData<typeof ADA>(it, { password });
  await requireVerdicts('iron-session', async (it) => (await read(it)).id, {
    good: seal,
    spoilt: spoil(seal),
  });
  return () => read(seal);
}

async function makeAuthCore(): Promise<() => unknown> {
  const { decode, encode } = (await import(AUTH_CORE)) as AuthCoreJwt;
  const keys = { secret: randomBytes(32).toString('base64url'), salt: 'authjs.session-token' };
  const token = await encode({ ...keys, token: { sub: ADA.id, email: ADA.email, name: ADA.name } });
  const read = (it: string) => decode({ ...keys, token: it });
  await requireVerdicts('@auth/core', async (it) => (await read(it))?.sub, {
    good: token,
    spoilt: spoil(token),
  });
  return () => read(token);
}
