/** The strip of a broken save, in pages with a content security policy of their own. */
import { expect, test } from 'vitest';
import { allowBanner } from './banner.ts';

test.each([
  ["default-src 'none'", "default-src 'none'; script-src 'self'; connect-src 'self'"],
  ["script-src 'sha256-x';connect-src 'none'", "script-src 'sha256-x' 'self'; connect-src 'self'"],
  ["connect-src 'self'; script-src 'self'", "script-src 'self'; connect-src 'self'"],
])('%s', (policy, allowed) => {
  expect(allowBanner(policy)).toBe(allowed);
});
