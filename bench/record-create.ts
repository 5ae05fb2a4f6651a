/** The cost of a declared operation: `item/create` of records against the same operation, written by hand. */
import { join } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import { openNodeEngine } from '@freehold/engine-node';
import { makeScopeHost, makeScopeUnit, operation } from '@freehold/kernel';
import { z } from 'zod';
import { defineApp, lineOfText, money, records, signedIn, statementsOf } from '../packages/app/src/index.ts';
import { wordsOf } from '../packages/app/src/records/words.ts';
import { compare, type Row } from './harness.ts';
import { principal, scopeIdOf, tenantId } from './notes.ts';

const CONCURRENT = 64;
const AT_LEAST = 0.95;
const permissions = { 'item.read': 'See items', 'item.write': 'Write items down' };

const declared = <T extends string>(type: T) =>
  records(type, {
    fields: z.object({
      name: lineOfText(120),
      rate: money('EUR'),
      serial: z.string().max(40).optional(),
      lent: z.boolean().default(false),
    }),
    search: ['name'],
    filter: ['lent'],
    sort: ['name', 'createdAt'],
    unique: ['serial'],
    permissions: { read: 'item.read', write: 'item.write' },
  });
/** Two alike: the second one is made by hand. */
const [item, thing] = [declared('item'), declared('thing')];

const byHand = operation({
  summary: 'Add one thing',
  input: z.strictObject({
    name: lineOfText(120),
    rate: money('EUR'),
    serial: z.string().max(40).optional(),
    lent: z.boolean().default(false),
  }),
  output: z.object({
    id: z.string(),
    name: z.string(),
    rate: z.int(),
    serial: z.string().nullable(),
    lent: z.boolean(),
    createdAt: z.string(),
    updatedAt: z.string(),
    archivedAt: z.string().nullable(),
  }),
  permission: 'item.write',
  created: ({ id }) => ({ type: 'thing', id }),
  run: (ctx, { name, rate, serial = null, lent }) => {
    const id = ctx.newId('thi');
    if (
      serial !== null &&
      ctx.sql.get('SELECT 1 FROM things WHERE archived = 0 AND serial = ? AND id <> ?', serial, id)
    )
      throw new PlatformError('conflict', 'Another one has this serial already.', { reason: 'taken' });
    ctx.sql.run(
      'INSERT INTO things (id, archived, created_at, updated_at, name, rate, serial, lent) VALUES (?, 0, ?, ?, ?, ?, ?, ?)',
      id,
      ctx.now,
      ctx.now,
      name,
      rate,
      serial,
      Number(lent),
    );
    ctx.sql.run(
      'INSERT INTO things_words (archived, word, id) SELECT 0, value, ? FROM json_each(?)',
      id,
      JSON.stringify(wordsOf([name])),
    );
    ctx.emit({ type: 'thing.created', entity: { type: 'thing', id }, payload: { name, rate, serial, lent } });
    const row = ctx.sql.get<{ name: string; rate: number; serial: string | null; lent: number; at: number }>(
      'SELECT name, rate, serial, lent, created_at AS at FROM things WHERE id = ?',
      id,
    );
    if (!row) throw new TypeError('it was just made');
    const at = new Date(row.at).toISOString();
    return { id, ...row, lent: row.lent === 1, createdAt: at, updatedAt: at, archivedAt: null };
  },
});

export async function benchRecordCreate(directory: string): Promise<Row[]> {
  const engine = openNodeEngine({
    dataDirectory: join(directory, 'create'),
    onIncident: (error) => console.error(error),
  });
  const { vertical } = defineApp({
    manifest: {
      ...{ slug: 'lending', name: 'Lending', version: '0.1.0', permissions, env: {} },
      roles: { owner: { name: 'Owner', permissions: Object.keys(permissions) } },
      ownerRole: 'owner',
      entities: { item: item.entity, thing: thing.entity },
    },
    migrations: [
      {
        version: 1,
        name: 'items and things',
        sql: [item, thing].flatMap(({ table }) => statementsOf(table)).join(';\n'),
      },
    ],
    operations: { ...item.operations, ...thing.operations, 'thing/create': byHand },
    authenticatedPrincipal: signedIn(),
  });
  const host = makeScopeHost({ engine, unit: makeScopeUnit(vertical) });
  const scopeId = scopeIdOf(0);
  await host.provisionScopeLocal({ tenantId, scopeId, name: 'Lending' });
  await host.scope(scopeId).assignRole({ principal, role: 'owner', by: 'platform' });
  const stub = host.operations(scopeId, principal);
  let made = 0;
  const creating = (name: string) => async () => {
    made += 1;
    await stub.invoke({
      operation: name,
      input: { name: `Number ${made} of many`, rate: 1_250, serial: `S-${made}` },
    });
  };
  const callers = (work: () => Promise<unknown>) => () =>
    Promise.all(Array.from({ length: CONCURRENT }, work));
  const [ours, peer] = [creating('item/create'), creating('thing/create')];
  const rows = [
    await compare(
      {
        name: `a record made, ${CONCURRENT} callers`,
        against: 'the same operation by hand',
        ours: callers(ours),
        peer: callers(peer),
        batch: CONCURRENT,
      },
      AT_LEAST,
    ),
    await compare(
      { name: 'a record made, one caller', against: 'the same operation by hand', ours, peer },
      AT_LEAST,
    ),
  ];
  await engine.close();
  return rows;
}
