/** Scopes whose database is damaged or gone, and copies of other scopes: what is admitted, and what comes along. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PlatformError, type PrincipalId, type ScopeId, type TenantId } from '@freehold/contracts';
import { makeKeyring, type Replacing } from '@freehold/store';
import { expect, onTestFinished, test } from 'vitest';
import { makeNodeBlobStore, type NodeEngine, openNodeEngine } from '../../engine-node/src/index.ts';
import { libraryUnit } from '../../testkit/src/scope-contract/index.ts';
import {
  type CopiedMember,
  makeScopeHost,
  makeUnitVault,
  makeVaultUnit,
  type ScopePeople,
} from '../src/index.ts';

const tenantId = 'tnt_01j00000000000000000000001' as TenantId;
const ref = { tenantId, scopeId: 'scp_01j00000000000000000000001' as ScopeId };
const other = { tenantId, scopeId: 'scp_01j00000000000000000000002' as ScopeId };
const librarian = 'prn_01j00000000000000000000001' as PrincipalId;
const vaultUnit = makeVaultUnit(makeKeyring(['the sealing key of these tests, long enough']));

const MEMBERS: CopiedMember[] = [
  { principal: librarian, issuer: 'https://id.example', sub: 'ada', sinceMs: 1, owner: true },
];

function newPlace(): string {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-lost-scopes-'));
  onTestFinished(() => rmSync(dataDirectory, { recursive: true, force: true }));
  return dataDirectory;
}

/** One process of the platform, and what it asked of the identity directory. */
function startOn(
  dataDirectory: string,
  people: Partial<ScopePeople> = {},
  changed: (engine: NodeEngine) => NodeEngine = (engine) => engine,
) {
  const asked: unknown[] = [];
  const engine = changed(openNodeEngine({ dataDirectory, onIncident: () => undefined }));
  onTestFinished(() => engine.close());
  const host = makeScopeHost({
    engine,
    unit: libraryUnit,
    vault: makeUnitVault((tenant) => engine.unit(vaultUnit, tenant, { create: true })),
    blobs: (scopeId) => makeNodeBlobStore({ dataDirectory, scopeId, now: Date.now }),
    people: {
      members: async () => MEMBERS,
      standing: async () => null,
      closeWindow: async ({ scopeId }) => void asked.push(['closeWindow', scopeId]),
      moveIn: async ({ scopeId }, copy) => {
        asked.push(['moveIn', scopeId, copy]);
        return copy.copied?.length ?? 0;
      },
      ...people,
    },
  });
  const add = async (title: string): Promise<string> => {
    const added = { operation: 'book/add', input: { title } };
    const { output } = await host.operations(ref.scopeId, librarian).invoke(added);
    return (output as { book: string }).book;
  };
  const books = async () =>
    (await host.introspectScopeTables(ref)).find(({ name }) => name === 'books')?.rows;
  return { engine, host, asked, add, books };
}

const bytesOf = (body: ReadableStream<Uint8Array>) =>
  new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer();
const bodyOf = (bytes: ArrayBuffer) => new Blob([bytes]).stream();
const databaseOf = (dataDirectory: string) => join(dataDirectory, libraryUnit.kind, `${ref.scopeId}.sqlite`);

/** A scope with one book, its copy, and another book since; closed. */
async function closedScope() {
  const dataDirectory = newPlace();
  const { engine, host, add } = startOn(dataDirectory);
  await host.provisionScopeLocal({ ...ref, name: 'City library' });
  await host.scope(ref.scopeId).assignRole({ principal: librarian, role: 'librarian', by: 'platform' });
  await add('in the copy');
  const copy = await bytesOf((await host.exportScopeLocal({ ...ref, format: 'ndjson' })).body);
  await add('since');
  await engine.close();
  return { dataDirectory, copy };
}

const asNdjson = { ...ref, format: 'ndjson' } as const;

test('a damaged scope is restored, and its members stay as they are', async () => {
  const { dataDirectory, copy } = await closedScope();
  writeFileSync(databaseOf(dataDirectory), Buffer.alloc(9_000, 'x'));
  const { host, asked, books } = startOn(dataDirectory);
  await expect(host.scope(ref.scopeId).identify({})).rejects.toMatchObject({ reason: 'unit_unreadable' });
  expect(await host.examineCopyLocal(asNdjson, bodyOf(copy))).toMatchObject({
    scope: ref.scopeId,
    members: 1,
    attachments: { files: 0, missing: 0 },
  });
  const restored = await host.restoreScopeLocal(asNdjson, bodyOf(copy));
  expect(restored.setAside).toMatch(/\.damaged-/);
  expect(restored).not.toHaveProperty('members');
  expect(await books()).toBe(1);
  expect(asked).toEqual([]);
});

