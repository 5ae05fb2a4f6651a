/** The aims of the identity benchmarks, and the check that prevents measuring an error path. */

/** At most 1.5 times as long as the bare primitive, expressed as a speed. */
export const NEAR_BARE = 0.67;
/** Faster than a peer. */
export const FASTER = 1;

export const ISSUER = 'https://id.example.test';
/** The person of all sessions, tokens and passwords here. */
export const ADA = { id: 'ada', email: 'ada@example.test', name: 'Ada Lovelace', emailVerified: true };

/**
 * Checks that work distinguishes a good credential from a spoilt one.
 * @param read returns the person of a credential; for an invalid one it returns another value or throws.
 * @throws Error when `good` is not Ada's, or when `spoilt` is.
 */
export async function requireVerdicts(
  what: string,
  read: (credential: string) => unknown,
  { good, spoilt }: { readonly good: string; readonly spoilt: string },
): Promise<void> {
  const verdict = async (credential: string): Promise<unknown> => {
    try {
      return await read(credential);
    } catch {
      return null;
    }
  };
  if ((await verdict(good)) !== ADA.id) throw new Error(`${what} does not accept its own credential`);
  if ((await verdict(spoilt)) === ADA.id) throw new Error(`${what} accepts a spoilt credential`);
}

/** The same text with one character in its middle changed. */
export function spoil(text: string): string {
  const at = Math.floor(text.length / 2);
  return `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`;
}
