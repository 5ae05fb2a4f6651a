/** Promises of the engine on workerd beyond the unit contract. */
import { abortAllDurableObjects, runInDurableObject } from 'cloudflare:test';
import { env, exports } from 'cloudflare:workers';
import { notesUnit, observed } from '@freehold/testkit/unit-contract';
import { beforeEach, describe, expect, test } from 'vitest';
import { workerdEngine } from '../src/index.ts';
import { openEngine } from './worker.ts';

beforeEach(() => {
  observed.incidents.length = 0;
});

/** Counts the outer transactions of an object from now on; nested ones are savepoints. */
async function countTransactions(key: string): Promise<() => number> {
  let transactions = 0;
  await runInDurableObject(env.NOTES.getByName(key), (_instance, { storage }) => {
    const transactionSync = storage.transactionSync.bind(storage);
    let depth = 0;
    storage.transactionSync = (work) => {
      if (depth === 0) transactions += 1;
      depth += 1;
      try {
        return transactionSync(work);
      } finally {
        depth -= 1;
      }
    };
  });
  return () => transactions;
}

describe('group commit', () => {
  test('puts calls that wait at the same time into few transactions, each in its own savepoint', async () => {
    const notes = openEngine().unit(notesUnit, 'grouped', { create: true });
    await notes.add({ text: 'opened' });
    const transactions = await countTransactions('grouped');
    const calls = Array.from({ length: 64 }, (_, i) => notes.add({ text: `${i}` }));
    await Promise.all(calls);
    expect(transactions()).toBeGreaterThan(0);
    expect(transactions()).toBeLessThanOrEqual(8);
    expect(await notes.list()).toHaveLength(65);
  });

  test('opens no transaction for a query without calls before it', async () => {
    const notes = openEngine().unit(notesUnit, 'queried', { create: true });
    await notes.add({ text: 'opened' });
    const transactions = await countTransactions('queried');
    await notes.list();
    expect(transactions()).toBe(0);
  });
});

describe('an object that is aborted', () => {
  test('has everything that was acknowledged, also right after the acknowledgement', async () => {
    for (let round = 1; round <= 5; round++) {
      const notes = openEngine().unit(notesUnit, 'aborted', { create: true });
      await Promise.all([1, 2, 3].map((i) => notes.add({ text: `${round}-${i}` })));
      await abortAllDurableObjects();
    }
    expect(await openEngine().unit(notesUnit, 'aborted').list()).toHaveLength(15);
  });

  test('fails the call that found it gone as unavailable, and the stub works again after that', async () => {
    const notes = openEngine().unit(notesUnit, 'gone', { create: true });
    await notes.add({ text: 'before' });
    await abortAllDurableObjects();
    await expect(notes.add({ text: 'lost' })).rejects.toMatchObject({
      code: 'unavailable',
      reason: 'unit_unreachable',
      message: expect.stringContaining('may or may not have been done'),
    });
    expect(observed.incidents).toMatchObject([{ method: 'add' }]);
    await notes.add({ text: 'after' });
    expect(await notes.list()).toEqual(['before', 'after']);
  });
});

test('a unit that was never created has no table after it was asked for', async () => {
  await expect(openEngine().unit(notesUnit, 'absent').list()).rejects.toMatchObject({ code: 'not_found' });
  const tables = await runInDurableObject(env.NOTES.getByName('absent'), (_instance, { storage }) =>
    storage.sql.exec('SELECT name FROM sqlite_master').toArray(),
  );
  expect(tables).toEqual([]);
});

test('an object whose name is no unit key answers nothing', async () => {
  const outcome = await env.NOTES.getByName('not/a key').call('list', undefined, { create: true });
  expect(outcome).toMatchObject({ ok: false, failure: { code: 'internal' } });
  const nameless = env.NOTES.get(env.NOTES.newUniqueId());
  expect(await nameless.call('list', undefined, { create: true })).toMatchObject({ ok: false });
});

test('a kind without a namespace is our bug, reported when the stub is made', () => {
  const engine = workerdEngine({ namespaces: {}, onIncident: () => undefined });
  expect(() => engine.unit(notesUnit, 'x')).toThrow('no Durable Object namespace');
  const named = { ...notesUnit, kind: 'constructor' };
  expect(() => engine.unit(named, 'x')).toThrow('no Durable Object namespace');
});

test('an input that cannot cross the boundary is refused before it is sent', async () => {
  const notes = openEngine().unit(notesUnit, 'inputs', { create: true });
  await expect(notes.echo({ value: () => 1 })).rejects.toThrow(TypeError);
  await expect(notes.echo({ value: new Date(0) })).rejects.toThrow(TypeError);
});

test('one engine serves many requests, also through a stub that another request made', async () => {
  for (const [i, path] of ['/fresh', '/kept', '/fresh', '/kept', '/kept'].entries()) {
    const response = await exports.default.fetch(`http://worker${path}`);
    expect(await response.json()).toBe(i + 1);
  }
  expect(observed.incidents).toEqual([]);
});
