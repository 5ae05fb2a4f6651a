/** Personal data: sealed under a key of its person, and gone from everywhere once that key is (spec C-20). */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EventId, type JsonValue, PlatformError } from '@freehold/contracts';
import { makeKeyring, open, seal } from '@freehold/store';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import {
  defineOperations,
  defineVertical,
  type OperationContext,
  operation,
  type Vault,
  type Vertical,
  vaultMissing,
} from '../src/index.ts';
import { onScenario, openShop, owner, scopeId, shop, operations as shopOperations, tenant } from './shop.ts';

const SEAL_KEYS = ['the sealing key of these tests, long enough'];
const SECRET = 'Ada Lovelace lives at Saint James Square 12';
const ref = { tenantId: tenant, scopeId: scopeId as never };
const subject = 'cus_ada';
const entity = { type: 'box', id: 'b' };

const vertical: Vertical = defineVertical({
  ...shop,
  manifest: { ...shop.manifest, services: { clerk: { name: 'Clerk', permissions: ['box.pack'] } } },
  operations: defineOperations({
    ...shopOperations,
    'note/take': operation({
      summary: 'Note something about a person',
      input: z.strictObject({ subject: z.string(), text: z.string() }),
      output: z.strictObject({ said: z.string() }),
      permission: 'box.pack',
      subjects: (input) => [input.subject],
      run: (ctx, input) => {
        ctx.emit({
          type: 'note.taken',
          entity,
          piiClass: 'direct',
          subject: input.subject,
          payload: { text: input.text },
        });
        return { said: input.text };
      },
    }),
  }),
  onShred: ({ sql }, person) => sql.run('DELETE FROM boxes WHERE label = ?', person),
});

const openSealed = (
  options: {
    dataDirectory?: string;
    vertical?: Vertical;
    sealKeys?: string[];
    tamper?: (vault: Vault) => Vault;
  } = {},
) => openShop({ vertical, sealKeys: SEAL_KEYS, ...options });
type Sealed = Awaited<ReturnType<typeof openSealed>>;

const note = (opened: Sealed, text = SECRET, extra = {}, who = subject) =>
  opened.run(owner, 'note/take', { subject: who, text }, extra);
const payloads = async (opened: Sealed) =>
  (await opened.scope.history({ entity, limit: 50 })).items.map(({ payload }) => payload);

/** Everything that lies in a directory, read as text. */
function everythingIn(directory: string): string {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => readFileSync(join(each.parentPath, each.name)).toString('latin1'))
    .join('\n');
}

