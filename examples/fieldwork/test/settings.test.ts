/** The settings of an instance and its language model, as its owner sees them. */
import { modelUsageResponse, settingsResponse } from '@freehold/app/wire';
import { expect, test } from 'vitest';
import { joinTeam, openFixture } from './fixture.ts';

test('the owner sees each setting, where it is from, and no secret; and how long history is kept', async () => {
  await using fixture = await openFixture(
    {},
    { bindings: { BASE_URL: 'https://bound.example', OIDC_CLIENT_SECRET: 'hush-bound' } },
  );
  const ada = await fixture.signedIn(fixture.pipes, 'ada', 'Ada');
  await ada.get('/api/me');
  const configure = (config: Record<string, string>) =>
    fixture.platform('POST', '/internal/configure', {
      tenantId: fixture.pipes.tenant,
      scopeId: fixture.pipes.scope,
      config,
    });
  const read = async () => {
    const text = await (await ada.request('GET', '/api/settings')).text();
    expect(text).not.toContain('hush');
    const { items, retention } = settingsResponse.parse(JSON.parse(text));
    return { of: Object.fromEntries(items.map((each) => [each.key, each])), retention };
  };

  const before = await read();
  expect(before.of.SIGN_UP).toMatchObject({ from: 'default', value: 'open', secret: false });
  expect(before.of.BASE_URL).toMatchObject({ from: 'platform', value: 'https://bound.example' });
  expect(before.of.OIDC_CLIENT_SECRET).toMatchObject({ from: 'platform', value: null, secret: true });
  expect(before.of.OIDC_AUDIENCE).toMatchObject({ from: 'none', value: null });
  expect(before.retention).toEqual({ historyDays: null, denialsDays: 730, from: 'default' });

  const policy = '{"historyDays":400}';
  await configure({ SIGN_UP: 'closed', BASE_URL: 'https://mine.example', 'platform:retention': policy });
  const after = await read();
  expect(after.of.SIGN_UP).toMatchObject({ from: 'delivered', value: 'closed' });
  expect(after.of.BASE_URL).toMatchObject({ from: 'delivered', value: 'https://mine.example' });
  expect(after.retention).toEqual({ historyDays: 400, denialsDays: 730, from: 'delivered' });

  // The delivery was to one tenant.
  const other = await fixture.signedIn(fixture.sparks, 'sam', 'Sam');
  await other.get('/api/me');
  expect(JSON.stringify(await other.get('/api/settings'))).not.toContain('mine.example');
});

test('settings and the model are for those who manage the team', async () => {
  await using fixture = await openFixture();
  const ada = await fixture.signedIn(fixture.pipes, 'ada', 'Ada');
  await ada.get('/api/me');
  const { member } = await joinTeam(fixture, ada, fixture.pipes, 'tim', 'technician');
  for (const path of ['/api/settings', '/api/model-usage']) {
    expect(await member.refused('GET', path), path).toMatchObject({ status: 403, code: 'permission_denied' });
    expect((await fixture.visitor(fixture.pipes).request('GET', path)).status, path).toBe(401);
  }
});

test('the owner sees the model or why there is none, its tokens and limit, and whether it would be refused', async () => {
  await using none = await openFixture();
  const ada = await none.signedIn(none.pipes, 'ada', 'Ada');
  await ada.get('/api/me');
  expect(modelUsageResponse.parse(await ada.get('/api/model-usage'))).toMatchObject({
    model: null,
    problem: expect.stringContaining('FREEHOLD_MODEL'),
    access: null,
    tokens: 0,
    limit: null,
    refused: null,
  });

  await using fixture = await openFixture(
    {},
    {
      bindings: {
        FREEHOLD_MODEL: 'openai-compatible:small',
        FREEHOLD_MODEL_OPENAI_COMPATIBLE_BASE_URL: 'http://127.0.0.1:1/v1',
        FREEHOLD_MODEL_TOKENS_MONTHLY: '100',
      },
    },
  );
  const bob = await fixture.signedIn(fixture.pipes, 'bob', 'Bob');
  await bob.get('/api/me');
  const usage = { model: 'openai-compatible:small', problem: null, access: 'all', month: '2026-03' };
  expect(await bob.get('/api/model-usage')).toEqual({ ...usage, tokens: 0, limit: 100, refused: null });

  const { host } = fixture.fieldwork;
  await host
    .operations(fixture.pipes.scope, 'service:assistant')
    .invoke({ operation: 'model/admit', input: { access: 'all', tokensMonthly: 100, tokens: 100 } });
  expect(await bob.get('/api/model-usage')).toMatchObject({
    tokens: 100,
    limit: 100,
    refused: { reason: 'model_budget', detail: expect.stringContaining('1 April 2026') },
  });
});
