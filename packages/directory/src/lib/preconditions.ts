/**
 * If-Match, checked inside the transaction that makes the change (RFC 9110, section 13.1.1).
 *
 * A change with an effect elsewhere makes its new version when it begins, so that a second one with the same tag is
 * refused while the first is running.
 */
import { PlatformError } from '@freehold/contracts';

/**
 * Refuses a change whose caller has seen another version.
 * @param ifMatch the header's value: `*`, one tag or several, with or without quotes. Undefined asks for nothing.
 * @param current the version that is there, or null when there is none.
 * @param resumes the version that an earlier attempt of this very call made when it began. While it is the present
 * one, nobody else has changed anything since the tag of that attempt was found good.
 * @throws PlatformError `precondition_failed`; the present version is in its `ETag` header.
 */
export function requireMatch(
  ifMatch: string | undefined,
  current: string | null,
  resumes: number | null = null,
): void {
  if (ifMatch === undefined) return;
  if (resumes !== null && current === String(resumes)) return;
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
