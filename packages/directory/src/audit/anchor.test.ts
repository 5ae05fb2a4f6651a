/** Changes wait for an anchor that works, and not for one that fails. */
import { expect, test } from 'vitest';
import type { LogHead } from '../declarations/records.ts';
import { makeAnchoring } from './anchor.ts';

const headAt = (sequence: number): LogHead => ({ sequence, hash: `hash ${sequence}` });

/** An anchor that answers when the test says so. Each offer stays open until then. */
function open({
  witnessed = null as LogHead | null,
  hashAt = (sequence: number) => `hash ${sequence}`,
} = {}) {
  const witness = { witnessed };
  const clock = { ms: 1_000_000 };
  const incidents: unknown[] = [];
  const offers: { readonly head: LogHead; end(error?: Error): Promise<void> }[] = [];
  const publish = makeAnchoring({
    anchor: {
      publish: (head) =>
        new Promise<void>((resolve, reject) => {
          const end = async (error?: Error) => {
            error ? reject(error) : resolve();
            await settled();
          };
          offers.push({ head, end });
        }),
      read: async () => witness.witnessed,
    },
    hashAt: async (sequence) => hashAt(sequence),
    onIncident: (error) => incidents.push(error),
    now: () => clock.ms,
  });
  const acknowledged: number[] = [];
  /** A change that commits this row. */
  const change = async (sequence: number): Promise<void> => {
    void publish(headAt(sequence)).then(() => acknowledged.push(sequence));
    await settled();
  };
  const sequencesOffered = () => offers.map(({ head }) => head.sequence);
  return { witness, clock, incidents, offers, acknowledged, change, sequencesOffered };
}

/** Lets all microtasks and immediate callbacks run. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
const unreachable = () => new Error('the anchor is out of reach');

test('spec C-30: a change waits for an anchor that works, until it has taken a head that covers the change', async () => {
  const { offers, acknowledged, change, sequencesOffered } = open();
  await change(1);
  await change(2);
  await change(3);
  expect(acknowledged).toEqual([]);
  await offers[0]?.end();
  expect(acknowledged).toEqual([1]);
  expect(sequencesOffered()).toEqual([1, 3]);
  await offers[1]?.end();
  expect(acknowledged).toEqual([1, 2, 3]);
});

test('spec C-30: after a failed offer no change waits, the newest head is offered in the background, and one incident is reported', async () => {
  const { incidents, offers, acknowledged, change, sequencesOffered } = open();
  await change(1);
  await change(2);
  await offers[0]?.end(unreachable());
  // Changes that came meanwhile are acknowledged too.
  expect(acknowledged).toEqual([1, 2]);
  for (const sequence of [3, 4, 5]) await change(sequence);
  expect(acknowledged).toEqual([1, 2, 3, 4, 5]);
  // One at a time, however many changes there are.
  expect(sequencesOffered()).toEqual([1, 2]);
  await offers[1]?.end(unreachable());
  expect(sequencesOffered()).toEqual([1, 2, 5]);
  await offers[2]?.end(unreachable());
  expect(sequencesOffered()).toEqual([1, 2, 5]);
  expect(incidents).toHaveLength(1);
});

test('spec C-30: once an offer in the background was taken, changes wait again', async () => {
  const { incidents, offers, acknowledged, change } = open();
  await change(1);
  await offers[0]?.end(unreachable());
  await change(2);
  await offers[1]?.end();
  await change(3);
  expect(acknowledged).toEqual([1, 2]);
  await offers[2]?.end();
  expect(acknowledged).toEqual([1, 2, 3]);
  // A failure from here on is another outage.
  await change(4);
  await offers[3]?.end(unreachable());
  expect(incidents).toHaveLength(2);
});

test('spec C-30: 30 s after the last failure a change waits again, also for an offer that began before', async () => {
  const { clock, incidents, offers, acknowledged, change, sequencesOffered } = open();
  await change(1);
  await offers[0]?.end(unreachable());
  clock.ms += 29_999;
  await change(2);
  expect(acknowledged).toEqual([1, 2]);
  clock.ms += 1;
  await change(3);
  expect(acknowledged).toEqual([1, 2]);
  await offers[1]?.end();
  expect(acknowledged).toEqual([1, 2]);
  await offers[2]?.end();
  expect(acknowledged).toEqual([1, 2, 3]);
  expect(sequencesOffered()).toEqual([1, 2, 3]);
  expect(incidents).toHaveLength(1);
});

test('a background offer that never ends does not hold up changes 30 s later', async () => {
  const { clock, offers, acknowledged, change, sequencesOffered } = open();
  await change(1);
  await offers[0]?.end(unreachable());
  await change(2);
  clock.ms += 30_000;
  await change(3);
  expect(acknowledged).toEqual([1, 2]);
  expect(sequencesOffered()).toEqual([1, 2, 3]);
  await offers[2]?.end();
  expect(acknowledged).toEqual([1, 2, 3]);
  // An offer that ends after all takes nothing back.
  await offers[1]?.end();
  await change(4);
  expect(sequencesOffered()).toEqual([1, 2, 3, 4]);
  await offers[3]?.end();
  expect(acknowledged).toEqual([1, 2, 3, 4]);
});

test('a clock that was ahead when the anchor failed does not keep changes from waiting', async () => {
  const { clock, offers, acknowledged, change } = open();
  clock.ms += 86_400_000;
  await change(1);
  await offers[0]?.end(unreachable());
  clock.ms -= 86_400_000;
  await change(2);
  expect(acknowledged).toEqual([1]);
  await offers[1]?.end();
  expect(acknowledged).toEqual([1, 2]);
});

test('spec C-30: a log that lost its anchored row is no outage: each change reports it, and the evidence stays', async () => {
  const { incidents, acknowledged, change, sequencesOffered } = open({
    witnessed: headAt(9),
    hashAt: () => 'another',
  });
  await change(1);
  await change(2);
  expect(acknowledged).toEqual([1, 2]);
  expect(incidents).toHaveLength(2);
  expect(sequencesOffered()).toEqual([]);
});

test('an anchor that the operator removed is written anew by the next change', async () => {
  const { witness, incidents, change, sequencesOffered } = open({
    witnessed: headAt(9),
    hashAt: (sequence) => (sequence === 9 ? 'another' : `hash ${sequence}`),
  });
  await change(10);
  expect([incidents.length, sequencesOffered()]).toEqual([1, []]);
  witness.witnessed = null;
  await change(11);
  expect([incidents.length, sequencesOffered()]).toEqual([1, [11]]);
});
