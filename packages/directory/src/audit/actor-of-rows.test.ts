/**
 * Whoever called is in every row that came of the call, also in those that are written long after it (requirement C-01):
 * by an answer of an application, by a later call that settles an earlier one, by work that went on in the background.
 */
import { PlatformError, problemDocument } from '@freehold/contracts';
import { expect, test } from 'vitest';
import { makeMemoryBackups } from '../../test/memory-backups.ts';
import { openPlatform, type Platform, SERVICE, STAFF } from '../../test/platform.ts';
import type { Actor } from '../access/actors.ts';
import type { AdminLogEntry, OperationRecord } from '../admin-operations.ts';

async function open() {
  const backups = makeMemoryBackups();
  const platform = await openPlatform({ backups });
  const { id: tenant } = await platform.tenant('acme');
  const { id: scope } = await platform.scope(tenant);
  const params = { tenant, scope };
  const configure = (as: Actor) =>
    platform.call('scopes.configure', { params, body: { config: { COLOUR: 'red' } }, as });
  const backUp = (as: Actor) => platform.call('scope-backups.create', { params, body: {}, as });
  return { platform, backups, params, configure, backUp, builder: platform.builder(tenant) };
}

/** Who stands in the rows of one operation: `outcome kind id token`. */
async function namedIn(platform: Platform, action: string): Promise<string[]> {
  return (await platform.adminLog({ action })).map(asText);
}

const asText = ({ outcome, actor: { kind, id, name }, token }: AdminLogEntry) =>
  `${outcome}: ${kind} ${id} ${name} ${token}`;
const expected = (outcome: string, { kind, id, name }: Actor) =>
  `${outcome}: ${kind} ${id} ${name} ${kind === 'staff' ? null : id}`;

test('C-01: what an application did, and what it refused, stands in the name of who asked for it', async () => {
  const { platform, configure, builder } = await open();
  for (const as of [builder, SERVICE, STAFF]) {
    await configure(as);
    platform.fieldwork.fault = async () => problemDocument(new PlatformError('conflict', 'No.'));
    await expect(configure(as)).rejects.toThrow('No.');
    platform.fieldwork.fault = null;
  }
  expect(await namedIn(platform, 'scopes.configure')).toEqual(
    [builder, SERVICE, STAFF].flatMap((as) => [
      ...[expected('intent', as), expected('done', as)],
      ...[expected('intent', as), expected('failed', as)],
    ]),
  );
});

test('C-01: what nobody knew stands in the name of who began it; that it no longer matters, of who came later', async () => {
  const { platform, configure, builder } = await open();
  platform.fieldwork.fault = () => Promise.reject(new TypeError('reset'));
  await expect(configure(SERVICE)).rejects.toThrow();
  platform.fieldwork.fault = null;
  await configure(builder);
  expect(await namedIn(platform, 'scopes.configure')).toEqual([
    expected('intent', SERVICE),
    ...['intent', 'done', 'superseded'].map((outcome) => expected(outcome, builder)),
  ]);
});

test.each<[string, Actor]>([
  ['a service', SERVICE],
  ['staff', STAFF],
])(
  'C-01: long work of %s that is done, that fails and that is called off is theirs to its end',
  async (_, as) => {
    const { platform, backups, backUp } = await open();
    expect(await platform.finish(backUp(as))).toMatchObject({ state: 'done' });

    backups.beforePut = () => Promise.reject(new PlatformError('unavailable', 'Full.'));
    expect(await platform.finish(backUp(as))).toMatchObject({ state: 'failed' });

    const reached = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    backups.beforePut = async () => {
      reached.resolve();
      await held.promise;
    };
    const { id: operation } = (await backUp(as)).value as OperationRecord;
    await reached.promise;
    const by = as === STAFF ? SERVICE : STAFF;
    await platform.call('operations.cancel', { params: { operation }, as: by });
    held.resolve();
    const ended = await platform.value('operations.get', { params: { operation }, query: { wait: '60s' } });
    expect(ended).toMatchObject({ state: 'cancelled', startedBy: { kind: as.kind, id: as.id } });

    expect(await namedIn(platform, 'scope-backups.create')).toEqual(
      ['intent', 'done', 'intent', 'failed', 'intent', 'failed'].map((outcome) => expected(outcome, as)),
    );
    expect(await namedIn(platform, 'operations.cancel')).toEqual([expected('done', by)]);
  },
);
