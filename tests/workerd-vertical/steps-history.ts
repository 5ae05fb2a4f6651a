/** The platform's view of the story, restores, and erasure. */
import { gzipSync } from 'node:zlib';
import type { EventId, EventRecord, InvocationId } from '@freehold/contracts';
import { expect } from 'vitest';
import type { Answer } from '../support/http.ts';
import { PIPES } from './fixture.ts';
import { heard, PATIENT, pipes, type Stage, type StoryStep } from './story.ts';

/** The tables of the platform in a scope whose rows other callers may see. */
export const LOGS: ReadonlySet<string> = new Set(['_spine_events', '_spine_denials', '_spine_attachments']);

export function historySteps({ world, client, cast }: Stage): StoryStep[] {
  return [
    [
      'D-01 the platform looks into it: history, causes, effects, tables and queries',
      async () => {
        const { ada, order, customer } = cast;
        const page = { ...pipes, limit: 50 };
        const history = await client().entityHistoryLocal({ ...page, entityType: 'order', entityId: order });
        const completed = eventOf(history.items, 'order.completed');
        const effects = await client().eventEffectsLocal({ ...pipes, event: completed.id });
        expect(effects.items.map(({ type }) => type)).toEqual(
          expect.arrayContaining(['invoice.drafted', 'reminder.raised']),
        );
        const raised = eventOf(effects.items, 'reminder.raised');
        const cause = await client().eventCauseLocal({ ...pipes, event: raised.id as EventId });
        expect(cause.items.map(({ type }) => type)).toEqual(['reminder.raised', 'order.completed']);
        const sealed = await client().entityHistoryLocal({
          ...page,
          entityType: 'customer',
          entityId: customer,
        });
        expect(JSON.stringify(sealed)).not.toContain('Müller');
        const query = await client().introspectScopeQuery({
          ...pipes,
          sql: 'SELECT number, title, state, minutes FROM orders WHERE id = ?',
          params: [order],
        });
        expect(query.rows).toEqual([[1_001, 'Fix the boiler', 'invoiced', 90]]);
        const write = client().introspectScopeQuery({ ...pipes, sql: 'DELETE FROM orders', params: [] });
        await expect(write).rejects.toMatchObject({ reason: 'statement_refused' });
        const table = { ...pipes, table: 'orders', filters: [], order: 'asc' as const, limit: 10 };
        return [
          [history, effects, cause, sealed, query],
          await client().invocationEventsLocal({
            ...pipes,
            invocation: completed.invocation as InvocationId,
          }),
          await client()
            .facetEventsLocal({ ...pipes, groupBy: 'type' })
            .then(({ buckets }) => buckets),
          (await client().introspectScopeTables(pipes)).map((each) =>
            // The progress of background work differs in each run.
            each.kind === 'spine' && !LOGS.has(each.name) ? { ...each, rows: null } : each,
          ),
          await client().introspectScopeTable(table),
          await client().deadLettersLocal(page),
          await client().listPlatformRequests(page),
          heard(await ada.ask(`/api/orders/${order}/history`)),
          heard(await ada.ask(`/api/customers/${customer}/history`)),
          heard(await ada.ask('/api/members')),
        ];
      },
    ],
    [
      'D-01 a copy leaves it, and brings everything back that was in it',
      async () => {
        const { ada, customer } = cast;
        const names = async () =>
          (await ada.ask('/api/customers'))
            .json<{ items: { name: string }[] }>()
            .items.map(({ name }) => name);
        const before = await names();
        const { format, body } = await client().exportScopeLocal({ ...pipes, format: 'ndjson' });
        const copy = new Uint8Array(await new Response(body).arrayBuffer());
        const snapshot = await client().snapshotScopeLocal({ ...pipes, name: 'before the mistake' });
        expect(snapshot).toMatchObject({ name: 'before the mistake' });
        await ada.ask(`/api/customers/${customer}`, { method: 'PATCH', json: { name: 'A mistake' } });
        expect(await names()).toEqual(['A mistake']);
        const ndjson = { ...pipes, format: 'ndjson' } as const;
        const damaged = client().restoreScopeLocal(ndjson, streamOf(copy.subarray(0, copy.length / 2)));
        await expect(damaged).rejects.toMatchObject({ code: 'validation_failed' });
        expect(await names()).toEqual(['A mistake']);
        const { undo: _undo, ...restored } = await client().restoreScopeLocal(ndjson, streamOf(copy));
        expect(await names()).toEqual(before);
        return [format, restored, before];
      },
    ],
    [
      'a customer who is erased is gone, and his photos with him',
      async () => {
        const { ada, customer, order } = cast;
        const erased = await ada.ask(`/api/customers/${customer}/erase`, { json: {} });
        expect(erased.status).toBe(200);
        const again = await ada.ask(`/api/customers/${customer}/erase`, { json: {} });
        expect(again.json()).toEqual(erased.json());
        const history = await ada.ask(`/api/customers/${customer}/history`);
        expect(history.text).not.toContain('Müller');
        const files = () =>
          client()
            .introspectScopeQuery({
              ...pipes,
              sql: 'SELECT count(*) FROM _spine_attachments WHERE removed_at IS NULL',
              params: [],
            })
            .then(({ rows }) => rows);
        await expect.poll(files, PATIENT).toEqual([[0]]);
        return [erased, history, await ada.ask(`/api/orders/${order}`)].map(heard);
      },
    ],
    [
      'the pages are served beside the API',
      async () => {
        const { ada } = cast;
        const page = await ada.ask('/orders/anything', { headers: { accept: 'text/html' } });
        const script = await ada.ask('/assets/app-1a2b3c.js');
        expect([page.status, script.headers.get('cache-control')]).toEqual([
          200,
          'public, max-age=31536000, immutable',
        ]);
        const zipped = await ada.caller.ask(`${world().origin(PIPES)}/`, {
          headers: { accept: 'text/html', 'accept-encoding': 'gzip' },
        });
        // Compressed once: workerd compresses what says that it is compressed, unless it is told not to.
        const once = gzipSync(page.text).toString('utf8');
        expect([zipped.headers.get('content-encoding'), zipped.text]).toEqual(['gzip', once]);
        const missing = await ada.ask('/api/nothing');
        const etag = page.headers.get('etag') ?? '';
        const known = await ada.ask('/', { headers: { accept: 'text/html', 'if-none-match': etag } });
        expect([missing.status, known.status]).toEqual([404, 304]);
        return [page, script, missing, known].map((answer) => [heard(answer), headersOf(answer)]);
      },
    ],
  ];
}

const COMPARED_HEADERS = [
  'cache-control',
  'content-security-policy',
  'vary',
  'x-content-type-options',
  'cross-origin-resource-policy',
  'referrer-policy',
];

function headersOf({ headers }: Answer): (string | null)[] {
  return COMPARED_HEADERS.map((name) => headers.get(name));
}

function eventOf(events: readonly EventRecord[], type: string): EventRecord {
  const found = events.find((each) => each.type === type);
  if (!found) throw new Error(`expected ${type} among ${events.map((each) => each.type).join(', ')}`);
  return found;
}

function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return new Blob([bytes.slice()]).stream();
}
