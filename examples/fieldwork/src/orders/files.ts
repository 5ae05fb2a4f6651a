/** The files of work orders, which the kernel keeps: when they may be removed. */
import { PlatformError } from '@freehold/contracts';
import type { Vertical } from '@freehold/kernel';
import { OFFICE } from '../lib/manifest.ts';
import { FILES_STAY } from './states.ts';
import { loadOrder } from './store.ts';

/** Refuses to remove a file of a finished order. The erasure of a customer removes files in every state. */
export const requireFileRemovable: NonNullable<Vertical['requireRemovable']> = (
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
