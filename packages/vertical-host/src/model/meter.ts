/**
 * Counts the tokens of a call at each request to the provider, before any layer above can add them up wrongly, drop
 * them or lose them in a failure. A call may make several requests: steps, and retries.
 */
import type { LanguageModelMiddleware } from 'ai';
import { isUnspent } from './provider-failure.ts';
import {
  mergeCounts,
  NO_TOKENS,
  type ReportedUsage,
  readUsage,
  type TokenCounts,
  usageOfChunk,
} from './usage.ts';

type StreamResult = Awaited<ReturnType<NonNullable<LanguageModelMiddleware['wrapStream']>>>;
type StreamPart = StreamResult['stream'] extends ReadableStream<infer Part> ? Part : never;
/** The end of a provider's answer. */
export type Ending = Extract<StreamPart, { type: 'finish' }>['finishReason'];

export interface Meter {
  /** Wraps the model. */
  readonly middleware: LanguageModelMiddleware;
  /** Receives the status of each HTTP answer. A library's errors may state other statuses. */
  readonly hearStatus: (status: number) => void;
  /** The counts so far, one for each request that may have spent tokens. */
  readonly answers: () => readonly ReportedUsage[];
  /** The end of the last request; undefined when it has none. */
  readonly ending: () => Ending | undefined;
}

interface Request {
  /** False for a request that the provider refused. */
  spent: boolean;
  readonly statuses: number[];
  /** The counts of its summary. */
  usage: ReportedUsage | undefined;
  /** The counts of its stream. */
  readonly soFar: Partial<TokenCounts>[];
  produced: boolean;
  ending: Ending | undefined;
}

export function makeMeter(): Meter {
  const requests: Request[] = [];
  const begin = (): Request => {
    const request = {
      spent: true,
      statuses: [],
      usage: undefined,
      soFar: [],
      produced: false,
      ending: undefined,
    };
    requests.push(request);
    return request;
  };

  return {
    answers: () => requests.filter((request) => request.spent).map(usageOf),
    ending: () => requests.at(-1)?.ending,
    // The requests of a call follow one another.
    hearStatus: (status) => requests.at(-1)?.statuses.push(status),
    middleware: {
      transformParams: async ({ params, type }) =>
        type === 'stream' ? { ...params, includeRawChunks: true } : params,

      wrapGenerate: async ({ doGenerate }) => {
        const request = begin();
        try {
          const result = await doGenerate();
          request.usage = readUsage(result.usage, result.content.length > 0);
          request.ending = result.finishReason;
          // The SDK prints warnings to the console of the process.
          return { ...result, warnings: [] };
        } catch (error) {
          request.spent = mayHaveCost(request, error);
          request.soFar.push(usageOfAnswer(error));
          throw error;
        }
      },

      wrapStream: async ({ doStream }) => {
        const request = begin();
        try {
          const result = await doStream();
          return { ...result, stream: result.stream.pipeThrough(watch(request)) };
        } catch (error) {
          request.spent = mayHaveCost(request, error);
          throw error;
        }
      },
    },
  };
}

function mayHaveCost({ statuses }: Request, error: unknown): boolean {
  if (statuses.length > 0) return statuses.some((status) => status < 300);
  return !isUnspent(error);
}

/** The raw pieces of a stream hold counts that the library may not parse. They were generated, and will be billed. */
function usageOfAnswer(error: unknown): Partial<TokenCounts> {
  try {
    const { responseBody } = error as { readonly responseBody?: unknown };
    return typeof responseBody === 'string' ? usageOfChunk(JSON.parse(responseBody)) : {};
  } catch {
    return {};
  }
}

function watch(request: Request): TransformStream<StreamPart, StreamPart> {
  return new TransformStream({
    transform(part, controller) {
      if (part.type === 'raw') {
        request.soFar.push(usageOfChunk(part.rawValue));
        return;
      }
      if (part.type === 'finish') {
        request.usage = readUsage(part.usage, request.produced);
        request.ending = part.finishReason;
      }
      if (/^(?:text|reasoning|tool-input)-delta$|^tool-call$/.test(part.type)) request.produced = true;
      controller.enqueue(part.type === 'stream-start' ? { ...part, warnings: [] } : part);
    },
  });
}

function usageOf({ usage, soFar, ending }: Request): ReportedUsage {
  const isWhole = ending !== undefined && ending.unified !== 'interrupted' && ending.unified !== 'error';
  if (usage?.reported && isWhole) return usage;
  const stated = { ...NO_TOKENS, ...usage };
  const merged = mergeCounts(soFar);
  // The larger counts: the summary of an interrupted stream may be empty, or the last running total.
  const counts = stated.inputTokens + stated.outputTokens > 0 ? stated : merged;
  return { ...counts, reported: false };
}
