/**
 * One operation (a permission check, a row, an event, its invocation) against the same SQL on bare `node:sqlite` at
 * the same durability: one caller, and 64 that share a commit. And how long provisioning a scope takes.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { PrincipalId, ScopeId, TenantId } from '@freehold/contracts';
import { openNodeEngine } from '@freehold/engine-node';
import { defineOperations, defineVertical, makeScopeHost, makeScopeUnit, operation } from '@freehold/kernel';
import { z } from 'zod';
import { compare, type Row, within } from './harness.ts';

const CONCURRENT = 64;
const tenantId = 'tnt_01arz3ndektsv4rrffq69g5fav' as TenantId;
const principal = 'prn_01arz3ndektsv4rrffq69g5fav' as PrincipalId;

const vertical = defineVertical({
  manifest: {
    slug: 'bench',
    name: 'Bench',
    version: '1.0.0',
    permissions: { 'note.write': 'writing notes' },
    roles: { writer: { name: 'Writer', permissions: ['note.write'] } },
    ownerRole: 'writer',
    entities: {},
    env: {},
  },
  migrations: [
    {
      version: 1,
      name: 'notes',
      sql: 'CREATE TABLE notes (id TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT, WITHOUT ROWID',
    },
  ],
  operations: defineOperations({
    'note/write': operation({
      summary: 'Write a note',
      input: z.strictObject({ text: z.string().max(200) }),
      output: z.strictObject({ note: z.string() }),
      permission: 'note.write',
      run: (ctx, { text }) => {
        const note = ctx.newId('not');
        ctx.sql.run('INSERT INTO notes (id, text) VALUES (?, ?)', note, text);
        ctx.emit({
          type: 'note.written',
          entity: { type: 'note', id: note },
          payload: { length: text.length },
        });
        return { note };
      },
    }),
  }),
});

const scopeIdOf = (n: number): ScopeId => `scp_0${String(n).padStart(25, '0')}` as ScopeId;

export async function benchKernel(directory: string): Promise<Row[]> {
  const engine = openNodeEngine({
    dataDirectory: join(directory, 'kernel'),
    onIncident: (error) => console.error(error),
  });
  const host = makeScopeHost({ engine, unit: makeScopeUnit(vertical) });
  const scopeId = scopeIdOf(0);
  await host.provisionScopeLocal({ tenantId, scopeId, name: 'Bench' });
  await host.scope(scopeId).assignRole({ principal, role: 'writer', by: 'platform' });
  const stub = host.operations(scopeId, principal);
  const invoke = () => stub.invoke({ operation: 'note/write', input: { text: 'a short note' } });
  const bare = openBare(join(directory, 'bare.sqlite'));

  let provisioned = 0;
  const rows = [
    await compare(
      {
        name: `invoke, ${CONCURRENT} concurrent callers`,
        ours: () => Promise.all(Array.from({ length: CONCURRENT }, invoke)),
        peer: () => bare(CONCURRENT),
        against: 'the same SQL, bare, in groups of 64',
        batch: CONCURRENT,
      },
      0.6,
    ),
    await compare(
      {
        name: 'invoke, one caller',
        ours: invoke,
        peer: () => bare(1),
        against: 'the same SQL, bare, one a commit',
      },
      0.6,
    ),
    await within('provision a scope', 10, () => {
      provisioned += 1;
      return host.provisionScopeLocal({ tenantId, scopeId: scopeIdOf(provisioned), name: 'Bench' });
    }),
  ];
  await engine.close();
  return rows;
}

/** The statements that `note/write` runs, prepared once, on tables of the same shape. */
function openBare(path: string): (calls: number) => void {
  const db = new DatabaseSync(path);
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE notes (id TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE invocations (id TEXT PRIMARY KEY, operation TEXT NOT NULL, principal TEXT NOT NULL, parent TEXT, cause TEXT,
      idempotency_key TEXT, started_at INTEGER NOT NULL, duration_ms INTEGER NOT NULL, outcome TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE events (id TEXT PRIMARY KEY, type TEXT NOT NULL, version INTEGER NOT NULL, entity_type TEXT NOT NULL,
      entity_id TEXT NOT NULL, actor TEXT NOT NULL, operation TEXT NOT NULL, invocation TEXT NOT NULL, cause TEXT,
      proof TEXT NOT NULL, pii_class TEXT NOT NULL, subject TEXT, payload TEXT, at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE INDEX events_entity ON events (entity_type, entity_id, id);
    CREATE INDEX events_invocation ON events (invocation, id);
    CREATE INDEX events_cause ON events (cause, id) WHERE cause IS NOT NULL;
    CREATE TABLE assignments (principal TEXT NOT NULL, role TEXT NOT NULL, PRIMARY KEY (principal, role)) STRICT, WITHOUT ROWID;
    INSERT INTO assignments VALUES ('${principal}', 'writer');`);
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const savepoint = db.prepare('SAVEPOINT one');
  const release = db.prepare('RELEASE one');
  const role = db.prepare('SELECT role FROM assignments WHERE principal = ?');
  const note = db.prepare('INSERT INTO notes (id, text) VALUES (?, ?)');
  const event = db.prepare('INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
  const invocation = db.prepare('INSERT INTO invocations VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)');
  const run = randomBytes(8).toString('hex');
  let next = 0;
  return (calls) => {
    begin.run();
    for (let i = 0; i < calls; i++) {
      const id = `${run}${String(next++).padStart(12, '0')}`;
      savepoint.run();
      role.get(principal);
      note.run(`not_${id}`, 'a short note');
      event.run(
        `evt_${id}`,
        'note.written',
        1,
        'note',
        `not_${id}`,
        principal,
        'note/write',
        `inv_${id}`,
        null,
        '{"by":"role","role":"writer"}',
        'none',
        null,
        '{"length":12}',
        Date.now(),
      );
      invocation.run(`inv_${id}`, 'note/write', principal, null, null, null, Date.now(), 0, 'done');
      release.run();
    }
    commit.run();
  };
}