function scratch(): string {
  const directory = mkdtempSync(join(tmpdir(), 'freehold-sealing-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

test('what is said about a person is read by the vertical, and lies nowhere in clear', async () => {
  const dataDirectory = scratch();
  await using opened = await openSealed({ dataDirectory });
  await note(opened, SECRET, { idempotencyKey: 'once' });
  expect(await payloads(opened)).toEqual([{ text: SECRET }]);
  const everything = everythingIn(dataDirectory);
  expect(everything).toContain('note.taken');
  expect(everything).not.toContain('Saint James');
  // The staff's reads keep it closed.
  const { items } = await opened.host.entityHistoryLocal({
    ...ref,
    entityType: 'box',
    entityId: 'b',
    limit: 5,
  });
  expect(items).toMatchObject([
    { piiClass: 'direct', subject, payload: { $sealed: expect.stringMatching(/^v1\./) } },
  ]);
});

test('keys are fetched before a handler, which runs once, and its caller sees one call', async () => {
  await using opened = await openSealed();
  const result = await note(opened, 'first');
  const { items } = await opened.scope.invocation({ invocation: result.invocation as never });
  expect(items).toHaveLength(1);
  // A handler that catches everything cannot hide that a key was missing.
  let runs = 0;
  const work = (ctx: OperationContext) => {
    runs += 1;
    try {
      ctx.emit({ type: 'note.taken', entity, piiClass: 'direct', subject: 'cus_new', payload: 'x' });
    } catch {
      return 'lost';
    }
    return 'kept';
  };
  const what = onScenario('catches', work, ['cus_new']);
  expect((await opened.run(owner, 'test/run', { what })).output).toBe('kept');
  expect(runs).toBe(1);
  expect(opened.incidents).toEqual([]);
});

test('without a vault, nothing about a person is kept', async () => {
  await using opened = await openShop({ vertical });
  await expect(note(opened)).rejects.toMatchObject({ code: 'unavailable', reason: 'subject_keys_needed' });
  expect((await opened.scope.history({ entity, limit: 5 })).items).toEqual([]);
  await expect(opened.host.shredSubjectLocal({ ...ref, subject })).rejects.toMatchObject({
    code: 'unsupported',
    reason: 'no_vault',
  });
});

test('C-20: what a vertical had not sealed and removes at a shred is not in the file any more', async () => {
  const dataDirectory = scratch();
  const file = () => readFileSync(join(dataDirectory, 'scope-shop', `${scopeId}.sqlite`)).toString('latin1');
  {
    await using opened = await openSealed({ dataDirectory });
    const what = onScenario('plain', (ctx) => {
      // Long enough for pages of their own, short enough for a place among others.
      for (const [i, label] of ['cus_grace', subject, subject, 'cus_grace'].entries())
        ctx.sql.run(
          'INSERT INTO boxes (id, label, state) VALUES (?, ?, ?)',
          `plain-${i}`,
          label,
          `${label === subject ? SECRET : 'Grace Hopper'} ${'.'.repeat(i % 2 === 0 ? 20 : 20_000)}`,
        );
      return null;
    });
    await opened.run(owner, 'test/run', { what });
  }
  expect(file()).toContain('Saint James');
  {
    await using opened = await openSealed({ dataDirectory });
    await opened.host.shredSubjectLocal({ ...ref, subject });
  }
  expect(file()).not.toContain('Saint James');
  expect(file()).toContain('Grace Hopper');
});

test('C-20: after a shred nothing gives the data back, and the receipt stays the same', async () => {
  const dataDirectory = scratch();
  await using opened = await openSealed({ dataDirectory });
  await note(opened, SECRET, { idempotencyKey: 'once' });
  await note(opened, 'about another person', {}, 'cus_grace');
  opened.clock.ms += 1_000;
  const receipt = await opened.host.shredSubjectLocal({ ...ref, subject });
  expect(receipt).toEqual({
    subject,
    keyDigest: expect.stringMatching(/^[0-9a-f]{64}$/),
    shreddedAt: '2026-01-01T00:00:01.000Z',
  });
  opened.clock.ms += 1_000;
  expect(await opened.host.shredSubjectLocal({ ...ref, subject })).toEqual(receipt);
  expect(await payloads(opened)).toEqual([
    { $shredded: { at: receipt.shreddedAt } },
    { text: 'about another person' },
  ]);
  // Nor does the answer that was kept for a repeat, which acts no second time.
  await expect(note(opened, SECRET, { idempotencyKey: 'once' })).rejects.toMatchObject({
    code: 'conflict',
    reason: 'idempotency_answer_erased',
  });
});

test('an older copy of the scope, put back after the shred, stays closed', async () => {
  const dataDirectory = scratch();
  const file = join(dataDirectory, 'scope-shop', `${scopeId}.sqlite`);
  {
    await using opened = await openSealed({ dataDirectory });
    await note(opened, SECRET, { idempotencyKey: 'once' });
  }
  const copy = readFileSync(file);
  {
    await using opened = await openSealed({ dataDirectory });
    await opened.host.shredSubjectLocal({ ...ref, subject });
  }
  const { writeFileSync } = await import('node:fs');
  writeFileSync(file, copy);
  await using opened = await openSealed({ dataDirectory });
  expect(await payloads(opened)).toMatchObject([{ $shredded: {} }]);
  await expect(note(opened, SECRET, { idempotencyKey: 'once' })).rejects.toMatchObject({
    code: 'conflict',
    reason: 'idempotency_answer_erased',
  });
});

test('an unknown person can be erased, and is then kept out', async () => {
  await using opened = await openSealed();
  expect(await opened.host.shredSubjectLocal({ ...ref, subject: 'cus_nobody' })).toMatchObject({
    keyDigest: null,
  });
  await expect(note(opened, 'x', {}, 'cus_nobody')).rejects.toMatchObject({ reason: 'subject_shredded' });
});

test('erasing one person keeps the answers about others: a repeat acts no second time', async () => {
  await using opened = await openSealed();
  const call = () => note(opened, 'about another person', { idempotencyKey: 'stored' }, 'cus_grace');
  const { invocation } = await call();
  await opened.host.shredSubjectLocal({ ...ref, subject });
  expect(await call()).toMatchObject({ invocation, replayed: true });
});

test('an operation that gets along with an erased person works with a key as well', async () => {
  await using opened = await openSealed();
  const seals = onScenario('seals', (ctx) => ctx.seal(subject, 'name', 'Ada'), [subject]);
  const sealed = (await opened.run(owner, 'test/run', { what: seals })).output;
  await opened.host.shredSubjectLocal({ ...ref, subject });
  const what = onScenario('reads', (ctx) => ctx.unseal(subject, 'name', sealed as string), [subject]);
  const first = await opened.run(owner, 'test/run', { what }, { idempotencyKey: 'read' });
  expect(first).toMatchObject({ output: null, replayed: false });
  expect(await opened.run(owner, 'test/run', { what }, { idempotencyKey: 'read' })).toMatchObject({
    replayed: true,
  });
});

test('a person who is erased while an older state is on its way does not come back with it', async () => {
  await using opened = await openSealed();
  await opened.run(owner, 'box/pack', { label: subject });
  await note(opened);
  const { body } = await opened.host.exportScopeLocal(ref);
  const copy = new Uint8Array(await new Response(body).arrayBuffer());
  // The bytes stand still until the person was erased.
  const { promise, resolve } = Promise.withResolvers<void>();
  const slow = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      await promise;
      controller.enqueue(copy);
      controller.close();
    },
  });
  const restored = opened.host.restoreScopeLocal({ ...ref, format: 'sqlite' }, slow);
  await new Promise((done) => setTimeout(done, 20));
  await opened.host.shredSubjectLocal({ ...ref, subject });
  resolve();
  await restored;
  expect(await payloads(opened)).toMatchObject([{ $shredded: {} }]);
  const what = onScenario('boxes', (ctx) => ctx.sql.all<{ label: string }>('SELECT label FROM boxes').length);
  expect((await opened.run(owner, 'test/run', { what })).output).toBe(0);
});

