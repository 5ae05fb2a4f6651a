/** The answers of a bound vertical, and their limits. */
import { PlatformError, problemDocument, scopeRef, type VerticalScopeHost } from '@freehold/contracts';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { refusal } from '../../test/platform.ts';
import { askScope, askVertical } from './client.ts';

const SCOPE = scopeRef.parse({
  tenantId: 'tnt_01jd0000000000000000000001',
  scopeId: 'scp_01jd0000000000000000000001',
});
const never = () => new AbortController().signal;

const ask = (fetch: (request: Request) => Promise<Response>, deadline = never) =>
  askVertical(
    { fetch, platformSecret: 'secret' },
    { path: 'health', scope: SCOPE, answer: z.object({ ok: z.boolean() }) },
    deadline,
  );

test('spec 5.6: the platform secret travels in its header, and unknown fields of the answer are dropped', async () => {
  let seen: Request | undefined;
  const answer = await ask(async (request) => {
    seen = request;
    return Response.json({ ok: true, extra: 1 });
  });
  expect(answer).toEqual({ ok: true });
  expect(seen?.headers.get('x-platform-secret')).toBe('secret');
  expect(seen?.redirect).toBe('manual');
});

test('spec C-12: a refusal goes on as it is: its status, its reason, the errors of its fields, and when to try again', async () => {
  const errors = [{ path: 'claim', message: 'is made once a minute' }];
  const told = ask(async () => {
    const document = problemDocument(
      new PlatformError('rate_limited', 'Slow down.', { reason: 'busy', errors }),
    );
    document.headers.set('retry-after', '7');
    document.headers.set('set-cookie', 'a=b');
    return document;
  });
  await expect(told).rejects.toMatchObject({
    ...{ status: 429, code: 'rate_limited', reason: 'busy', message: 'Slow down.', errors },
    headers: { 'retry-after': '7' },
  });
});

test.each([
  ['never answers', () => new Promise<Response>(() => undefined)],
  ['stops in the middle of its answer', async () => new Response(new ReadableStream())],
])('a vertical that %s is given up on, also when it ignores the signal', async (_, fetch) => {
  const controller = new AbortController();
  const asked = ask(fetch, () => controller.signal);
  controller.abort(new Error('time is up'));
  expect(await refusal(asked)).toMatchObject({ status: 502, reason: 'vertical_timeout' });
});

test('an answer that never ends is cut off', async () => {
  let sent = 0;
  const endless = new ReadableStream({
    pull: (controller) => {
      sent += 1;
      controller.enqueue(new Uint8Array(1024 * 1024).fill(32));
    },
  });
  expect(await refusal(ask(async () => new Response(endless)))).toMatchObject({
    status: 502,
    reason: 'vertical_answer',
  });
  expect(sent).toBeLessThan(32);
});

test('an answer that breaks off is a fault of the vertical', async () => {
  const broken = new ReadableStream({
    start: (controller) => {
      controller.enqueue(new TextEncoder().encode('{"ok":'));
      controller.error(new Error('connection reset'));
    },
  });
  expect(await refusal(ask(async () => new Response(broken)))).toMatchObject({
    status: 502,
    reason: 'vertical_answer',
  });
});

test('the answer of a co-located host is judged like that of a worker', async () => {
  const [tenant, id] = [SCOPE.tenantId, SCOPE.scopeId];
  const gateway = { bound: () => null, local: () => ({}) as VerticalScopeHost };
  const askHost = (answer: unknown) =>
    askScope(
      { gateway, deadline: never },
      { tenant, id, vertical: 'fieldwork' },
      { path: 'connector-grant', answer: z.object({ ok: z.boolean() }), local: async () => answer },
    );
  expect(await askHost({ ok: true, extra: 1 })).toEqual({ ok: true });
  expect(await refusal(askHost({ ok: 'yes' }))).toMatchObject({
    ...{ status: 502, code: 'runtime_fault', reason: 'vertical_answer' },
  });
});
