/** From a verified subject to a principal, on the embedded engine, beside one bare statement of the same look-ups. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { identityDirectory, resolvePrincipal } from '@freehold/auth';
import { openNodeEngine } from '@freehold/engine-node';
import { compare, type Row } from './harness.ts';
import { ADA, ISSUER, NEAR_BARE } from './identity-aims.ts';
import { scopeIdOf, tenantId } from './notes.ts';

const PEOPLE = 500;
const SESSION = 'a-session';

export async function benchResolution(directory: string): Promise<Row[]> {
  const engine = openNodeEngine({
    dataDirectory: join(directory, 'identity'),
    onIncident: (error) => console.error(error),
  });
  const identity = engine.unit(identityDirectory, tenantId, { create: true });
  const scopeId = scopeIdOf(0);
  await identity.setPendingOwner({ scopeId });
  const subject = { issuer: ISSUER, sub: ADA.id, email: null, name: ADA.name };
  const input = { scopeId, subject, session: { sid: SESSION, issuedAtMs: Date.now() } };
  if (!(await resolvePrincipal(identity, input)).claimedNow) throw new Error('the seat was not claimed');
  const bare = openBare(join(directory, 'people.sqlite'), scopeId);
  if ((bare.get() as { principal?: unknown } | undefined)?.principal !== 'prn_0')
    throw new Error('the bare statement finds no principal');

  const row = await compare(
    {
      name: 'resolvePrincipal',
      ours: () => resolvePrincipal(identity, input),
      peer: bare.get,
      against: 'one bare prepared SELECT of the same look-ups',
    },
    NEAR_BARE,
  );
  await engine.close();
  bare.close();
  return [row];
}

/** Reads a person, the principal, whether the session or all of them were ended, and whether a seat is open. */
function openBare(path: string, scopeId: string): { get: () => unknown; close: () => void } {
  const db = new DatabaseSync(path);
  db.exec(`PRAGMA journal_mode = WAL;
    CREATE TABLE people (id TEXT PRIMARY KEY, issuer TEXT NOT NULL, sub TEXT NOT NULL, email TEXT, name TEXT,
      email_verified INTEGER, claims_at INTEGER NOT NULL, UNIQUE (issuer, sub)) STRICT, WITHOUT ROWID;
    CREATE TABLE bindings (scope TEXT NOT NULL, person TEXT NOT NULL, principal TEXT NOT NULL, PRIMARY KEY (scope, person)) STRICT, WITHOUT ROWID;
    CREATE TABLE floors (issuer TEXT NOT NULL, sub TEXT NOT NULL, valid_after INTEGER NOT NULL, PRIMARY KEY (issuer, sub)) STRICT, WITHOUT ROWID;
    CREATE TABLE ended (sid TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
    CREATE TABLE seats (scope TEXT PRIMARY KEY, principal TEXT, state TEXT NOT NULL) STRICT, WITHOUT ROWID;`);
  const person = db.prepare('INSERT INTO people (id, issuer, sub, name, claims_at) VALUES (?, ?, ?, ?, 0)');
  const binding = db.prepare('INSERT INTO bindings VALUES (?, ?, ?)');
  for (let i = 0; i < PEOPLE; i++) {
    person.run(`per_${i}`, ISSUER, i === 0 ? ADA.id : `sub-${i}`, ADA.name);
    binding.run(scopeId, `per_${i}`, `prn_${i}`);
  }
  const query =
    db.prepare(`SELECT p.id, p.email, p.name, p.email_verified, p.claims_at, b.principal, f.valid_after, e.sid, s.principal AS seat
    FROM (SELECT 1)
    LEFT JOIN people p ON p.issuer = ? AND p.sub = ?
    LEFT JOIN bindings b ON b.scope = ? AND b.person = p.id
    LEFT JOIN floors f ON f.issuer = ? AND f.sub = ?
    LEFT JOIN ended e ON e.sid = ?
    LEFT JOIN seats s ON s.scope = ? AND s.state = 'pending'`);
  return {
    get: () => query.get(ISSUER, ADA.id, scopeId, ISSUER, ADA.id, SESSION, scopeId),
    close: () => db.close(),
  };
}