test('the vertical erases its own rows in the same breath', async () => {
  await using opened = await openSealed();
  await opened.run(owner, 'box/pack', { label: subject });
  await opened.run(owner, 'box/pack', { label: 'another' });
  await opened.host.shredSubjectLocal({ ...ref, subject });
  const what = onScenario('labels', (ctx) =>
    ctx.sql.all<{ label: string }>('SELECT label FROM boxes').map(({ label }) => label),
  );
  expect((await opened.run(owner, 'test/run', { what })).output).toEqual(['another']);
});

test('any value is sealed for a person and a place, and opens there alone', async () => {
  await using opened = await openSealed();
  let count = 0;
  const act = async (work: Parameters<typeof onScenario>[1]) =>
    (
      await opened.run(owner, 'test/run', {
        what: onScenario(`seal-${count++}`, work, [subject, 'cus_grace']),
      })
    ).output;
  await fc.assert(
    fc.asyncProperty(
      fc.jsonValue({ maxDepth: 2 }),
      fc.string({ minLength: 1, maxLength: 20 }),
      async (value, place) => {
        const plain = JSON.parse(JSON.stringify(value)) as JsonValue;
        const sealed = (await act((ctx) => ctx.seal(subject, place, plain))) as string;
        expect(await act((ctx) => ctx.unseal(subject, place, sealed))).toEqual(plain);
        await expect(act((ctx) => ctx.unseal(subject, `${place}x`, sealed))).rejects.toMatchObject({
          code: 'internal',
        });
        await expect(act((ctx) => ctx.unseal('cus_grace', place, sealed))).rejects.toMatchObject({
          code: 'internal',
        });
      },
    ),
    { numRuns: 20 },
  );
  const sealed = (await act((ctx) => ctx.seal(subject, 'name', 'Ada'))) as string;
  await opened.host.shredSubjectLocal({ ...ref, subject });
  expect(await act((ctx) => ctx.unseal(subject, 'name', sealed))).toBeNull();
});

