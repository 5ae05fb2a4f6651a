/**
 * At a short address the tenant is not named: it is that of the scope. For a builder it is forced before the scope is
 * looked at, so that another tenant's scope is not there (requirement C-01).
 */
import { describe, expect, test } from 'vitest';
import { makeMemoryBackups } from '../test/memory-backups.ts';
import { openPlatform, refusal, SERVICE, STAFF } from '../test/platform.ts';
import type { Actor } from './access/actors.ts';
import { type AdminOperation, type AdminOperationName, adminOperations } from './admin-operations.ts';

const SHORT = Object.values<AdminOperation>(adminOperations).filter(
  ({ shortPath }) => shortPath !== undefined,
);
/** The ones that a tenant's builder may call. */
const OWN = SHORT.filter(({ builder }) => builder === 'own-tenant');

async function open() {
  const platform = await openPlatform({ backups: makeMemoryBackups() });
  platform.reach = 'local';
  const [a, b] = [await platform.tenant('a'), await platform.tenant('b')];
  const [ours, theirs] = [await platform.scope(a.id), await platform.scope(b.id)];
  /** As the transport hands it on: parsed by the operation without its tenant. */
  const call = (name: AdminOperationName, scope: string, as: Actor) => {
    const { input }: AdminOperation = adminOperations[name];
    const things = { snapshot: 'snp_01jd0000000000000000000009', backup: 'bkp_01jd0000000000000000000009' };
    const params = { scope, ...things, subject: 'prs_ada' };
    const named = Object.keys(input.params?.shape ?? {}).filter((field) => field !== 'tenant');
    return platform.admin.perform({
      operation: name,
      params: Object.fromEntries(Object.entries(params).filter(([field]) => named.includes(field))),
      query: input.query?.parse({}) ?? {},
      body: input.body?.parse({}) ?? {},
      actor: as,
      requestId: 'req-short',
    });
  };
  return { platform, ours, theirs, call, builder: platform.builder(a.id) };
}

test('C-01: there are short addresses, and some that a builder reaches', () => {
  expect(SHORT.length).toBeGreaterThan(4);
  expect(OWN).not.toEqual([]);
});

describe.each(OWN.map(({ name }) => name as AdminOperationName))('C-01: %s at its short address', (name) => {
  test("of another tenant's scope a builder hears what it hears of one that is not there", async () => {
    const { platform, theirs, call, builder } = await open();
    const before = await platform.adminLog();
    const foreign = await refusal(call(name, theirs.id, builder));
    expect(foreign).toMatchObject({ status: 404, reason: 'unknown_scope' });
    expect(await refusal(call(name, 'scp_01jd0000000000000000000009', builder))).toEqual(foreign);
    expect(await platform.adminLog()).toEqual(before);
  });
});

test.each<[string, Actor | 'builder']>([
  ['staff', STAFF],
  ['a service', SERVICE],
  ['a builder', 'builder'],
])('C-01: %s lists the snapshots of a scope by its name alone', async (_, who) => {
  const { platform, ours, call, builder } = await open();
  const params = { tenant: ours.tenant, scope: ours.id };
  const taken = await platform.value<{ id: string }>('snapshots.take', { params, body: {} });
  const { value } = await call('snapshots.list', ours.id, who === 'builder' ? builder : who);
  expect(value).toMatchObject({ items: [{ id: taken.id }] });
  expect(await refusal(call('snapshots.list', 'scp_01jd0000000000000000000009', STAFF))).toMatchObject({
    status: 404,
    reason: 'unknown_scope',
  });
});
