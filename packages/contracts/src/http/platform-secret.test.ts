/** The gate between the platform and its verticals: closed unless one of the secrets is shown, whole. */
import { expect, test } from 'vitest';
import { type PlatformSecret, requirePlatformSecret } from './platform-secret.ts';

async function verdict(presented: string | null | undefined, configured: PlatformSecret) {
  return requirePlatformSecret(presented, configured, 'Not for you.').then(
    () => null,
    (error) => {
      expect(error).toMatchObject({ code: 'forbidden', message: 'Not for you.' });
      return error.reason;
    },
  );
}

test.each<[string | null | undefined, PlatformSecret, string | null]>([
  ['s3cret', 's3cret', null],
  ['s3cret', ['older', 's3cret'], null],
  ['s3cret', ['s3cret', 'newer'], null],
  ['s3cret', undefined, 'platform_secret_unset'],
  ['', '', 'platform_secret_unset'],
  ['', ['', ''], 'platform_secret_unset'],
  ['s3cret', [], 'platform_secret_unset'],
  [undefined, 's3cret', 'platform_secret_mismatch'],
  [null, 's3cret', 'platform_secret_mismatch'],
  ['', ['', 's3cret'], 'platform_secret_mismatch'],
  ['s3cre', 's3cret', 'platform_secret_mismatch'],
  ['s3crets', 's3cret', 'platform_secret_mismatch'],
  ['S3cret', 's3cret', 'platform_secret_mismatch'],
  ['older,s3cret', ['older', 's3cret'], 'platform_secret_mismatch'],
])('%j against %j: %s', async (presented, configured, reason) => {
  expect(await verdict(presented, configured)).toBe(reason);
});
