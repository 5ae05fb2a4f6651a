/** The contract between a scope and the platform: what it asks for, and what it is told (spec D-22). */
import { describe, expect, test } from 'vitest';
import type { ScopeHostSetup } from './index.ts';
import { allPages, type Library, openLibrary, visitor } from './world.ts';

const request = ({ ask }: Library, kind = 'mail.send', more = {}) =>
  ask<string>(visitor, 'platform/ask', { kind, ...more });
const told = ({ ask }: Library) =>
  ask<{ answers: unknown; settings: unknown; plan: unknown }>(visitor, 'platform/told', {});

export function platformContract(setup: ScopeHostSetup): void {
  describe('a request to the platform', () => {
    test('stands with the operation that made it, and is gone with one that failed', async () => {
      const opened = await openLibrary(setup);
      const payload = { to: 'a customer', lines: [1, 2.5, null, { '': 'é' }] };
      const id = await request(opened, 'mail.send', { payload });
      await expect(request(opened, 'mail.send', { fail: true })).rejects.toMatchObject({ code: 'conflict' });
      const { items } = await opened.host.listPlatformRequests({ ...opened.ref, limit: 10 });
      expect(items).toEqual([
        {
          id,
          kind: 'mail.send',
          payload,
          status: 'pending',
          revision: 1,
          requestedBy: visitor,
          invocation: expect.stringMatching(/^inv_/),
          cause: null,
          at: expect.stringMatching(/Z$/),
          settledAt: null,
          result: null,
        },
      ]);
    });

    test('waits in line oldest first, and is remembered newest first', async () => {
      const opened = await openLibrary(setup);
      const { host, ref } = opened;
      const ids: string[] = [];
      for (const kind of ['mail.send', 'hostname.bind', 'mail.send', 'mail.send'])
        ids.push(await request(opened, kind));
      await host.settlePlatformRequest({ ...ref, id: ids[0] as string, revision: 1, status: 'failed' });
      const waiting = async (query = {}) =>
        (
          await allPages((cursor) => host.listPlatformRequests({ ...ref, ...query, limit: 2, ...cursor }))
        ).map(({ id }) => ids.indexOf(id));
      const all = async (query = {}) =>
        (
          await allPages((cursor) =>
            host.listPlatformRequestHistory({ ...ref, ...query, limit: 2, ...cursor }),
          )
        ).map(({ id }) => ids.indexOf(id));
      expect(await waiting()).toEqual([1, 2, 3]);
      expect(await waiting({ kind: 'mail.send' })).toEqual([2, 3]);
      expect(await all()).toEqual([3, 2, 1, 0]);
      expect(await all({ kind: 'mail.send' })).toEqual([3, 2, 0]);
      expect(await all({ status: 'failed' })).toEqual([0]);
    });

    test('is answered once, by the revision that was seen, and again only alike', async () => {
      const opened = await openLibrary(setup);
      const { host, ref } = opened;
      const id = await request(opened);
      const answer = { ...ref, id, revision: 1, status: 'done', result: { sent: true } } as const;
      await expect(host.settlePlatformRequest({ ...answer, revision: 2 })).rejects.toMatchObject({
        code: 'precondition_failed',
      });
      const settled = await host.settlePlatformRequest(answer);
      expect(settled).toMatchObject({ status: 'done', revision: 2, result: { sent: true } });
      expect(await host.settlePlatformRequest(answer)).toEqual(settled);
      await expect(host.settlePlatformRequest({ ...answer, result: { sent: false } })).rejects.toMatchObject({
        code: 'invalid_transition',
        reason: 'already_settled',
      });
      await expect(
        host.settlePlatformRequest({ ...answer, id: 'prq_01j00000000000000000000009' }),
      ).rejects.toMatchObject({ code: 'not_found' });
      expect((await told(opened)).answers).toEqual([{ status: 'done', result: { sent: true } }]);
    });

    test('of many that answer it hears exactly one', async () => {
      const opened = await openLibrary(setup);
      const id = await request(opened);
      const answers = await Promise.allSettled(
        Array.from({ length: 8 }, (_, by) =>
          opened.host.settlePlatformRequest({
            ...opened.ref,
            id,
            revision: 1,
            status: 'done',
            result: { by },
          }),
        ),
      );
      expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    });
  });

  describe('what the platform tells a scope', () => {
    test('is what was told last, and what was told with an end ends', async () => {
      const opened = await openLibrary(setup);
      const { scope, reopen } = opened;
      expect(await told(opened)).toEqual({ answers: [], settings: {}, plan: null });
      await scope.projectSettings({ settings: { COLOUR: 'green', SIZE: '4' } });
      await scope.projectEntitlements({ entitlements: { plan: { value: { tier: 'pro' } } } });
      const expected = { settings: { COLOUR: 'green', SIZE: '4' }, plan: { tier: 'pro' } };
      expect(await told(opened)).toMatchObject(expected);
      await reopen();
      expect(await told(opened)).toMatchObject(expected);
      await opened.scope.projectSettings({ settings: { COLOUR: 'red' } });
      expect((await told(opened)).settings).toEqual({ COLOUR: 'red' });
      await opened.scope.projectEntitlements({ entitlements: { plan: { value: 5, expiresAtMs: 1 } } });
      expect((await told(opened)).plan).toBeNull();
    });

    // spec C-03
    test('of what a tenant is entitled to: what was overtaken changes nothing', async () => {
      const opened = await openLibrary(setup);
      const project = (revision: number, quota: number) =>
        opened.scope.projectEntitlements({ revision, entitlements: { plan: { value: quota } } });
      await project(7, 70);
      await project(6, 60);
      expect((await told(opened)).plan).toBe(70);
      await opened.reopen();
      await opened.scope.projectEntitlements({ revision: 3, entitlements: {} });
      expect((await told(opened)).plan).toBe(70);
      await opened.scope.projectEntitlements({ revision: 8, entitlements: {} });
      expect((await told(opened)).plan).toBeNull();
    });

    test('and is too large changes nothing', async () => {
      const opened = await openLibrary(setup);
      await opened.scope.projectSettings({ settings: { COLOUR: 'green' } });
      const many = Object.fromEntries(Array.from({ length: 201 }, (_, i) => [`K${i}`, 'v']));
      await expect(opened.scope.projectSettings({ settings: many })).rejects.toMatchObject({
        code: 'validation_failed',
        reason: 'projection_invalid',
      });
      expect((await told(opened)).settings).toEqual({ COLOUR: 'green' });
    });
  });
}
