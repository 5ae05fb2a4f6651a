/** The list of identity events. */
import { expect, test } from 'vitest';
import { OTHER_SCOPE, openPlatform, refusal, SCOPE } from '../../test/support.ts';

test('lists newest first, page by page, in the order things happened although the clock steps back', async () => {
  const { directory, clock } = await openPlatform();
  for (let i = 0; i < 5; i++) {
    await directory.putConfig({ scopeId: SCOPE, config: { [`K${i}`]: '1' } });
    clock.nowMs -= 1_000;
  }
  const keys: unknown[] = [];
  let cursor: string | undefined;
  do {
    const page = await directory.listIdentityEvents({
      scopeId: SCOPE,
      limit: 2,
      ...(cursor ? { cursor } : {}),
    });
    keys.push(...page.items.map((each) => each.detail.keys?.[0]));
    cursor = page.nextCursor ?? undefined;
  } while (cursor);
  expect(keys).toEqual(['K4', 'K3', 'K2', 'K1', 'K0']);
});

test("A-22: shows one scope's, or the whole tenant's, and never another tenant's", async () => {
  const { directory } = await openPlatform();
  await directory.putConfig({ scopeId: SCOPE, config: { HERE: '1' } });
  await directory.putConfig({ scopeId: OTHER_SCOPE, config: { THERE: '1' } });
  await directory.endAllSessions({ issuer: 'https://i.example', sub: 'ada', nowMs: 1, by: 'prn_1' });
  const types = async (scopeId?: string) =>
    (await directory.listIdentityEvents(scopeId ? { scopeId } : {})).items.map((each) => each.type);
  expect(await types(SCOPE)).toEqual(['config_changed']);
  expect(await types()).toEqual(['all_sessions_ended', 'config_changed', 'config_changed']);
});

test('a page of no items, of too many, and a cursor that was made up are refused', async () => {
  const { directory } = await openPlatform();
  for (const input of [{ limit: 0 }, { limit: 201 }, { limit: 1.5 }, { cursor: '%%%' }])
    expect((await refusal(directory.listIdentityEvents(input))).code).toBe('validation_failed');
});
