/** The life of a work order, as a table: what can be done in which state, and where it leads. */

export const ORDER_STATES = ['draft', 'scheduled', 'in_progress', 'done', 'invoiced', 'cancelled'] as const;
export type OrderState = (typeof ORDER_STATES)[number];

export const ORDER_VERBS = [
  'update',
  'schedule',
  'assign',
  'unassign',
  'start',
  'complete',
  'cancel',
  'invoice',
  'note',
] as const;
export type OrderVerb = (typeof ORDER_VERBS)[number];

/** The state that a verb leads to from each state in which it is possible. A state that is not named refuses it. */
export const TRANSITIONS: Readonly<Record<OrderVerb, Readonly<Partial<Record<OrderState, OrderState>>>>> = {
  update: { draft: 'draft', scheduled: 'scheduled', in_progress: 'in_progress' },
  schedule: { draft: 'scheduled', scheduled: 'scheduled' },
  assign: { draft: 'draft', scheduled: 'scheduled', in_progress: 'in_progress' },
  unassign: { draft: 'draft', scheduled: 'scheduled', in_progress: 'in_progress' },
  start: { scheduled: 'in_progress' },
  complete: { in_progress: 'done' },
  cancel: { draft: 'cancelled', scheduled: 'cancelled', in_progress: 'cancelled' },
  invoice: { done: 'invoiced' },
  // Notes and files may be added in every state.
  note: {
    draft: 'draft',
    scheduled: 'scheduled',
    in_progress: 'in_progress',
    done: 'done',
    invoiced: 'invoiced',
    cancelled: 'cancelled',
  },
};

/** States in which files of an order are part of its record, and are not removed. */
export const FILES_STAY: ReadonlySet<OrderState> = new Set(['invoiced', 'cancelled']);

/** Where a verb leads from a state, or null where it is not possible. */
export function nextState(verb: OrderVerb, state: OrderState): OrderState | null {
  return TRANSITIONS[verb][state] ?? null;
}

/** The names of the states within a sentence about an order. */
const STATE_WORDS: Readonly<Record<OrderState, string>> = {
  draft: 'still a draft',
  scheduled: 'scheduled',
  in_progress: 'in progress',
  done: 'done',
  invoiced: 'invoiced',
  cancelled: 'cancelled',
};

const VERB_WORDS: Readonly<Record<OrderVerb, string>> = {
  update: 'be changed',
  schedule: 'be scheduled',
  assign: 'be assigned',
  unassign: 'lose an assignee',
  start: 'be started',
  complete: 'be completed',
  cancel: 'be cancelled',
  invoice: 'be invoiced',
  note: 'take a note',
};

/** The step that helps first, where there is one. */
const ADVICE: Readonly<Partial<Record<`${OrderVerb} ${OrderState}`, string>>> = {
  'start draft': 'Schedule it first.',
  'complete draft': 'Schedule it and start it first.',
  'complete scheduled': 'Start it first.',
  'invoice draft': 'The work has to be done first.',
  'invoice scheduled': 'The work has to be done first.',
  'invoice in_progress': 'Complete it first.',
  'schedule in_progress': 'The work has begun.',
};

/** Why a verb is not possible in a state, as one or two sentences for people. */
export function transitionRefusal(
  order: { readonly number: number; readonly state: OrderState },
  verb: OrderVerb,
): string {
  const advice = ADVICE[`${verb} ${order.state}`];
  const reason = `Order #${order.number} is ${STATE_WORDS[order.state]} and cannot ${VERB_WORDS[verb]}.`;
  return advice === undefined ? reason : `${reason} ${advice}`;
}
