/** The people whom the instances of deployed verticals were told about: an instance may speak for no other person. */
import type { IssuedSubject, VerifiedSubject } from '@freehold/auth';

/** As long as a slow request may take to use what it was told. */
const TTL_MS = 15 * 60_000;
/** The number of people that are remembered, each some hundred bytes. */
const PEOPLE_MAX = 50_000;

interface Entry {
  readonly subject: IssuedSubject;
  atMs: number;
}

export class Recognised {
  readonly #people = new Map<string, Entry>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  note(scope: string, { session: _session, ...subject }: VerifiedSubject): void {
    const key = keyOf(scope, subject);
    // The map keeps the order of use, so that the first is the longest unseen.
    this.#people.delete(key);
    this.#people.set(key, { subject, atMs: this.#now() });
    if (this.#people.size > PEOPLE_MAX) this.#people.delete(this.#people.keys().next().value as string);
  }

  /** The person as the platform recognised them at this instance a short time ago; null for another one. */
  find(scope: string, named: { readonly issuer: string; readonly sub: string }): IssuedSubject | null {
    const entry = this.#people.get(keyOf(scope, named));
    return entry && this.#now() - entry.atMs <= TTL_MS ? entry.subject : null;
  }
}

function keyOf(scope: string, { issuer, sub }: { readonly issuer: string; readonly sub: string }): string {
  return JSON.stringify([scope, issuer, sub]);
}
