/** The sentences of operations: which are prompts, to whom, and what the words of a picked one are. */
import type { OperationDeclaration, OperationTable } from '@freehold/operations';
import { MCP_PAGE_MAX } from '@freehold/operations/mcp';
import { Hono } from 'hono';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { declare, fakeScope } from '../../test/fixtures.ts';
import { modernCall, rpcOf } from '../../test/mcp/messages.ts';
import { mountOperations } from '../mount-operations.ts';
import { findRouteFaults } from '../route-faults.ts';

const post = (path: string) => ({ method: 'POST', path }) as const;
const booking = z.string().regex(/^bkg_/, 'must be the id of a booking').describe('Which booking');

const operations: OperationTable = {
  'booking/confirm': declare({
    input: z.strictObject({ booking, seats: z.int().min(1), note: z.string().optional() }),
    output: z.null(),
    http: post('/api/confirm'),
    mcp: { title: 'Confirm', prompt: 'Confirm {booking} for {seats}: {booking} is mine.' },
  }),
  'booking/plan': declare({
    input: z.strictObject({ day: z.string(), place: z.string() }),
    output: z.null(),
    http: post('/api/plan'),
    mcp: { prompt: 'Plan a day for me.' },
  }),
  'booking/rest': declare({ input: z.strictObject({}), output: z.null(), http: post('/api/rest') }),
};

function asked(table: OperationTable = operations, may = (_operation: string) => true) {
  const app = new Hono();
  const listable = async (names: readonly string[]) => names.filter(may);
  mountOperations(app, table, () => ({ ...fakeScope(table), listable }));
  return async (method: string, params: Parameters<typeof modernCall>[1] = {}) =>
    rpcOf(await app.request('/api/mcp', modernCall(method, params)));
}

const wordsOf = ({ result }: Awaited<ReturnType<ReturnType<typeof asked>>>) =>
  z.object({ messages: z.tuple([z.object({ content: z.object({ text: z.string() }) })]) }).parse(result)
    .messages[0].content.text;

describe('D-11 the list of prompts', () => {
  test('has one for each operation with a sentence, named like its tool, with the names in braces', async () => {
    const { result } = await asked()('prompts/list');
    expect(result.prompts).toEqual([
      {
        name: 'booking_confirm',
        title: 'Confirm',
        description: 'A sample',
        arguments: [
          { name: 'booking', description: 'Which booking', required: true },
          { name: 'seats', required: true },
        ],
      },
      { name: 'booking_plan', title: 'A sample', description: 'A sample', arguments: [] },
    ]);
  });

  test('has those whose tool the caller may use, and another is answered like one that is not there', async () => {
    const ask = asked(operations, (operation) => operation !== 'booking/confirm');
    const { result } = await ask('prompts/list');
    expect(result.prompts).toMatchObject([{ name: 'booking_plan' }]);
    const got = { name: 'booking_confirm', arguments: { booking: 'bkg_1', seats: '2' } };
    const hidden = await ask('prompts/get', got);
    expect(hidden.error).toEqual({ code: -32602, message: 'There is no such prompt.' });
    expect((await ask('prompts/get', { name: 'booking_nothing' })).error).toEqual(hidden.error);
    expect((await ask('prompts/get', { name: 'booking_rest' })).error).toEqual(hidden.error);
  });

  test('comes in pages, and takes no cursor of another list', async () => {
    const names = Array.from({ length: MCP_PAGE_MAX + 1 }, (_, index) => `many/p${index}`);
    const many = Object.fromEntries(
      names.map((name) => [
        name,
        declare({
          input: z.strictObject({}),
          output: z.null(),
          http: post(`/api/${name}`),
          mcp: { prompt: 'Go.' },
        }),
      ]),
    );
    const ask = asked(many);
    const { result: first } = await ask('prompts/list');
    expect(first.prompts).toHaveLength(MCP_PAGE_MAX);
    const cursor = z.string().parse(first.nextCursor);
    const { result: rest } = await ask('prompts/list', { cursor });
    expect(rest.prompts).toMatchObject([{ name: `many_p${MCP_PAGE_MAX}` }]);
    expect(rest).not.toHaveProperty('nextCursor');
    const { result: tools } = await ask('tools/list');
    const foreign = { cursor: z.string().parse(tools.nextCursor) };
    expect((await ask('prompts/list', foreign)).error).toMatchObject({ code: -32602 });
  });

  test('is not announced and not there where no operation has a sentence', async () => {
    const ask = asked({ 'booking/rest': operations['booking/rest'] as OperationDeclaration });
    expect((await ask('server/discover')).result.capabilities).toEqual({ tools: { listChanged: false } });
    expect((await ask('prompts/list')).error).toMatchObject({ code: -32601 });
    expect((await asked()('server/discover')).result.capabilities).toMatchObject({
      prompts: { listChanged: false },
    });
  });
});

