import { expect, test } from 'vitest';
import { assertUnitKey, makeStub } from './engine.ts';
import { defineUnit } from './unit.ts';

test.each(['', 'Scope', '1st', 'a_b', 'a.b', 'a/b', `a${'b'.repeat(63)}`])('%j is no unit kind', (kind) => {
  expect(() => defineUnit({ kind, migrations: [], queries: [], open: () => ({}) })).toThrow(TypeError);
});

test('a refused unit key is not repeated at length', () => {
  expect(() => assertUnitKey('secret/'.repeat(30))).toThrow(
    expect.objectContaining({ message: expect.not.stringContaining('secret/'.repeat(7)) }),
  );
});

test('a stub can be awaited and handed on without being called', async () => {
  const calls: string[] = [];
  const stub = makeStub<{ add(input: number): number }>(async (method) => {
    calls.push(method);
    return { ok: true, value: 1 };
  });
  expect(await Promise.resolve(stub)).toBe(stub);
  expect(await stub.add(1)).toBe(1);
  expect(calls).toEqual(['add']);
});

test('a stub refuses an input that no boundary could carry', async () => {
  const stub = makeStub<{ add(input: unknown): number }>(async () => ({ ok: true, value: 1 }));
  await expect(stub.add(new Map())).rejects.toThrow(TypeError);
});