test('a snapshot of a damaged scope is still there, and restores it', async () => {
  const { dataDirectory } = await closedScope();
  const before = startOn(dataDirectory);
  const { id: snapshot } = await before.host.snapshotScopeLocal(ref);
  await before.add('since the snapshot');
  await before.engine.close();
  writeFileSync(databaseOf(dataDirectory), Buffer.alloc(9_000, 'x'));
  const { host, books } = startOn(dataDirectory);
  const { format, body } = await host.openSnapshotLocal({ ...ref, snapshot });
  await host.restoreScopeLocal({ ...ref, format }, body);
  expect(await books()).toBe(2);
  const none = host.openSnapshotLocal({ ...other, snapshot });
  await expect(none).rejects.toMatchObject({ code: 'not_found', reason: 'unknown_scope' });
});

test('a damaged file keeps no copy out of another scope: it is counted as missing', async () => {
  const dataDirectory = newPlace();
  const { host, add } = startOn(dataDirectory);
  await host.provisionScopeLocal({ ...ref, name: 'City library' });
  await host.scope(ref.scopeId).assignRole({ principal: librarian, role: 'librarian', by: 'platform' });
  const meta = {
    entity: { type: 'book', id: await add('with a cover') },
    filename: 'cover.jpg',
    mediaType: 'image/jpeg',
  };
  const { digest } = await host.attachments.add(ref.scopeId, librarian, meta, bodyOf(new ArrayBuffer(5)));
  writeFileSync(join(dataDirectory, 'blobs', ref.scopeId, digest.slice(0, 2), digest), 'spoilt');
  const copy = await bytesOf((await host.exportScopeLocal({ ...ref, format: 'ndjson' })).body);
  await host.provisionScopeLocal({ ...other, name: 'Branch' });
  const restored = await host.restoreScopeLocal({ ...other, format: 'ndjson' }, bodyOf(copy));
  expect(restored.attachments).toEqual({ copied: 0, missing: 1 });
});

test('a forged copy that names another tenant’s scope brings none of its files', async () => {
  const { host, add } = startOn(newPlace());
  await host.provisionScopeLocal({ ...ref, name: 'City library' });
  await host.scope(ref.scopeId).assignRole({ principal: librarian, role: 'librarian', by: 'platform' });
  const meta = {
    entity: { type: 'book', id: await add('with a cover') },
    filename: 'cover.jpg',
    mediaType: 'image/jpeg',
  };
  await host.attachments.add(ref.scopeId, librarian, meta, bodyOf(new ArrayBuffer(5)));
  const theirs = { tenantId: 'tnt_01j00000000000000000000002' as TenantId, scopeId: other.scopeId };
  await host.provisionScopeLocal({ ...theirs, name: 'Branch' });
  const copy = Buffer.from(await bytesOf((await host.exportScopeLocal({ ...ref, format: 'sqlite' })).body));
  const ofTheirs = copy.toString('latin1').replaceAll(tenantId, theirs.tenantId);
  const bytesIn = (text: string): ArrayBuffer => new Uint8Array(Buffer.from(text, 'latin1')).buffer;
  const bytes = bytesIn(ofTheirs);
  const into = { ...theirs, format: 'sqlite' } as const;
  const examined = await host.examineCopyLocal(into, bodyOf(bytes));
  expect(examined).toMatchObject({ scope: ref.scopeId, attachments: { files: 1, missing: 1 } });
  const restored = await host.restoreScopeLocal(into, bodyOf(bytes));
  expect(restored.attachments).toEqual({ copied: 0, missing: 1 });
  // Nor does one whose scope has no id, but the way to a folder.
  const path = ofTheirs.replaceAll(ref.scopeId, '../'.repeat(10));
  const again = await host.restoreScopeLocal(into, bodyOf(bytesIn(path)));
  expect(again.attachments).toEqual({ copied: 0, missing: 1 });
});

