/**
 * The summary of an order for its customer, written by a language model. It is a route and no operation because a model
 * takes its time: the story is read by one invocation, and what the answer took is written down by another.
 */

import { PlatformError, publicError, toProblem } from '@freehold/contracts';
import type { ModelTextStream } from '@freehold/vertical-host/model';
import type { Hono } from 'hono';
import type { z } from 'zod';
import { APP_LANGUAGE } from '../lib/languages.ts';
import { manifest } from '../lib/manifest.ts';
import { promptFor, systemFor } from '../summaries/prompt.ts';
import {
  type OrderStory,
  orderStory,
  type SummaryMessage,
  type SummaryOffer,
  summaryBody,
  type summaryResponse,
} from '../summaries/schema.ts';
import { requireNode } from './caller.ts';
import type { FieldworkContext, FieldworkEnv, Services } from './env.ts';
import { governedModel } from './governed-model.ts';
import { inPlainWords, isForOperator } from './model-refusals.ts';
import { type ModelSettings, readModelSettings } from './model-settings.ts';
import { invokeAsCaller } from './records.ts';
import { mountRoutes, readBody } from './routes.ts';

/** Six sentences, and what a model may think before it writes them. */
const OUTPUT_TOKENS_MAX = 1_500;
/** The operation in a usage line. */
const OPERATION = 'order/summarise';
const EVENT_STREAM = 'text/event-stream';

export function mountSummaries(app: Hono<FieldworkEnv>, services: Services): void {
  const path = '/api/orders/:order/summary';
  mountRoutes(app, [
    { method: 'GET', path, answer: async (c) => c.json(await offer(services, c)) },
    { method: 'POST', path, answer: (c) => write(services, c) },
  ]);
}

async function offer(services: Services, c: FieldworkContext): Promise<SummaryOffer> {
  const { language } = await readStory(services, c, false);
  const missing = await settingsOf(services, c).then(
    () => null,
    (error: unknown) => {
      if (error instanceof PlatformError && error.reason === 'model_not_configured') return error.message;
      throw error;
    },
  );
  return { available: missing === null, detail: missing, language: language ?? APP_LANGUAGE };
}

async function write(services: Services, c: FieldworkContext): Promise<Response> {
  const { language, notes, timeZone } = await readBody(c, summaryBody);
  const { deps } = services;
  const { signal } = c.req.raw;
  const story = await readStory(services, c, notes);
  const model = governedModel(services, c, await settingsOf(services, c), OPERATION);
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
    if (isForOperator(failure))
      deps.onIncident(failure, { kind: manifest.slug, key: requireNode(c).scope, method: OPERATION });
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

/** @throws PlatformError as `readOrder` does, and `immutable` when the customer was erased. */
async function readStory(services: Services, c: FieldworkContext, notes: boolean): Promise<OrderStory> {
  const order = c.req.param('order') ?? '';
  return orderStory.parse(await invokeAsCaller(services, c, 'summary/story', { order, notes }));
}

/** @throws PlatformError `unavailable`, reason `model_not_configured` */
async function settingsOf(services: Services, c: FieldworkContext): Promise<ModelSettings> {
  const { settings } = await services.signIn(c);
  return readModelSettings(settings, c.env);
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