test.each([
  ['a class without a subject', { piiClass: 'direct' }],
  ['a subject without a class', { subject: 'cus_1' }],
  ['a class that is none', { piiClass: 'secret', subject: 'cus_1' }],
  ['a subject that is empty', { piiClass: 'direct', subject: '' }],
  ['a subject that no path can name', { piiClass: 'direct', subject: '..' }],
])('an event with %s fails loudly', async (name, more) => {
  await using opened = await openSealed();
  const what = onScenario(`emit ${name}`, (ctx) =>
    ctx.emit({ type: 'note.taken', entity, ...(more as object) }),
  );
  await expect(opened.run(owner, 'test/run', { what })).rejects.toMatchObject({ code: 'internal' });
});

test('a subscriber is given what is sealed, and fetches the keys for it', async () => {
  const seen: unknown[] = [];
  const listening = defineVertical({
    ...vertical,
    operations: {
      ...vertical.operations,
      'note/file': operation({
        summary: 'File a note',
        input: z.strictObject({ payload: z.unknown() }),
        output: z.null(),
        permission: 'box.pack',
        run: (_ctx, { payload }) => {
          seen.push(payload);
          return null;
        },
      }),
    },
    subscriptions: {
      filing: {
        on: ['note.taken'],
        operation: 'note/file',
        as: 'clerk',
        input: ({ payload }) => ({ payload }),
      },
    },
  });
  const dataDirectory = scratch();
  {
    await using opened = await openSealed({ dataDirectory, vertical: listening });
    await note(opened);
  }
  // Opened anew, the scope has no keys in memory.
  await using opened = await openSealed({ dataDirectory, vertical: listening });
  expect(await opened.scope.work({})).toMatchObject({ settled: 1 });
  expect(seen).toEqual([{ text: SECRET }]);
});

test('a person whom a delivery makes has a key at once: each handler of the round runs once', async () => {
  const made: string[][] = [];
  const inviting = defineVertical({
    ...vertical,
    operations: {
      ...vertical.operations,
      'note/invite': operation({
        summary: 'Invite a new person because of a box',
        input: z.strictObject({ box: z.string() }),
        output: z.null(),
        permission: 'box.pack',
        run: (ctx, { box }) => {
          const person = ctx.newId('cus');
          made.push([box, person]);
          ctx.seal(person, 'name', SECRET);
          return null;
        },
      }),
    },
    subscriptions: {
      inviting: {
        on: ['box.packed'],
        operation: 'note/invite',
        as: 'clerk',
        input: ({ entity }) => ({ box: entity?.id ?? '' }),
      },
    },
  });
  await using opened = await openSealed({ vertical: inviting });
  for (const label of ['a', 'b', 'c']) await opened.run(owner, 'box/pack', { label });
  expect(await opened.scope.work({})).toMatchObject({ settled: 3 });
  expect(made).toHaveLength(3);
  expect(new Set(made.map(([box]) => box)).size).toBe(3);
  expect(new Set(made.map(([, person]) => person)).size).toBe(3);
});

test('the vault opens with an older sealing key, and not with a foreign one', async () => {
  const dataDirectory = scratch();
  {
    await using opened = await openSealed({ dataDirectory });
    await note(opened);
  }
  {
    await using opened = await openSealed({
      dataDirectory,
      sealKeys: ['a newer sealing key, just as long as it', ...SEAL_KEYS],
    });
    expect(await payloads(opened)).toEqual([{ text: SECRET }]);
  }
  await using opened = await openSealed({
    dataDirectory,
    sealKeys: ['another key altogether, also long enough'],
  });
  await expect(payloads(opened)).rejects.toMatchObject({ code: 'internal' });
});

test('an event of a person has the id of its place: moved to another row, it does not open', async () => {
  const dataDirectory = scratch();
  let ids: EventId[] = [];
  {
    await using opened = await openSealed({ dataDirectory });
    await note(opened, 'first');
    await note(opened, 'second');
    ids = (await opened.scope.history({ entity, limit: 5 })).items.map(({ id }) => id);
  }
  const { DatabaseSync } = await import('node:sqlite');
  const db = new DatabaseSync(join(dataDirectory, 'scope-shop', `${scopeId}.sqlite`));
  db.prepare(
    'UPDATE _spine_events SET payload = (SELECT payload FROM _spine_events WHERE id = ?) WHERE id = ?',
  ).run(ids[0] as string, ids[1] as string);
  db.close();
  await using opened = await openSealed({ dataDirectory });
  await expect(payloads(opened)).rejects.toMatchObject({ code: 'internal' });
});

