/** The states of an order as the pages show them. */
import { ORDER_STATES, type OrderState } from '../../../src/orders/states.ts';

export { ORDER_STATES, type OrderState };

export const STATE_NAMES: Readonly<Record<OrderState, string>> = {
  draft: 'Draft',
  scheduled: 'Scheduled',
  in_progress: 'In progress',
  done: 'Done',
  invoiced: 'Invoiced',
  cancelled: 'Cancelled',
};

/** The states of the board: orders that still need work. */
export const BOARD_STATES = [
  'draft',
  'scheduled',
  'in_progress',
  'done',
] as const satisfies readonly OrderState[];
