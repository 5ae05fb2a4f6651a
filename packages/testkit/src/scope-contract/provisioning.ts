/** The contract of a scope's beginning: provisioned once, its tenant's alone, migrated under a journal (spec D-05). */
import type { ScopeRef } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import type { ScopeHost } from '../../../kernel/src/scope-host.ts';
import type { ScopeHostSetup } from './index.ts';
import { library } from './library.ts';
import { librarian, newScopeId, observed, openLibrary, otherTenant, tenant } from './world.ts';

const UNKNOWN = { code: 'not_found', reason: 'unknown_scope' };
const id = (prefix: string): string => `${prefix}_01j00000000000000000000009`;
const page = { limit: 10 };

/** Every member of the management contract that names a scope, in a call that is right but for the scope. */
const MEMBERS: Readonly<Record<string, (host: ScopeHost, ref: ScopeRef) => Promise<unknown>>> = {
  projectRolesLocal: (host, ref) => host.projectRolesLocal(ref, {}),
  appliedMigrationsLocal: (host, ref) => host.appliedMigrationsLocal(ref),
  entityHistoryLocal: (host, ref) =>
    host.entityHistoryLocal({ ...ref, ...page, entityType: 'book', entityId: 'b' }),
  eventCauseLocal: (host, ref) => host.eventCauseLocal({ ...ref, event: id('evt') as never }),
  eventEffectsLocal: (host, ref) => host.eventEffectsLocal({ ...ref, event: id('evt') as never }),
  listDenialsLocal: (host, ref) => host.listDenialsLocal({ ...ref, ...page }),
  summarizeDenialsLocal: (host, ref) => host.summarizeDenialsLocal({ ...ref, groupBy: 'actor' }),
  facetEventsLocal: (host, ref) => host.facetEventsLocal({ ...ref, groupBy: 'type' }),
  invocationEventsLocal: (host, ref) =>
    host.invocationEventsLocal({ ...ref, invocation: id('inv') as never }),
  deadLettersLocal: (host, ref) => host.deadLettersLocal({ ...ref, ...page }),
  retryDeadLetterLocal: (host, ref) =>
    host.retryDeadLetterLocal({ ...ref, event: id('evt') as never, subscriber: 'reminders' }),
  listPlatformRequests: (host, ref) => host.listPlatformRequests({ ...ref, ...page }),
  listPlatformRequestHistory: (host, ref) => host.listPlatformRequestHistory({ ...ref, ...page }),
  settlePlatformRequest: (host, ref) =>
    host.settlePlatformRequest({ ...ref, id: id('prq'), revision: 1, status: 'done' }),
  connectorInvokeLocal: (host, ref) =>
    host.connectorInvokeLocal({ ...ref, connection: id('con'), operation: 'book/list', input: {} }),
  connectorGrantLocal: (host, ref) =>
    host.connectorGrantLocal({ ...ref, connection: id('con'), permission: 'book.read' }),
  connectorAttachmentUploadLocal: (host, ref) =>
    host.connectorAttachmentUploadLocal(
      {
        ...ref,
        connection: id('con'),
        meta: { entity: { type: 'book', id: 'b' }, filename: 'x', mediaType: 'a/b' },
      },
      new ReadableStream(),
    ),
  connectorAttachmentOpenLocal: (host, ref) =>
    host.connectorAttachmentOpenLocal({ ...ref, connection: id('con'), attachment: id('att') }),
  shredSubjectLocal: (host, ref) => host.shredSubjectLocal({ ...ref, subject: 'ada' }),
  exportScopeLocal: (host, ref) => host.exportScopeLocal(ref),
  restoreScopeLocal: (host, ref) =>
    host.restoreScopeLocal({ ...ref, format: 'ndjson' }, new ReadableStream()),
  examineCopyLocal: (host, ref) => host.examineCopyLocal({ ...ref, format: 'ndjson' }, new ReadableStream()),
  snapshotScopeLocal: (host, ref) => host.snapshotScopeLocal(ref),
  listSnapshotsLocal: (host, ref) => host.listSnapshotsLocal(ref),
  openSnapshotLocal: (host, ref) => host.openSnapshotLocal({ ...ref, snapshot: id('snp') }),
  deleteSnapshotLocal: (host, ref) => host.deleteSnapshotLocal({ ...ref, snapshot: id('snp') }),
  deleteScopeLocal: (host, ref) => host.deleteScopeLocal(ref),
  migrationBookmarksLocal: (host, ref) => host.migrationBookmarksLocal({ ...ref, ...page }),
  rewindScopeLocal: (host, ref) => host.rewindScopeLocal({ ...ref, bookmark: 'b' }),
  introspectScopeQuery: (host, ref) => host.introspectScopeQuery({ ...ref, sql: 'SELECT 1', params: [] }),
  introspectScopeTables: (host, ref) => host.introspectScopeTables(ref),
  introspectScopeTable: (host, ref) =>
    host.introspectScopeTable({ ...ref, table: 'books', filters: [], order: 'asc', ...page }),
};

