/** Replacing a tenant's session secret: the vertical does it, both sides log it, and no answer shows it. */
import { PlatformError, problemDocument } from '@freehold/contracts';
import { expect, test } from 'vitest';
import { openPlatform, refusal } from '../../test/platform.ts';

async function openWithScope() {
  const platform = await openPlatform();
  const { id: tenant } = await platform.tenant('acme');
  const { id: scope } = await platform.scope(tenant);
  const rotate = (body: object = {}, more: object = {}) =>
    platform.call('session-secret.rotate', { params: { tenant, scope }, body: { ...body }, ...more });
  const logged = () => platform.adminLog({ action: 'session-secret.rotate' });
  return { platform, tenant, scope, rotate, logged };
}

test('A-11 the vertical is asked, with the name of the caller, and both rows say what was meant', async () => {
  const { platform, tenant, scope, rotate, logged } = await openWithScope();
  const { status, value } = await rotate();
  expect({ status, value }).toEqual({ status: 200, value: { formerValidUntil: '2026-11-21T08:30:00.000Z' } });
  expect(platform.fieldwork.requests.at(-1)).toMatchObject({
    method: 'POST',
    url: expect.stringMatching(/\/internal\/session-secret\/rotate$/),
    body: { tenantId: tenant, scopeId: scope, by: 'Ada', keepFormer: true },
  });
  expect((await rotate({ keepFormer: false })).value).toEqual({ formerValidUntil: null });
  const target = { tenant, scope, vertical: 'fieldwork' };
  const rows = await logged();
  expect(rows.toSorted((left, right) => left.sequence - right.sequence)).toMatchObject([
    { outcome: 'intent', target, after: { keepFormer: true } },
    { outcome: 'done', target, after: { keepFormer: true, formerValidUntil: '2026-11-21T08:30:00.000Z' } },
    { outcome: 'intent', after: { keepFormer: false } },
    { outcome: 'done', after: { keepFormer: false, formerValidUntil: null } },
  ]);
});

test('repeated with its key it is answered from the first, and nothing is replaced again', async () => {
  const { platform, rotate } = await openWithScope();
  const first = await rotate({}, { key: 'k' });
  const asked = platform.fieldwork.requests.length;
  expect(await rotate({}, { key: 'k' })).toMatchObject({ replayed: true, value: first.value });
  expect(platform.fieldwork.requests).toHaveLength(asked);
});

test('a refusal of the vertical is passed on, and the log says that it did not happen', async () => {
  const { platform, rotate, logged } = await openWithScope();
  for (const [code, reason] of [
    ['unsupported', 'hook_omitted'],
    ['conflict', 'rotated_too_often'],
  ] as const) {
    platform.fieldwork.fault = async () => problemDocument(new PlatformError(code, 'No.', { reason }));
    expect(await refusal(rotate())).toMatchObject({ code, reason });
  }
  expect((await logged()).map(({ outcome }) => outcome).sort()).toEqual([
    'failed',
    'failed',
    'intent',
    'intent',
  ]);
});

test('a co-located vertical cannot replace it: 501, and nothing is written', async () => {
  const { platform, rotate, logged } = await openWithScope();
  platform.reach = 'local';
  expect(await refusal(rotate())).toMatchObject({ status: 501, code: 'unsupported' });
  expect(await logged()).toEqual([]);
});

test('a suspended scope’s can be replaced; an archived one’s cannot', async () => {
  const { platform, tenant, scope, rotate } = await openWithScope();
  const params = { tenant, scope };
  await platform.call('scopes.set-status', { params, body: { status: 'suspended' } });
  expect((await rotate({ keepFormer: false })).status).toBe(200);
  await platform.call('scopes.set-status', { params, body: { status: 'archived' } });
  expect(await refusal(rotate())).toMatchObject({ status: 409, reason: 'scope_not_active' });
});

test('ending all sessions settles an earlier call without an answer; keeping the former secret does not', async () => {
  const { platform, rotate } = await openWithScope();
  const open = () => platform.adminLog({ outcome: 'unsettled' });
  platform.fieldwork.fault = async () => {
    throw new TypeError('the connection was lost');
  };
  await refusal(rotate({ keepFormer: false }));
  platform.fieldwork.fault = null;
  expect(await open()).toHaveLength(1);
  await rotate();
  expect(await open()).toHaveLength(1);
  await rotate({ keepFormer: false });
  expect(await open()).toEqual([]);
});
