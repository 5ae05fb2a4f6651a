/** Retrying a dead letter when the outcome of the first attempt is not known. */
import { PlatformError, problemDocument } from '@freehold/contracts';
import { expect, test } from 'vitest';
import { openPlatform, type Platform, refusal } from '../../test/platform.ts';
import { EVENT } from '../../test/vertical-double.ts';

const gone = async () =>
  problemDocument(
    new PlatformError('not_found', 'There is no such dead letter.', { reason: 'unknown_dead_letter' }),
  );

async function openScope() {
  const platform = await openPlatform();
  const { id: tenant } = await platform.tenant('acme');
  const { id: scope } = await platform.scope(tenant);
  const retry = (key: string, event = EVENT, subscriber = 'invoices') =>
    platform.call('dead-letters.retry', {
      params: { tenant, scope, event },
      body: { subscriber },
      key,
    });
  return { platform, at: { tenant, scope }, retry };
}

const outcomes = async (platform: Platform) =>
  (await platform.adminLog({ action: 'dead-letters.retry' })).map(({ outcome }) => outcome);

test('spec C-02: the same call again settles it, also when the first attempt had taken the letter back', async () => {
  const { platform, retry } = await openScope();
  platform.fieldwork.fault = () => Promise.reject(new TypeError('the connection broke off'));
  expect(await refusal(retry('first'))).toMatchObject({ reason: 'outcome_unknown' });
  platform.fieldwork.fault = gone;
  expect(await retry('first')).toMatchObject({
    status: 200,
    value: { event: EVENT, subscriber: 'invoices' },
  });
  expect(await outcomes(platform)).toEqual(['intent', 'intent', 'done', 'superseded']);
  expect(await platform.adminLog({ outcome: 'unsettled' })).toEqual([]);
});

test('another call is told that there is no such letter, and another letter settles nothing', async () => {
  const { platform, retry } = await openScope();
  platform.fieldwork.fault = () => Promise.reject(new TypeError('the connection broke off'));
  await refusal(retry('first'));
  platform.fieldwork.fault = gone;
  expect(await refusal(retry('second'))).toMatchObject({ reason: 'unknown_dead_letter' });
  platform.fieldwork.fault = null;
  await retry('third', 'evt_01jd0000000000000000000009');
  // The same event for another subscriber is another letter too.
  await retry('for another subscriber', EVENT, 'reminders');
  expect(await platform.adminLog({ outcome: 'unsettled' })).toHaveLength(1);
  await retry('fourth');
  expect(await platform.adminLog({ outcome: 'unsettled' })).toEqual([]);
});

test('spec C-02: a scope that is suspended meanwhile does not undo the retry of its application', async () => {
  const { platform, at, retry } = await openScope();
  const { fetch } = platform.fieldwork.bound;
  platform.fieldwork.fault = async (request) => {
    platform.fieldwork.fault = null;
    await platform.call('scopes.set-status', { params: at, body: { status: 'suspended' } });
    return fetch(request);
  };
  expect(await retry('first')).toMatchObject({ status: 200 });
  expect(await outcomes(platform)).toEqual(['intent', 'done']);
  expect(await platform.adminLog({ outcome: 'unsettled' })).toEqual([]);
});