test('a damaged scope can be deleted, for good', async () => {
  const { dataDirectory, copy } = await closedScope();
  writeFileSync(databaseOf(dataDirectory), Buffer.alloc(9_000, 'x'));
  const { host } = startOn(dataDirectory);
  await host.deleteScopeLocal(ref);
  const left = readdirSync(join(dataDirectory, libraryUnit.kind)).filter((name) =>
    name.includes(ref.scopeId),
  );
  expect(left).toEqual([]);
  const unknown = { code: 'not_found', reason: 'unknown_scope' };
  await expect(host.restoreScopeLocal(asNdjson, bodyOf(copy))).rejects.toMatchObject(unknown);
});

test('a scope that is damaged within is restored although its keys cannot be told of', async () => {
  const { dataDirectory, copy } = await closedScope();
  const path = databaseOf(dataDirectory);
  const bytes = readFileSync(path);
  // All pages but the schema's.
  bytes.fill(0xee, 16 * 4_096);
  writeFileSync(path, bytes);
  const { host, books } = startOn(dataDirectory);
  await host.restoreScopeLocal(asNdjson, bodyOf(copy));
  expect(await books()).toBe(1);
});

test('a scope that is gone is made again by the word of the platform, and by a copy of its own alone', async () => {
  const { dataDirectory, copy } = await closedScope();
  // With its history: a database that is gone beside it would be a damaged one.
  rmSync(databaseOf(dataDirectory));
  rmSync(databaseOf(dataDirectory).replace(/sqlite$/, 'history'), { recursive: true });
  const { host, books } = startOn(dataDirectory);
  const unknown = { code: 'not_found', reason: 'unknown_scope' };
  await expect(host.restoreScopeLocal(asNdjson, bodyOf(copy))).rejects.toMatchObject(unknown);
  const inOther = { ...other, format: 'ndjson', ifMissing: 'make' } as const;
  await expect(host.restoreScopeLocal(inOther, bodyOf(copy))).rejects.toMatchObject(unknown);
  await host.restoreScopeLocal({ ...asNdjson, ifMissing: 'make' }, bodyOf(copy));
  expect(await books()).toBe(1);
  // The word is no way into the scope of another tenant.
  const foreign = {
    ...asNdjson,
    tenantId: 'tnt_01j00000000000000000000002' as TenantId,
    ifMissing: 'make',
  } as const;
  await expect(host.restoreScopeLocal(foreign, bodyOf(copy))).rejects.toMatchObject(unknown);
});

test('a scope that is gone leaves no attachment behind when it is deleted, and another tenant’s scope is not touched', async () => {
  const { dataDirectory } = await closedScope();
  rmSync(databaseOf(dataDirectory));
  rmSync(databaseOf(dataDirectory).replace(/sqlite$/, 'history'), { recursive: true });
  const { host } = startOn(dataDirectory);
  await host.provisionScopeLocal({ ...other, name: 'Branch' });
  const filesOf = async ({ scopeId }: typeof ref) => {
    const found: string[] = [];
    const store = makeNodeBlobStore({ dataDirectory, scopeId, now: Date.now });
    for await (const { digest } of store.list()) found.push(digest);
    return found;
  };
  const unknown = { code: 'not_found', reason: 'unknown_scope' };
  for (const { scopeId } of [ref, other]) {
    const folder = join(dataDirectory, 'blobs', scopeId, 'aa');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'a'.repeat(64)), 'the bytes of a photo');
  }
  const foreign = { ...other, tenantId: 'tnt_01j00000000000000000000002' as TenantId };
  await expect(host.deleteScopeLocal({ ...foreign, ifMissing: 'clear' })).rejects.toMatchObject(unknown);
  await expect(host.deleteScopeLocal(ref)).rejects.toMatchObject(unknown);
  expect([(await filesOf(ref)).length, (await filesOf(other)).length]).toEqual([1, 1]);
  for (const _ of [1, 2]) await host.deleteScopeLocal({ ...ref, ifMissing: 'clear' });
  expect([(await filesOf(ref)).length, (await filesOf(other)).length]).toEqual([0, 1]);
});

test('another scope’s copy closes the window of the seat first, and brings its members', async () => {
  const { dataDirectory, copy } = await closedScope();
  const { host, asked } = startOn(dataDirectory);
  await host.provisionScopeLocal({ ...other, name: 'Branch' });
  const restored = await host.restoreScopeLocal({ ...other, format: 'ndjson' }, bodyOf(copy));
  expect(restored).toMatchObject({ members: 1, attachments: { copied: 0, missing: 0 } });
  expect(asked).toEqual([
    ['closeWindow', other.scopeId],
    ['moveIn', other.scopeId, { from: ref.scopeId, copied: MEMBERS }],
  ]);
});

