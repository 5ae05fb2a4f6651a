/** What the chapters of a story are made of, and how what was said in them is noted. */
import type { ScopeRef } from '@freehold/contracts';
import type { VerticalClient } from '@freehold/vertical-host/client';
import type { Answer } from '../support/http.ts';
import { PIPES } from './fixture.ts';
import type { Person, World } from './world.ts';

/** Holds what it is about, and answers everything that was said in it. To be told once, after those before it. */
export type StoryStep = readonly [name: string, tell: () => Promise<unknown>];

/** Who and what the story is about, once it came up. */
export interface Cast {
  ada: Person;
  jo: Person;
  /** The owner of the other business. */
  grace: Person;
  customer: string;
  order: string;
}

/** Where a story is told. */
export interface Stage {
  readonly world: () => World;
  /** The platform's way to the vertical. */
  readonly client: () => VerticalClient;
  readonly cast: Cast;
}

/** The business that the story is about. */
export const pipes: ScopeRef = { tenantId: PIPES.tenantId, scopeId: PIPES.scopeId };
export const DENIED = { code: 'permission_denied' };
/** For what happens by itself, on a busy machine. */
export const PATIENT = { timeout: 20_000, interval: 50 };

/** What an answer says, without what is its runtime's own. */
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
