/** Random requests of people, services and connections to a scope. */
import type { EntityRef } from '@freehold/contracts';
import { BANK, inputOf, OPERATIONS, PERMISSIONS } from './ledger/ledger.ts';
import type { EventPayload, LedgerInput, Step } from './ledger/steps.ts';
import type { Random } from './lib/random.ts';
import { type ModelRequest, versionOf } from './model/calls.ts';
import type { ScopeState } from './model/state.ts';

const ulid = (last: string): string => `01arz3ndektsv4rrffq69g5${last.padStart(3, '0')}`;

/** Principals that begin with a role, and principals that must be granted one. */
export const PRINCIPALS = ['pa0', 'pa1', 'pa2', 'pa3', 'pa4', 'pa5'].map((name) => `prn_${ulid(name)}`);
const CONNECTION = `connection:con_${ulid('ca0')}`;
export const ACTORS = [...PRINCIPALS, CONNECTION];
export const TENANTS = ['ta0', 'ta1'].map((name) => `tnt_${ulid(name)}`);
export const scopeIdOf = (index: number): string => `scp_${ulid(`sa${index}`)}`;

const REGIONS = ['north', 'south'];
export const ACCOUNTS = ['a0', 'a1', 'a2', 'a3'];
const ORDERS = ['o0', 'o1', 'o2', 'o3', 'o4'];
export const SETTINGS = ['COLOUR', 'CURRENCY'];

/** A prefix that only sealed text may contain. */
export const SECRET = 'sim-secret-';

/** The number of events in a flood. */
const FLOOD = 60;

/** The number of persons in use at a time. */
const PERSONS = 3;

/** The depth to which operations invoke one another here. */
const DEPTH_MAX = 3;

export interface Workload {
  request(state: ScopeState, nowMs: number): ModelRequest;
  /** Makes a request that queues more than a scope delivers in one round. */
  flood(): ModelRequest;
  person(): string;
  record(): EntityRef;
  /** Introduces a new person in place of another: of the given one, or of the oldest. */
  meet(instead?: string): void;
}