describe('D-11 a prompt that a person picked', () => {
  test('is their words, then the tool with typed arguments', async () => {
    const given = { booking: 'bkg_$&{seats}', seats: '2' };
    expect(wordsOf(await asked()('prompts/get', { name: 'booking_confirm', arguments: given }))).toBe(
      'Confirm bkg_$&{seats} for 2: bkg_$&{seats} is mine.\n\nThe tool for this is booking_confirm, ' +
        'with these arguments: {"booking":"bkg_$&{seats}","seats":2}.',
    );
  });

  test('says what the tool needs beyond it', async () => {
    expect(wordsOf(await asked()('prompts/get', { name: 'booking_plan' }))).toBe(
      'Plan a day for me.\n\nThe tool for this is booking_plan. It also needs: day, place.',
    );
  });

  test.each([
    [{ booking: 'bkg_1' }, 'The argument seats is missing.'],
    [{ booking: '', seats: '2' }, 'The argument booking is missing.'],
    [{ booking: 'bkg_1', seats: '2', note: 'x' }, 'The prompt takes no argument note.'],
    [{ booking: 'bkg_1', seats: 'two' }, 'The prompt is not valid. seats: must be a whole number.'],
    [{ booking: 'bkg_1', seats: '0' }, 'The argument seats must be at least 1.'],
    [{ booking: 'x', seats: '2' }, 'The argument booking must be the id of a booking.'],
  ])('with %j is refused: %s', async (given, message) => {
    const { error } = await asked()('prompts/get', { name: 'booking_confirm', arguments: given });
    expect(error).toEqual({ code: -32602, message });
  });
});

describe('a sentence that is no prompt is a mistake of the declaration', () => {
  const faultsOf = (prompt: string, http: object = { http: post('/api/x') }) =>
    findRouteFaults(
      'booking/x',
      declare({
        input: z.strictObject({
          booking,
          lines: z.array(z.strictObject({ n: z.int() })),
          note: z.string().optional(),
        }),
        output: z.null(),
        mcp: { prompt },
        ...http,
      }),
    );

  test.each([
    ['Do {bookin}.', /names \{bookin\}, and the input has no field bookin/],
    ['Do {}.', /names \{\}, and the input has no field/],
    ['Do {note}.', /the input can do without note/],
    ['Do {lines}.', /lines is an object, which is no text/],
  ])('%s', (prompt, message) => {
    expect(faultsOf(prompt)).toEqual([
      expect.objectContaining({
        path: ['mcp', 'prompt'],
        code: 'operation_prompt',
        message: expect.stringMatching(message),
      }),
    ]);
  });

  test('and so is one of an operation that is no tool', () => {
    expect(faultsOf('Do {booking}.', {})).toMatchObject([{ code: 'operation_prompt', message: /http/ }]);
    expect(faultsOf('Do {booking} } or {.')).toEqual([]);
    expect(faultsOf('Do {booking}.')).toEqual([]);
  });
});