test('sealed text that was changed in any byte does not open', () => {
  const key = new Uint8Array(32).fill(7);
  const sealed = seal(key, 'here', 'text', new Uint8Array(12).fill(1));
  expect(open(key, 'here', sealed)).toBe('text');
  for (let i = 0; i < sealed.length; i++) {
    const changed = sealed.slice(0, i) + (sealed[i] === 'A' ? 'B' : 'A') + sealed.slice(i + 1);
    // The last character of base64url may carry unused bits.
    if (i !== sealed.length - 1) expect(open(key, 'here', changed)).toBeNull();
  }
});

test('a keyring without keys stores nothing, and one with short keys does not exist', () => {
  const iv = new Uint8Array(12);
  expect(() => makeKeyring([]).seal('here', 'text', iv)).toThrow(
    expect.objectContaining({ code: 'unavailable', reason: 'no_seal_key' }),
  );
  expect(() => makeKeyring(['short'])).toThrow('32 bytes');
  const [older, newer] = ['an older sealing key of enough length', 'a newer sealing key of enough length'];
  const sealed = makeKeyring([older]).seal('here', 'text', iv);
  const rotated = makeKeyring([newer, older]);
  expect([rotated.open('here', sealed), rotated.isStale(sealed)]).toEqual(['text', true]);
  expect(makeKeyring([newer]).open('here', sealed)).toBeNull();
  expect(rotated.open('there', sealed)).toBeNull();
});

test.each(['seal', 'unseal', 'emit'] as const)(
  'to %s for a person whom the operation does not declare fails, and says which operation and what kind of person',
  async (how) => {
    await using opened = await openSealed();
    const declared = onScenario(`declared ${how}`, (ctx) => ctx.seal(subject, 'name', 'Ada'), [subject]);
    const sealed = (await opened.run(owner, 'test/run', { what: declared })).output as string;
    const what = onScenario(`undeclared ${how}`, (ctx) => {
      try {
        if (how === 'seal') ctx.seal(subject, 'name', 'Ada');
        else if (how === 'unseal') ctx.unseal(subject, 'name', sealed);
        else ctx.emit({ type: 'note.taken', entity, piiClass: 'direct', subject, payload: 'x' });
      } catch {
        // A handler that goes on cannot hide it.
      }
      return null;
    });
    await expect(opened.run(owner, 'test/run', { what })).rejects.toMatchObject({ code: 'internal' });
    expect(String(opened.incidents)).toMatch(/operation test\/run: .*a cus whom it does not declare/);
    expect(String(opened.incidents)).not.toContain(subject);
  },
);

test('an id of an earlier call is no person of this one, and one that is made up by hand is none either', async () => {
  await using opened = await openSealed();
  let earlier = '';
  const makes = onScenario('makes an id', (ctx) => {
    earlier = ctx.newId('cus');
    return null;
  });
  await opened.run(owner, 'test/run', { what: makes });
  for (const id of [earlier, 'cus_01arz3ndektsv4rrffq69g5fav']) {
    const what = onScenario(`seals for ${id}`, (ctx) => ctx.seal(id, 'name', 'Ada'));
    await expect(opened.run(owner, 'test/run', { what })).rejects.toMatchObject({ code: 'internal' });
  }
});

test('a person whom a call makes takes a key of the pool: one call of the scope, and none of the vault', async () => {
  const calls: string[] = [];
  const counted = (name: string) => {
    calls.push(name);
  };
  await using opened = await openSealed({
    tamper: (vault) => ({
      ...vault,
      keys: (...input) => {
        counted('keys');
        return vault.keys(...input);
      },
      allot: (...input) => {
        counted('allot');
        return vault.allot(...input);
      },
    }),
  });
  const what = onScenario('makes a person', (ctx) => {
    const id = ctx.newId('cus');
    ctx.emit({ type: 'note.taken', entity, piiClass: 'direct', subject: id, payload: { text: 'x' } });
    return ctx.seal(id, 'name', 'Ada');
  });
  await opened.run(owner, 'test/run', { what });
  expect(calls).toEqual(['allot']);
  await opened.run(owner, 'test/run', { what });
  await opened.run(owner, 'test/run', { what });
  expect(await payloads(opened)).toEqual([{ text: 'x' }, { text: 'x' }, { text: 'x' }]);
  expect(calls).toEqual(['allot']);
});

