import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { PlatformError } from '@freehold/contracts';
import { expect, test } from 'vitest';
import {
  anonymous,
  guest,
  onScenario,
  openShop,
  otherTenant,
  owner,
  packer,
  scopeId,
  tenant,
} from './shop.ts';

/** Rows of a table, read beside the engine. */
function rows(dataDirectory: string, sql: string): unknown[] {
  const db = new DatabaseSync(join(dataDirectory, 'scope-shop', `${scopeId}.sqlite`), { readOnly: true });
  try {
    return db.prepare(sql).all();
  } finally {
    db.close();
  }
}

test('an operation writes its row, its event and its invocation, all naming one another', async () => {
  await using shop = await openShop();
  const result = await shop.run(owner, 'box/pack', { label: 'books' });
  const { box } = result.output as { box: string };
  const history = await shop.scope.history({ entity: { type: 'box', id: box }, limit: 10 });
  expect(history.items).toMatchObject([
    {
      type: 'box.packed',
      actor: owner,
      operation: 'box/pack',
      invocation: result.invocation,
      cause: null,
      payload: { label: 'books' },
    },
  ]);
  expect(
    rows(shop.dataDirectory, 'SELECT operation, principal, outcome FROM _spine_invocations'),
  ).toMatchObject([{ operation: 'box/pack', principal: owner, outcome: 'done' }]);
  expect(rows(shop.dataDirectory, 'SELECT proof FROM _spine_events')).toMatchObject([
    { proof: '{"by":"role","role":"owner"}' },
  ]);
});

test('an input that the schema refuses names each fault and writes nothing', async () => {
  await using shop = await openShop();
  await expect(shop.run(owner, 'box/pack', { label: '', extra: 1 })).rejects.toMatchObject({
    code: 'validation_failed',
    errors: expect.arrayContaining([expect.objectContaining({ path: 'label' })]),
  });
  expect(rows(shop.dataDirectory, 'SELECT * FROM _spine_invocations')).toEqual([]);
});

test('a refused check rolls everything back and leaves one denial row', async () => {
  await using shop = await openShop();
  // The packer may ship, but the bill that shipping sets off is not his to write.
  const { output } = await shop.run(packer, 'box/pack', { label: 'x' });
  await expect(shop.run(packer, 'box/ship', output)).rejects.toMatchObject({ code: 'permission_denied' });
  expect(rows(shop.dataDirectory, 'SELECT state FROM boxes')).toMatchObject([{ state: 'packed' }]);
  expect(rows(shop.dataDirectory, 'SELECT type FROM _spine_events')).toMatchObject([{ type: 'box.packed' }]);
  const denials = await shop.scope.listDenials({ limit: 10 });
  expect(denials.items).toMatchObject([
    { actor: packer, permission: 'bill.write', operation: 'bill/write', entity: null },
  ]);
});

test('a refusal that the handler swallows still refuses the invocation', async () => {
  await using shop = await openShop();
  const what = onScenario('swallow', (ctx) => {
    ctx.sql.run(`INSERT INTO boxes (id, label, state) VALUES ('sneaky', 'x', 'x')`);
    try {
      ctx.check('bill.write');
    } catch {
      // Looks away.
    }
    return 'done';
  });
  await expect(shop.run(guest, 'test/run', { what })).rejects.toMatchObject({ code: 'permission_denied' });
  expect(rows(shop.dataDirectory, 'SELECT * FROM boxes')).toEqual([]);
  expect((await shop.scope.listDenials({ limit: 10 })).items).toHaveLength(1);
});

test('a denied read is written down too', async () => {
  await using shop = await openShop();
  await expect(shop.run(anonymous, 'box/list', {})).rejects.toMatchObject({ code: 'permission_denied' });
  expect((await shop.scope.listDenials({ limit: 10 })).items).toMatchObject([
    { actor: anonymous, permission: 'box.list', operation: 'box/list' },
  ]);
});

