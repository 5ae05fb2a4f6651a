/** A tiny vertical for the kernel's tests: boxes that are packed and shipped. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EntityRef, PlatformError, type PrincipalId, type TenantId } from '@freehold/contracts';
import { makeKeyring } from '@freehold/store';
import { z } from 'zod';
import { openTestEngine } from '../../testkit/src/index.ts';
import {
  defineOperations,
  defineVertical,
  makeScopeHost,
  makeScopeUnit,
  makeUnitVault,
  makeVaultUnit,
  type OperationContext,
  operation,
  type ScopeHostOptions,
  type Vault,
  type Vertical,
} from '../src/index.ts';

const box = (input: { box: string }) => ({ type: 'box', id: input.box });
const boxInput = z.strictObject({ box: z.string() });

export const operations = defineOperations({
  'box/pack': operation({
    summary: 'Pack a box',
    input: z.strictObject({ label: z.string().min(1).max(40) }),
    output: z.strictObject({ box: z.string() }),
    permission: 'box.pack',
    created: box,
    run: (ctx, { label }) => {
      const id = ctx.newId('box');
      ctx.sql.run('INSERT INTO boxes (id, label, state) VALUES (?, ?, ?)', id, label, 'packed');
      ctx.emit({ type: 'box.packed', entity: { type: 'box', id }, payload: { label } });
      return { box: id };
    },
  }),
  'box/ship': operation({
    summary: 'Ship a box',
    input: boxInput,
    output: z.strictObject({ bill: z.string() }),
    permission: 'box.ship',
    entity: box,
    run: (ctx, input) => {
      ctx.sql.run(`UPDATE boxes SET state = 'shipped' WHERE id = ?`, input.box);
      ctx.emit({ type: 'box.shipped', entity: box(input) });
      return ctx.invoke('bill/write', { box: input.box }) as { bill: string };
    },
  }),
  'bill/write': operation({
    summary: 'Write a bill',
    input: boxInput,
    output: z.strictObject({ bill: z.string() }),
    permission: 'bill.write',
    run: (ctx) => {
      const bill = ctx.newId('bil');
      ctx.emit({ type: 'bill.written', entity: { type: 'bill', id: bill } });
      return { bill };
    },
  }),
  'box/read': operation({
    summary: 'Look at a box',
    input: boxInput,
    output: z.strictObject({ label: z.string(), state: z.string() }),
    permission: 'box.read',
    entity: box,
    http: { method: 'GET', path: '/api/boxes/:box' },
    run: (ctx, input) => {
      const row = ctx.sql.get<{ label: string; state: string }>(
        'SELECT label, state FROM boxes WHERE id = ?',
        input.box,
      );
      if (!row) throw new PlatformError('not_found', 'There is no such box.');
      return { ...row };
    },
  }),
  'box/list': operation({
    summary: 'List boxes',
    input: z.strictObject({}),
    output: z.strictObject({ reach: z.union([z.literal('all'), z.array(z.string())]) }),
    permission: 'box.list',
    readOnly: true,
    run: (ctx) => {
      const reach = ctx.reach('box.read', 'box');
      return { reach: reach === 'all' ? reach : [...reach] };
    },
  }),
  'box/share': operation({
    summary: 'Let a principal read one box',
    input: z.strictObject({ box: z.string(), with: z.string(), until: z.int().optional() }),
    output: z.null(),
    permission: 'box.list',
    entity: box,
    run: (ctx, input) => {
      ctx.grant({
        subject: input.with as PrincipalId,
        permission: 'box.read',
        entity: box(input),
        ...(input.until === undefined ? {} : { expiresAtMs: input.until }),
      });
      return null;
    },
  }),
  'box/unshare': operation({
    summary: 'Take that back',
    input: z.strictObject({ box: z.string(), with: z.string() }),
    output: z.null(),
    permission: 'box.list',
    run: (ctx, input) => {
      ctx.revoke({ subject: input.with as PrincipalId, permission: 'box.read', entity: box(input) });
      return null;
    },
  }),
  'test/run': operation({
    summary: 'Do what the test says',
    input: z.strictObject({ what: z.string() }),
    output: z.unknown(),
    permission: 'box.list',
    subjects: ({ what }) => scenario(what).subjects,
    run: (ctx, { what }) => scenario(what).work(ctx),
  }),
  'test/read': operation({
    summary: 'Do what the test says, reading only',
    input: z.strictObject({ what: z.string() }),
    output: z.unknown(),
    permission: 'box.list',
    readOnly: true,
    subjects: ({ what }) => scenario(what).subjects,
    run: (ctx, { what }) => scenario(what).work(ctx),
  }),
  'test/about': operation({
    summary: 'Do nothing about what the test says',
    input: z.strictObject({ id: z.string() }),
    output: z.void(),
    permission: 'box.list',
    entity: (input) => about.entity(input) as EntityRef,
    run: () => undefined,
  }),
  'test/dated': operation({
    summary: 'Take and answer what is no JSON inside',
    input: z.strictObject({
      day: z.string().transform((text) => new Date(text)),
      note: z.array(z.string()).default([]),
    }),
    output: z.strictObject({ next: z.date().transform((date) => date.toISOString()) }),
    permission: 'box.list',
    run: (ctx, input) => {
      input.note.push('changed by run');
      ctx.sql.run(
        'INSERT INTO boxes (id, label, state) VALUES (?, ?, ?)',
        ctx.newId('box'),
        'dated',
        'packed',
      );
      return { next: new Date(input.day.getTime() + 86_400_000) };
    },
  }),
});

/** The result of `entity()` of `test/about`. The test sets and resets it. */
export const about: { entity: (input: { id: string }) => unknown } = {
  entity: ({ id }) => ({ type: 'box', id }),
};

