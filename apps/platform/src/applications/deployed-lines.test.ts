/** Lines of deployed verticals: an unexpected error is an incident, at the place of the source. */
import type { HostedLine } from '@freehold/runtime-workerd';
import { expect, test } from 'vitest';
import { makeDeployedLines } from './deployed-lines.ts';

const SCOPE = 'scp_00000000000000000000000001';
const about = { digest: 'd1', atMs: 1, tenant: 'tnt_00000000000000000000000001', scope: SCOPE };

async function take(...lines: HostedLine[]) {
  const incidents: unknown[] = [];
  const used: unknown[] = [];
  const { promise, resolve } = Promise.withResolvers<readonly HostedLine[]>();
  const onLines = makeDeployedLines({
    runtime: {
      mapStack: async (_vertical, _digest, stack) => stack.replace('main.js:1:2', 'src/items.ts:3:4'),
    },
    onLines: (_vertical, taken) => resolve(taken),
    onInvoked: (use) => void used.push(use),
    onIncident: (error, where) => void incidents.push([(error as Error).stack, where]),
  });
  onLines('rental', lines);
  return { lines: await promise, incidents, used };
}

test('an exception has the places of its source', async () => {
  const stack = 'Error: no\n  at main.js:1:2';
  const { lines, incidents } = await take({ ...about, kind: 'exception', name: 'Error', text: 'no', stack });
  expect(lines).toMatchObject([{ kind: 'exception', stack: 'Error: no\n  at src/items.ts:3:4' }]);
  expect(incidents).toEqual([]);
});

test('an unexpected error is an incident of the vertical that sent it, whatever it says of itself', async () => {
  const where = { kind: 'directory', key: 'scp_of_another', method: 'POST /api/items' };
  const text = JSON.stringify({ freehold: 'incident', where, error: 'TypeError: x\n  at main.js:1:2' });
  const { lines, incidents } = await take({ ...about, kind: 'console', level: 'error', text });
  expect(incidents).toEqual([
    ['TypeError: x\n  at src/items.ts:3:4', { kind: 'rental', key: SCOPE, method: 'POST /api/items' }],
  ]);
  expect(lines).toMatchObject([{ kind: 'exception', text: 'TypeError: x', scope: SCOPE }]);
});

test.each(['not JSON', '{"freehold":"incident"}', '{"freehold":"incident","where":{},"error":1}'])(
  '%s is a line like any other',
  async (text) => {
    const line = { ...about, kind: 'console', level: 'error', text } as const;
    expect(await take(line)).toEqual({ lines: [line], incidents: [], used: [] });
  },
);

test('an instance that did not answer is an incident with its cause, and is no line', async () => {
  const { tenant } = about;
  const text = 'Error: internal error; reference = r1';
  const { lines, incidents } = await take({ kind: 'failed', tenant, scope: SCOPE, method: 'fetch', text });
  expect([lines, incidents]).toEqual([
    [],
    [[`The instance did not answer: ${text}`, { kind: 'rental', key: SCOPE, method: 'fetch' }]],
  ]);
});

test('operations are counted for the tenant of the instance, and are no line', async () => {
  const { tenant } = about;
  const { lines, used } = await take(
    { kind: 'invoked', tenant, scope: SCOPE, operations: 3 },
    // Of an instance of another vertical: the runtime took its name away.
    { kind: 'invoked', operations: 5 },
  );
  expect([lines, used]).toEqual([[], [{ vertical: 'rental', tenant, scope: SCOPE, quantity: 3 }]]);
});
