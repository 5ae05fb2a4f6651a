/**
 * A vertical for the official conformance suite: the suite calls its tools by name, and each of them is an operation
 * here. What the suite wants of a tool and no operation can do is in the baselines beside this file, each with its reason.
 */
import { type InvokeResult, PlatformError, pageOf, pageQuery } from '@freehold/contracts';
import type { OperationTable } from '@freehold/operations';
import { contentBlocks, type WaitingQuestions } from '@freehold/operations/mcp';
import { Hono } from 'hono';
import { z } from 'zod';
import type { ListingStub } from '../../../src/mcp/mcp-endpoint.ts';
import { mountOperations } from '../../../src/mount-operations.ts';
import { declare } from '../../fixtures.ts';

/** One red point. */
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
/** A sound file without a sample. */
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=';

const NOTES = [{ id: '1', title: 'A note' }];

const text = (words: string) => ({ type: 'text', text: words });
const image = { type: 'image', data: PNG, mimeType: 'image/png' };

/** Operation → what it answers. */
const ANSWERS: Readonly<Record<string, () => unknown>> = {
  'test/simple/text': () => [text('This is a simple text response for testing.')],
  'test/image/content': () => [image],
  'test/audio/content': () => [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }],
  'test/embedded/resource': () => [
    {
      type: 'resource',
      resource: {
        uri: 'test://embedded-resource',
        mimeType: 'text/plain',
        text: 'This is an embedded resource content.',
      },
    },
  ],
  'test/multiple/content/types': () => [
    text('Multiple content types test:'),
    image,
    {
      type: 'resource',
      resource: {
        uri: 'test://mixed-content-resource',
        mimeType: 'application/json',
        text: '{"test":"data","value":123}',
      },
    },
  ],
  'test/error/handling': () => {
    throw new PlatformError('conflict', 'This tool intentionally returns an error for testing.');
  },
  'note/list': () => ({ items: NOTES, nextCursor: null }),
  'note/get': () => NOTES[0],
  'test/elicitation': () => [text('The person agreed.')],
  // The suite watches what else comes down the stream of these, and nothing may.
  'test/streaming/elicitation': () => [text('An operation asks nothing back.')],
  'test/logging/tool': () => [text('An operation logs nothing to its caller.')],
  'test/trigger/tool/change': () => [text('The list of tools stays as it is.')],
};

const address = z
  .object({ street: z.string().optional(), city: z.string().optional() })
  .meta({ id: 'address', $anchor: 'addressDef' });

/** Every form of JSON Schema 2020-12 must reach the client as it was declared. */
const everyKeyword = z
  .strictObject({
    name: z.string().optional(),
    address: address.optional(),
    contactMethod: z.enum(['phone', 'email']).optional(),
    phone: z.string().optional(),
    email: z.string().optional(),
  })
  .meta({
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    else: { required: ['email'] },
    // Written as data, because an object with a member of this name passes for a promise.
    ...Object.fromEntries([['then', { required: ['phone'] }]]),
  });

const note = z.object({ id: z.string(), title: z.string() });

/** The suite lists what there is; the addresses that it reads by itself belong to no record. */
const noteOperations: OperationTable = {
  'note/list': declare({
    input: z.strictObject(pageQuery),
    output: pageOf(note),
    http: { method: 'GET', path: '/api/notes' },
  }),
  'note/get': declare({
    input: z.strictObject({ note: z.string() }),
    output: note,
    http: { method: 'GET', path: '/api/notes/:note' },
  }),
};

/** The prompts that the suite picks by name. Each is the sentence of an operation. */
const promptOperations: OperationTable = {
  'test/simple/prompt': declare({
    input: z.strictObject({}),
    output: z.null(),
    http: { method: 'POST', path: '/api/test/simple/prompt' },
    mcp: { prompt: 'This is a simple prompt for testing.' },
  }),
  'test/prompt/with/arguments': declare({
    input: z.strictObject({ arg1: z.string(), arg2: z.string() }),
    output: z.null(),
    http: { method: 'POST', path: '/api/test/prompt/with/arguments' },
    mcp: { prompt: "Prompt with arguments: arg1='{arg1}', arg2='{arg2}'" },
  }),
};

const diagnosticOperations: OperationTable = {
  ...Object.fromEntries(
    Object.keys(ANSWERS).map((name) => [
      name,
      declare({
        input: z.strictObject({}),
        output: contentBlocks,
        http: { method: 'POST', path: `/api/${name}` },
      }),
    ]),
  ),
  'test/elicitation': declare({
    input: z.strictObject({ message: z.string() }),
    output: contentBlocks,
    http: { method: 'POST', path: '/api/test/elicitation' },
    mcp: { destructive: true },
  }),
  ...noteOperations,
  ...promptOperations,
  json_schema_2020_12_tool: declare({
    input: everyKeyword,
    output: z.null(),
    http: { method: 'POST', path: '/api/json-schema' },
  }),
};

/** The vertical behind the mount of production: only its scope is made up. */
export function diagnosticVertical(questions: WaitingQuestions): Hono {
  const app = new Hono();
  const stub: ListingStub = {
    questions,
    invoke: async ({ operation }): Promise<InvokeResult> => ({
      output: ANSWERS[operation]?.(),
      invocation: null,
      version: null,
      replayed: false,
    }),
  };
  const records = [{ type: 'note', parameter: 'note', readId: (id: string) => id, titleField: 'title' }];
  mountOperations(app, diagnosticOperations, () => stub, { mcp: { records } });
  return app;
}