test('a window that cannot be closed keeps the other scope’s data out', async () => {
  const { dataDirectory, copy } = await closedScope();
  const { host } = startOn(dataDirectory, {
    closeWindow: () => Promise.reject(new PlatformError('unavailable', 'The identity directory is away.')),
  });
  await host.provisionScopeLocal({ ...other, name: 'Branch' });
  const into = host.restoreScopeLocal({ ...other, format: 'ndjson' }, bodyOf(copy));
  await expect(into).rejects.toMatchObject({ code: 'unavailable' });
  expect(await host.scope(other.scopeId).identify({})).toMatchObject({ name: 'Branch' });
});

test('a damaged identity directory keeps no scope from being copied: the members noted last go along', async () => {
  const { dataDirectory } = await closedScope();
  const { host } = startOn(dataDirectory, {
    members: () =>
      Promise.reject(new PlatformError('unavailable', 'Unreadable.', { reason: 'unit_unreadable' })),
  });
  const copy = await bytesOf((await host.exportScopeLocal({ ...ref, format: 'ndjson' })).body);
  expect(await host.examineCopyLocal(asNdjson, bodyOf(copy))).toMatchObject({ members: 1 });
});

const reader = 'prn_01j00000000000000000000002' as PrincipalId;
const guest = 'prn_01j00000000000000000000003' as PrincipalId;

/** The roles of a scope, as `principal role`. */
async function rolesIn(host: ReturnType<typeof startOn>['host'], scopeId: ScopeId = ref.scopeId) {
  const assigned = await host.scope(scopeId).assignments({});
  return assigned.map(({ principal, role }) => `${principal.at(-1)} ${role}`);
}

/** A library whose reader was a librarian, whose guest was a reader, and which has both a copy and a moment of then. */
async function loweredSince(people: Partial<ScopePeople> = {}) {
  const dataDirectory = newPlace();
  const opened = startOn(dataDirectory, people);
  const { host, add } = opened;
  const set = (principal: PrincipalId, ...roles: string[]) =>
    host.scope(ref.scopeId).setRoles({ principal, roles, by: 'platform' });
  await host.provisionScopeLocal({ ...ref, name: 'City library' });
  await set(librarian, 'librarian');
  await set(reader, 'librarian');
  await set(guest, 'visitor');
  await add('in the copy');
  const copy = await bytesOf((await host.exportScopeLocal(asNdjson)).body);
  const { current } = await host.migrationBookmarksLocal({ ...ref, limit: 1 });
  await set(reader, 'visitor');
  await set(guest);
  await add('since');
  return { ...opened, dataDirectory, copy, bookmark: current?.bookmark as string };
}

test('a restore of an older copy leaves each member the roles of today', async () => {
  const { host, copy, books } = await loweredSince();
  const restored = await host.restoreScopeLocal(asNdjson, bodyOf(copy));
  expect([restored.roles, await books()]).toEqual(['kept', 1]);
  expect(await rolesIn(host)).toEqual(['1 librarian', '2 visitor']);
});

test('a rewind leaves each member the roles of today, and so does undoing it', async () => {
  const { host, bookmark, books } = await loweredSince();
  const { undo } = await host.rewindScopeLocal({ ...ref, bookmark });
  expect([await books(), await rolesIn(host)]).toEqual([1, ['1 librarian', '2 visitor']]);
  await host.scope(ref.scopeId).setRoles({ principal: reader, roles: [], by: 'platform' });
  await host.rewindScopeLocal({ ...ref, bookmark: undo });
  expect([await books(), await rolesIn(host)]).toEqual([2, ['1 librarian']]);
});

test('a copy that comes into another scope brings the roles of today', async () => {
  const { host, copy } = await loweredSince();
  await host.provisionScopeLocal({ ...other, name: 'Branch' });
  await host.scope(ref.scopeId).setRoles({
    principal: 'prn_01j00000000000000000000009' as PrincipalId,
    roles: ['visitor'],
    by: 'platform',
  });
  const restored = await host.restoreScopeLocal({ ...other, format: 'ndjson' }, bodyOf(copy));
  expect([restored.roles, await rolesIn(host, other.scopeId)]).toEqual([
    'kept',
    ['1 librarian', '2 visitor'],
  ]);
});

