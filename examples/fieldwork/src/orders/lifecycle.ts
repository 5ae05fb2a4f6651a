/** A work order's way from draft to invoice: one operation for each step of the table in `states.ts`. */
import {
  fromTimestamp,
  PlatformError,
  type PrincipalId,
  principalId,
  timestamp,
  toTimestamp,
} from '@freehold/contracts';
import { type OperationContext, operation } from '@freehold/kernel';
import { z } from 'zod';
import { subjectOfOrder } from '../customers/person.ts';
import { requireCustomer } from '../customers/store.ts';
import { ADDRESSES } from '../lib/addresses.ts';
import { optionalNote } from '../lib/text.ts';
import { answerOrder, orderEntity, VERB_PERMISSIONS } from './present.ts';
import { NOTE_PREFIX, orderId, orderOutput } from './schema.ts';
import { nextState, type OrderState, type OrderVerb, transitionRefusal } from './states.ts';
import {
  deleteAssignee,
  insertAssignee,
  insertNote,
  isTeammate,
  loadAssignees,
  loadOrder,
  type OrderRecord,
  saveOrder,
  touchOrder,
} from './store.ts';

/** The permissions that an assignment grants a technician for one order. */
const ASSIGNMENT_GRANTS = ['order.read', 'order.work', 'order.note'] as const;

/** A day's work and then some: what is longer is a slip of the hand. */
const APPOINTMENT_MAX_MS = 14 * 24 * 3_600_000;
const MINUTES_MAX = 60_000;
const MATERIALS_CENTS_MAX = 100_000_000;

