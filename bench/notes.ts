/** The operation that the benchmarks run, and the same SQL without us. */
import { randomBytes } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import type { OperationStub, PrincipalId, ScopeId, TenantId } from '@freehold/contracts';
import { type NodeEngine, openNodeEngine } from '@freehold/engine-node';
import {
  defineOperations,
  defineVertical,
  makeScopeHost,
  makeScopeUnit,
  operation,
  type ScopeHost,
} from '@freehold/kernel';
import { z } from 'zod';

export const scopeIdOf = (n: number): ScopeId => `scp_0${String(n).padStart(25, '0')}` as ScopeId;
export const tenantId = 'tnt_01arz3ndektsv4rrffq69g5fav' as TenantId;
const principal = 'prn_01arz3ndektsv4rrffq69g5fav' as PrincipalId;

const vertical = defineVertical({
  manifest: {
    slug: 'bench',
    name: 'Bench',
    version: '1.0.0',
    permissions: { 'note.write': 'writing notes' },
    roles: { writer: { name: 'Writer', permissions: ['note.write'] } },
    ownerRole: 'writer',
    entities: { note: {} },
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

export interface Notes {
  readonly engine: NodeEngine;
  readonly host: ScopeHost;
  readonly stub: OperationStub;
  readonly operations: typeof vertical.operations;
}

/** One provisioned scope and somebody who may write notes in it. */
export async function openNotes(dataDirectory: string): Promise<Notes> {
  const engine = openNodeEngine({ dataDirectory, onIncident: (error) => console.error(error) });
  const host = makeScopeHost({ engine, unit: makeScopeUnit(vertical) });
  const scopeId = scopeIdOf(0);
  await host.provisionScopeLocal({ tenantId, scopeId, name: 'Bench' });
  await host.scope(scopeId).assignRole({ principal, role: 'writer', by: 'platform' });
  return { engine, host, stub: host.operations(scopeId, principal), operations: vertical.operations };
}

/** The statements that `note/write` runs, prepared once, on tables of the same shape. */
export function openBare(path: string): (calls: number) => void {
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
