/** The gate between the platform and its verticals: closed unless one of the secrets is shown, whole. */
import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  type PlatformSecret,
  requirePlatformSecret,
  requireVerticalSecret,
  verticalSecret,
} from './platform-secret.ts';

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

describe('spec 4.7, 5.6: a vertical’s own secret', () => {
  const MASTER = 'the secret of the platform, which no vertical knows';

  async function told(presented: string | null | undefined, masters: PlatformSecret): Promise<string> {
    return requireVerticalSecret(presented, masters).catch((error) => {
      expect(error).toMatchObject({ code: 'forbidden' });
      expect(String(error.message)).not.toContain('fh_vrt_');
      return error.reason;
    });
  }

  test('names the vertical, and follows from the platform’s by HMAC-SHA-256', async () => {
    const mac = createHmac('sha256', MASTER).update('freehold.vertical.v1\nfield-work2').digest('hex');
    expect(await verticalSecret(MASTER, 'field-work2')).toBe(`fh_vrt_field-work2_${mac}`);
  });

  test('is another one for another vertical, and under another secret of the platform', async () => {
    const secrets = await Promise.all([
      verticalSecret(MASTER, 'a'),
      verticalSecret(MASTER, 'b'),
      verticalSecret(`${MASTER}.`, 'a'),
    ]);
    const macs = secrets.map((secret) => secret.slice('fh_vrt_a_'.length));
    expect(new Set(macs).size).toBe(3);
  });

  test('lets the vertical in as itself, also while the platform’s is being replaced', async () => {
    const own = await verticalSecret(MASTER, 'fieldwork');
    for (const masters of [MASTER, ['newer', MASTER], [MASTER, 'older'], ['', MASTER]])
      expect(await told(own, masters)).toBe('fieldwork');
  });

  test('is refused under another name, cut off, lengthened, respelled, and after the platform’s was replaced', async () => {
    const own = await verticalSecret(MASTER, 'fieldwork');
    const mac = own.slice(own.lastIndexOf('_') + 1);
    const wrong = [
      `fh_vrt_library_${mac}`,
      `fh_vrt_field_work_${mac}`,
      `fh_vrt__${mac}`,
      `fh_vrt_-fieldwork_${mac}`,
      own.slice(0, -1),
      own.slice(0, -32),
      `fh_vrt_fieldwork_`,
      `${own}0`,
      `${own}\n`,
      ` ${own}`,
      own.toUpperCase(),
      `fh_vrt_fieldwork_${mac.toUpperCase()}`,
      `fh_vrt_fieldwork_${'0'.repeat(64)}`,
      `fh_vrt_fieldwork_${createHmac('sha256', MASTER).update('fieldwork').digest('hex')}`,
      await verticalSecret('another secret of a platform', 'fieldwork'),
    ];
    for (const presented of wrong) expect(await told(presented, MASTER)).toBe('platform_secret_mismatch');
    expect(await told(own, ['another one', 'and one more'])).toBe('platform_secret_mismatch');
  });

  test('and the platform’s own secret belongs to no vertical', async () => {
    for (const presented of [MASTER, '', null, undefined])
      expect(await told(presented, MASTER)).toBe('platform_secret_mismatch');
  });

  test('without a secret of the platform every vertical is refused', async () => {
    const own = await verticalSecret(MASTER, 'fieldwork');
    for (const masters of [undefined, '', [], ['', '']])
      for (const presented of [own, '', undefined])
        expect(await told(presented, masters)).toBe('platform_secret_unset');
  });

  test('is not derived from nothing, nor for what is no slug', async () => {
    await expect(verticalSecret('', 'fieldwork')).rejects.toBeInstanceOf(TypeError);
    for (const slug of ['', 'Fieldwork', 'field_work', 'a\nb'])
      await expect(verticalSecret(MASTER, slug)).rejects.toBeInstanceOf(TypeError);
  });
});
