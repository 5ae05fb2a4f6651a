/** The fields of forms, from schemas of inputs. */

import { expect, test } from 'vitest';
import { z } from 'zod';
import { day, idSchema, lineOfText, minutes, money, noteText, timeOfDay } from '../../src/index.ts';
import { fieldModels, inWords } from '../../src/record-pages/field-models.ts';

const keeperId = idSchema('kpr');
const targets = new Map([[String(z.toJSONSchema(keeperId).pattern), 'keeper']]);
const models = (schema: z.ZodType) => fieldModels(z.toJSONSchema(schema, { io: 'input' }) as never, targets);
const one = (schema: z.ZodType) => models(z.strictObject({ it: schema }))[0];

test.each([
  ['a line', lineOfText(120), { kind: 'line', required: true, lengthMax: 120 }],
  ['a note', noteText(2_000), { kind: 'text', lengthMax: 2_000 }],
  ['money', money('EUR'), { kind: 'money', currency: 'EUR', min: 0, max: 1e12 }],
  ['minutes', minutes(), { kind: 'minutes', min: 0 }],
  ['a day', day(), { kind: 'day' }],
  ['a time of day', timeOfDay(), { kind: 'time' }],
  ['a moment', z.iso.datetime(), { kind: 'moment' }],
  ['an address', z.email(), { kind: 'email' }],
  ['a whole number', z.int(), { kind: 'integer' }],
  ['a number with bounds', z.number().min(-1).max(2.5), { kind: 'number', min: -1, max: 2.5 }],
  ['a yes or no', z.boolean().default(false), { kind: 'boolean', required: false, default: false }],
  [
    'one of a list',
    z.enum(['in_work', 'done']),
    {
      kind: 'choice',
      options: [
        { value: 'in_work', label: 'In work' },
        { value: 'done', label: 'Done' },
      ],
    },
  ],
  [
    'some of a list',
    z.array(z.enum(['a', 'b'])),
    {
      kind: 'choices',
      options: [
        { value: 'a', label: 'A' },
        { value: 'b', label: 'B' },
      ],
    },
  ],
  [
    'one of a list with names',
    z.enum(['in_work', 'done']).meta({ labels: { in_work: 'In Arbeit' } }),
    {
      options: [
        { value: 'in_work', label: 'In Arbeit' },
        { value: 'done', label: 'Done' },
      ],
    },
  ],
  ['a record', keeperId, { kind: 'relation', target: 'keeper' }],
  ['the id of no known type', idSchema('xyz'), { kind: 'line' }],
  ['an object', z.object({ a: z.string() }), { kind: 'json' }],
  ['text or a number', z.union([z.string(), z.number()]), { kind: 'json' }],
  ['what can be null', day().nullable(), { kind: 'day', nullable: true, required: true }],
  ['what can be left out', day().optional(), { kind: 'day', nullable: false, required: false }],
  [
    'a title of its own',
    day().meta({ title: 'Born on', description: 'As in the passport' }),
    { label: 'Born on', hint: 'As in the passport' },
  ],
])('%s', (_name, schema, model) => {
  expect(one(schema)).toMatchObject(model);
});

test('a field that only some inputs of a union have is optional', () => {
  const schema = z.union([
    z.strictObject({ way: z.literal('mail'), address: z.email() }),
    z.strictObject({ way: z.literal('call'), phone: z.string() }),
  ]);
  expect(models(schema).map(({ name, required }) => [name, required])).toEqual([
    ['way', true],
    ['address', false],
    ['phone', false],
  ]);
});

test.each([
  ['firstDay', 'First day'],
  ['work-order', 'Work order'],
  ['in_work', 'In work'],
  ['b2bPrice', 'B2b price'],
])('%s is %s in words', (name, words) => {
  expect(inWords(name)).toBe(words);
});
