/** Which of the sessions that a request brings is the one that counts. */
import type { VerifiedSession } from '@freehold/oidc-rp';
import { isFromTheFuture } from './floor.ts';

/** More than these are an attack on the directory, which is asked about each. */
const ASKED_MAX = 8;

export interface LiveSessionRules<T> {
  readonly nowMs: number;
  /** What a session stands for, or null when it was ended. */
  readonly judge: (session: VerifiedSession) => Promise<T | null>;
}

/**
 * What the one session stands for that was not ended; null when there is none, or more than one. A browser brings
 * several when a Domain was taken away from the cookie, or when a sibling host planted one: each is signed, and which
 * came first says nothing. As soon as somebody signs in, all that the browser brought are ended, so that the new one
 * is alone.
 *
 * Two that live are nobody's: somebody who planted theirs beside its holder's would otherwise choose who the holder is.
 * One that was planted where there is no other counts, as it would if it had come alone.
 * @throws as `judge` does.
 */
export async function findLiveSession<T>(
  sessions: readonly VerifiedSession[],
  { nowMs, judge }: LiveSessionRules<T>,
): Promise<T | null> {
  const live: T[] = [];
  for (const session of possibleSessions(sessions, nowMs)) {
    const found = await judge(session);
    if (found !== null) live.push(found);
  }
  return live.length === 1 ? (live[0] ?? null) : null;
}

/** The sessions that the directory is asked about: none where a request brings too many. */
export function possibleSessions(
  sessions: readonly VerifiedSession[],
  nowMs: number,
): readonly VerifiedSession[] {
  // Under a clock that was set back, sessions that had expired would be good again.
  const possible = sessions.filter((session) => !isFromTheFuture(session, nowMs));
  return possible.length > ASKED_MAX ? [] : possible;
}
