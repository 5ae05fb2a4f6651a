import { describe, expect, test } from 'vitest';
import {
  nextState,
  ORDER_STATES,
  ORDER_VERBS,
  type OrderState,
  type OrderVerb,
  transitionRefusal,
} from './states.ts';

/** The whole table again, written the other way round: for each state, where every possible verb leads. */
const LIFE: Readonly<Record<OrderState, Readonly<Partial<Record<OrderVerb, OrderState>>>>> = {
  draft: {
    update: 'draft',
    schedule: 'scheduled',
    assign: 'draft',
    unassign: 'draft',
    cancel: 'cancelled',
    note: 'draft',
  },
  scheduled: {
    update: 'scheduled',
    schedule: 'scheduled',
    assign: 'scheduled',
    unassign: 'scheduled',
    start: 'in_progress',
    cancel: 'cancelled',
    note: 'scheduled',
  },
  in_progress: {
    update: 'in_progress',
    assign: 'in_progress',
    unassign: 'in_progress',
    complete: 'done',
    cancel: 'cancelled',
    note: 'in_progress',
  },
  done: { invoice: 'invoiced', note: 'done' },
  invoiced: { note: 'invoiced' },
  cancelled: { note: 'cancelled' },
};

describe.each(ORDER_STATES)('an order that is %s', (state) => {
  test.each(ORDER_VERBS)('answers %s as the table says', (verb) => {
    expect(nextState(verb, state)).toBe(LIFE[state][verb] ?? null);
  });

  test.each(ORDER_VERBS.filter((verb) => LIFE[state][verb] === undefined))(
    'refuses %s in whole sentences',
    (verb) => {
      const sentence = transitionRefusal({ number: 1042, state }, verb);
      expect(sentence).toMatch(/^Order #1042 is [a-z ]+ and cannot [a-z ]+\.( [A-Z][^.]+\.)?$/);
    },
  );
});

test('nothing leads out of an invoiced or a cancelled order', () => {
  for (const state of ['invoiced', 'cancelled'] as const) {
    const reached = ORDER_VERBS.map((verb) => nextState(verb, state)).filter((next) => next !== null);
    expect(new Set(reached)).toEqual(new Set([state]));
  }
});

test('a refusal says what to do first where something helps', () => {
  expect(transitionRefusal({ number: 7, state: 'draft' }, 'start')).toBe(
    'Order #7 is still a draft and cannot be started. Schedule it first.',
  );
});