test('denials are counted by actor and permission, or by operation', async () => {
  await using shop = await openShop();
  for (const who of [guest, guest, anonymous])
    await shop.run(who, 'box/pack', { label: 'x' }).catch(() => undefined);
  await shop.run(anonymous, 'box/list', {}).catch(() => undefined);
  // spec C-23: the answer echoes the grouping.
  expect(await shop.scope.summarizeDenials({ groupBy: 'operation' })).toMatchObject({
    groupBy: 'operation',
    total: 4,
    buckets: [
      { operation: 'box/pack', count: 3 },
      { operation: 'box/list', count: 1 },
    ],
  });
  expect(await shop.scope.summarizeDenials({ groupBy: 'actor' })).toMatchObject({
    groupBy: 'actor',
    total: 4,
    buckets: [{ actor: guest, permission: 'box.pack', count: 2 }, expect.anything(), expect.anything()],
  });
});

test('spec C-23: a bucket says when its last refusal was, and of two alike the later one comes first', async () => {
  await using shop = await openShop();
  const times: string[] = [];
  for (const [who, operation] of [
    [guest, 'box/pack'],
    [anonymous, 'box/list'],
    [anonymous, 'box/list'],
    [guest, 'box/pack'],
  ] as const) {
    shop.clock.ms += 1_000;
    times.push(new Date(shop.clock.ms).toISOString());
    const input = operation === 'box/pack' ? { label: 'x' } : {};
    await shop.run(who, operation, input).catch(() => undefined);
  }
  for (const groupBy of ['operation', 'actor'] as const)
    expect((await shop.scope.summarizeDenials({ groupBy })).buckets).toMatchObject([
      { count: 2, lastAt: times[3] },
      { count: 2, lastAt: times[2] },
    ]);
});

test('spec C-30: of several refusals that a handler swallows, the one row names the first', async () => {
  await using shop = await openShop();
  const what = onScenario('swallow-two', (ctx) => {
    for (const permission of ['bill.write', 'box.pack'])
      try {
        ctx.check(permission);
      } catch {
        // Looks away.
      }
    return 'done';
  });
  await expect(shop.run(guest, 'test/run', { what })).rejects.toMatchObject({ reason: 'bill_write' });
  expect((await shop.scope.listDenials({ limit: 10 })).items).toMatchObject([{ permission: 'bill.write' }]);
});

test('an operation that an operation invokes is caused by its last event', async () => {
  await using shop = await openShop();
  const { box } = (await shop.run(owner, 'box/pack', { label: 'x' })).output as { box: string };
  const shipped = await shop.run(owner, 'box/ship', { box });
  const history = await shop.scope.history({ entity: { type: 'box', id: box }, limit: 10 });
  const event = history.items[1];
  expect(event).toMatchObject({ type: 'box.shipped', invocation: shipped.invocation });
  const effects = await shop.scope.effects({ event: event?.id as never });
  expect(effects).toMatchObject({
    truncated: false,
    items: [{ type: 'bill.written', cause: event?.id, operation: 'bill/write' }],
  });
  const back = await shop.scope.cause({ event: effects.items[0]?.id as never });
  expect(back.items.map((each) => each.type)).toEqual(['bill.written', 'box.shipped']);
});

test('a handler that returns a promise is refused and writes nothing', async () => {
  await using shop = await openShop();
  const what = onScenario('promise', (ctx) => {
    ctx.sql.run(`INSERT INTO boxes (id, label, state) VALUES ('late', 'x', 'x')`);
    return Promise.resolve('later');
  });
  await expect(shop.run(owner, 'test/run', { what })).rejects.toMatchObject({ code: 'internal' });
  expect(rows(shop.dataDirectory, 'SELECT * FROM boxes')).toEqual([]);
  expect(String(shop.incidents[0])).toContain('test/run: run returned a promise');
});