export const orderLifecycle = {
  'order/schedule': operation({
    summary: 'Give a work order an appointment, or move it',
    input: z
      .strictObject({ order: orderId, from: timestamp, to: timestamp })
      .refine(({ from, to }) => fromTimestamp(from) < fromTimestamp(to), {
        path: ['to'],
        message: 'must be later than the beginning',
      })
      .refine(({ from, to }) => fromTimestamp(to) - fromTimestamp(from) <= APPOINTMENT_MAX_MS, {
        path: ['to'],
        message: 'must be within two weeks of the beginning',
      }),
    output: orderOutput,
    permission: VERB_PERMISSIONS.schedule,
    entity: (input) => orderEntity(input.order),
    http: ADDRESSES['order/schedule'],
    subjects: ({ order }, read) => subjectOfOrder(read, order),
    run: (ctx, input) => {
      const [scheduledFrom, scheduledTo] = [fromTimestamp(input.from), fromTimestamp(input.to)];
      const before = step(ctx, input.order, 'schedule', { scheduledFrom, scheduledTo });
      ctx.emit({
        type: before.state === 'scheduled' ? 'order.rescheduled' : 'order.scheduled',
        entity: orderEntity(input.order),
        payload: {
          from: input.from,
          to: input.to,
          previousFrom: before.scheduledFrom === null ? null : toTimestamp(before.scheduledFrom),
        },
      });
      return answerOrder(ctx, input.order);
    },
  }),

  'order/assign': operation({
    summary: 'Assign a work order to a teammate',
    description: 'Gives the teammate the permission to see it, to work on it and to write notes.',
    input: z.strictObject({ order: orderId, assignee: principalId }),
    output: orderOutput,
    permission: VERB_PERMISSIONS.assign,
    entity: (input) => orderEntity(input.order),
    http: ADDRESSES['order/assign'],
    subjects: ({ order }, read) => subjectOfOrder(read, order),
    run: (ctx, { order, assignee }) => {
      requireNextState(loadOrder(ctx.sql, order), 'assign');
      if (!isTeammate(ctx.sql, assignee))
        throw new PlatformError('not_found', 'No member of the team has this id.', {
          reason: 'unknown_teammate',
        });
      if (loadAssignees(ctx.sql, order).includes(assignee))
        throw new PlatformError('conflict', 'This order is assigned to them already.', {
          reason: 'assigned_already',
        });
      insertAssignee(ctx.sql, order, assignee, ctx.now);
      touchOrder(ctx.sql, order, ctx.now);
      for (const permission of ASSIGNMENT_GRANTS) {
        ctx.grant({ subject: assignee, permission, entity: orderEntity(order) });
      }
      ctx.emit({ type: 'order.assigned', entity: orderEntity(order), payload: { assignee } });
      return answerOrder(ctx, order);
    },
  }),

  'order/unassign': operation({
    summary: 'Take a teammate off a work order',
    input: z.strictObject({ order: orderId, assignee: principalId }),
    output: orderOutput,
    permission: VERB_PERMISSIONS.unassign,
    entity: (input) => orderEntity(input.order),
    http: ADDRESSES['order/unassign'],
    subjects: ({ order }, read) => subjectOfOrder(read, order),
    run: (ctx, { order, assignee }) => {
      requireNextState(loadOrder(ctx.sql, order), 'unassign');
      requireAssigned(loadAssignees(ctx.sql, order), assignee);
      deleteAssignee(ctx.sql, order, assignee);
      touchOrder(ctx.sql, order, ctx.now);
      for (const permission of ASSIGNMENT_GRANTS) {
        ctx.revoke({ subject: assignee, permission, entity: orderEntity(order) });
      }
      ctx.emit({ type: 'order.unassigned', entity: orderEntity(order), payload: { assignee } });
      return answerOrder(ctx, order);
    },
  }),

  'order/start': operation({
    summary: 'Start the work',
    input: z.strictObject({ order: orderId }),
    output: orderOutput,
    permission: VERB_PERMISSIONS.start,
    entity: (input) => orderEntity(input.order),
    http: ADDRESSES['order/start'],
    subjects: ({ order }, read) => subjectOfOrder(read, order),
    run: (ctx, { order }) => {
      step(ctx, order, 'start', {});
      ctx.emit({ type: 'order.started', entity: orderEntity(order) });
      return answerOrder(ctx, order);
    },
  }),

  'order/complete': operation({
    summary: 'Report the work as done',
    description: 'Drafts the invoice from what was reported and the present rates.',
    input: z.strictObject({
      order: orderId,
      minutes: z.int().min(1).max(MINUTES_MAX).describe('Time worked'),
      materialsCents: z.int().min(0).max(MATERIALS_CENTS_MAX).default(0),
      note: optionalNote(5_000).default(null),
    }),
    output: orderOutput,
    permission: VERB_PERMISSIONS.complete,
    entity: (input) => orderEntity(input.order),
    http: ADDRESSES['order/complete'],
    mcp: { prompt: 'Report {order} as done: ask me how long it took, and show me what you will send first.' },
    subjects: ({ order }, read) => subjectOfOrder(read, order),
    run: (ctx, { order, minutes, materialsCents, note }) => {
      const { customerId } = step(ctx, order, 'complete', { minutes, materialsCents });
      if (note !== null) {
        requireCustomer(ctx.sql, customerId);
        const id = ctx.newId(NOTE_PREFIX);
        insertNote(ctx.sql, order, { id, author: ctx.principal, text: note, at: ctx.now });
        ctx.emit({ type: 'order.noted', entity: orderEntity(order), payload: { note: id } });
      }
      ctx.emit({ type: 'order.completed', entity: orderEntity(order), payload: { minutes, materialsCents } });
      ctx.invoke('invoice/draft', { order });
      return answerOrder(ctx, order);
    },
  }),

  'order/cancel': operation({
    summary: 'Cancel a work order',
    input: z.strictObject({
      order: orderId,
      reason: z.enum(['customer', 'duplicate', 'not_needed', 'other']).default('other'),
    }),
    output: orderOutput,
    permission: VERB_PERMISSIONS.cancel,
    entity: (input) => orderEntity(input.order),
    http: ADDRESSES['order/cancel'],
    mcp: { destructive: true },
    subjects: ({ order }, read) => subjectOfOrder(read, order),
    run: (ctx, { order, reason }) => {
      const before = step(ctx, order, 'cancel', {});
      ctx.emit({
        type: 'order.cancelled',
        entity: orderEntity(order),
        payload: { from: before.state, reason },
      });
      return answerOrder(ctx, order);
    },
  }),

  'order/invoice': operation({
    summary: 'Issue the invoice of a completed work order',
    input: z.strictObject({ order: orderId }),
    output: orderOutput,
    permission: VERB_PERMISSIONS.invoice,
    entity: (input) => orderEntity(input.order),
    http: ADDRESSES['order/invoice'],
    subjects: ({ order }, read) => subjectOfOrder(read, order),
    run: (ctx, { order }) => {
      step(ctx, order, 'invoice', {});
      ctx.emit({ type: 'order.invoiced', entity: orderEntity(order) });
      ctx.invoke('invoice/issue', { order });
      return answerOrder(ctx, order);
    },
  }),
};

/**
 * Where a verb leads from the order's present state.
 * @throws PlatformError `invalid_transition` with a sentence for people; `immutable` when a finished order would be changed.
 */
export function requireNextState(order: OrderRecord, verb: OrderVerb): OrderState {
  const next = nextState(verb, order.state);
  if (next !== null) return next;
  throw new PlatformError(
    verb === 'update' ? 'immutable' : 'invalid_transition',
    transitionRefusal(order, verb),
    {
      reason: `order_is_${order.state}`,
    },
  );
}

/** Takes an order one step along the table, and answers what it was before. */
function step(ctx: OperationContext, id: string, verb: OrderVerb, change: Partial<OrderRecord>): OrderRecord {
  const before = loadOrder(ctx.sql, id);
  saveOrder(ctx.sql, { ...before, ...change, state: requireNextState(before, verb) }, ctx.now);
  return before;
}

function requireAssigned(assignees: readonly PrincipalId[], assignee: PrincipalId): void {
  if (assignees.includes(assignee)) return;
  throw new PlatformError('conflict', 'This order is not assigned to them.', { reason: 'not_assigned' });
}
