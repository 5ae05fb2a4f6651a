/** Sealed fields of records: shown to those who may read them, in no event and no index, and gone with their person. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ActorId, PrincipalId, ScopeId, TenantId } from '@freehold/contracts';
import { makeScopeHost, makeScopeUnit, makeUnitVault, makeVaultUnit } from '@freehold/kernel';
import { makeKeyring } from '@freehold/store';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { openTestEngine } from '../../testkit/src/index.ts';
import {
  defineApp,
  lineOfText,
  money,
  operation,
  type RecordsOptions,
  records,
  signedIn,
  statementsOf,
} from '../src/index.ts';
import { testApp } from '../src/testing/index.ts';

const patient = records('patient', {
  fields: z.object({
    number: lineOfText(20),
    phone: z.string().max(40).optional(),
    debt: money('EUR').optional(),
    smokes: z.boolean().optional(),
  }),
  search: ['number'],
  filter: ['number'],
  sort: ['number', 'createdAt'],
  sealed: ['phone', 'debt', 'smokes'],
  permissions: {
    read: 'patient.read',
    write: 'patient.write',
    list: 'clinic.open',
    import: 'patient.write',
    export: 'patient.read',
  },
});

const permissions = {
  'clinic.open': 'Open the lists',
  'patient.read': 'See patients',
  'patient.write': 'Write patients down',
  'patient.erase': 'Erase patients',
};

const practice = defineApp({
  manifest: {
    slug: 'practice',
    name: 'Practice',
    version: '0.1.0',
    permissions,
    roles: {
      owner: { name: 'Owner', permissions: Object.keys(permissions) },
      guest: { name: 'Guest', permissions: ['clinic.open'] },
    },
    ownerRole: 'owner',
    entities: { patient: patient.entity },
    env: {},
  },
  migrations: [{ version: 1, name: 'patients', sql: statementsOf(patient.table).join(';\n') }],
  operations: {
    ...patient.operations,
    'patient/share': operation({
      summary: 'Let a member see one patient',
      input: z.strictObject({ patient: z.string(), with: z.string() }),
      output: z.object({}),
      permission: 'patient.write',
      run: (ctx, { patient: id, with: subject }) => {
        ctx.grant({
          subject: subject as ActorId,
          permission: 'patient.read',
          entity: { type: 'patient', id },
        });
        return {};
      },
    }),
    'patient/call': operation({
      summary: 'Show the number to dial',
      input: z.strictObject({ patient: z.string() }),
      output: z.string().nullable(),
      permission: 'patient.read',
      readOnly: true,
      subjects: ({ patient: id }) => [id],
      run: (ctx, { patient: id }) => patient.load(ctx, id).phone,
    }),
  },
  erasure: { persons: { patient: { permission: 'patient.erase' } } },
  authenticatedPrincipal: signedIn(),
});

async function open() {
  const instance = await testApp(practice);
  const ada = instance.as('ada', { role: 'owner' });
  /** Whether a text is anywhere in the database. */
  const stands = (text: string): boolean =>
    instance
      .sql<{ name: string }>(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' LIMIT 200",
      )
      .some(({ name }) => JSON.stringify(instance.sql(`SELECT * FROM "${name}" LIMIT 1000`)).includes(text));
  return { instance, ada, stands, [Symbol.asyncDispose]: () => instance.close() };
}

const secret = { phone: '+43 664 5550123', debt: 987_654, smokes: true };

test('a sealed value is shown, changed and exported, and stands nowhere in the database', async () => {
  await using opened = await open();
  const { instance, ada, stands } = opened;
  const made = await ada.call('patient/create', { number: 'P-1', ...secret });
  expect(made).toMatchObject({ number: 'P-1', ...secret });
  const { id } = made;
  expect(await ada.call('patient/get', { patient: id })).toEqual(made);
  const { items } = await ada.call('patient/list', { q: 'p-1' });
  expect(items).toEqual([made]);
  expect(await ada.call('patient/call', { patient: id })).toBe(secret.phone);
  const { csv } = await ada.call('patient/export', {});
  expect(csv).toContain(`P-1,'${secret.phone},9876.54,true,`);
  expect(stands('P-1')).toBe(true);
  expect([stands('5550123'), stands('987654'), stands('9876.54')]).toEqual([false, false, false]);

  const changed = await ada.call('patient/update', { patient: id, phone: '+1 202 5550199', debt: null });
  expect(changed).toMatchObject({ phone: '+1 202 5550199', debt: null, smokes: true });
  expect(stands('5550199')).toBe(false);
  const events = await instance.events(`patient/${id}`);
  expect(events.map(({ type, payload }) => [type, payload])).toEqual([
    ['patient.created', { number: 'P-1', personal: ['phone', 'debt', 'smokes'] }],
    ['patient.updated', { personal: ['phone', 'debt'] }],
  ]);
  // A value that stays as it is makes no event.
  await ada.call('patient/update', { patient: id, smokes: true });
  expect(await instance.events(`patient/${id}`)).toHaveLength(2);
});

