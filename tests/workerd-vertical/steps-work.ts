/** A day's work: customers, orders, tools, photos, and refusals. */
import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import { connectMcp } from '../support/mcp.ts';
import { PIPES, SPARKS } from './fixture.ts';
import { DENIED, heard, PATIENT, pipes, type Stage, type StoryStep } from './story.ts';

const JPEG = Uint8Array.from({ length: 300_000 }, (_, i) => (i * 31) % 251);
/** A time that no clock of a test reaches. */
const APPOINTMENT = { from: '2099-03-03T10:00:00.000Z', to: '2099-03-03T12:00:00.000Z' };

export function workSteps({ world, client, cast }: Stage): StoryStep[] {
  return [
    [
      'D-09, D-10 customers and orders are written over HTTP: judged, once, and without overwriting another change',
      async () => {
        const { ada } = cast;
        const json = { name: 'Müller & Co', phone: '+49 30 1234', email: 'mueller@example.org' };
        const headers = { 'idempotency-key': 'first-customer' };
        const created = await ada.ask('/api/customers', { json, headers });
        const replayed = await ada.ask('/api/customers', { json, headers });
        expect([created.status, replayed.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
        cast.customer = created.json<{ id: string }>().id;
        const malformed = await ada.ask('/api/customers', { json: { name: '' } });
        expect(malformed.status).toBe(400);
        const site = await ada.ask('/api/sites', {
          json: { customer: cast.customer, label: 'Home', street: 'Lindenstraße 1', city: 'Berlin' },
        });
        const order = await ada.ask('/api/orders', {
          json: { customer: cast.customer, site: site.json<{ id: string }>().id, title: 'Fix the boiler' },
        });
        expect([site.status, order.status]).toEqual([201, 201]);
        cast.order = order.json<{ id: string }>().id;
        const path = `/api/orders/${cast.order}`;
        const read = await ada.ask(path);
        const ifMatch = { 'if-match': read.headers.get('etag') ?? '' };
        const urgent = { method: 'PATCH', json: { priority: 'urgent' }, headers: ifMatch };
        const changed = await ada.ask(path, urgent);
        const stale = await ada.ask(path, urgent);
        expect([changed.status, stale.status]).toEqual([200, 412]);
        const list = await ada.ask('/api/orders?q=boiler');
        const document = await ada.ask('/openapi.json');
        return [created, replayed, malformed, site, order, read, changed, stale, list, document].map(heard);
      },
    ],
    [
      'C-23 a refusal leaves only its row in the log, and no caller sees another business',
      async () => {
        const { ada, grace, order } = cast;
        const invite = await ada.ask('/api/invites', { json: { role: 'technician' } });
        const token = new URL(invite.json<{ url: string }>().url).searchParams.get('invite');
        cast.jo = await world().signedIn(PIPES, 'jo');
        const accepted = await cast.jo.ask('/api/accept-invite', { json: { token } });
        expect(accepted.status).toBe(200);
        const denied = await cast.jo.ask('/api/customers', { json: { name: 'Mine' } });
        const hidden = await cast.jo.ask(`/api/orders/${order}`);
        expect([denied.json(), hidden.json()]).toMatchObject([DENIED, DENIED]);
        const log = await ada.ask('/api/denials');
        expect(log.json<{ items: unknown[] }>().items).toHaveLength(2);
        const theirs = await grace.ask(`/api/orders/${order}`);
        expect(theirs.status).toBe(404);
        // The same person, with the cookie of the other business.
        const cookie = ada.caller.cookieHeader(world().origin(PIPES));
        const crossed = await world().visitor(SPARKS).ask('/api/orders', { headers: { cookie } });
        expect(crossed.status).toBe(401);
        return [
          ...[invite, accepted, denied, hidden, log, theirs, crossed].map(heard),
          await client().listDenialsLocal({ ...pipes, limit: 10 }),
          await client().summarizeDenialsLocal({ ...pipes, groupBy: 'operation' }),
          await client().listDenialsLocal({ tenantId: SPARKS.tenantId, scopeId: SPARKS.scopeId, limit: 10 }),
        ];
      },
    ],
    [
      'D-11 the same operations are tools, for the official client',
      async () => {
        const [owner, technician] = await Promise.all(
          [cast.ada, cast.jo].map((each) => connectMcp(each.caller, world().origin(PIPES))),
        );
        if (!owner || !technician) throw new Error('the owner and the technician are not connected yet');
        const { tools } = await owner.listTools();
        expect(tools.map(({ name }) => name)).toContain('order_schedule');
        const listed = await technician.listTools();
        expect(listed.tools.map(({ name }) => name)).not.toContain('customer_create');
        const scheduled = await owner.callTool({
          name: 'order_schedule',
          arguments: { order: cast.order, ...APPOINTMENT },
        });
        expect(scheduled.structuredContent).toMatchObject({ id: cast.order, state: 'scheduled' });
        const refused = await technician.callTool({ name: 'customer_create', arguments: { name: 'Mine' } });
        expect(refused).toMatchObject({ isError: true, _meta: { 'freehold/problem': DENIED } });
        const revision = owner.getNegotiatedProtocolVersion();
        await Promise.all([owner.close(), technician.close()]);
        return [revision, tools, listed.tools, scheduled, refused];
      },
    ],
    [
      'D-11 a person is asked before a program cancels an order, by a client of either revision',
      async () => {
        const { ada, customer, order } = cast;
        const json = { customer, title: 'Meant for another customer' };
        const { id: mistaken } = (await ada.ask('/api/orders', { json })).json<{ id: string }>();
        const asked: string[] = [];
        const cancel = async (mode: 'auto' | 'legacy', id: string, ok: boolean) => {
          const client = await connectMcp(ada.caller, world().origin(PIPES), mode, (message) => {
            asked.push(message);
            return { action: 'accept', content: { ok } };
          });
          const { isError = false } = await client.callTool({
            name: 'order_cancel',
            arguments: { order: id },
          });
          await client.close();
          return isError;
        };
        const said = [await cancel('legacy', order, false), await cancel('auto', order, false)];
        said.push(await cancel('legacy', mistaken, true));
        expect(said).toEqual([true, true, false]);
        const state = (await ada.ask(`/api/orders/${mistaken}`)).json<{ state: string }>().state;
        expect(state).toBe('cancelled');
        return [asked, said, state];
      },
    ],
    [
      'what is done has its consequences, by itself',
      async () => {
        const { ada, jo, order } = cast;
        const assignee = (await jo.ask('/api/me')).json<{ principal: string }>().principal;
        const said = [heard(await ada.ask(`/api/orders/${order}/assign`, { json: { assignee } }))];
        said.push(heard(await jo.ask(`/api/orders/${order}/start`, { json: {} })));
        const work = { minutes: 90, materialsCents: 1_234, note: 'A new valve' };
        said.push(heard(await jo.ask(`/api/orders/${order}/complete`, { json: work })));
        const reminders = async () => (await ada.ask('/api/reminders')).json<{ items: unknown[] }>().items;
        await expect.poll(reminders, PATIENT).toMatchObject([{ kind: 'to_invoice', order: { id: order } }]);
        said.push(heard(await ada.ask('/api/reminders')));
        said.push(heard(await ada.ask(`/api/orders/${order}/invoice`, { json: {} })));
        await expect.poll(reminders, PATIENT).toEqual([]);
        expect(said.map(({ status }) => status)).toEqual(said.map(() => 200));
        return [...said, heard(await ada.ask('/api/invoices')), heard(await ada.ask('/api/dashboard'))];
      },
    ],
    [
      'a photo comes out as it went in, for those who may see its order',
      async () => {
        const { ada, jo, grace, order } = cast;
        const path = `/api/orders/${order}/attachments`;
        const upload = { type: 'image/jpeg', body: JPEG };
        const added = await jo.bytes(`${path}?filename=Vor%20der%20T%C3%BCr.jpg`, upload);
        expect(added.status).toBe(201);
        const { id } = JSON.parse(added.bytes.toString('utf8')) as { id: string };
        const photo = await ada.bytes(`${path}/${id}?show=inline`);
        expect(digestOf(photo.bytes)).toBe(digestOf(JPEG));
        const theirs = await grace.bytes(`${path}/${id}`);
        expect(theirs.status).toBe(404);
        const { 'content-type': type, 'content-disposition': disposition } = photo.headers;
        return [id, type, disposition, heard(await ada.ask(path))];
      },
    ],
  ];
}

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
