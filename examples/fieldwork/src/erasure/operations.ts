/**
 * The work after a customer's erasure: a note in the history, and the removal of the photos of the customer's orders.
 * The platform's staff can erase a customer without the application, so that a schedule looks as well.
 */
import { type Executor, operation, type Schedule } from '@freehold/kernel';
import { z } from 'zod';
import { customerId } from '../customers/schema.ts';
import { OFFICE } from '../lib/manifest.ts';
import { listFilesOf, listUnnotedErasures, markErasureNoted } from './store.ts';

/** The number of erasures that one call notes, and of files that one attempt removes. */
const BATCH = 200;

const files = z.object({ files: z.array(z.string()), more: z.boolean() });

export const erasureOperations = {
  'customer/note-erasures': operation({
    summary: 'Note in their histories which customers were erased',
    input: z.strictObject({}),
    output: z.object({ noted: z.int() }),
    permission: 'customer.erase',
    mcp: false,
    run: (ctx) => {
      const erased = listUnnotedErasures(ctx.sql, BATCH);
      for (const id of erased) {
        markErasureNoted(ctx.sql, id, ctx.now);
        ctx.emit({ type: 'customer.erased', entity: { type: 'customer', id } });
      }
      return { noted: erased.length };
    },
  }),

  'customer/list-files': operation({
    summary: 'List the files that are attached to a customer’s orders',
    input: z.strictObject({ customer: customerId }),
    output: files,
    permission: 'customer.erase',
    readOnly: true,
    mcp: false,
    run: (ctx, { customer }) => {
      const found = listFilesOf(ctx.sql, customer, BATCH + 1);
      return { files: found.slice(0, BATCH), more: found.length > BATCH };
    },
  }),
};

export const erasureSchedule: Schedule = {
  // At night: an erasure by the platform's staff takes effect at once, and only its note comes later.
  cron: '30 2 * * *',
  operation: 'customer/note-erasures',
  as: OFFICE,
};

/** Removes the files of an erased customer. What was removed by an earlier attempt is not listed any more. */
export const fileRemover: Executor = {
  on: ['customer.erased'],
  as: OFFICE,
  run: async ({ entity }, { invoke, removeAttachment, signal }) => {
    for (let more = true; more && !signal.aborted; ) {
      const found = files.parse(await invoke('customer/list-files', { customer: entity?.id }));
      for (const id of found.files) await removeAttachment(id);
      more = found.more;
    }
  },
};
