/** Servers that do not stream are read as if they did; everything else is left as it came. */
import { expect, test } from 'vitest';
import { takingWholeAnswers } from './whole-answers.ts';

const ASK = { method: 'POST', body: JSON.stringify({ stream: true }) };
const answer = {
  id: 'c',
  choices: [{ index: 0, message: { content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1 },
};

const through = (body: string, { type = 'application/json', status = 200, init = ASK as RequestInit } = {}) =>
  takingWholeAnswers(async () => new Response(body, { status, headers: { 'content-type': type } }))(
    'http://x/',
    init,
  );

test('a whole answer is a stream of one piece, with its usage', async () => {
  const response = await through(JSON.stringify(answer));
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  const events = (await response.text()).split('\n\n').filter(Boolean);
  expect(events.pop()).toBe('data: [DONE]');
  expect(events.map((event) => JSON.parse(event.slice('data: '.length)))).toMatchObject([
    { id: 'c', choices: [{ delta: { content: 'Hi' }, finish_reason: null }] },
    { choices: [{ delta: {}, finish_reason: 'stop' }] },
    { choices: [], usage: { prompt_tokens: 1 } },
  ]);
});

test.each([
  ['a stream', 'data: x\n\n', { type: 'text/event-stream' }],
  ['a refusal', '{"error":{}}', { status: 400 }],
  ['what was not asked for as a stream', JSON.stringify(answer), { init: { method: 'POST', body: '{}' } }],
  ['what was asked without a body', JSON.stringify(answer), { init: {} }],
  ['JSON of something else', '{"ok":true}', {}],
  ['what is no JSON', '{"choices":[', {}],
])('%s is left as it is', async (_what, body, options) => {
  expect(await (await through(body, options)).text()).toBe(body);
});