export function makeWorkload(random: Random): Workload {
  let made = 0;
  /** The nesting depth of payloads. */
  let payloads = 0;
  let persons = Array.from({ length: PERSONS }, (_, index) => `cus_${index}`);
  const fresh = (): number => {
    made += 1;
    return made;
  };

  const account = (): string => (random.chance(0.15) ? BANK : random.pick(ACCOUNTS));
  const place = (): string => `place${random.below(4)}`;
  const person = (): string => random.pick(persons);
  const record = (): EntityRef =>
    random.weighted([
      { weight: 6, value: { type: 'order', id: random.pick(ORDERS) } },
      { weight: 4, value: { type: 'account', id: account() } },
      { weight: 1, value: { type: 'region', id: random.pick(REGIONS) } },
    ]);
  const recordOrAll = (): EntityRef | null => (random.chance(0.3) ? null : record());

  /** Text about a person. In the payload of an event without a person it would lie in clear. */
  const words = (about: string): string => `${payloads === 0 ? SECRET : 'sim-plain-'}${about}-${fresh()}`;

  const payloadFor = (type: string, nowMs: number, depth: number): EventPayload => {
    const text = `payload ${fresh()}`;
    if (type !== 'order.completed' && type !== 'order.amended') return { text };
    payloads += 1;
    const nested = depth >= DEPTH_MAX ? [] : stepsFor('invoice/write', nowMs, depth + 1);
    payloads -= 1;
    const then = random.weighted<readonly Step[]>([
      { weight: 8, value: [] },
      { weight: 3, value: [{ do: 'until', atMs: nowMs + random.pick([500, 2_000, 60_000, 10_000_000]) }] },
      { weight: 1, value: [{ do: 'check', permission: 'order.work', entity: null, caught: true }] },
      { weight: 1, value: [{ do: 'fail', how: 'error' }] },
      { weight: 2, value: nested },
    ]);
    return { text, then };
  };

  const emitStep = (nowMs: number, depth: number): Step => {
    if (random.chance(0.25)) {
      const about = person();
      return {
        do: 'emit',
        type: 'person.noted',
        entity: record(),
        payload: { text: words(about) },
        person: about,
      };
    }
    const type = random.weighted([
      { weight: 5, value: 'order.completed' },
      { weight: 2, value: 'order.amended' },
      { weight: 1, value: 'order.cancelled' },
      { weight: 4, value: 'order.noted' },
    ]);
    return { do: 'emit', type, entity: record(), payload: payloadFor(type, nowMs, depth), person: null };
  };

  const moveStep = (): Step => ({
    do: 'move',
    from: random.chance(0.5) ? BANK : account(),
    to: account(),
    amount: random.between(1, 60),
    torn: random.chance(0.05),
  });

  const writingStep = (nowMs: number, depth: number): Step => {
    const kind = random.weighted(STEP_WEIGHTS);
    const isDeep = depth >= DEPTH_MAX;
    switch (isDeep && (kind === 'invoke' || kind === 'undone') ? 'put' : kind) {
      case 'put':
        return { do: 'put', id: `note${random.below(12)}`, value: `v${fresh()}` };
      case 'move':
        return moveStep();
      case 'open':
        return { do: 'open', account: random.pick(ACCOUNTS) };
      case 'emit':
        return emitStep(nowMs, depth);
      case 'invoke': {
        const operation = random.pick(Object.keys(OPERATIONS));
        return {
          do: 'invoke',
          operation,
          input: inputFor(operation, nowMs, depth + 1),
          caught: random.chance(0.4),
        };
      }
      case 'undone':
        return { do: 'undone', steps: stepsFor('order/work', nowMs, depth + 1) };
      case 'check':
        return {
          do: 'check',
          permission: random.pick(PERMISSIONS),
          entity: recordOrAll(),
          caught: random.chance(0.3),
        };
      case 'grant': {
        const end = random.weighted<number | null>([
          { weight: 4, value: null },
          { weight: 4, value: nowMs + random.pick([200, 5_000, 3_600_000]) },
        ]);
        return {
          do: 'grant',
          subject: random.pick(ACTORS),
          permission: random.pick(PERMISSIONS),
          entity: recordOrAll(),
          expiresAtMs: end,
        };
      }
      case 'revoke':
        return {
          do: 'revoke',
          subject: random.pick(ACTORS),
          permission: random.pick(PERMISSIONS),
          entity: recordOrAll(),
        };
      case 'place': {
        const isOrder = random.chance(0.6);
        const entity = isOrder
          ? { type: 'order', id: random.pick(ORDERS) }
          : { type: 'account', id: random.pick(ACCOUNTS) };
        const parent = isOrder
          ? { type: 'account', id: random.pick(ACCOUNTS) }
          : { type: 'region', id: random.pick(REGIONS) };
        return { do: 'place', entity, parent: random.chance(0.2) ? null : parent };
      }
      case 'ask':
        return { do: 'ask', kind: random.pick(['mail', 'hostname']), payload: `ask ${fresh()}` };
      case 'keep': {
        const about = person();
        return { do: 'keep', person: about, place: place(), value: words(about) };
      }
      case 'fail':
        return { do: 'fail', how: random.pick(['conflict', 'error', 'null']) };
      default:
        return readingStep();
    }
  };

  const readingStep = (): Step =>
    random.weighted<Step>([
      { weight: 4, value: { do: 'read', id: `note${random.below(12)}` } },
      { weight: 4, value: { do: 'balance', account: account() } },
      { weight: 3, value: { do: 'can', permission: random.pick(PERMISSIONS), entity: recordOrAll() } },
      {
        weight: 2,
        value: {
          do: 'reach',
          permission: random.pick(PERMISSIONS),
          entityType: random.pick(['order', 'account', 'region']),
        },
      },
      { weight: 7, value: { do: 'unseal', place: place() } },
      { weight: 1, value: { do: 'setting', key: random.pick(SETTINGS) } },
    ]);

  const stepsFor = (operation: string, nowMs: number, depth: number): Step[] => {
    const isReadOnly = OPERATIONS[operation]?.readOnly;
    const count = random.between(isReadOnly ? 1 : 0, depth === 0 ? 5 : 2);
    return Array.from({ length: count }, () => (isReadOnly ? readingStep() : writingStep(nowMs, depth)));
  };

  const inputFor = (operation: string, nowMs: number, depth: number): LedgerInput => {
    const type = OPERATIONS[operation]?.entityType;
    const id = type === 'account' ? account() : type === 'order' ? random.pick(ORDERS) : 'none';
    const first: Step[] =
      operation === 'account/open' ? [{ do: 'open', account: random.pick(ACCOUNTS) }] : [];
    const ends = random.weighted<LedgerInput['ends']>([
      { weight: 98, value: 'well' },
      { weight: 1, value: 'promise' },
      { weight: 1, value: 'odd' },
    ]);
    return inputOf(`call ${fresh()}`, id, [...first, ...stepsFor(operation, nowMs, depth)], ends);
  };

  const floodStep = (): Step => ({
    do: 'emit',
    type: random.pick(['order.completed', 'order.amended']),
    entity: record(),
    payload: { text: `payload ${fresh()}` },
    person: null,
  });

  return {
    flood: () => ({
      operation: 'order/work',
      principal: PRINCIPALS[0] as string,
      input: inputOf(`call ${fresh()}`, random.pick(ORDERS), Array.from({ length: FLOOD }, floodStep)),
    }),
    person,
    record,
    meet: (instead = persons[0]) => {
      persons = [...persons.filter((each) => each !== instead), `cus_${fresh()}`].slice(-PERSONS);
    },
    request: (state, nowMs) => {
      const operation = random.weighted(OPERATION_WEIGHTS);
      const input = random.chance(0.01) ? { odd: true } : inputFor(operation, nowMs, 0);
      const principal = random.weighted([
        { weight: 12, value: PRINCIPALS[0] as string },
        { weight: 5, value: random.pick(ACTORS) },
      ]);
      const type = OPERATIONS[operation]?.entityType;
      const version = type != null && 'id' in input ? versionOf(state, { type, id: input.id }) : null;
      const ifMatch = random.weighted<string | undefined>([
        { weight: 30, value: undefined },
        { weight: 2, value: version ?? '*' },
        { weight: 1, value: '*' },
        { weight: 1, value: random.pick(state.events.keys().slice(-20).concat('evt_none')) },
      ]);
      const cause = random.chance(0.05) ? state.newest.get('events') : undefined;
      return {
        operation,
        input,
        principal,
        ...(random.chance(0.5) ? { idempotencyKey: `key-${fresh()}` } : {}),
        ...(ifMatch === undefined ? {} : { ifMatch }),
        ...(cause === undefined ? {} : { cause }),
      };
    },
  };
}

const OPERATION_WEIGHTS = [
  { weight: 45, value: 'order/work' },
  { weight: 20, value: 'account/use' },
  { weight: 8, value: 'account/open' },
  { weight: 10, value: 'order/look' },
  { weight: 4, value: 'account/look' },
  { weight: 2, value: 'invoice/write' },
  { weight: 1, value: 'tally/make' },
  { weight: 1, value: 'nothing/known' },
];

const STEP_WEIGHTS = (
  [
    ['put', 10],
    ['move', 16],
    ['open', 1],
    ['emit', 18],
    ['invoke', 8],
    ['undone', 4],
    ['check', 3],
    ['grant', 5],
    ['revoke', 2],
    ['place', 5],
    ['ask', 3],
    ['keep', 8],
    ['fail', 2],
    ['read', 14],
  ] as const
).map(([value, weight]) => ({ weight, value }));
