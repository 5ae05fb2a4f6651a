/** What changes wait for, while the witness outside works and while it does not. */
import { expect, test } from 'vitest';
import type { LogHead } from '../declarations/records.ts';
import { makeAnchoring } from './anchor.ts';

const headAt = (sequence: number): LogHead => ({ sequence, hash: `hash ${sequence}` });

/** An anchor that answers when the test says so. Each offer stays open until then. */
function open({ kept = null as LogHead | null, hashAt = (sequence: number) => `hash ${sequence}` } = {}) {
  const witness = { kept };
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
      read: async () => witness.kept,
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

/** Lets everything happen that waits for nothing but its turn. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
const unreachable = () => new Error('the anchor is out of reach');

test('spec C-30: a change waits for an anchor that works, until a head that covers it was taken', async () => {
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

test('spec C-30: after an offer that failed nobody waits, the newest head is offered behind them, and one incident says so', async () => {
  const { incidents, offers, acknowledged, change, sequencesOffered } = open();
  await change(1);
  await change(2);
  await offers[0]?.end(unreachable());
  // Also who came meanwhile is let go.
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

test('spec C-30: once an offer behind the changes was taken, they wait again', async () => {
  const { incidents, offers, acknowledged, change } = open();
  await change(1);
  await offers[0]?.end(unreachable());
  await change(2);
  await offers[1]?.end();
  await change(3);
  expect(acknowledged).toEqual([1, 2]);
  await offers[2]?.end();
  expect(acknowledged).toEqual([1, 2, 3]);
  // What fails from here on is another outage.
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

test('an offer behind the changes that never ends does not hold up those who come 30 s later', async () => {
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
  // One that ends after all takes nothing back.
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

test('spec C-30: a log that lost its anchored row is no outage: each change says so, and the evidence stays', async () => {
  const { incidents, acknowledged, change, sequencesOffered } = open({
    kept: headAt(9),
    hashAt: () => 'another',
  });
  await change(1);
  await change(2);
  expect(acknowledged).toEqual([1, 2]);
  expect(incidents).toHaveLength(2);
  expect(sequencesOffered()).toEqual([]);
});

test('an anchor that the operator put aside is made anew by the next change', async () => {
  const { witness, incidents, change, sequencesOffered } = open({
    kept: headAt(9),
    hashAt: (sequence) => (sequence === 9 ? 'another' : `hash ${sequence}`),
  });
  await change(10);
  expect([incidents.length, sequencesOffered()]).toEqual([1, []]);
  witness.kept = null;
  await change(11);
  expect([incidents.length, sequencesOffered()]).toEqual([1, [11]]);
});
