/** Requests of browsers that go to a page. */
import type { AppContext } from '../declaration/env.ts';

/** Whether a browser navigates; a missing script or image must not become a page. */
export function isNavigation(c: AppContext): boolean {
  const mode = c.req.header('sec-fetch-mode');
  return mode === undefined ? (c.req.header('accept') ?? '').includes('text/html') : mode === 'navigate';
}