test('a key that a savepoint has given up is burnt: the same person takes another one', async () => {
  const dataDirectory = scratch();
  const work = (ctx: OperationContext) => {
    const id = ctx.newId('cus');
    try {
      ctx.sql.savepoint(() => {
        ctx.seal(id, 'name', 'first');
        throw new PlatformError('conflict', 'Not this one.');
      });
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
    }
    return [id, ctx.seal(id, 'name', 'second')];
  };
  let made: string[] = [];
  {
    await using opened = await openSealed({ dataDirectory });
    made = (await opened.run(owner, 'test/run', { what: onScenario('twice', work) })).output as string[];
  }
  await using opened = await openSealed({ dataDirectory });
  const [id = '', sealed = ''] = made;
  const what = onScenario('reads it', (ctx) => ctx.unseal(id, 'name', sealed), [id]);
  expect((await opened.run(owner, 'test/run', { what })).output).toBe('second');
});

test('more persons than are declared is a fault of the operation, however full the pool is', async () => {
  await using opened = await openSealed();
  const what = onScenario('makes five', (ctx) => {
    for (let i = 0; i < 5; i++) ctx.seal(ctx.newId('cus'), 'name', i);
    return null;
  });
  await expect(opened.run(owner, 'test/run', { what })).rejects.toMatchObject({ code: 'internal' });
  expect(String(opened.incidents)).toMatch(/operation test\/run: .*more new persons \(cus\)/);
});

test('what a pool held and never used is ended when the platform closes, and what was used is bound', async () => {
  const dataDirectory = scratch();
  {
    await using opened = await openSealed({ dataDirectory });
    const what = onScenario('makes one', (ctx) => ctx.seal(ctx.newId('cus'), 'name', 'Ada'));
    await opened.run(owner, 'test/run', { what });
  }
  const { DatabaseSync } = await import('node:sqlite');
  const vault = new DatabaseSync(join(dataDirectory, 'vault', `${tenant}.sqlite`), { readOnly: true });
  expect(vault.prepare('SELECT subject IS NOT NULL AS isBound FROM pool_keys').all()).toEqual([
    { isBound: 1 },
  ]);
  vault.close();
  const scope = new DatabaseSync(join(dataDirectory, 'scope-shop', `${scopeId}.sqlite`), { readOnly: true });
  const countOf = (table: string) => scope.prepare(`SELECT count(*) AS n FROM ${table}`).get();
  expect([countOf('_spine_unbound_keys'), countOf('_spine_subject_keys')]).toEqual([{ n: 0 }, { n: 1 }]);
  scope.close();
});

test('a scope whose keys were never bound, and whose vault is gone, goes on with what is not sealed', async () => {
  const dataDirectory = scratch();
  const failing = (error: () => Error, ...names: readonly (keyof Vault)[]) => ({
    tamper: (vault: Vault): Vault => ({
      ...vault,
      ...Object.fromEntries(names.map((name) => [name, () => Promise.reject(error())])),
    }),
  });
  const what = onScenario('makes one more', (ctx) => ctx.seal(ctx.newId('cus'), 'name', 'Ada'));
  {
    // A crash: nothing was bound.
    const away = () => new PlatformError('unavailable', 'The vault is out of reach.');
    await using opened = await openSealed({ dataDirectory, ...failing(away, 'bind') });
    await opened.run(owner, 'test/run', { what });
  }
  {
    const gone = failing(vaultMissing, 'keys', 'allot', 'bind', 'handBack', 'shredded', 'shred');
    await using opened = await openSealed({ dataDirectory, ...gone });
    expect(await opened.scope.holdings({ principal: owner })).toMatchObject({
      permissions: expect.arrayContaining(['box.pack']),
    });
    for (const sealed of [
      opened.run(owner, 'test/run', { what }),
      opened.run(owner, 'note/take', { subject, text: 'x' }),
      opened.host.shredSubjectLocal({ ...ref, subject }),
    ])
      await expect(sealed).rejects.toMatchObject({ code: 'unavailable', reason: 'vault_missing' });
  }
  await using opened = await openSealed({ dataDirectory });
  expect((await opened.run(owner, 'test/run', { what })).output).toEqual(expect.any(String));
});

test('an operation without a vault that makes no person works as ever', async () => {
  await using opened = await openShop({ vertical });
  expect((await opened.run(owner, 'box/pack', { label: 'a' })).output).toMatchObject({
    box: expect.any(String),
  });
});
