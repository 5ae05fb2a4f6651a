/**
 * The governed language-model host (spec 4.8): a vertical calls models with the platform's credentials, and every call
 * is permitted first and recorded afterwards.
 */
import { parseInput } from '@freehold/contracts';
import { z } from 'zod';
import { type SetTimer, systemTimer } from '../lib/watchdog.ts';
import { type Call, makeCall } from './call.ts';
import { MODEL_FACTORIES, type ModelFactories } from './factories.ts';
import { makeMeter } from './meter.ts';
import { openModel } from './open-model.ts';
import { assertRateCard } from './price.ts';
import { RATE_CARD, type RateCard } from './rate-card.ts';
import { type ModelStatus, modelStatus, resolveModel } from './resolve.ts';
import { type ModelTextStream, streamOf } from './text-stream.ts';
import type { ModelTools } from './tools.ts';
import { type ModelAttribution, type ModelUsageLine, makeUsageLine, parseAttribution } from './usage-line.ts';

export interface ModelHostOptions {
  /** The platform's environment. Only the variables of the named row are read; never a tenant's. */
  readonly env: Readonly<Record<string, unknown>>;
  /** The AI binding of a worker, for the row `workers-ai`. */
  readonly aiBinding?: unknown;
  /** Rows of providers. Default: {@link MODEL_FACTORIES}. */
  readonly factories?: ModelFactories;
  /** Decides whether a call may be made. An error that it throws refuses the call, and is thrown on unchanged. */
  readonly guard: (call: { readonly spec: string; readonly attribution: ModelAttribution }) => unknown;
  /** Stores the line of a call. An error that it throws fails the call: no answer is given without a record. */
  readonly record: (line: ModelUsageLine) => unknown;
  /** Default: {@link RATE_CARD}. */
  readonly rateCard?: RateCard;
  /**
   * The time for a provider, in milliseconds: for the whole of `run`, and for each next piece of `stream`. Default: 60
   * seconds.
   */
  readonly timeoutMs?: number;
  /**
   * The number of repeats of a request that failed for a temporary reason, with growing pauses. Each attempt is
   * counted, and may be charged. Default: none.
   */
  readonly retriesMax?: number;
  /** Reaches providers. Default: the global one. */
  readonly fetch?: (input: string | URL | Request, init?: RequestInit) => Promise<Response>;
  /** Default: the system's timers. */
  readonly setTimer?: SetTimer;
}

export interface ModelRequest {
  /** `<provider_row>:<model_id>`. */
  readonly spec: string;
  /** The five attribution keys. */
  readonly attribution: ModelAttribution;
  /** The system prompt. Default: none. */
  readonly system?: string;
  /** The prompt. */
  readonly prompt: string;
  /** The most tokens that it may generate, in each step. */
  readonly maxOutputTokens: number;
  /** Functions that it may call. Default: none. */
  readonly tools?: ModelTools;
  /** The most requests of a call with tools, each with everything before it. Default: 8. At most 32. */
  readonly stepsMax?: number;
  /** Ends the call early: it rejects with the signal's reason, and still has a line. */
  readonly signal?: AbortSignal;
  /** Another limit than the host's, in milliseconds. */
  readonly timeoutMs?: number;
}

export interface ModelAnswer {
  /** The answer of the model; of several steps, the last one. */
  readonly text: string;
  /**
   * The reason why it stopped: it was done (`stop`), `maxOutputTokens` was reached (`length`), `stepsMax` was
   * (`steps`), or a reason of the provider's own (`other`).
   */
  readonly finish: 'stop' | 'length' | 'steps' | 'other';
  /** The recorded line. */
  readonly usage: ModelUsageLine;
}

/**
 * All refusals are `PlatformError`s, with the reasons of {@link ModelRefusal}. Exceptions are errors of `guard` and
 * `record`, the reason of the caller's own signal, an error of a tool that is no `PlatformError`, and an
 * `AggregateError` when a call failed and its line could not be recorded either. No message holds a credential, a
 * prompt or an answer.
 */
