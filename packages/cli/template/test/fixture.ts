/** One instance on a real engine, provisioned as a platform does it, and members with roles. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PLATFORM_SECRET_HEADER, type PrincipalId, type ScopeId, type TenantId } from '@freehold/contracts';
import { openNodeEngine } from '@freehold/engine-node';
import { type DeliveryRunner, makeDeliveryRunner } from '@freehold/kernel';
import type { z } from 'zod';
import { makeApp } from '../src/app.ts';
import type { manifest } from '../src/manifest.ts';
import type { operations } from '../src/vertical.ts';

type Operations = typeof operations;

export const TENANT = 'tnt_01j00000000000000000000001' as TenantId;
export const SCOPE = 'scp_01j00000000000000000000001' as ScopeId;
export const ORIGIN = 'https://acme.example';
const SECRET = 'the platform secret of these tests';

/** @param env the settings that the instance is bound to. */
export async function openFixture(env: Readonly<Record<string, string>> = {}) {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'acme-notes-'));
  const clock = { nowMs: Date.parse('2026-03-03T07:00:00.000Z') };
  const incidents: unknown[] = [];
  const onIncident = (error: unknown) => void incidents.push(error);
  const now = () => clock.nowMs;
  const engine = openNodeEngine({ dataDirectory, now, onIncident });
  const { app, host, units } = makeApp({
    engine,
    platformSecret: SECRET,
    env,
    now,
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
    fetch: async () => new Response(null, { status: 503 }),
    onIncident,
    onWork: (scopeId) => deliveries.wake(scopeId),
  });
  const deliveries: DeliveryRunner = makeDeliveryRunner({
    vertical: units.scope.vertical,
    scope: host.scope,
    now,
    onIncident,
  });
  const node = { tenant: TENANT, scope: SCOPE, origin: ORIGIN };

  /** Sends a request of a browser. */
  const ask = async (path: string, init?: RequestInit) =>
    app.fetch(new Request(`${ORIGIN}${path}`, init), { node });

  /** Sends a call of the platform. */
  const platform = async (path: string, body: unknown, secret?: string) =>
    app.fetch(
      new Request(`https://internal.example${path}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(secret === undefined ? {} : { [PLATFORM_SECRET_HEADER]: secret }),
        },
        body: JSON.stringify(body),
      }),
      { node: null },
    );

  const choice = { mode: 'oidc', issuer: 'https://issuer.example', clientId: 'acme-notes' };
  const provisioned = await platform(
    '/internal/provision',
    {
      tenantId: TENANT,
      scopeId: SCOPE,
      name: 'Acme',
      config: { 'platform:auth': JSON.stringify(choice) },
    },
    SECRET,
  );
  if (!provisioned.ok) throw new Error(await provisioned.text());

  let people = 0;
  /** Adds a member with a role. */
  const hire = async (role: keyof typeof manifest.roles) => {
    people += 1;
    const principal = `prn_${String(people).padStart(26, '0')}` as PrincipalId;
    await host.scope(SCOPE).assignRole({ principal, role, by: 'platform' });
    return {
      principal,
      run: async <N extends keyof Operations>(
        operation: N,
        input: z.input<Operations[N]['input']>,
      ): Promise<z.output<Operations[N]['output']>> =>
        (await host.operations(SCOPE, principal).invoke({ operation, input })).output as never,
    };
  };

  return {
    ask,
    platform,
    host,
    incidents,
    hire,
    /** Resolves when all deliveries have run. */
    settle: () => deliveries.idle(),
    [Symbol.asyncDispose]: async () => {
      await deliveries.stop();
      await engine.close();
      rmSync(dataDirectory, { recursive: true });
    },
  };
}
