import { fieldwork } from '@freehold/fieldwork';
import { makeScopeUnit, type ScopeUnit } from '@freehold/kernel';
import { expect, test } from 'vitest';
import { buildOf } from './deliveries.ts';

const unit = makeScopeUnit(fieldwork.vertical);

/** The same vertical with another declaration, which need not run. */
const declaring = (part: object): Pick<ScopeUnit, 'vertical' | 'migrations'> => ({
  migrations: unit.migrations,
  vertical: { ...unit.vertical, ...part } as ScopeUnit['vertical'],
});

test('the same vertical is the same build in every process', () => {
  expect(buildOf(declaring({}))).toBe(buildOf(unit));
});

test.each([
  ['another schedule', buildOf(declaring({ schedules: { noon: { cron: '0 12 * * *' } } }))],
  ['another listener', buildOf(declaring({ subscriptions: { ears: { on: ['bell.rung'] } } }))],
  ['another migration', buildOf({ vertical: unit.vertical, migrations: [] })],
  ['another version of what the kernel does by itself', buildOf(unit, 'another')],
])('%s is another build', (_, build) => {
  expect(build).not.toBe(buildOf(unit));
});