export interface ModelHost {
  /**
   * Calls a model. In this order: resolves the spec, asks `guard`, calls the model, makes one line, passes it to
   * `record`. Never await it inside a transaction of a scope.
   */
  run(request: ModelRequest): Promise<ModelAnswer>;
  /**
   * The same in the same order, with the text as it comes: settles when the first text has come. The line is recorded
   * once, before the stream ends, also when it fails or is cancelled. Read it to its end or cancel it: a dropped
   * stream is never recorded.
   */
  stream(request: ModelRequest): Promise<ModelTextStream>;
  /** Whether a model can be called, and the missing settings. Sends no request, loads no library and never throws. */
  status(spec: string): ModelStatus;
}

const TIMEOUT_MS = 60_000;
/** The longest time of a timer. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1;

const requestSchema = z.object({
  spec: z.string().max(256),
  system: z.string().optional(),
  prompt: z.string().min(1),
  maxOutputTokens: z.int().min(1),
  stepsMax: z.int().min(1).max(32).optional(),
  timeoutMs: z.int().min(1).max(TIMEOUT_MS_MAX).optional(),
});

/** @throws TypeError for a rate card with a mistake in it, RangeError for an invalid limit. */
export function createModelHost(options: ModelHostOptions): ModelHost {
  const {
    factories = MODEL_FACTORIES,
    rateCard = RATE_CARD,
    timeoutMs = TIMEOUT_MS,
    retriesMax = 0,
  } = options;
  assertRateCard(rateCard);
  if (!(Number.isSafeInteger(timeoutMs) && timeoutMs > 0 && timeoutMs <= TIMEOUT_MS_MAX))
    throw new RangeError('timeoutMs must be a positive number of milliseconds');
  if (!(Number.isSafeInteger(retriesMax) && retriesMax >= 0 && retriesMax <= 10))
    throw new RangeError('retriesMax must be from 0 to 10');
  const source = { env: options.env, aiBinding: options.aiBinding, factories, rateCard };

  /** Everything before the first request to a provider. */
  const prepare = async (request: ModelRequest) => {
    parseInput('The model request', requestSchema, request);
    const attribution = parseAttribution(request.attribution);
    const { spec, signal } = request;
    const resolved = resolveModel(source, spec);
    await options.guard(Object.freeze({ spec, attribution }));
    signal?.throwIfAborted();
    const meter = makeMeter();
    const call = makeCall({
      provider: resolved.model.provider,
      meter,
      timeoutMs: request.timeoutMs ?? timeoutMs,
      setTimer: options.setTimer ?? systemTimer,
      signal,
      record: options.record,
      makeLine: (outcome) =>
        makeUsageLine({
          spec,
          model: resolved.model,
          answers: meter.answers(),
          outcome,
          rateCard,
          attribution,
        }),
    });
    const model = await openModel({
      resolved,
      request,
      meter,
      call,
      retriesMax,
      aiBinding: options.aiBinding,
      fetch: options.fetch ?? globalThis.fetch,
    });
    return { model, call, finish: () => finishOf(meter.ending()?.unified) };
  };

  return {
    status: (spec) => modelStatus(source, spec),

    run: async (request) => {
      const { model, call, finish } = await prepare(request);
      const text = await answerOf(call, model.generate);
      return { text, finish: finish(), usage: await call.complete() };
    },

    stream: async (request) => {
      const { model, call, finish } = await prepare(request);
      return streamOf({ call, finish, parts: model.stream });
    },
  };
}

async function answerOf(call: Call, generate: () => PromiseLike<{ readonly text: string }>): Promise<string> {
  try {
    const { text } = await call.wait(generate());
    call.requireAnswer();
    return text;
  } catch (thrown) {
    throw await call.abandon(thrown);
  }
}

function finishOf(how: string | undefined): ModelAnswer['finish'] {
  if (how === 'stop' || how === 'length') return how;
  return how === 'tool-calls' ? 'steps' : 'other';
}