interface Scenario {
  readonly work: (ctx: OperationContext) => unknown;
  readonly subjects: readonly string[];
}
const scenarios = new Map<string, Scenario>();
/** Names a piece of work that `test/run` and `test/read` can do, for these persons. */
export function onScenario(name: string, work: Scenario['work'], subjects: readonly string[] = []): string {
  scenarios.set(name, { work, subjects });
  return name;
}
const scenario = (name: string): Scenario => scenarios.get(name) as Scenario;

export const shop: Vertical = defineVertical({
  manifest: {
    slug: 'shop',
    name: 'Shop',
    version: '1.0.0',
    permissions: {
      'box.pack': 'packing boxes',
      'box.ship': 'shipping boxes',
      'box.read': 'looking at boxes',
      'box.list': 'listing boxes',
      'bill.write': 'writing bills',
    },
    roles: {
      owner: { name: 'Owner', permissions: ['box.pack', 'box.ship', 'box.read', 'box.list', 'bill.write'] },
      packer: { name: 'Packer', permissions: ['box.pack', 'box.list', 'box.ship'] },
      guest: { name: 'Guest', permissions: ['box.list'] },
    },
    ownerRole: 'owner',
    entities: { box: {}, bill: {} },
    env: {},
  },
  migrations: [
    {
      version: 1,
      name: 'boxes',
      sql: 'CREATE TABLE boxes (id TEXT PRIMARY KEY, label TEXT NOT NULL, state TEXT NOT NULL) STRICT',
    },
  ],
  operations,
});

export const tenant = 'tnt_01arz3ndektsv4rrffq69g5fav' as TenantId;
export const otherTenant = 'tnt_01arz3ndektsv4rrffq69g5faw' as TenantId;
export const owner = 'prn_01arz3ndektsv4rrffq69g5fa0' as PrincipalId;
export const packer = 'prn_01arz3ndektsv4rrffq69g5fa1' as PrincipalId;
export const guest = 'prn_01arz3ndektsv4rrffq69g5fa2' as PrincipalId;
export const anonymous = 'prn_01arz3ndektsv4rrffq69g5fa3' as PrincipalId;
export const scopeId = 'scp_01arz3ndektsv4rrffq69g5fav';

/** A fresh engine with one provisioned scope, in a directory that goes with it. */
export async function openShop(
  options: {
    vertical?: Vertical;
    dataDirectory?: string;
    onWork?: (scopeId: string) => void;
    rewindMs?: number;
    /** Secrets of the vault; without them there is none. */
    sealKeys?: readonly string[];
    /** Stands between the host and the vault. */
    tamper?: (vault: Vault) => Vault;
    /** Answers what a program is allowed now. */
    programs?: ScopeHostOptions['programs'];
  } = {},
) {
  const dataDirectory = options.dataDirectory ?? mkdtempSync(join(tmpdir(), 'freehold-kernel-'));
  const clock = { ms: Date.UTC(2026, 0, 1) };
  const incidents: unknown[] = [];
  const engine = openTestEngine({
    dataDirectory,
    now: () => clock.ms,
    onIncident: (error) => void incidents.push(error),
  });
  const vaultUnit = options.sealKeys && makeVaultUnit(makeKeyring(options.sealKeys));
  const vault = vaultUnit && makeUnitVault((tenantId) => engine.unit(vaultUnit, tenantId, { create: true }));
  const host = makeScopeHost({
    ...(vault ? { vault: options.tamper?.(vault) ?? vault } : {}),
    ...(options.programs ? { programs: options.programs } : {}),
    engine,
    unit: makeScopeUnit(options.vertical ?? shop, {
      ...(options.onWork ? { onWork: options.onWork } : {}),
      ...(options.rewindMs === undefined ? {} : { rewindMs: options.rewindMs }),
    }),
  });
  const scope = host.scope(scopeId);
  try {
    await host.provisionScopeLocal({ tenantId: tenant, scopeId: scopeId as never, name: 'Acme' });
    for (const [principal, role] of [
      [owner, 'owner'],
      [packer, 'packer'],
      [guest, 'guest'],
    ] as const) {
      await scope.assignRole({ principal, role, by: 'platform' });
    }
  } catch (error) {
    await engine.close();
    if (!options.dataDirectory) rmSync(dataDirectory, { recursive: true, force: true });
    throw error;
  }
  const run = (
    principal: PrincipalId,
    operation: string,
    input: unknown,
    extra: { idempotencyKey?: string; ifMatch?: string } = {},
  ) => scope.invoke({ principal, operation, input, ...extra });
  return {
    dataDirectory,
    scopeId,
    clock,
    incidents,
    engine,
    host,
    scope,
    run,
    async [Symbol.asyncDispose]() {
      await engine.close();
      if (!options.dataDirectory) rmSync(dataDirectory, { recursive: true, force: true });
    },
  };
}
