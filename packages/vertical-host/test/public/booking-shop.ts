/** A shop that takes bookings from other sites' pages: a whole vertical, with its list of origins in its own scope. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ActorId, PrincipalId, ScopeId, ScopeRef, TenantId } from '@freehold/contracts';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { expect } from 'vitest';
import { z } from 'zod';
import {
  defineOperations,
  defineVertical,
  makeScopeHost,
  makeScopeUnit,
  operation,
  type ScopeHost,
} from '../../../kernel/src/index.ts';
import { openTestEngine } from '../../../testkit/src/index.ts';
import { makePublicActor, mountPlatformSurface, mountPublicSurface, webOrigin } from '../../src/index.ts';

export const owner = 'prn_01j00000000000000000000001' as PrincipalId;
export const ref: ScopeRef = {
  tenantId: 'tnt_01j00000000000000000000001' as TenantId,
  scopeId: 'scp_01j00000000000000000000001' as ScopeId,
};

const vertical = defineVertical({
  manifest: {
    slug: 'bookings',
    name: 'Bookings',
    version: '1.0.0',
    permissions: {
      'booking.request': 'Ask for a booking',
      'booking.read': 'See who has booked',
      'site.read': 'See which sites may take bookings',
      'site.write': 'Change which sites may take bookings',
    },
    roles: {
      owner: { name: 'Owner', permissions: ['booking.request', 'booking.read', 'site.read', 'site.write'] },
    },
    ownerRole: 'owner',
    entities: { booking: {} },
    services: { booking: { name: 'Public bookings', permissions: ['booking.request', 'site.read'] } },
    env: {},
  },
  migrations: [
    {
      version: 1,
      name: 'bookings',
      sql: `CREATE TABLE bookings (id TEXT PRIMARY KEY, day TEXT NOT NULL UNIQUE) STRICT;
        CREATE TABLE sites (origin TEXT PRIMARY KEY) STRICT`,
    },
  ],
  operations: defineOperations({
    'booking/request': operation({
      summary: 'Ask for a booking',
      input: z.strictObject({ day: z.iso.date() }),
      output: z.strictObject({ booking: z.string() }),
      permission: 'booking.request',
      run: (ctx, { day }) => {
        const id = ctx.newId('bkg');
        ctx.sql.run('INSERT INTO bookings (id, day) VALUES (?, ?) ON CONFLICT DO NOTHING', id, day);
        ctx.emit({ type: 'booking.requested', entity: { type: 'booking', id }, payload: { day } });
        return { booking: id };
      },
    }),
    'booking/list': operation({
      summary: 'Who has booked',
      input: z.strictObject({}),
      output: z.array(z.strictObject({ id: z.string(), day: z.string() })),
      permission: 'booking.read',
      readOnly: true,
      run: (ctx) =>
        ctx.sql.all<{ id: string; day: string }>('SELECT id, day FROM bookings').map((row) => ({ ...row })),
    }),
    'site/list': operation({
      summary: 'Which sites may take bookings',
      input: z.strictObject({}),
      output: z.array(z.string()),
      permission: 'site.read',
      readOnly: true,
      run: (ctx) => ctx.sql.all<{ origin: string }>('SELECT origin FROM sites').map(({ origin }) => origin),
    }),
    'site/set': operation({
      summary: 'Change which sites may take bookings',
      input: z.strictObject({ origins: z.array(webOrigin).max(1_000) }),
      output: z.null(),
      permission: 'site.write',
      run: (ctx, { origins }) => {
        ctx.sql.run('DELETE FROM sites');
        for (const origin of origins) ctx.sql.run('INSERT INTO sites (origin) VALUES (?)', origin);
        return null;
      },
    }),
  }),
});

export interface BookingShop {
  readonly host: ScopeHost;
  readonly baseUrl: string;
  /** Runs an operation as its owner. */
  own(operation: string, input: unknown): Promise<unknown>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Opens the shop on a socket, with one scope. `/public/:scope` stands for the host names of instances. */
export async function openBookingShop(): Promise<BookingShop> {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-bookings-'));
  const incidents: unknown[] = [];
  const engine = openTestEngine({ dataDirectory, onIncident: (error) => void incidents.push(error) });
  const host = makeScopeHost({ engine, unit: makeScopeUnit(vertical) });
  await host.provisionScopeLocal({ ...ref, name: 'Shop' });
  await host.scope(ref.scopeId).assignRole({ principal: owner, role: 'owner', by: 'platform' });
  const server = createServer(
    getRequestListener(application(host, (error) => void incidents.push(error)).fetch),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    host,
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/public/${ref.scopeId}`,
    own: async (operation, input) =>
      (await host.operations(ref.scopeId, owner).invoke({ operation, input })).output,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await engine.close();
      rmSync(dataDirectory, { recursive: true, force: true });
      expect(incidents).toEqual([]);
    },
  };
}

function application(host: ScopeHost, onIncident: (error: unknown) => void): Hono {
  const app = new Hono();
  mountPublicSurface(app, {
    onIncident,
    service: 'booking',
    basePath: '/public/:scope',
    resolveActor: async (c, { service }) => {
      const actor: ActorId = `service:${service}`;
      const stub = host.operations(c.req.param('scope') ?? '', actor);
      const { output } = await stub.invoke({ operation: 'site/list', input: {} });
      return makePublicActor(stub, output as string[]);
    },
    routes: (route) => {
      route.post('/bookings', async (c, { actor, body }) =>
        c.json((await actor.invoke('booking/request', body)).output, 201),
      );
      // A mistake of its maker: the service may not do this.
      route.get('/bookings', async (c, { actor }) => c.json((await actor.invoke('booking/list', {})).output));
    },
  });
  mountPlatformSurface(app, {
    platformSecret: () => undefined,
    onIncident,
    hostFor: () => host,
    roles: {},
    ownerRoleKey: 'owner',
  });
  return app;
}
