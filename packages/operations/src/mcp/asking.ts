/**
 * Questions to the person behind a client of revision 2025-11-25 or before. Such a client says once, in `initialize`, whether
 * it can ask; it is asked on the stream of its call; and it sends the answer in another request, which may reach another
 * process (MCP 2025-11-25, "Transports" and "Elicitation"). The session id carries the first, so that no session is stored.
 * For the last there is a row: the process with the call waits for its answer there.
 */
import { createHash } from 'node:crypto';
import { PlatformError } from '@freehold/contracts';
import {
  CLIENT_CAPABILITIES_META_KEY,
  type JSONRPCRequest,
  PROTOCOL_VERSION_META_KEY,
  type RequestId,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { type ConsentQuestion, elicitation, readAnswer, type SaidAnswer, showsForms } from './consent.ts';
import { type McpMessage, rpcError } from './message.ts';

/** A caller at an endpoint. */
interface OfCaller {
  readonly scopeId: string;
  /** The program, else the person: an answer by another one is none. */
  readonly caller: string;
}

/** A question, or the call that it belongs to, as digests that only its session can make. */
type QuestionKey = OfCaller & { readonly question: string };
type CallKey = OfCaller & { readonly call: string };

/**
 * The rows of waiting questions: whichever process takes an answer, the one with the call reads it. A row ends with its
 * time, with its call, and with the access of its program. `makeQuestionOperations` of `@freehold/auth/grants` in a unit.
 */
export interface QuestionRows {
  /** Returns false where too many questions of this caller wait. */
  openQuestion(question: QuestionKey & CallKey): Promise<boolean>;
  /** Returns false where no question of this caller waits for the answer. */
  answerQuestion(answer: (QuestionKey | CallKey) & { readonly answer: SaidAnswer }): Promise<boolean>;
  /** Returns null for a question that is over. */
  readQuestion(question: QuestionKey): Promise<SaidAnswer | 'waiting' | null>;
  closeQuestion(question: QuestionKey): Promise<unknown>;
}

/** The waiting questions of one caller. */
export interface WaitingQuestions {
  readonly rows: QuestionRows;
  readonly of: OfCaller;
  /** Aborted when this process stops: no question is waited for any longer. */
  readonly until?: AbortSignal | undefined;
}

/** The call in which a question comes up. */
interface Asked {
  readonly callId: RequestId;
  /** Sends on the stream of the call. */
  readonly send: (request: JSONRPCRequest) => Promise<void>;
  /** Aborted when the client leaves: an answer would lead to an act whose result it never sees. */
  readonly signal: AbortSignal;
}

/** A session whose client can ask its person. */
export interface AskingSession {
  /** Has the person asked, and waits for what they say. @throws PlatformError `rate_limited`. */
  ask(question: ConsentQuestion, asked: Asked): Promise<SaidAnswer>;
  /** Takes a message that is about a question; null for another one. */
  take(message: McpMessage): Promise<Response | null>;
}

const SESSION_HEADER = 'mcp-session-id';
const SESSION_ID = /^form-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** An answer is looked for after so many milliseconds, then after longer and longer: most people read for some seconds. */
const FIRST_LOOK_MS = 50;
const LOOKS_APART_MAX_MS = 1_000;

const initialized = z.looseObject({
  method: z.literal('initialize'),
  params: z.looseObject({ capabilities: z.unknown() }),
});
const cancelled = z.looseObject({
  method: z.literal('notifications/cancelled'),
  params: z.looseObject({ requestId: z.union([z.string(), z.number()]) }),
});
const responded = z.looseObject({ id: z.union([z.string(), z.number()]), method: z.never().optional() });
const modern = z.looseObject({
  params: z.looseObject({ _meta: z.looseObject({ [PROTOCOL_VERSION_META_KEY]: z.string() }) }),
});

/**
 * Gives a client that shows forms its session id. The id says that and nothing more, so it has no seal: a client that makes
 * one up has said the same.
 */
export function beginSession(message: McpMessage, response: Response): void {
  const { data } = initialized.safeParse(message);
  if (!data || !response.ok) return;
  if (showsForms({ [CLIENT_CAPABILITIES_META_KEY]: data.params.capabilities }))
    response.headers.set(SESSION_HEADER, `form-${crypto.randomUUID()}`);
}

/** The session of a message; null where its client shows no forms, or says so with each message. */
export function sessionOf(
  { headers }: Request,
  message: McpMessage,
  waiting: WaitingQuestions,
): AskingSession | null {
  const session = headers.get(SESSION_HEADER) ?? '';
  if (!SESSION_ID.test(session) || modern.safeParse(message).success) return null;
  const keyOf = (id: RequestId): string =>
    createHash('sha256')
      .update(JSON.stringify([session, id]))
      .digest('hex');
  const { rows, of } = waiting;
  return {
    ask: (question, asked) => ask(waiting, keyOf, question, asked),
    take: async (message) => {
      const left = cancelled.safeParse(message).data;
      if (left) {
        await rows.answerQuestion({ ...of, call: keyOf(left.params.requestId), answer: 'cancelled' });
        return new Response(null, { status: 202 });
      }
      const response = responded.safeParse(message).data;
      if (!response) return null;
      // An error in the place of an answer: the client could not ask.
      const answer = 'error' in response ? 'cancelled' : readAnswer(response.result);
      const isTaken = await rows.answerQuestion({ ...of, question: keyOf(response.id), answer });
      return isTaken ? new Response(null, { status: 202 }) : rpcError(400, -32600, NOT_WAITING);
    },
  };
}

const NOT_WAITING =
  'No question of this session waits for this answer: it was answered before, or its call has ended.';

async function ask(
  { rows, of, until }: WaitingQuestions,
  keyOf: (id: RequestId) => string,
  question: ConsentQuestion,
  { callId, send, signal: left }: Asked,
): Promise<SaidAnswer> {
  const signal = until ? AbortSignal.any([left, until]) : left;
  const id = crypto.randomUUID();
  const key = { ...of, question: keyOf(id) };
  if (!(await rows.openQuestion({ ...key, call: keyOf(callId) })))
    throw new PlatformError(
      'rate_limited',
      'Too many questions of this program wait for their person: have one answered first. Nothing was done.',
      { reason: 'questions_waiting' },
    );
  try {
    await send({ jsonrpc: '2.0', id, ...elicitation(question) });
    for (let pauseMs = FIRST_LOOK_MS; !signal.aborted; pauseMs = Math.min(2 * pauseMs, LOOKS_APART_MAX_MS)) {
      const said = await rows.readQuestion(key);
      if (said !== 'waiting') return said ?? 'cancelled';
      await pause(pauseMs, signal);
    }
    return 'cancelled';
  } finally {
    // It ends by its time otherwise.
    await rows.closeQuestion(key).catch(() => undefined);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  signal.addEventListener('abort', () => resolve(), { once: true });
  return promise.finally(() => clearTimeout(timer));
}