export function provisioningContract(setup: ScopeHostSetup): void {
  describe('provisioning', () => {
    test('makes a scope once, however often it is called', async () => {
      const { host } = await setup.open();
      const ref = { tenantId: tenant, scopeId: newScopeId() };
      const answers = await Promise.all(
        [1, 2, 3].map(() => host.provisionScopeLocal({ ...ref, name: 'City library' })),
      );
      expect(answers.toSorted()).toEqual(['provisioned', 'unchanged', 'unchanged']);
      expect(await host.scope(ref.scopeId).identify({})).toEqual({ tenantId: tenant, name: 'City library' });
    });

    test('does not take another tenant’s scope', async () => {
      const { host, ref, add, scope } = await openLibrary(setup);
      const book = await add();
      await expect(
        host.provisionScopeLocal({ ...ref, tenantId: otherTenant, name: 'Mine' }),
      ).rejects.toMatchObject(UNKNOWN);
      expect(await scope.identify({})).toMatchObject({ tenantId: tenant });
      const { items } = await host.entityHistoryLocal({
        ...ref,
        ...page,
        entityType: 'book',
        entityId: book,
      });
      expect(items).toHaveLength(1);
    });

    test('outlives what is in memory', async () => {
      const opened = await openLibrary(setup);
      const book = await opened.add('kept');
      await opened.reopen();
      expect(await opened.host.provisionScopeLocal({ ...opened.ref, name: 'Another name' })).toBe(
        'unchanged',
      );
      expect(await opened.ask(librarian, 'book/read', { book })).toEqual({ title: 'kept', state: 'here' });
    });
  });

  describe('a scope that is not there and one of another tenant look alike to', () => {
    test.each(Object.keys(MEMBERS))('%s', async (member) => {
      const { host, ref, add, count } = await openLibrary(setup);
      await add();
      const call = MEMBERS[member] as (typeof MEMBERS)[string];
      const refusals = await Promise.all(
        [
          { ...ref, tenantId: otherTenant },
          { tenantId: tenant, scopeId: newScopeId() },
        ].map((each) =>
          call(host, each).then(
            () => 'answered',
            ({ code, reason, message, errors }) => ({ code, reason, message, errors }),
          ),
        ),
      );
      expect(refusals[0]).toMatchObject(UNKNOWN);
      expect(refusals[1]).toEqual(refusals[0]);
      expect(await count('books')).toEqual([1]);
      expect(observed.incidents).toEqual([]);
    });
  });

  test('an operation of a scope that is not there is not found, and makes none', async () => {
    const { host } = await setup.open();
    const scopeId = newScopeId();
    const call = () =>
      host.operations(scopeId, librarian).invoke({ operation: 'book/add', input: { title: 'x' } });
    await expect(call()).rejects.toMatchObject({ code: 'not_found' });
    await expect(call()).rejects.toMatchObject({ code: 'not_found' });
    expect(await host.provisionScopeLocal({ tenantId: tenant, scopeId, name: 'Now' })).toBe('provisioned');
  });

  test('migrations are journaled in their order, the platform’s first, and not again when it is opened again', async () => {
    const opened = await openLibrary(setup);
    const journal = await opened.host.appliedMigrationsLocal(opened.ref);
    const spine = journal.filter(({ set }) => set === 'spine');
    expect(spine.length).toBeGreaterThan(0);
    expect(spine.map(({ version }) => version)).toEqual(
      spine.map(({ version }) => version).toSorted((a, b) => a - b),
    );
    expect(journal.slice(spine.length).map(({ set, version, name }) => ({ set, version, name }))).toEqual(
      library.migrations.map(({ version, name }) => ({ set: 'vertical', version, name })),
    );
    for (const { digest, appliedAt } of journal) {
      expect(digest).toMatch(/^[0-9a-f]{64}$/);
      expect(new Date(appliedAt).toISOString()).toBe(appliedAt);
    }
    await opened.reopen();
    expect(await opened.host.appliedMigrationsLocal(opened.ref)).toEqual(journal);
  });
}