test('a role that is taken while a restore is prepared is not given back by it', async () => {
  const { host, copy } = await loweredSince();
  const scope = host.scope(ref.scopeId);
  const lateCopy = new ReadableStream<Uint8Array>({
    start: (controller) => {
      controller.enqueue(new Uint8Array(copy));
    },
    pull: async (controller) => {
      await scope.setRoles({ principal: reader, roles: [], by: 'platform' });
      controller.close();
    },
  });
  const refused = host.restoreScopeLocal(asNdjson, lateCopy);
  await expect(refused).rejects.toMatchObject({ code: 'conflict', reason: 'rights_changed' });
  expect(await rolesIn(host)).toEqual(['1 librarian']);
  // Nothing is held after it.
  await scope.setRoles({ principal: reader, roles: ['visitor'], by: 'platform' });
});

const atOnce: Replacing = (swap) => swap();

test('a role that is taken at the swap, in a unit that forgot the hold, is not given back', async () => {
  const before = await loweredSince();
  await before.engine.close();
  const { host } = startOn(before.dataDirectory, {}, (engine) => ({
    ...engine,
    tools: (unit, key) => {
      const tools = engine.tools(unit, key);
      // As a failed commit does, which closes the unit: nothing is held in the next one.
      const scope = engine.unit(libraryUnit, key);
      return {
        ...tools,
        restore: (format, body, admit, replacing = atOnce, options) =>
          tools.restore(
            format,
            body,
            admit,
            (swap) =>
              replacing(async (require) => {
                await scope.holdRights({ known: null });
                await scope.setRoles({ principal: reader, roles: [], by: 'platform' });
                return swap(require);
              }),
            options,
          ),
      };
    },
  }));
  const refused = host.restoreScopeLocal(asNdjson, bodyOf(before.copy));
  await expect(refused).rejects.toMatchObject({ code: 'conflict', reason: 'rights_changed' });
  expect(await rolesIn(host)).toEqual(['1 librarian']);
});

test('a right on a record that is taken while a restore is prepared is not given back by it', async () => {
  const { host, add } = await loweredSince();
  const scope = host.scope(ref.scopeId);
  const book = { type: 'book', id: await add('shared') };
  // She has no role, so that this right is all that she has.
  const friend = 'prn_01j00000000000000000000007' as PrincipalId;
  const share = (how: 'share' | 'unshare') =>
    scope.invoke({
      principal: librarian,
      operation: `place/${how}`,
      input: { what: book, with: friend },
    });
  await share('share');
  const copy = await bytesOf((await host.exportScopeLocal(asNdjson)).body);
  const lateCopy = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new Uint8Array(copy)),
    pull: async (controller) => {
      await share('unshare');
      controller.close();
    },
  });
  const refused = host.restoreScopeLocal(asNdjson, lateCopy);
  await expect(refused).rejects.toMatchObject({ code: 'conflict', reason: 'rights_changed' });
  expect(await scope.explain({ principal: friend, permission: 'book.read', entity: book })).toEqual([]);
});

test('a sound scope whose rights cannot be read for a moment does not get the rights of the copy', async () => {
  const before = await loweredSince();
  await before.engine.close();
  const failing = { next: false };
  const { host } = startOn(before.dataDirectory, {}, (engine) => ({
    ...engine,
    unit: (unit, key, options) =>
      new Proxy(engine.unit(unit, key, options), {
        get: (stub, method) => {
          if (method !== 'presentRights' || !failing.next) return Reflect.get(stub, method);
          failing.next = false;
          return async () => {
            throw new PlatformError('unavailable', 'The database of this scope cannot be opened.', {
              reason: 'unit_unreadable',
            });
          };
        },
      }),
  }));
  failing.next = true;
  const refused = host.rewindScopeLocal({ ...ref, bookmark: before.bookmark });
  await expect(refused).rejects.toMatchObject({ reason: 'unit_unreadable' });
  expect(await rolesIn(host)).toEqual(['1 librarian', '2 visitor']);
  await host.rewindScopeLocal({ ...ref, bookmark: before.bookmark });
  expect(await rolesIn(host)).toEqual(['1 librarian', '2 visitor']);
});

