/** What every signed-in request pays: verifying the session cookie, and turning the subject into a principal. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { identityDirectory, resolvePrincipal } from '@freehold/auth';
import { openNodeEngine } from '@freehold/engine-node';
import { makeRelyingParty } from '@freehold/oidc-rp';
import { compare, type Row } from './harness.ts';

const ISSUER = 'https://id.example.test';
const PEOPLE = 500;

export async function benchIdentity(directory: string): Promise<Row[]> {
  return [await benchSession(), await benchResolution(directory)];
}

/** Ours reads the cookie header, checks signature, type, audience, issuer and lifetime; the peer only the first. */
async function benchSession(): Promise<Row> {
  const party = makeRelyingParty({
    env: { issuer: ISSUER, clientId: 'bench', sessionSecrets: [randomBytes(32).toString('base64url')] },
    fetch: () => Promise.reject(new Error('nothing is fetched here')),
    now: Date.now,
  });
  const token = party.mintSession({
    id: 'ada',
    email: 'ada@example.test',
    name: 'Ada Lovelace',
    emailVerified: true,
  });
  const headers = new Headers({ cookie: `sb_session=${token}` });
  if (party.sessionFromHeaders(headers)?.id !== 'ada') throw new Error('the session does not verify');

  const key = randomBytes(32);
  const signed = token.slice(0, token.lastIndexOf('.'));
  const signature = createHmac('sha256', key).update(signed).digest();
  const payload = signed.slice(signed.indexOf('.') + 1);
  const bare = (): unknown => {
    if (!timingSafeEqual(createHmac('sha256', key).update(signed).digest(), signature))
      throw new Error('bad signature');
    return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
  };
  return compare(
    {
      name: 'sessionFromHeaders',
      ours: () => party.sessionFromHeaders(headers),
      peer: bare,
      against: 'bare HMAC-SHA-256 and JSON.parse',
    },
    0.5,
  );
}

async function benchResolution(directory: string): Promise<Row> {
  const engine = openNodeEngine({
    dataDirectory: join(directory, 'identity'),
    onIncident: (error) => console.error(error),
  });
  const identity = engine.unit(identityDirectory, 'tnt_01arz3ndektsv4rrffq69g5fav', { create: true });
  const scopeId = 'scp_01arz3ndektsv4rrffq69g5fav';
  await identity.setPendingOwner({ scopeId });
  const subject = { issuer: ISSUER, sub: 'ada', email: null, name: 'Ada' };
  const input = { scopeId, subject, session: { sid: 'a-session', issuedAtMs: Date.now() } };
  if (!(await resolvePrincipal(identity, input)).claimedNow) throw new Error('the seat was not claimed');

  const db = new DatabaseSync(join(directory, 'people.sqlite'));
  db.exec(`PRAGMA journal_mode = WAL;
    CREATE TABLE people (id INTEGER PRIMARY KEY, issuer TEXT NOT NULL, sub TEXT NOT NULL, email TEXT, name TEXT, UNIQUE (issuer, sub)) STRICT;
    CREATE TABLE bindings (scope TEXT NOT NULL, person INTEGER NOT NULL, principal TEXT NOT NULL, PRIMARY KEY (scope, person)) STRICT, WITHOUT ROWID;
    CREATE TABLE ended (sid TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;`);
  for (let i = 0; i < PEOPLE; i++) {
    db.prepare('INSERT INTO people (issuer, sub, name) VALUES (?, ?, ?)').run(
      ISSUER,
      i === 0 ? 'ada' : `sub-${i}`,
      'Ada',
    );
    db.prepare('INSERT INTO bindings VALUES (?, ?, ?)').run(scopeId, i + 1, `prn_${i}`);
  }
  const query =
    db.prepare(`SELECT p.email, p.name, b.principal, EXISTS (SELECT 1 FROM ended WHERE sid = ?) AS ended
    FROM people p JOIN bindings b ON b.person = p.id AND b.scope = ? WHERE p.issuer = ? AND p.sub = ?`);
  const row = await compare(
    {
      name: 'resolvePrincipal',
      ours: () => resolvePrincipal(identity, input),
      peer: () => query.get('a-session', scopeId, ISSUER, 'ada'),
      against: 'one bare indexed SELECT of the same shape',
    },
    0.2,
  );
  await engine.close();
  db.close();
  return row;
}
