/** Whether a person can have meant a request to an address that a link leads to (W3C Fetch Metadata). */

/** What our own page may ask such an address for: a link, a form, a frame of its own, or a script's `fetch`. */
const OWN_DESTINATIONS = new Set([null, 'document', 'iframe', 'frame', 'empty']);

/**
 * False for what some page made the browser ask without its reader: an image, a frame, a script's `fetch`. Following
 * a link is always meant, from another site too; so is whatever our own pages do, except that an image which a user
 * put on one does nothing. `Sec-Fetch-Site` decides when it is there, because no page can write it, and a client that
 * leaves it out is no current browser (Node's fetch sends `Sec-Fetch-Mode` alone). Of those only a foreign `Origin`
 * is refused: no navigation by GET has one.
 */
export function isDeliberate(headers: Headers, ownOrigin: string): boolean {
  const site = headers.get('sec-fetch-site');
  const mode = headers.get('sec-fetch-mode');
  const destination = headers.get('sec-fetch-dest');
  if (site === null) {
    const origin = headers.get('origin');
    return origin === null || origin === ownOrigin;
  }
  if (site === 'same-origin') return OWN_DESTINATIONS.has(destination);
  return mode === 'navigate' && (destination === null || destination === 'document');
}
