/** Both MCP endpoints read the same of a request: its message, and the conditions of a call. */

import { PlatformError } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { readMcpMessage } from './message.ts';
import { MCP_META, readCallMeta } from './meta.ts';

const refusing = (reason: string) => async () => {
  throw new PlatformError('validation_failed', 'The body is not valid.', { reason });
};

describe('D-11 the message of a request', () => {
  test('is what was read', async () => {
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    expect(await readMcpMessage(async () => message)).toBe(message);
  });

  test.each([
    ['body_not_json', -32700],
    ['body_not_utf8', -32700],
    ['body_incomplete', -32700],
    ['body_not_object', -32600],
    ['body_too_deep', -32600],
  ])('that is none (%s) is answered as %i, without an id', async (reason, code) => {
    const response = (await readMcpMessage(refusing(reason))) as Response;
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ jsonrpc: '2.0', id: null, error: { code } });
  });

  test.each([
    [7, 7],
    ['a', 'a'],
    [{ not: 'an id' }, null],
    [undefined, null],
  ])('that asks to be kept on the line (%j) is told that there is no such method', async (id, answered) => {
    const asked = readMcpMessage(async () => ({ method: 'subscriptions/listen', id }));
    const response = (await asked) as Response;
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ id: answered, error: { code: -32601 } });
  });

  test('whose refusal is not about its form goes on to the handler', async () => {
    const tooLarge = new PlatformError('payload_too_large', 'It is too large.');
    await expect(readMcpMessage(() => Promise.reject(tooLarge))).rejects.toBe(tooLarge);
    const bug = new TypeError('a bug');
    await expect(readMcpMessage(() => Promise.reject(bug))).rejects.toBe(bug);
  });
});

describe('the conditions of a call', () => {
  test('are its key, in either spelling, and the version it has seen', () => {
    expect(readCallMeta(undefined)).toEqual({});
    expect(
      readCallMeta({ [MCP_META.idempotencyKey]: '"k-1"', [MCP_META.ifMatch]: 'evt_1', other: 1 }),
    ).toEqual({ idempotencyKey: 'k-1', ifMatch: 'evt_1' });
    expect(readCallMeta({ [MCP_META.ifMatch]: '*' })).toEqual({ ifMatch: '*' });
  });

  test.each([
    [MCP_META.idempotencyKey, 7],
    [MCP_META.idempotencyKey, ''],
    [MCP_META.idempotencyKey, 'a b'],
    [MCP_META.idempotencyKey, null],
    [MCP_META.ifMatch, '"1"'],
    [MCP_META.ifMatch, ''],
    [MCP_META.ifMatch, 1],
    [MCP_META.ifMatch, 'x'.repeat(256)],
  ])('that are malformed (%s: %j) are refused, never dropped', (member, value) => {
    expect(() => readCallMeta({ [member]: value })).toThrow(
      expect.objectContaining({
        code: 'validation_failed',
        errors: [expect.objectContaining({ path: member })],
      }),
    );
  });
});
