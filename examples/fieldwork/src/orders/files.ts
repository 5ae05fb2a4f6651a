/** The files of work orders: when they may be seen, and when they may be removed. */
import type { AttachmentRules } from '@freehold/app';
import { PlatformError } from '@freehold/contracts';
import { OFFICE } from '../lib/manifest.ts';
import { orderOutput } from './schema.ts';
import { FILES_STAY } from './states.ts';
import { loadOrder } from './store.ts';

/** Refuses to remove a file of a finished order. The erasure of a customer removes files in every state. */
export const requireFileRemovable: NonNullable<AttachmentRules['requireRemovable']> = (
  { sql, principal },
  { entity },
) => {
  if (principal === `service:${OFFICE}` || entity.type !== 'order') return;
  const { number, state } = loadOrder(sql, entity.id);
  if (!FILES_STAY.has(state)) return;
  throw new PlatformError('immutable', `Order #${number} is ${state}, and its files stay with it.`, {
    reason: `order_is_${state}`,
  });
};

/** The photos are erased with the customer, and hidden until their bytes are gone. */
export const filesHidden: NonNullable<AttachmentRules['hidden']> = (_entity, output) =>
  orderOutput.parse(output).customer.erased
    ? new PlatformError('immutable', 'The customer was erased, and what was attached with them.', {
        reason: 'customer_erased',
      })
    : null;
