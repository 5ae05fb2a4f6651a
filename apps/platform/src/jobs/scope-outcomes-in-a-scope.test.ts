/** The tables that are read are the kernel's own: a scope on the embedded engine, with a manual clock. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EventId, ScopeId, TenantId } from '@freehold/contracts';
import { openNodeEngine } from '@freehold/engine-node';
import { defineOperations, defineVertical, makeScopeHost, makeScopeUnit, operation } from '@freehold/kernel';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { makeScopeOutcomes, type ScopeOutcome } from './scope-outcomes.ts';

const DAY_MS = 86_400_000;
const TENANT = 'tnt_01j00000000000000000000001' as TenantId;
const SCOPE = 'scp_01j00000000000000000000001' as ScopeId;

/** Bells that a schedule rings, and a listener that never manages to hear one. */
const bells = defineVertical({
  manifest: {
    slug: 'bells',
    name: 'Bells',
    version: '1.0.0',
    permissions: { 'bell.ring': 'Ring it', 'bell.hear': 'Hear it' },
    roles: { owner: { name: 'Owner', permissions: ['bell.ring', 'bell.hear'] } },
    ownerRole: 'owner',
    entities: { bell: {} },
    services: { clock: { name: 'The clock', permissions: ['bell.ring', 'bell.hear'] } },
    env: {},
  },
  migrations: [],
  operations: defineOperations({
    'bell/ring': operation({
      summary: 'Ring the bell',
      input: z.strictObject({}),
      output: z.object({}),
      permission: 'bell.ring',
      run: (ctx) => {
        ctx.emit({ type: 'bell.rung', entity: { type: 'bell', id: 'bel_1' }, payload: {} });
        return {};
      },
    }),
    'bell/hear': operation({
      summary: 'Hear the bell',
      input: z.strictObject({ event: z.string() }),
      output: z.object({}),
      permission: 'bell.hear',
      run: () => {
        throw new TypeError('deaf');
      },
    }),
  }),
  subscriptions: { ears: { on: ['bell.rung'], as: 'clock', operation: 'bell/hear', attemptsMax: 1 } },
  schedules: { noon: { cron: '0 12 * * *', operation: 'bell/ring', as: 'clock' } },
});

test("spec 6.4: a run of a schedule and a delivery that was given up are read from the kernel's tables", async () => {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-outcomes-'));
  let nowMs = Date.parse('2026-11-21T08:00:00.000Z');
  const now = () => nowMs;
  const engine = openNodeEngine({ dataDirectory, now, onIncident: () => undefined });
  onTestFinished(async () => {
    await engine.close();
    rmSync(dataDirectory, { recursive: true });
  });
  const host = makeScopeHost({ engine, unit: makeScopeUnit(bells), now });
  await host.provisionScopeLocal({ tenantId: TENANT, scopeId: SCOPE, name: 'Tower' });
  const errors: unknown[] = [];
  const outcomes = makeScopeOutcomes({
    scope: ({ scope }) => host.scope(scope),
    now,
    onError: (error) => errors.push(error),
  });
  const read = async (): Promise<ScopeOutcome[]> => {
    outcomes.touch({ vertical: 'bells', scope: SCOPE });
    const all: ScopeOutcome[] = [];
    for await (const outcome of outcomes.read(new AbortController().signal)) all.push(outcome);
    return all;
  };

  await host.scope(SCOPE).work({});
  expect(await read()).toEqual([]);
  nowMs += DAY_MS;
  await host.scope(SCOPE).work({});
  const about = { tenant: TENANT, scope: SCOPE, vertical: 'bells' };
  const first = await read();
  expect(first).toEqual([
    { run: { kind: 'schedule', unit: 'noon', ...about, outcome: 'ran', reason: null } },
    {
      failure: {
        ...about,
        operation: 'deliveries.deliver',
        subject: expect.stringMatching(/^evt_/) as unknown as EventId,
        reason: 'internal',
        detail: 'The subscriber ears gave an event up. Attempts: 1.',
      },
    },
  ]);
  expect(await read()).toEqual([]);
  nowMs += DAY_MS;
  await host.scope(SCOPE).work({});
  expect(await read()).toHaveLength(2);
  expect(errors).toEqual([]);
});
