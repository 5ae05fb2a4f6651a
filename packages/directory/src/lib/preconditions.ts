/** If-Match, checked inside the transaction that makes the change (RFC 9110, section 13.1.1). */
import { PlatformError } from '@freehold/contracts';

/**
 * Refuses a change whose caller has seen another version.
 * @param ifMatch the header's value: `*`, one tag or several, with or without quotes. Undefined asks for nothing.
 * @param current the version that is there, or null when there is none.
 * @throws PlatformError `precondition_failed`; the present version is in its `ETag` header.
 */
export function requireMatch(ifMatch: string | undefined, current: string | null): void {
  if (ifMatch === undefined) return;
  if (current !== null && (ifMatch.trim() === '*' || strongTags(ifMatch).includes(current))) return;
  throw new PlatformError(
    'precondition_failed',
    current === null
      ? 'There is nothing here yet that could match.'
      : `This was changed since you read it: it is at version ${current} now. Read it again, then decide.`,
    current === null ? {} : { headers: { etag: `"${current}"` } },
  );
}

/** The tags of a header that compare strongly; a weak one never matches (RFC 9110, section 8.8.3.2). */
function strongTags(header: string): string[] {
  if (!header.includes('"')) return [header.trim()];
  return [...header.matchAll(/(W\/)?"([^"]*)"/g)].flatMap(([, weak, tag]) =>
    weak === undefined && tag !== undefined ? [tag] : [],
  );
}
