import { expect, test } from 'vitest';
import { makeMemoryAdapter } from './memory-adapter.ts';

function makeAdapters(entriesMax = 3) {
  const clock = { ms: 1_000_000 };
  return { clock, adapter: makeMemoryAdapter({ nowMs: () => clock.ms, entriesMax }) };
}

test('an entry is found until it expires', async () => {
  const { clock, adapter } = makeAdapters();
  const codes = adapter('AuthorizationCode');
  await codes.upsert('a', { kind: 'x' }, 60);
  clock.ms += 59_999;
  expect(await codes.find('a')).toEqual({ kind: 'x' });
  clock.ms += 1;
  expect(await codes.find('a')).toBeUndefined();
});

test('models do not see each other, and asking twice gives the same entries', async () => {
  const { adapter } = makeAdapters();
  await adapter('Session').upsert('a', { uid: 'u' });
  expect(await adapter('Grant').find('a')).toBeUndefined();
  expect(await adapter('Session').find('a')).toEqual({ uid: 'u' });
});

test('a session is found by its uid and a device code by its user code, while they live', async () => {
  const { clock, adapter } = makeAdapters();
  await adapter('Session').upsert('a', { uid: 'u' }, 1);
  await adapter('DeviceCode').upsert('b', { userCode: 'c' });
  expect(await adapter('Session').findByUid('u')).toEqual({ uid: 'u' });
  expect(await adapter('DeviceCode').findByUserCode('c')).toEqual({ userCode: 'c' });
  clock.ms += 1000;
  expect(await adapter('Session').findByUid('u')).toBeUndefined();
});

test('a consumed code is marked with the time in seconds', async () => {
  const { adapter } = makeAdapters();
  const codes = adapter('AuthorizationCode');
  await codes.upsert('a', { grantId: 'g' });
  await codes.consume('a');
  await codes.consume('unknown');
  expect(await codes.find('a')).toEqual({ grantId: 'g', consumed: 1000 });
});

test('revoking a grant removes its entries and no others', async () => {
  const { adapter } = makeAdapters();
  const tokens = adapter('AccessToken');
  await tokens.upsert('a', { grantId: 'g' });
  await tokens.upsert('b', { grantId: 'h' });
  await tokens.revokeByGrantId('g');
  expect(await tokens.find('a')).toBeUndefined();
  expect(await tokens.find('b')).toBeDefined();
});

test('a full model drops expired entries first, then the least recently written', async () => {
  const { clock, adapter } = makeAdapters(3);
  const grants = adapter('Grant');
  await grants.upsert('old', {});
  await grants.upsert('expiring', {}, 1);
  await grants.upsert('renewed', {});
  clock.ms += 1000;
  await grants.upsert('new', {});
  expect(await grants.find('old')).toBeDefined();
  await grants.upsert('old', {});
  await grants.upsert('newer', {});
  expect(await grants.find('renewed')).toBeUndefined();
  expect(await grants.find('old')).toBeDefined();
});

test('clients are never dropped', async () => {
  const { adapter } = makeAdapters(1);
  const clients = adapter('Client');
  for (const id of ['a', 'b', 'c']) await clients.upsert(id, {});
  expect(await clients.find('a')).toBeDefined();
});
