/** The sources of a summary, read as the caller. A route calls the model: an operation cannot wait. */
import { timestamp, toTimestamp } from '@freehold/contracts';
import { operation } from '@freehold/kernel';
import type { SqlDatabase } from '@freehold/store';
import { z } from 'zod';
import { requireCustomer } from '../customers/store.ts';
import { orderEntity } from '../orders/present.ts';
import { orderId } from '../orders/schema.ts';
import { listNotes, loadOrder } from '../orders/store.ts';
import { loadSite } from '../sites/store.ts';
import { orderStory } from './schema.ts';
import { makeWithoutContacts } from './without-contacts.ts';

/** The newest of each: a summary has a few sentences. */
const EVENTS_MAX = 60;
const NOTES_MAX = 20;
const DESCRIPTION_LENGTH_MAX = 2_000;
const NOTE_LENGTH_MAX = 1_000;

/** The events that a customer may read about. Assignees, notes and changed fields are the team's own. */
const TOLD = [
  'order.created',
  'order.scheduled',
  'order.rescheduled',
  'order.started',
  'order.completed',
  'order.cancelled',
  'order.invoiced',
] as const;

const told = z
  .object({
    // Of a visit. An event of a change of state names the state before it here.
    from: timestamp.optional().catch(undefined),
    to: timestamp.optional().catch(undefined),
    minutes: z.int().optional().catch(undefined),
    reason: z.string().optional().catch(undefined),
  })
  .catch({});

export const summaryOperations = {
  'summary/story': operation({
    summary: 'What may be told to a customer about a work order, without how they are called and reached',
    input: z.strictObject({ order: orderId, notes: z.boolean().default(false) }),
    output: orderStory,
    permission: 'order.summarise',
    entity: (input) => orderEntity(input.order),
    readOnly: true,
    mcp: false,
    run: (ctx, { order, notes }) => {
      const { number, title, description, state, customerId, siteId, scheduledFrom, scheduledTo } = loadOrder(
        ctx.sql,
        order,
      );
      const customer = requireCustomer(ctx.sql, customerId);
      const site = siteId === null ? null : loadSite(ctx.sql, siteId);
      const clean = makeWithoutContacts({
        names: [customer.name, customer.phone, customer.email],
        places: site ? [site.street, site.postcode, site.city, site.access] : [],
      });
      return {
        number,
        title: clean(title),
        description: description === null ? null : clean(description).slice(0, DESCRIPTION_LENGTH_MAX),
        state,
        scheduledFrom: scheduledFrom === null ? null : toTimestamp(scheduledFrom),
        scheduledTo: scheduledTo === null ? null : toTimestamp(scheduledTo),
        events: listTold(ctx.sql, order),
        notes: notes
          ? listNotes(ctx.sql, { order, limit: NOTES_MAX })
              .slice(0, NOTES_MAX)
              .reverse()
              .map(({ at, text }) => ({ at: toTimestamp(at), text: clean(text).slice(0, NOTE_LENGTH_MAX) }))
          : [],
        language: customer.language,
      };
    },
  }),
};

/** Read from the spine, which is open to read. What is sealed for a person (it has a subject) is left out. */
function listTold(sql: SqlDatabase, order: string) {
  return sql
    .all<{ type: string; payload: string | null; at: number }>(
      `SELECT type, payload, at FROM _spine_events
       WHERE entity_type = 'order' AND entity_id = ? AND subject IS NULL
         AND type IN (SELECT value FROM json_each(?)) ORDER BY id DESC LIMIT ${EVENTS_MAX}`,
      order,
      JSON.stringify(TOLD),
    )
    .reverse()
    .map(({ type, payload, at }) => ({
      type,
      at: toTimestamp(at),
      ...told.parse(JSON.parse(payload ?? '{}')),
    }));
}
