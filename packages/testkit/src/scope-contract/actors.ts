/** The contract of those who are no people: services of the manifest, and connections (spec 4.4, D-02). */
import type { ActorId } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import type { ScopeHostSetup } from './index.ts';
import { librarian, openLibrary } from './world.ts';

const desk = 'service:desk' as ActorId;
const connection = 'con_01j00000000000000000000001';
const actor: ActorId = `connection:${connection}`;
const DENIED = { code: 'permission_denied' };

export function actorContract(setup: ScopeHostSetup): void {
  describe('a service', () => {
    test('may do what the manifest says of it, and no more', async () => {
      const { run, scope } = await openLibrary(setup);
      const { invocation } = await run(desk, 'loan/write', { book: 'b' });
      expect(await scope.invocation({ invocation: invocation as never })).toMatchObject({
        invocation: { principal: desk },
        items: [{ type: 'loan.written', actor: desk }],
      });
      await expect(run(desk, 'book/add', { title: 'x' })).rejects.toMatchObject(DENIED);
      expect(await scope.explain({ principal: desk, permission: 'loan.write' })).toEqual([
        { by: 'service', service: 'desk' },
      ]);
    });

    test('that the manifest does not declare has no permissions', async () => {
      const { run } = await openLibrary(setup);
      await expect(run('service:cellar', 'loan/write', { book: 'b' })).rejects.toMatchObject(DENIED);
    });
  });

  describe('a connection', () => {
    test('may do nothing, until it is granted', async () => {
      const { host, ref, scope } = await openLibrary(setup);
      const call = { ...ref, connection, operation: 'loan/write', input: { book: 'b' } };
      await expect(host.connectorInvokeLocal(call)).rejects.toMatchObject(DENIED);
      const granted = { subject: actor, permission: 'loan.write', entity: null };
      expect(await host.connectorGrantLocal({ ...ref, connection, permission: 'loan.write' })).toEqual(
        granted,
      );
      expect(await host.connectorGrantLocal({ ...ref, connection, permission: 'loan.write' })).toEqual(
        granted,
      );
      const { output, invocation } = await host.connectorInvokeLocal(call);
      const { loan } = output as { loan: string };
      const { items } = await scope.history({ entity: { type: 'loan', id: loan }, limit: 5 });
      expect(items).toMatchObject([{ actor, invocation }]);
      const denials = await host.listDenialsLocal({ ...ref, actor, limit: 5 });
      expect(denials.items).toMatchObject([{ permission: 'loan.write', operation: 'loan/write' }]);
    });

    test('that was granted a record reaches that one alone', async () => {
      const { host, ref, add, run } = await openLibrary(setup);
      const [mine, other] = [await add(), await add()];
      const entity = { type: 'book', id: mine };
      expect(await host.connectorGrantLocal({ ...ref, connection, permission: 'book.read', entity })).toEqual(
        { subject: actor, permission: 'book.read', entity },
      );
      const read = (book: string) =>
        host.connectorInvokeLocal({ ...ref, connection, operation: 'book/read', input: { book } });
      expect((await read(mine)).output).toEqual({ title: 'a book', state: 'here' });
      await expect(read(other)).rejects.toMatchObject(DENIED);
      await run(librarian, 'place/unshare', { what: entity, with: actor });
      await expect(read(mine)).rejects.toMatchObject(DENIED);
    });

    test('repeats under its key as people do', async () => {
      const { host, ref } = await openLibrary(setup);
      await host.connectorGrantLocal({ ...ref, connection, permission: 'book.add' });
      const call = { ...ref, connection, operation: 'book/add', input: { title: 'x' }, idempotencyKey: 'k' };
      const first = await host.connectorInvokeLocal(call);
      expect(await host.connectorInvokeLocal(call)).toEqual({ ...first, replayed: true });
    });

    test.each([
      ['an undeclared permission', { permission: 'book.burn' }, 'unknown_permission'],
      [
        'an undeclared type of record',
        { permission: 'book.read', entity: { type: 'boat', id: 'b' } },
        'unknown_entity_type',
      ],
    ])('is not granted %s', async (_name, grant, reason) => {
      const { host, ref } = await openLibrary(setup);
      await expect(host.connectorGrantLocal({ ...ref, connection, ...grant })).rejects.toMatchObject({
        code: 'validation_failed',
        reason,
      });
    });
  });
}
