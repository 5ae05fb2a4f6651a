/**
 * The summary of an order for its customer, written by a language model. It is a route and no operation because a model
 * takes its time: the story is read by one invocation, and what the answer took is written down by another.
 */

import {
  type AppContext,
  type AppEnv,
  type AppTools,
  inPlainWords,
  isForOperator,
  mountRoutes,
} from '@freehold/app';
import { PlatformError, publicError, toProblem } from '@freehold/contracts';
import type { DescribedRoute } from '@freehold/vertical-host';
import type { ModelTextStream } from '@freehold/vertical-host/model';
import type { Hono } from 'hono';
import { z } from 'zod';
import { APP_LANGUAGE } from '../lib/languages.ts';
import { promptFor, systemFor } from './prompt.ts';
import {
  type OrderStory,
  orderStory,
  type SummaryMessage,
  type SummaryOffer,
  summaryBody,
  summaryOffer,
  summaryResponse,
} from './schema.ts';

/** Six sentences, and what a model may think before it writes them. */
const OUTPUT_TOKENS_MAX = 1_500;
/** The operation in a usage line. */
const OPERATION = 'order/summarise';
const EVENT_STREAM = 'text/event-stream';

/** The routes, for the API's document. */
export const summaryRoutes: readonly DescribedRoute[] = [
  {
    name: 'summary/offer',
    method: 'GET',
    path: '/api/orders/:order/summary',
    summary: 'Say whether a summary can be written',
    answer: summaryOffer,
  },
  {
    name: 'summary/write',
    method: 'POST',
    path: '/api/orders/:order/summary',
    summary: 'Write a summary of an order',
    description:
      'Writes a summary of an order for its customer; with `Accept: text/event-stream`, as it comes.',
    body: summaryBody,
    answer: { 'application/json': summaryResponse, [EVENT_STREAM]: z.string() },
  },
];

export function mountSummaries(app: Hono<AppEnv>, tools: AppTools): void {
  const path = '/api/orders/:order/summary';
  mountRoutes(app, [
    { method: 'GET', path, answer: async (c) => c.json(await offer(tools, c)) },
    { method: 'POST', path, answer: (c) => write(tools, c) },
  ]);
}

async function offer(tools: AppTools, c: AppContext): Promise<SummaryOffer> {
  const { language } = await readStory(tools, c, false);
  const missing = await tools.model(c, OPERATION).then(
    () => null,
    (error: unknown) => {
      if (error instanceof PlatformError && error.reason === 'model_not_configured') return error.message;
      throw error;
    },
  );
  return { available: missing === null, detail: missing, language: language ?? APP_LANGUAGE };
}

async function write(tools: AppTools, c: AppContext): Promise<Response> {
  const { language, notes, timeZone } = await tools.body(c, summaryBody);
  const { signal } = c.req.raw;
  const story = await readStory(tools, c, notes);
  const model = await tools.model(c, OPERATION);
  const request = {
    system: systemFor(language),
    prompt: promptFor(story, { timeZone }),
    maxOutputTokens: OUTPUT_TOKENS_MAX,
    signal,
  };
  const told = (failure: unknown): PlatformError => {
    // The reader is gone, and there is no other failure.
    if (signal.aborted && failure === signal.reason)
      return new PlatformError('unavailable', 'The reader of this summary has left.');
    if (isForOperator(failure)) tools.incident(c, failure, OPERATION);
    return publicError(inPlainWords(failure));
  };
  const refuse = (failure: unknown) => Promise.reject(told(failure));
  if (c.req.header('accept')?.includes(EVENT_STREAM)) {
    const body = eventsOf(await model.stream(request).catch(refuse), told);
    return new Response(body, { headers: { 'content-type': EVENT_STREAM } });
  }
  const { text, finish } = await model.run(request).catch(refuse);
  return c.json({ text, finish } satisfies z.input<typeof summaryResponse>);
}

/** @throws PlatformError as `order/get` does, and `immutable` when the customer was erased. */
async function readStory(tools: AppTools, c: AppContext, notes: boolean): Promise<OrderStory> {
  const order = c.req.param('order') ?? '';
  return orderStory.parse(await tools.invoke(c, 'summary/story', { order, notes }));
}

/**
 * The text as it comes, and one message at its end: complete, or the failure.
 * @param told the message of a failure.
 */
function eventsOf(
  { text, end }: ModelTextStream,
  told: (failure: unknown) => PlatformError,
): ReadableStream<Uint8Array> {
  const reader = text.getReader();
  const encoder = new TextEncoder();
  const event = (message: SummaryMessage) => encoder.encode(`data: ${JSON.stringify(message)}\n\n`);
  let left = false;
  const next = async (): Promise<SummaryMessage> => {
    try {
      const { done, value } = await reader.read();
      if (!done) return { type: 'text', text: value };
      const { finish } = await end;
      return { type: 'end', finish: finish === 'cancelled' ? 'other' : finish };
    } catch (failure) {
      return { type: 'problem', problem: toProblem(told(failure)) };
    }
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const message = await next();
        // A reader who left meanwhile has closed the stream.
        if (left) return;
        controller.enqueue(event(message));
        if (message.type !== 'text') controller.close();
      },
      // Nothing is generated for a reader who has left.
      cancel: (reason) => {
        left = true;
        return reader.cancel(reason).catch((failure: unknown) => void told(failure));
      },
    },
    { highWaterMark: 0 },
  );
}