test('an operation may read spine tables and never write them', async () => {
  await using shop = await openShop();
  const read = onScenario(
    'spine-read',
    (ctx) => ctx.sql.all('SELECT principal FROM _spine_assignments').length,
  );
  expect((await shop.run(owner, 'test/run', { what: read })).output).toBe(3);
  for (const sql of [
    `DELETE FROM _spine_events`,
    `INSERT INTO _Spine_assignments VALUES ('prn_x', 'owner', 'me', 0)`,
    `UPDATE "_spine_denials" SET actor = 'anonymous'`,
    `DROP TABLE _spine_idempotency`,
    `CREATE TRIGGER t AFTER INSERT ON boxes BEGIN DELETE FROM _spine_denials; END; INSERT INTO boxes VALUES ('t', 't', 't')`,
    `PRAGMA writable_schema = 1`,
    `ATTACH ':memory:' AS other`,
    `COMMIT`,
  ]) {
    const what = onScenario(sql, (ctx) => ctx.sql.exec(sql));
    await expect(shop.run(owner, 'test/run', { what }), sql).rejects.toMatchObject({ code: 'internal' });
  }
  expect(rows(shop.dataDirectory, 'SELECT * FROM _spine_assignments')).toHaveLength(3);
  expect(rows(shop.dataDirectory, 'SELECT * FROM boxes')).toEqual([]);
});

test('a read-only operation cannot write, emit, grant or invoke what writes', async () => {
  await using shop = await openShop();
  const attempts = {
    write: onScenario('ro-write', (ctx) => ctx.sql.run(`INSERT INTO boxes VALUES ('a', 'a', 'a')`)),
    emit: onScenario('ro-emit', (ctx) => ctx.emit({ type: 'x.y', entity: { type: 'box', id: 'a' } })),
    grant: onScenario('ro-grant', (ctx) => ctx.grant({ subject: guest, permission: 'box.read' })),
    invoke: onScenario('ro-invoke', (ctx) => ctx.invoke('box/pack', { label: 'x' })),
  };
  for (const what of Object.values(attempts)) {
    await expect(shop.run(owner, 'test/read', { what }), what).rejects.toMatchObject({ code: 'internal' });
  }
  expect(rows(shop.dataDirectory, 'SELECT * FROM boxes')).toEqual([]);
  expect(rows(shop.dataDirectory, 'SELECT * FROM _spine_invocations')).toEqual([]);
});

test('a repeat with the same idempotency key gets the stored answer and no second effect', async () => {
  await using shop = await openShop();
  const first = await shop.run(owner, 'box/pack', { label: 'x' }, { idempotencyKey: 'k1' });
  const again = await shop.run(owner, 'box/pack', { label: 'x' }, { idempotencyKey: 'k1' });
  expect(again).toEqual({ ...first, replayed: true });
  expect(rows(shop.dataDirectory, 'SELECT * FROM boxes')).toHaveLength(1);
  // The key belongs to one principal and one operation.
  expect((await shop.run(packer, 'box/pack', { label: 'x' }, { idempotencyKey: 'k1' })).replayed).toBe(false);
});

test('the same key with another input is a conflict, and works again after 24 hours', async () => {
  await using shop = await openShop();
  await shop.run(owner, 'box/pack', { label: 'x' }, { idempotencyKey: 'k1' });
  await expect(shop.run(owner, 'box/pack', { label: 'y' }, { idempotencyKey: 'k1' })).rejects.toMatchObject({
    code: 'conflict',
    reason: 'idempotency_key_reused',
  });
  shop.clock.ms += 24 * 60 * 60 * 1000;
  expect((await shop.run(owner, 'box/pack', { label: 'y' }, { idempotencyKey: 'k1' })).replayed).toBe(false);
});

test('a failed call leaves its idempotency key free', async () => {
  await using shop = await openShop();
  let fail = true;
  const what = onScenario('flaky', () => {
    if (fail) throw new Error('not yet');
    return 'fine';
  });
  await expect(shop.run(owner, 'test/run', { what }, { idempotencyKey: 'k' })).rejects.toMatchObject({
    code: 'internal',
  });
  fail = false;
  expect(await shop.run(owner, 'test/run', { what }, { idempotencyKey: 'k' })).toMatchObject({
    output: 'fine',
    replayed: false,
  });
});