test.each(['internal', 'unavailable'] as const)(
  'a scope that fails to answer (%s) is not taken for lost: a restore is refused, and the roles stay',
  async (code) => {
    const before = await loweredSince();
    await before.engine.close();
    const failing = { isOn: false };
    const { host } = startOn(before.dataDirectory, { standing: async () => null }, (engine) => ({
      ...engine,
      unit: (unit, key, options) =>
        new Proxy(engine.unit(unit, key, options), {
          get: (stub, method) => {
            if (!failing.isOn || method !== 'identify') return Reflect.get(stub, method);
            return async () => {
              throw new PlatformError(code, 'The disk could not be read.', { reason: 'storage_failed' });
            };
          },
        }),
    }));
    failing.isOn = true;
    const refused = host.restoreScopeLocal(asNdjson, bodyOf(before.copy));
    await expect(refused).rejects.toMatchObject({ code, reason: 'storage_failed' });
    failing.isOn = false;
    expect(await rolesIn(host)).toEqual(['1 librarian', '2 visitor']);
  },
);

test('a lost scope is restored with the members and roles that the identity directory knows', async () => {
  const before = await loweredSince();
  await before.engine.close();
  writeFileSync(databaseOf(before.dataDirectory), Buffer.alloc(9_000, 'x'));
  const { host } = startOn(before.dataDirectory, {
    standing: async () => [
      { principal: librarian, roles: null, owner: true },
      { principal: reader, roles: ['visitor'], owner: false },
    ],
  });
  const restored = await host.restoreScopeLocal(asNdjson, bodyOf(before.copy));
  expect([restored.roles, await rolesIn(host)]).toEqual(['limited', ['1 librarian', '2 visitor']]);
});

test('a lost scope is not restored while its identity directory is damaged', async () => {
  const before = await loweredSince();
  await before.engine.close();
  writeFileSync(databaseOf(before.dataDirectory), Buffer.alloc(9_000, 'x'));
  const damaged = new PlatformError('unavailable', 'The database of this tenant cannot be opened.', {
    reason: 'unit_unreadable',
  });
  const { host } = startOn(before.dataDirectory, { standing: () => Promise.reject(damaged) });
  const refused = host.restoreScopeLocal(asNdjson, bodyOf(before.copy));
  await expect(refused).rejects.toMatchObject({ reason: 'unit_unreadable' });
});

test('rights that are held do not change, and rights on single records do', async () => {
  const { host } = await loweredSince();
  const scope = host.scope(ref.scopeId);
  const known = await scope.presentRights({});
  expect(await scope.holdRights({ known: { ...known, assignments: [] } })).toBe(false);
  await scope.setRoles({ principal: guest, roles: ['visitor'], by: 'platform' });
  expect(await scope.holdRights({ known })).toBe(false);
  expect(await scope.holdRights({ known: await scope.presentRights({}) })).toBe(true);
  const refused = { code: 'unavailable', reason: 'busy' };
  const lowered = scope.setRoles({ principal: reader, roles: [], by: 'platform' });
  await expect(lowered).rejects.toMatchObject(refused);
  await expect(scope.projectRoles({ roles: {} })).rejects.toMatchObject(refused);
  const connection = 'con_01j00000000000000000000001';
  await expect(scope.grantConnection({ connection, permission: 'book.read' })).rejects.toMatchObject(refused);
  expect(await scope.holdRights({ known: null })).toBe(false);
  await scope.setRoles({ principal: reader, roles: [], by: 'platform' });
});

test('a right on a single record comes back with the record, and not to a member who was removed', async () => {
  const { host, add } = await loweredSince();
  const scope = host.scope(ref.scopeId);
  const book = { type: 'book', id: await add('shared') };
  const share = (principal: PrincipalId, how: 'share' | 'unshare') =>
    scope.invoke({
      principal: librarian,
      operation: `place/${how}`,
      input: { what: book, with: principal },
    });
  const reads = async (principal: PrincipalId) =>
    (await scope.explain({ principal, permission: 'book.read', entity: book })).length;
  await scope.setRoles({ principal: guest, roles: ['visitor'], by: 'platform' });
  await share(reader, 'share');
  await share(guest, 'share');
  const { current } = await host.migrationBookmarksLocal({ ...ref, limit: 1 });
  await share(reader, 'unshare');
  await scope.setRoles({ principal: guest, roles: [], by: 'platform' });
  expect([await reads(reader), await reads(guest)]).toEqual([0, 0]);
  await host.rewindScopeLocal({ ...ref, bookmark: current?.bookmark as string });
  expect([await reads(reader), await reads(guest)]).toEqual([1, 0]);
});