test('over HTTP and as a tool it is the same, page by page, and a member sees the records that they may read', async () => {
  await using opened = await open();
  const { instance, ada } = opened;
  const ids: string[] = [];
  for (let n = 1; n <= 5; n++)
    ids.push((await ada.call('patient/create', { number: `P-${n}`, phone: `${n}${n}${n}` })).id);
  const page = await ada.http('GET', '/api/patients?limit=2&sort=-number');
  const { items, nextCursor } = (await page.json()) as { items: { phone: string }[]; nextCursor: string };
  expect(items.map(({ phone }) => phone)).toEqual(['555', '444']);
  const next = await ada.http('GET', `/api/patients?limit=2&sort=-number&cursor=${nextCursor}`);
  expect(await next.json()).toMatchObject({ items: [{ phone: '333' }, { phone: '222' }] });
  const told = await ada.mcp().call('patient_get', { patient: ids[0] });
  expect(JSON.stringify(told)).toContain('111');

  const guest = instance.as('grace', { role: 'guest' });
  await ada.call('patient/share', { patient: ids[1] as string, with: await guest.principal() });
  const seen = await guest.call('patient/list', {});
  expect(seen.items.map(({ phone }) => phone)).toEqual(['222']);
  await expect(guest.call('patient/get', { patient: ids[0] as string })).rejects.toMatchObject({
    code: 'permission_denied',
  });
});

test('what was sealed of an erased person never opens again', async () => {
  await using opened = await open();
  const { instance, ada } = opened;
  const { id } = await ada.call('patient/create', { number: 'P-1', ...secret });
  const { id: other } = await ada.call('patient/create', { number: 'P-2', phone: '222' });
  const row = () => instance.sql<Record<string, string>>('SELECT * FROM patients WHERE id = ?', id)[0];
  const before = row();
  expect((await ada.http('POST', `/api/patients/${id}/erase`, {})).status).toBe(200);
  const erased = { number: 'P-1', phone: null, debt: null, smokes: null };
  expect(await ada.call('patient/get', { patient: id })).toMatchObject(erased);
  const { items } = await ada.call('patient/list', { sort: 'number' });
  expect(items).toMatchObject([erased, { phone: '222' }]);
  expect((await ada.call('patient/export', {})).csv).not.toContain('5550123');
  // The text is there as it was, and its key is not.
  expect(row()).toEqual(before);
  await expect(ada.call('patient/update', { patient: id, phone: '1' })).rejects.toMatchObject({
    code: 'conflict',
    reason: 'subject_shredded',
  });
  expect(await ada.call('patient/update', { patient: id, number: 'P-9' })).toMatchObject({
    ...erased,
    number: 'P-9',
  });
  await ada.call('patient/archive', { patient: id });
  expect(await ada.call('patient/get', { patient: other })).toMatchObject({ phone: '222' });
});

test('a copy in another scope has the values under keys of its own, and an older state none of an erased person', async () => {
  const incidents: unknown[] = [];
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-sealed-'));
  onTestFinished(() => rmSync(dataDirectory, { recursive: true, force: true }));
  const engine = openTestEngine({ dataDirectory, onIncident: (error) => void incidents.push(error) });
  onTestFinished(() => engine.close());
  const vaultUnit = makeVaultUnit(makeKeyring(['a sealing key that is for tests only']));
  const vault = makeUnitVault((tenant) => engine.unit(vaultUnit, tenant, { create: true }));
  const host = makeScopeHost({ engine, unit: makeScopeUnit(practice.vertical), vault });
  const tenantId = 'tnt_01j00000000000000000000001' as TenantId;
  const [first, second] = ['scp_01j00000000000000000000001', 'scp_01j00000000000000000000002'] as ScopeId[];
  const principal = 'prn_01j00000000000000000000001' as PrincipalId;
  const call = async (scopeId: ScopeId, name: string, input: object) =>
    (await host.operations(scopeId, principal).invoke({ operation: name, input })).output as typeof secret & {
      id: string;
    };
  for (const scopeId of [first, second] as ScopeId[]) {
    await host.provisionScopeLocal({ tenantId, scopeId, name: 'Practice' });
    await host.scope(scopeId).assignRole({ principal, role: 'owner', by: 'platform' });
  }
  const [from, to] = [first as ScopeId, second as ScopeId];
  const { id } = await call(from, 'patient/create', { number: 'P-1', ...secret });
  const copy = async () => {
    const { body } = await host.exportScopeLocal({ tenantId, scopeId: from, format: 'ndjson' });
    return new Response(body).text();
  };
  const before = await copy();
  const restore = (scopeId: ScopeId) =>
    host.restoreScopeLocal({ tenantId, scopeId, format: 'ndjson' }, new Response(before).body as never);
  await restore(to);
  await host.scope(to).assignRole({ principal, role: 'owner', by: 'platform' });
  expect(await call(to, 'patient/get', { patient: id })).toMatchObject(secret);
  const sealedIn = async (scopeId: ScopeId) =>
    (await host.scope(scopeId).table({ table: 'patients', filters: [], order: 'asc', limit: 5 })).rows;
  expect(await sealedIn(to)).not.toEqual(await sealedIn(from));

  await host.shredSubjectLocal({ tenantId, scopeId: from, subject: id });
  await restore(from);
  expect(await call(from, 'patient/get', { patient: id })).toMatchObject({
    number: 'P-1',
    phone: null,
    debt: null,
  });
  // Its own keys ended, and those of the other scope did not.
  expect(await call(to, 'patient/get', { patient: id })).toMatchObject(secret);
  expect(incidents).toEqual([]);
});

