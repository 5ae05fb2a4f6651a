/**
 * The consent of a person to the plan of a destructive call. Nothing is kept between the question and the answer: the state
 * that comes back says when which plan was shown, under a tag that only this server makes, for this caller alone (MCP
 * 2026-07-28, "Multi Round-Trip Requests", server requirements 4 and 5).
 */
import { createHash, randomBytes } from 'node:crypto';
import { makeSeals } from '@freehold/auth/programs';
import { canonicalJson } from '@freehold/contracts';
import type { Actor } from '@freehold/directory';
import {
  type Agreed,
  type ConsentChannel,
  type ConsentQuestion,
  malformed,
  notAgreed,
  questionWords,
} from '@freehold/operations/mcp';
import { z } from 'zod';
import type { AdminTool, ToolInput } from './admin-tools.ts';

/** The time that a person has for an answer. Later the plan is shown again. */
const ANSWER_WITHIN_MS = 10 * 60_000;

export interface PlannedCall {
  readonly tool: AdminTool;
  readonly actor: Actor;
  readonly input: ToolInput;
  /** Makes the plan of this moment. Rejects as the call would. */
  readonly plan: () => Promise<object>;
}

export interface Consents {
  /**
   * Returns the consent that the call brings to its plan as it is now, or the question to ask: where it brings none, where
   * the plan has changed since, and where the answer comes late.
   * @throws PlatformError `forbidden` where the person declined, and a protocol error for a state that was not made here
   * for this caller.
   */
  settle(call: PlannedCall, channel: ConsentChannel): Promise<Agreed | ConsentQuestion>;
}

export interface ConsentsDeps {
  /** The first seals, all open. */
  readonly secrets: readonly string[] | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** A question as its state tells it: when it was asked, and the digest of the call with its plan. */
const asked = z.tuple([z.int(), z.string()]);

export function makeConsents({ secrets, now }: ConsentsDeps): Consents {
  // Without a secret of the wiring a question ends with this process.
  const seals = makeSeals({
    secrets: secrets ?? [randomBytes(32).toString('hex')],
    audience: 'control-plane/consents',
  });
  return {
    settle: async (call, { said }) => {
      const purpose = ['plan', ...callerOf(call.actor)];
      const opened = said && seals.open(purpose, said.state);
      if (said && opened === null) throw malformed('The answer is to no question of this server.');
      if (said && said.answer !== 'accepted') throw notAgreed(said.answer);
      const plan = await call.plan();
      const digest = digestOf(call, plan);
      if (opened !== null) {
        const [atMs, shown] = asked.parse(JSON.parse(opened));
        const isInTime = atMs <= now() && now() < atMs + ANSWER_WITHIN_MS;
        // The time is part of the key: the same plan can be shown again another day, and carried out again.
        if (isInTime && shown === digest) return { idempotencyKey: `consent-${atMs}-${digest}` };
      }
      const state = seals.seal(purpose, JSON.stringify([now(), digest]));
      return { question: planWords(call, plan), state };
    },
  };
}

/** The caller, down to the program that acts: another program of the same member asks for itself. */
function callerOf(actor: Actor): readonly string[] {
  return [actor.kind, actor.id, credentialOf(actor)];
}

/** The id of the grant or token that acts; of its member for a session. */
export function credentialOf(actor: Actor): string {
  return ('token' in actor ? actor.token : undefined) ?? actor.id;
}

function digestOf({ tool, input }: PlannedCall, plan: object): string {
  const { params, query, body, ifMatch } = input;
  const call = canonicalJson([tool.operation.name, { params, query, body, ifMatch }, plan]);
  return createHash('sha256').update(call).digest('base64url');
}

/** The question: the facts of the plan, and the fields of the call's body that the plan does not have. */
function planWords({ tool, input }: PlannedCall, plan: object): string {
  const { dryRun: _asked, ...facts } = { ...input.body, ...plan } as Readonly<Record<string, unknown>>;
  return questionWords(tool.operation, facts);
}
