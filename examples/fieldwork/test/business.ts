/** A small business for tests: one scope on a real engine, a manual clock, and four people. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EntityRef, InvokeResult, PrincipalId, ScopeId, TenantId } from '@freehold/contracts';
import { makeDeliveryRunner, makeScopeHost, makeScopeUnit, type ScopeHost } from '@freehold/kernel';
import type { z } from 'zod';
import { makeNodeBlobStore } from '../../../packages/engine-node/src/index.ts';
import { openTestEngine } from '../../../packages/testkit/src/index.ts';
import fieldwork from '../src/app.ts';
import type { operations } from '../src/vertical/operations.ts';
import { openVault } from './vault.ts';

type Operations = typeof operations;
type Name = keyof Operations;
type Input<N extends Name> = z.input<Operations[N]['input']>;
type Output<N extends Name> = z.output<Operations[N]['output']>;

const ulid = (n: number) => `01j0000000000000000000${String(n).padStart(4, '0')}`;

export const TENANT = `tnt_${ulid(1)}` as TenantId;
export const SCOPE = `scp_${ulid(1)}` as ScopeId;
export const people = {
  owner: `prn_${ulid(1)}` as PrincipalId,
  dispatcher: `prn_${ulid(2)}` as PrincipalId,
  jo: `prn_${ulid(3)}` as PrincipalId,
  kim: `prn_${ulid(4)}` as PrincipalId,
  nonMember: `prn_${ulid(9)}` as PrincipalId,
};

/** A Tuesday morning. */
export const MORNING = Date.parse('2026-03-03T07:00:00.000Z');

export async function openBusiness() {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'fieldwork-'));
  const clock = { nowMs: MORNING };
  const incidents: unknown[] = [];
  const engine = openTestEngine({
    dataDirectory,
    now: () => clock.nowMs,
    onIncident: (error) => incidents.push(error),
  });
  const now = () => clock.nowMs;
  const unit = makeScopeUnit(fieldwork.vertical);
  const host: ScopeHost = makeScopeHost({
    engine,
    unit,
    vault: openVault(engine),
    blobs: (scopeId) => makeNodeBlobStore({ dataDirectory, scopeId, now }),
    now,
  });
  const onIncident = (error: unknown) => void incidents.push(error);
  const runner = makeDeliveryRunner({
    vertical: unit.vertical,
    scope: host.scope,
    attachments: host.attachments,
    now,
    onIncident,
  });
  const scope = host.scope(SCOPE);
  await host.provisionScopeLocal({ tenantId: TENANT, scopeId: SCOPE, name: 'Pipes & Sons' });
  const roles = [
    [people.owner, 'owner'],
    [people.dispatcher, 'dispatcher'],
    [people.jo, 'technician'],
    [people.kim, 'technician'],
  ] as const;
  for (const [principal, role] of roles) await scope.assignRole({ principal, role, by: 'platform' });

  const call = <N extends Name>(
    principal: PrincipalId,
    operation: N,
    input: Input<N>,
    options: { readonly idempotencyKey?: string; readonly ifMatch?: string } = {},
  ): Promise<InvokeResult & { readonly output: Output<N> }> =>
    host.operations(SCOPE, principal).invoke({ operation, input, ...options }) as never;

  return {
    engine,
    host,
    ref: { tenantId: TENANT, scopeId: SCOPE },
    scope,
    /** Lets happen what happens by itself, up to now. */
    work: async () => {
      runner.wake(SCOPE);
      await runner.idle();
    },
    clock,
    incidents,
    call,
    /** Calls and answers the output alone. */
    run: async <N extends Name>(principal: PrincipalId, operation: N, input: Input<N>): Promise<Output<N>> =>
      (await call(principal, operation, input)).output,
    history: async (entity: EntityRef) => (await scope.history({ entity, limit: 100 })).items,
    [Symbol.asyncDispose]: async () => {
      await runner.stop();
      await engine.close();
      rmSync(dataDirectory, { recursive: true });
    },
  };
}

export type Business = Awaited<ReturnType<typeof openBusiness>>;

/** A customer with one site and a draft order there. */
export async function openOrder(
  business: Business,
  { title = 'Fix the boiler', customer = 'Müller & Co' }: { title?: string; customer?: string } = {},
) {
  const owner = people.owner;
  const { id: customerId } = await business.run(owner, 'customer/create', {
    name: customer,
    phone: '+49 30 1234',
  });
  const { id: siteId } = await business.run(owner, 'site/create', {
    customer: customerId,
    label: 'Home',
    street: 'Lindenstraße 1',
    city: 'Berlin',
  });
  const order = await business.run(owner, 'order/create', { customer: customerId, site: siteId, title });
  return { customerId, siteId, order };
}

export const TEN_TO_NOON = { from: '2026-03-03T10:00:00.000Z', to: '2026-03-03T12:00:00.000Z' };

/** Brings a fresh order to a state by its ordinary way. */
export async function orderIn(
  business: Business,
  state: 'draft' | 'scheduled' | 'in_progress' | 'done' | 'invoiced' | 'cancelled',
) {
  const { order } = await openOrder(business);
  const id = { order: order.id };
  const run = business.run;
  if (state === 'draft') return order;
  if (state === 'cancelled') return run(people.owner, 'order/cancel', id);
  const scheduled = await run(people.owner, 'order/schedule', { ...id, ...TEN_TO_NOON });
  if (state === 'scheduled') return scheduled;
  const started = await run(people.owner, 'order/start', id);
  if (state === 'in_progress') return started;
  const done = await run(people.owner, 'order/complete', { ...id, minutes: 90, materialsCents: 1_234 });
  return state === 'done' ? done : run(people.owner, 'order/invoice', id);
}