test('an import takes no sealed column, and leaves the sealed values of the records that it changes', async () => {
  await using opened = await open();
  const { instance, ada, stands } = opened;
  const { id } = await ada.call('patient/create', { number: 'P-1', ...secret });
  const csv = `id,number,phone,Phone\n${id},P-7,+99 777 1234567,7654321\n`;
  const sent = await ada.call('patient/import', { csv, key: 'id', duplicates: 'update' });
  expect([stands('P-7'), stands('1234567'), stands('7654321')]).toEqual([true, false, false]);
  expect(sent.columns).toEqual([
    { name: 'id', field: 'id' },
    { name: 'number', field: 'number' },
    { name: 'phone', field: null },
    { name: 'Phone', field: null },
  ]);
  await instance.deliver();
  await expect(
    ada.call('patient/import-check', {
      import: sent.id,
      columns: { id: 'id', number: 'number', phone: 'phone', Phone: null },
    }),
  ).rejects.toMatchObject({ code: 'validation_failed', errors: [{ path: 'columns.phone' }] });
  await ada.call('patient/import-apply', { import: sent.id });
  await instance.deliver();
  expect(await ada.call('patient/import-show', { import: sent.id })).toMatchObject({
    state: 'done',
    changed: 1,
  });
  expect(await ada.call('patient/get', { patient: id })).toMatchObject({ ...secret, number: 'P-7' });
});

describe('a declaration is refused', () => {
  const fields = z.object({ name: z.string(), phone: z.string().optional() });
  const access = { read: 'a.read', write: 'a.write' };
  test.each([
    ['search', { search: ['phone'] }],
    ['filter', { filter: ['phone'] }],
    ['sort', { sort: ['phone'] }],
    ['unique', { unique: ['phone'] }],
    ['personal', { personal: ['phone'] }],
    ['title', { title: 'phone' }],
  ])('where %s names a sealed field', (list, more) => {
    const options = { fields, sealed: ['phone'], permissions: access, ...more } as RecordsOptions<
      typeof fields.shape
    >;
    expect(() => records('patient', options)).toThrow(`${list} names phone, which is sealed`);
  });

  test('where the first field, which is its title, is sealed', () => {
    const first = z.object({ name: z.string().optional() });
    const options = { fields: first, sealed: ['name'] as const, permissions: access };
    expect(() => records('patient', options)).toThrow('title names name, which is sealed');
  });

  test('where it seals a field that there is not, or a relation', () => {
    const named = (sealed: string) => () =>
      records('patient', { fields, sealed: [sealed as 'name'], permissions: access });
    expect(named('fone')).toThrow('sealed names a field that it does not have: fone');
  });

  test('where two fields have one column', () => {
    const options = {
      fields: z.object({ name: z.string(), phone: z.string(), phoneSealed: z.string() }),
      sealed: ['phone'] as const,
      permissions: access,
    };
    expect(() => records('patient', options)).toThrow('two fields have the column phone_sealed');
  });

  test('where one is required, or has a default: an erasure leaves none', () => {
    const refused = 'sealed names phone, which is required';
    for (const phone of [z.string(), z.string().default('none')]) {
      const options = { fields: z.object({ name: z.string(), phone }), permissions: access };
      expect(() => records('patient', { ...options, sealed: ['phone'] })).toThrow(refused);
    }
  });
});
