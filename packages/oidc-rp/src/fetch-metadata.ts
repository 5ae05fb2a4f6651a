/** Decides whether a user can have meant a request (W3C Fetch Metadata). */

/** The destinations of requests by our own pages: a link, a form, a frame, or a script's `fetch`. */
const OWN_DESTINATIONS = new Set([null, 'document', 'iframe', 'frame', 'empty']);

/**
 * Whether the user can have meant a request. False for a request that a page makes by itself: an image, a frame, a
 * script's `fetch`. True for a followed link, from another site too, and for requests of our own pages, except
 * images: users can put an image on a page. `Sec-Fetch-Site` decides when it is there, because no page can write
 * it. A client without it is no current browser (Node's fetch sends `Sec-Fetch-Mode` alone); then only a foreign
 * `Origin` is refused, which no navigation by GET has.
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
