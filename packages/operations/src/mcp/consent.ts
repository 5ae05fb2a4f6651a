/**
 * A question to the person before a call is made, by a client that can ask them: two requests, and nothing is kept between
 * them (MCP 2026-07-28, "Multi Round-Trip Requests" and "Elicitation"). Clients of earlier revisions: `asking.ts`.
 */
import { PlatformError } from '@freehold/contracts';
import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';

/** The way to the person behind a client. */
export interface ConsentChannel {
  /** The answer to a question, with its state; null where this call brings no answer. */
  readonly said: ConsentGiven | null;
}

/** The answer of a person. */
type ConsentAnswer = 'accepted' | 'declined' | 'cancelled';

/** The same, and `unfilled` for a form that was sent without its box: the person is asked again. */
export type SaidAnswer = ConsentAnswer | 'unfilled';

export interface ConsentGiven {
  /** As it came back: the client could have made it up. */
  readonly state: string;
  readonly answer: ConsentAnswer;
}

/** A question, in place of the answer of a call. */
export interface ConsentQuestion {
  /** The words that the person reads: what would be done. */
  readonly question: string;
  /** Comes back with the answer, so that the endpoint protects it from being made up. */
  readonly state: string;
}

const KEY = 'consent';
const capable = z.looseObject({
  [CLIENT_CAPABILITIES_META_KEY]: z.looseObject({
    elicitation: z.looseObject({ form: z.unknown(), url: z.unknown() }).partial(),
  }),
});
const form = z.object({ ok: z.boolean().meta({ title: 'Do it' }) });

/** The channel of a call; null for a client that did not say that it can show a form. */
export function consentChannel({ mcpReq }: ServerContext): ConsentChannel | null {
  if (!showsForms(mcpReq.envelope)) return null;
  const state = mcpReq.requestState<string>();
  return { said: state === undefined ? null : consentGiven(state, answerOf(mcpReq.inputResponses)) };
}

/** The answer to a question; null for a form that was not filled in. */
export function consentGiven(state: string, answer: SaidAnswer): ConsentGiven | null {
  return answer === 'unfilled' ? null : { state, answer };
}

/** A client that names no mode shows forms (MCP 2026-07-28 and 2025-11-25, "Elicitation", Capabilities). */
export function showsForms(envelope: unknown): boolean {
  const elicitation = capable.safeParse(envelope).data?.[CLIENT_CAPABILITIES_META_KEY].elicitation;
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}

/** The answer in the result of an `elicitation/create`. */
export function readAnswer(result: unknown): SaidAnswer {
  return answerOf({ [KEY]: result } as ServerContext['mcpReq']['inputResponses']);
}

function answerOf(responses: ServerContext['mcpReq']['inputResponses']): SaidAnswer {
  const said = inputResponse(responses, KEY);
  if (said.kind !== 'elicit') return 'unfilled';
  if (said.action === 'cancel') return 'cancelled';
  if (said.action === 'decline') return 'declined';
  const filled = acceptedContent(responses, KEY, form);
  if (!filled) return 'unfilled';
  return filled.ok ? 'accepted' : 'declined';
}

/** The refusal of a call that its person did not agree to. */
export function notAgreed(answer: 'declined' | 'cancelled'): PlatformError {
  const what = answer === 'declined' ? 'The person declined' : 'The person gave no answer';
  return new PlatformError('forbidden', `${what}: nothing was done.`, { reason: `consent_${answer}` });
}

/** The request by which a client asks: a form with one box. */
export function elicitation({ question }: ConsentQuestion): ReturnType<typeof inputRequired.elicit> {
  return inputRequired.elicit({ message: question, requestedSchema: form });
}

/** The result that has the client ask. */
export function questionResult(asked: ConsentQuestion): InputRequiredResult {
  return inputRequired({ inputRequests: { [KEY]: elicitation(asked) }, requestState: asked.state });
}
