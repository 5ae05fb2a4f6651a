/**
 * `freehold client` writes the addresses that `makeOperationsClient` takes, and explains in one sentence why it
 * cannot.
 */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { testWorld } from '../../test/world.ts';
import { clientCommand } from './command.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'freehold-client-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

const DECLARATIONS = `export const operations = {
  'order/create': { run: () => null },
  'order/read': { run: () => null, http: { method: 'GET', path: "/api/orders/:id" } },
};
export const rates = { 'rate/read': { run: () => null } };
export const nothing = {};
export const list = [];
export const strange = { 'order/create': { run: () => null }, 'Not A Name': { run: () => null } };
export const flat = { 'order/create': 1 };
`;
const write = (name: string, text = DECLARATIONS) => writeFileSync(join(cwd, name), text);
const run = (raw: Record<string, string>) =>
  clientCommand.run({ module: 'operations.mjs', ...raw }, testWorld({ cwd }));

test('D-09: the address of every operation, with the types of the declarations', async () => {
  write('operations.mjs');
  const { value, text } = await run({});
  expect(value).toEqual({ file: join(cwd, 'operations.client.ts'), operations: 2, changed: true });
  expect(text).toBe('Wrote operations.client.ts, for 2 operations.');
  const written = readFileSync(join(cwd, 'operations.client.ts'), 'utf8');
  expect(written).toContain('export function makeClient(');
  expect(written).toContain("import type { operations } from './operations.mjs';");
  expect(written).toContain("  'order/create': { method: 'POST', path: '/api/op/order/create' },\n");
  expect(written).toContain("  'order/read': { method: 'GET', path: '/api/orders/:id' },\n");
});

test('other names, from another directory', async () => {
  write('operations.mjs');
  await run({ export: 'rates', out: 'api.ts' });
  const written = readFileSync(join(cwd, 'api.ts'), 'utf8');
  expect(written).toContain("import type { rates } from './operations.mjs';");
  expect(written).toContain('OperationsClient<typeof rates>');
});

test('a second run writes nothing', async () => {
  write('operations.mjs');
  const file = ((await run({})).value as { file: string }).file;
  const before = statSync(file, { bigint: true }).mtimeNs;
  expect(await run({})).toMatchObject({
    value: { changed: false },
    text: expect.stringContaining('as it should be'),
  });
  expect(statSync(file, { bigint: true }).mtimeNs).toBe(before);
});

test.each<[Record<string, string>, RegExp]>([
  [{ export: 'lost' }, /^The export lost of operations\.mjs does not exist: --export names another one\.$/],
  [{ export: 'list' }, /is no table of operations\.$/],
  [{ export: 'strange' }, /is no table of operations: "Not A Name" is none\.$/],
  [{ export: 'flat' }, /is no table of operations: "order\/create" is none\.$/],
  [{ export: 'two words' }, /^--export cannot be used: it must be the name of an export\.$/],
  [{ out: 'api.txt' }, /^--out cannot be used: it must end in \.ts\.$/],
  [{ module: 'README.md' }, /^<module> cannot be used: it must be a file with JavaScript or TypeScript\.$/],
  [{ module: 'lost.ts' }, /^lost\.ts cannot be loaded: Cannot find module/],
  [{ module: 'broken.mjs' }, /^broken\.mjs cannot be loaded: out of order$/],
  [{ out: 'lost/api.ts' }, /cannot be written: no such file or directory \(ENOENT\)\.$/],
])('a module that cannot be used is refused in one sentence: %j', async (raw, sentence) => {
  write('operations.mjs');
  write('broken.mjs', "throw new Error('out of order\\nsecond line');");
  await expect(run(raw)).rejects.toThrow(sentence);
});
