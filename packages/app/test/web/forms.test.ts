/** A form sends what was changed, and keeps it when another person was faster. */
import { expect, test } from 'vitest';
import type { DeclaredField } from '../../src/wire/declared.ts';
import { faultsOf, judge, judgeChange, overtakenFields, rebased, valuesOf } from '../../web/lib/forms.ts';
import { en } from '../../web/texts/en.ts';

const spoken = { locale: 'en', t: en };
const field = (name: string, kind: DeclaredField['kind'], required = false): DeclaredField => ({
  name,
  label: name,
  kind,
  required,
  nullable: !required,
});
const FIELDS = [
  field('name', 'line', true),
  field('fee', 'integer'),
  field('keeper', 'relation'),
  field('notes', 'text'),
];
const record = { name: 'Tom', fee: 7, keeper: { id: 'kpr_1', name: 'Grace' }, notes: null };
const before = valuesOf(FIELDS, record, spoken);

test('a new record has the values that were typed, and leaves out the others', () => {
  const values = { ...valuesOf(FIELDS, null, spoken), name: ' Tom ', keeper: { id: 'kpr_1', name: 'Grace' } };
  expect(judge(FIELDS, values, spoken)).toEqual({ input: { name: 'Tom', keeper: 'kpr_1' }, faults: {} });
});

test('every fault is found at once', () => {
  const { faults } = judge(FIELDS, { ...before, name: ' ', fee: 'much' }, spoken);
  expect(faults).toEqual({ name: en.faults.needed, fee: en.faults.number });
});

test('a change has what differs alone, and null for what was emptied', () => {
  const values = { ...before, fee: '', keeper: { id: 'kpr_1', name: null }, notes: 'shy' };
  expect(judgeChange(FIELDS, { before, values }, spoken)).toEqual({
    input: { fee: null, notes: 'shy' },
    faults: {},
  });
  expect(judgeChange(FIELDS, { before, values: before }, spoken).input).toEqual({});
});

test('where another person was faster, what was typed stays, and their other changes come in', () => {
  const values = { ...before, fee: '9' };
  const now = { ...before, fee: '8', notes: 'bites' };
  const overtaken = overtakenFields(FIELDS, { before, values, now });
  expect(overtaken.map((each) => [each.field.name, each.theirs, each.isContested])).toEqual([
    ['fee', '8', true],
    ['notes', 'bites', false],
  ]);
  const next = rebased({ before, values, now });
  expect(next).toMatchObject({ fee: '9', notes: 'bites' });
  expect(judgeChange(FIELDS, { before: now, values: next }, spoken).input).toEqual({ fee: 9 });
});

test('the same change of both is no contest', () => {
  const both = { ...before, fee: '8' };
  expect(overtakenFields(FIELDS, { before, values: both, now: both })).toMatchObject([
    { isContested: false },
  ]);
});

test('a refusal stands at its field, also where it is about a part of it', () => {
  const errors = [
    { path: 'keeper', message: 'there is no such keeper' },
    { path: 'notes.0', message: 'is too long' },
    { path: 'other', message: 'is unknown' },
  ];
  expect(faultsOf(errors, FIELDS)).toEqual({ keeper: 'there is no such keeper', notes: 'is too long' });
});
