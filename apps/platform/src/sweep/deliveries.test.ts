import { defineFieldwork } from '@freehold/fieldwork';
import type { ScopeHost } from '@freehold/kernel';
import { expect, test } from 'vitest';
import type { FleetScope } from '../fleet.ts';
import { makeDeliveries } from './deliveries.ts';

const vertical = defineFieldwork({ removeFile: async () => undefined });

/** A fleet of scopes that do nothing but count how often somebody looked. */
function open(scopes: () => readonly FleetScope[], settled = 0) {
  const looks: string[] = [];
  const worked: string[] = [];
  const incidents: unknown[] = [];
  const scope = (scopeId: string) => ({
    work: async () => {
      looks.push(scopeId);
      return { settled, claimed: [], nextAtMs: null };
    },
  });
  const deliveries = makeDeliveries({
    verticals: new Map([
      ['fieldwork', { vertical, host: { scope, attachments: {} } as unknown as ScopeHost }],
    ]),
    fleet: {
      scopes: async function* list() {
        yield* scopes();
      },
    },
    now: () => 0,
    onIncident: (error) => incidents.push(error),
    onWorked: (slug, scopeId) => worked.push(`${slug} ${scopeId}`),
  });
  return { deliveries, looks, incidents, worked };
}

const each = (scope: string, serving = true, vertical = 'fieldwork'): FleetScope => ({
  tenant: 'tnt_a',
  scope,
  vertical,
  serving,
});

test('a start looks into every scope that serves, and into no other', async () => {
  const { deliveries, looks } = open(() => [
    each('a'),
    each('b', false),
    each('c', true, 'other'),
    each('d'),
  ]);
  await deliveries.resume();
  await deliveries.stop();
  expect(looks).toEqual(['a', 'd']);
});

test('a scope that is suspended does nothing until it is let in again', async () => {
  let serving = true;
  const { deliveries, looks, incidents } = open(() => [each('a', serving)]);
  await deliveries.resume();
  serving = false;
  await deliveries.resume();
  deliveries.wake('fieldwork', 'a');
  await deliveries.resume();
  expect(looks).toEqual(['a']);
  serving = true;
  await deliveries.resume();
  await deliveries.stop();
  expect(looks).toEqual(['a', 'a']);
  expect(incidents).toEqual([]);
});

test('a scope that the last look did not know yet works at once', async () => {
  const { deliveries, looks } = open(() => []);
  await deliveries.resume();
  deliveries.wake('fieldwork', 'new');
  deliveries.wake('unheard-of', 'x');
  await deliveries.stop();
  expect(looks).toEqual(['new']);
});

test('a fleet that cannot be read is an incident, and the next look is tried', async () => {
  let broken = true;
  const { deliveries, looks, incidents } = open(() => {
    if (broken) throw new Error('the directory is away');
    return [each('a')];
  });
  await deliveries.resume();
  broken = false;
  await deliveries.resume();
  await deliveries.stop();
  expect([incidents.length, looks]).toEqual([1, ['a']]);
});

test('after the stop nothing begins', async () => {
  const { deliveries, looks } = open(() => [each('a')]);
  await deliveries.stop();
  await deliveries.resume();
  deliveries.wake('fieldwork', 'a');
  expect(looks).toEqual([]);
});

test.each([
  [1, ['fieldwork a']],
  [0, []],
])('a round in which %i things were done is told', async (settled, told) => {
  const { deliveries, worked } = open(() => [each('a')], settled);
  await deliveries.resume();
  await deliveries.stop();
  expect(worked).toEqual(told);
});
