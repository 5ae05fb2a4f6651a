/** The contract of permissions: roles, projected roles, grants on records and on what they lie in, and the denial log. */
import type { ActorId, EntityRef } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import type { ScopeHostSetup } from './index.ts';
import {
  allPages,
  anonymous,
  clerk,
  type Library,
  librarian,
  openLibrary,
  otherTenant,
  visitor,
} from './world.ts';

const thing = (type: string, id: string): EntityRef => ({ type, id });
const DENIED = { code: 'permission_denied' };

async function canRead({ run }: Library, who: ActorId, book: string): Promise<boolean> {
  return run(who, 'book/read', { book }).then(
    () => true,
    (error) => {
      expect(error).toMatchObject(DENIED);
      return false;
    },
  );
}

export function permissionContract(setup: ScopeHostSetup): void {
  describe('a role', () => {
    test('is given by the platform or by a principal who holds all of it', async () => {
      const { scope, run } = await openLibrary(setup);
      await scope.assignRole({ principal: anonymous, role: 'clerk', by: librarian });
      await run(anonymous, 'book/add', { title: 'x' });
      await expect(
        scope.assignRole({ principal: visitor, role: 'librarian', by: clerk }),
      ).rejects.toMatchObject({ code: 'forbidden', reason: 'role_exceeds_holder' });
      await expect(
        scope.assignRole({ principal: visitor, role: 'king', by: 'platform' }),
      ).rejects.toMatchObject({ code: 'not_found', reason: 'unknown_role' });
      expect(await scope.holdings({ principal: visitor })).toEqual({
        roles: ['visitor'],
        permissions: ['library.browse'],
      });
    });

    test('that is taken ends at once, and with the last one every grant', async () => {
      const opened = await openLibrary(setup);
      const { run, scope, add, reopen } = opened;
      const book = await add();
      await run(librarian, 'place/share', { what: thing('book', book), with: visitor });
      expect(await canRead(opened, visitor, book)).toBe(true);
      await scope.revokeRole({ principal: visitor, role: 'visitor', by: librarian });
      expect(await canRead(opened, visitor, book)).toBe(false);
      await expect(run(visitor, 'book/list', {})).rejects.toMatchObject(DENIED);
      await reopen();
      await expect(run(visitor, 'book/list', {})).rejects.toMatchObject(DENIED);
    });

    test('is set all at once: of many changes the last one decides', async () => {
      const { scope } = await openLibrary(setup);
      await Promise.all(
        ['clerk', 'visitor', 'clerk'].map((role) =>
          scope.setRoles({ principal: visitor, roles: [role], by: 'platform' }),
        ),
      );
      expect((await scope.holdings({ principal: visitor })).roles).toEqual(['clerk']);
      const assignments = await scope.assignments({});
      expect(assignments.find(({ principal }) => principal === visitor)).toMatchObject({
        role: 'clerk',
        grantedBy: 'platform',
      });
    });

    test('that was rolled back is not remembered', async () => {
      const { scope, run } = await openLibrary(setup);
      const [failed, after] = await Promise.allSettled([
        scope.setRoles({ principal: anonymous, roles: ['clerk', 'king'], by: 'platform' }),
        run(anonymous, 'book/list', {}),
      ]);
      expect(failed.status).toBe('rejected');
      expect(after).toMatchObject({ status: 'rejected', reason: DENIED });
    });
  });

  describe('roles of the platform', () => {
    test('are added beside the manifest’s own, which they cannot change, and replaced as a whole', async () => {
      const { host, ref, scope } = await openLibrary(setup);
      await host.projectRolesLocal(ref, { auditor: ['book.read'], visitor: ['book.add'] });
      await scope.assignRole({ principal: anonymous, role: 'auditor', by: 'platform' });
      const permissions = async (principal: ActorId) => (await scope.holdings({ principal })).permissions;
      expect(await permissions(anonymous)).toEqual(['book.read']);
      expect(await permissions(visitor)).toEqual(['library.browse']);
      await host.projectRolesLocal(ref, { guard: ['library.browse'] });
      expect(await permissions(anonymous)).toEqual([]);
    });

    test('that name an undeclared permission change nothing', async () => {
      const { host, ref, scope } = await openLibrary(setup);
      await host.projectRolesLocal(ref, { auditor: ['book.read'] });
      await expect(host.projectRolesLocal(ref, { auditor: ['book.burn'] })).rejects.toMatchObject({
        code: 'validation_failed',
      });
      await scope.assignRole({ principal: anonymous, role: 'auditor', by: 'platform' });
      expect((await scope.holdings({ principal: anonymous })).permissions).toEqual(['book.read']);
    });
  });

  describe('a grant', () => {
    test('opens one record and no other, and is listed', async () => {
      const opened = await openLibrary(setup);
      const { run, ask, add, scope } = opened;
      const [mine, other] = [await add(), await add()];
      await run(librarian, 'place/share', { what: thing('book', mine), with: visitor });
      expect(await canRead(opened, visitor, mine)).toBe(true);
      expect(await canRead(opened, visitor, other)).toBe(false);
      expect(await ask(visitor, 'book/list', {})).toEqual([mine]);
      expect(await ask(librarian, 'book/list', {})).toBe('all');
      const entity = thing('book', mine);
      expect(await scope.explain({ principal: visitor, permission: 'book.read', entity })).toEqual([
        { by: 'grant', entity, expiresAtMs: null },
      ]);
      await run(librarian, 'place/unshare', { what: entity, with: visitor });
      expect(await canRead(opened, visitor, mine)).toBe(false);
    });

    test('ends at its expiry', async () => {
      const opened = await openLibrary(setup);
      const { run, add, pass } = opened;
      const book = await add();
      await run(librarian, 'place/share', { what: thing('book', book), with: visitor, forMs: 1_500 });
      expect(await canRead(opened, visitor, book)).toBe(true);
      await pass(1_600);
      expect(await canRead(opened, visitor, book)).toBe(false);
    });

    test('is given only by a principal who holds it, and for no longer', async () => {
      const { run, add, scope } = await openLibrary(setup);
      const what = thing('book', await add());
      await expect(run(clerk, 'place/share', { what, with: visitor })).rejects.toMatchObject(DENIED);
      await run(librarian, 'place/share', { what, with: visitor, forMs: 60_000 });
      await expect(run(visitor, 'place/share', { what, with: anonymous })).rejects.toMatchObject({
        ...DENIED,
        reason: 'grant_outlives_holder',
      });
      expect(await scope.explain({ principal: anonymous, permission: 'book.read', entity: what })).toEqual(
        [],
      );
    });

    test('to a malformed id is refused', async () => {
      const { run } = await openLibrary(setup);
      const what = thing('book', 'b');
      await expect(run(librarian, 'place/share', { what, with: 'ada' })).rejects.toMatchObject({
        code: 'validation_failed',
        reason: 'subject_malformed',
      });
    });

    test('on a record covers what lies in it, until that is moved', async () => {
      const opened = await openLibrary(setup);
      const { run, ask, add } = opened;
      const book = await add();
      const put = (what: EntityRef, into: EntityRef | null) => run(librarian, 'place/put', { what, into });
      await put(thing('shelf', 's'), thing('room', 'r'));
      await put(thing('book', book), thing('shelf', 's'));
      await run(librarian, 'place/share', { what: thing('room', 'r'), with: visitor });
      expect(await canRead(opened, visitor, book)).toBe(true);
      expect(await ask(visitor, 'book/list', {})).toEqual([book]);
      await put(thing('shelf', 's'), thing('room', 'other'));
      expect(await canRead(opened, visitor, book)).toBe(false);
      await put(thing('shelf', 's'), thing('room', 'r'));
      expect(await canRead(opened, visitor, book)).toBe(true);
      await put(thing('book', book), null);
      expect(await canRead(opened, visitor, book)).toBe(false);
    });
  });

  test('records lie in what the manifest says, never in themselves, and at most four deep', async () => {
    const { run } = await openLibrary(setup);
    const put = (what: EntityRef, into: EntityRef) => run(librarian, 'place/put', { what, into });
    const folder = (i: number) => thing('folder', `f${i}`);
    for (let i = 1; i < 5; i++) await put(folder(i), folder(i - 1));
    await expect(put(folder(5), folder(4))).rejects.toMatchObject({
      code: 'conflict',
      reason: 'parents_too_deep',
    });
    await expect(put(folder(0), folder(3))).rejects.toMatchObject({
      code: 'conflict',
      reason: 'parents_cycle',
    });
    await expect(put(thing('book', 'b'), thing('room', 'r'))).rejects.toMatchObject({ code: 'internal' });
  });

  describe('the denial log', () => {
    test('is read newest first, by actor and by permission, page by page, and counted', async () => {
      const { host, ref, run } = await openLibrary(setup);
      for (const who of [visitor, anonymous, visitor]) {
        await run(who, 'book/add', { title: 'x' }).catch(() => undefined);
        await run(who, 'loan/write', { book: 'b' }).catch(() => undefined);
      }
      const ids = async (filter: { actor?: string; permission?: string }) => {
        const items = await allPages((cursor) =>
          host.listDenialsLocal({ ...ref, ...filter, ...cursor, limit: 2 }),
        );
        const found = items.map(({ id }) => id);
        expect(found).toEqual([...new Set(found)].toSorted().toReversed());
        return found.length;
      };
      expect(await ids({})).toBe(6);
      expect(await ids({ actor: visitor })).toBe(4);
      expect(await ids({ permission: 'book.add' })).toBe(3);
      expect(await ids({ actor: visitor, permission: 'book.add' })).toBe(2);
      expect(await ids({ actor: librarian })).toBe(0);
      const summary = await host.summarizeDenialsLocal({ ...ref, groupBy: 'actor' });
      expect(summary).toMatchObject({ groupBy: 'actor', total: 6 });
      expect(summary.buckets.slice(0, 2)).toMatchObject([
        { actor: visitor, count: 2 },
        { actor: visitor, count: 2 },
      ]);
      expect(await host.summarizeDenialsLocal({ ...ref, groupBy: 'operation' })).toMatchObject({
        groupBy: 'operation',
        buckets: [{ count: 3 }, { count: 3 }],
      });
      const foreign = host.listDenialsLocal({ ...ref, tenantId: otherTenant, limit: 2 });
      await expect(foreign).rejects.toMatchObject({ code: 'not_found' });
    });

    // spec C-23: a refusal that unwound no operation is in a bucket of its own.
    test('has what was refused outside of operations without one', async () => {
      const { host, ref, scope } = await openLibrary(setup);
      expect(await scope.check({ principal: librarian, permission: 'book.add' })).toEqual({
        by: 'role',
        role: 'librarian',
      });
      await expect(scope.check({ principal: visitor, permission: 'book.add' })).rejects.toMatchObject(DENIED);
      const { buckets, total } = await host.summarizeDenialsLocal({ ...ref, groupBy: 'operation' });
      expect({ buckets, total }).toMatchObject({ total: 1, buckets: [{ operation: null, count: 1 }] });
    });
  });
}
