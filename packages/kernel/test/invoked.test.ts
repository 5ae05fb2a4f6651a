/** The count of a vertical's operations: each that was performed, and no other (spec C-22). */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openNodeEngine } from '../../engine-node/src/index.ts';
import { makeScopeHost, makeScopeUnit } from '../src/index.ts';
import { anonymous, onScenario, owner, scopeId, tenant } from './shop.ts';
import { billing, executor, hooks, verticalWith } from './working-shop.ts';

async function open(vertical = verticalWith({})) {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-invoked-'));
  const engine = openNodeEngine({
    dataDirectory,
    now: () => Date.UTC(2026, 0, 1),
    onIncident: () => undefined,
  });
  onTestFinished(async () => {
    await engine.close();
    rmSync(dataDirectory, { recursive: true, force: true });
  });
  const unit = makeScopeUnit(vertical);
  const told: string[] = [];
  const host = makeScopeHost({ engine, unit });
  await host.provisionScopeLocal({ tenantId: tenant, scopeId: scopeId as never, name: 'Acme' });
  const scope = host.scope(scopeId);
  await scope.assignRole({ principal: owner, role: 'owner', by: 'platform' });
  // The scope is open already: who comes later is told all the same.
  unit.onInvoked((id) => told.push(id));
  const run = (operation: string, input: unknown, more: object = {}) =>
    scope.invoke({ principal: owner, operation, input, ...more });
  return { scope, host, run, told };
}

test('each requested operation is counted once: reads too, and through any surface', async () => {
  const { host, run, told } = await open();
  const { output } = await run('box/pack', { label: 'x' });
  expect(told).toEqual([scopeId]);
  await run('box/list', {});
  // It writes a bill by itself, without a caller.
  await run('box/ship', output);
  await host.operations(scopeId, owner).invoke({ operation: 'box/read', input: output });
  expect(told).toHaveLength(4);
});

test('a connection is told of like a person', async () => {
  const { host, told } = await open();
  const ref = { tenantId: tenant, scopeId: scopeId as never, connection: 'con_01arz3ndektsv4rrffq69g5fa0' };
  await host.connectorGrantLocal({ ...ref, permission: 'box.list' });
  await host.connectorInvokeLocal({ ...ref, operation: 'box/list', input: {} });
  expect(told).toHaveLength(1);
});

test('a replay, a refusal and a failure are not told of', async () => {
  const { scope, run, told } = await open();
  const keyed = { idempotencyKey: 'k-1' };
  await run('box/pack', { label: 'x' }, keyed);
  expect(await run('box/pack', { label: 'x' }, keyed)).toMatchObject({ replayed: true });
  await expect(scope.invoke({ principal: anonymous, operation: 'box/list', input: {} })).rejects.toThrow();
  await expect(run('box/pack', { label: '' })).rejects.toThrow();
  const what = onScenario('fails after it wrote', (ctx) => {
    ctx.emit({ type: 'box.packed', entity: { type: 'box', id: 'b' } });
    throw new Error('no');
  });
  await expect(run('test/run', { what })).rejects.toThrow();
  expect(told).toEqual([scopeId]);
});

test('what a subscription sets off is told of, and what of it failed is not', async () => {
  hooks.onBill = () => undefined;
  const { scope, run, told } = await open(verticalWith({ subscriptions: { billing } }));
  await run('box/pack', { label: 'x' });
  await scope.work({});
  expect(told).toHaveLength(2);
  await run('box/pack', { label: 'y' });
  hooks.onBill = () => {
    throw new Error('poisonous');
  };
  await scope.work({});
  expect(told).toHaveLength(3);
});

test('a listener that fails fails no call', async () => {
  const { run, told } = await open(verticalWith({ executors: { idle: executor(async () => undefined) } }));
  told.push = () => {
    throw new Error('the counter is broken');
  };
  expect(await run('box/list', {})).toMatchObject({ replayed: false });
});