test('a record that is made is answered with its version, also by a replay', async () => {
  await using shop = await openShop();
  const pack = () => shop.run(owner, 'box/pack', { label: 'books' }, { idempotencyKey: 'once' });
  const made = await pack();
  const { box } = made.output as { box: string };
  expect(made.version).toBe((await shop.run(owner, 'box/read', { box })).version);
  expect(await pack()).toEqual({ ...made, replayed: true });
});

test('a stale If-Match is refused, the present version passes, and a replay wins over both', async () => {
  await using shop = await openShop();
  const { box } = (await shop.run(owner, 'box/pack', { label: 'x' })).output as { box: string };
  const seen = (await shop.run(owner, 'box/read', { box })).version as string;
  const shipped = await shop.run(owner, 'box/ship', { box }, { ifMatch: seen, idempotencyKey: 'ship' });
  expect(shipped.version).not.toBe(seen);
  await expect(shop.run(owner, 'box/ship', { box }, { ifMatch: seen })).rejects.toMatchObject({
    code: 'precondition_failed',
  });
  expect(await shop.run(owner, 'box/ship', { box }, { ifMatch: seen, idempotencyKey: 'ship' })).toEqual({
    ...shipped,
    replayed: true,
  });
  await expect(shop.run(owner, 'box/ship', { box: 'none' }, { ifMatch: '*' })).rejects.toMatchObject({
    code: 'precondition_failed',
  });
  await expect(shop.run(owner, 'box/pack', { label: 'x' }, { ifMatch: seen })).rejects.toMatchObject({
    reason: 'no_version',
  });
});

test('a caller without the permission learns nothing from If-Match', async () => {
  await using shop = await openShop();
  await expect(shop.run(guest, 'box/ship', { box: 'none' }, { ifMatch: 'evt_x' })).rejects.toMatchObject({
    code: 'permission_denied',
  });
});

test('of two concurrent calls with the same If-Match, one wins', async () => {
  await using shop = await openShop();
  const { box } = (await shop.run(owner, 'box/pack', { label: 'x' })).output as { box: string };
  const ifMatch = (await shop.run(owner, 'box/read', { box })).version as string;
  const outcomes = await Promise.allSettled(
    [1, 2, 3].map(() => shop.run(owner, 'box/ship', { box }, { ifMatch })),
  );
  expect(outcomes.map((outcome) => outcome.status)).toEqual(['fulfilled', 'rejected', 'rejected']);
});

test('a scope of another tenant cannot be told from one that does not exist', async () => {
  await using shop = await openShop();
  const query = { entityType: 'box', entityId: 'x', limit: 10, scopeId: scopeId as never };
  const foreign = await shop.host
    .entityHistoryLocal({ ...query, tenantId: otherTenant })
    .catch((error) => error);
  const missing = await shop.host
    .entityHistoryLocal({ ...query, tenantId: tenant, scopeId: 'scp_01arz3ndektsv4rrffq69g5fff' as never })
    .catch((error) => error);
  const outside = ({ code, reason, message }: PlatformError) => ({ code, reason, message });
  expect(outside(foreign)).toMatchObject({ code: 'not_found', reason: 'unknown_scope' });
  expect(outside(missing)).toEqual(outside(foreign));
});

test('ids go on increasing when the clock steps back over a restart', async () => {
  await using shop = await openShop();
  await shop.run(owner, 'box/pack', { label: 'before' });
  await shop.engine.close();
  await using again = await openShop({ dataDirectory: shop.dataDirectory });
  again.clock.ms -= 60_000;
  await again.run(owner, 'box/pack', { label: 'after' });
  const labels = rows(shop.dataDirectory, 'SELECT payload FROM _spine_events ORDER BY id');
  expect(labels).toMatchObject([{ payload: '{"label":"before"}' }, { payload: '{"label":"after"}' }]);
});
