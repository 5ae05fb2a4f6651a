/** The steps of a story, and how their answers are recorded. */
import type { ScopeRef } from '@freehold/contracts';
import type { VerticalClient } from '@freehold/vertical-host/client';
import type { Answer } from '../support/http.ts';
import { PIPES } from './fixture.ts';
import type { Person, World } from './world.ts';

/** Checks its subject, and returns all answers. Steps run once, in order. */
export type StoryStep = readonly [name: string, run: () => Promise<unknown>];

/** The people and objects of the story, as they appear. */
export interface Cast {
  ada: Person;
  jo: Person;
  /** The owner of the other business. */
  grace: Person;
  customer: string;
  order: string;
}

/** The stage of a story. */
export interface Stage {
  readonly world: () => World;
  /** The platform's client of the vertical. */
  readonly client: () => VerticalClient;
  readonly cast: Cast;
}

/** The business of the story. */
export const pipes: ScopeRef = { tenantId: PIPES.tenantId, scopeId: PIPES.scopeId };
export const DENIED = { code: 'permission_denied' };
/** For background work, on a busy machine. */
export const PATIENT = { timeout: 20_000, interval: 50 };

/** Returns an answer without the headers of its runtime. */
export function heard(answer: Answer) {
  const { status, headers, text } = answer;
  const type = headers.get('content-type');
  return {
    status,
    type,
    etag: headers.get('etag'),
    replayed: headers.get('idempotency-replayed'),
    body: type?.includes('json') ? answer.json() : text,
  };
}
