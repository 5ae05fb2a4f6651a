/**
 * The agreement of a person to a destructive call that tells no plan: they read its arguments. Nothing is kept between the
 * question and the answer, and the state needs no seal: it decides nothing but whether the answer is to this call. A client
 * that makes one up could as well make up the answer.
 */
import { createHash } from 'node:crypto';
import { canonicalJson } from '@freehold/contracts';
import { type ConsentChannel, type ConsentQuestion, notAgreed } from './consent.ts';
import type { ToolCall } from './endpoint.ts';
import { MCP_META } from './meta.ts';
import { questionWords } from './question-words.ts';
import type { McpTool } from './tools.ts';

/** The person agreed to a call. */
export interface Agreed {
  /** Makes the call once, however often its answer comes. */
  readonly idempotencyKey: string;
}

const STATE = /^[0-9a-f-]{36}\.([A-Za-z0-9_-]{43})$/;

/**
 * Returns the agreement that a call brings, or the question to ask: where it brings none, and where the answer is to other
 * arguments.
 * @throws PlatformError `forbidden` where the person declined.
 */
export function agreementTo(
  { tool, given, meta }: Pick<ToolCall<McpTool>, 'tool' | 'given' | 'meta'>,
  { said }: ConsentChannel,
): Agreed | ConsentQuestion {
  if (said && said.answer !== 'accepted') throw notAgreed(said.answer);
  const call = canonicalJson([tool.name, given, meta?.[MCP_META.ifMatch] ?? null]);
  const digest = createHash('sha256').update(call).digest('base64url');
  if (said && STATE.exec(said.state)?.[1] === digest) return { idempotencyKey: `consent-${said.state}` };
  // The first part tells one question from the next about the same call, which may be meant twice.
  const state = `${crypto.randomUUID()}.${digest}`;
  return { question: questionWords({ summary: tool.title, name: tool.name }, given), state };
}
