/** When too many programs wait for a code, a code of the crowd gives way, and never another. */
import { describe, expect, test } from 'vitest';
import { openPlatform, type Platform } from '../../test/platform.ts';
import { hashSecret } from '../access/secret.ts';
import { PENDING_MAX, SOURCE_PENDING_MAX, UNKNOWN_PENDING_MAX } from './devices.ts';

const TEN_MINUTES_MS = 10 * 60 * 1000;

const start = (platform: Platform, source: string | null) =>
  platform.admin.staff.startDevice({ client: 'cli', source });

/** Whether a program's code still works. */
async function waits(platform: Platform, { deviceCode }: { readonly deviceCode: string }): Promise<boolean> {
  const outcome = await platform.admin.staff.pollDevice({ deviceCode, client: 'cli', requestId: 'req' });
  return 'refused' in outcome && outcome.refused === 'authorization_pending';
}

/** A crowd that began now, each of these sources with so many codes. */
async function crowd(
  platform: Platform,
  sources: readonly (string | null)[],
  { each, state = 'pending' }: { readonly each: number; readonly state?: string },
): Promise<void> {
  const over = platform.clock.ms + TEN_MINUTES_MS;
  await platform.tamper((database) => {
    const insert = database.prepare(
      `INSERT INTO staff_devices (hash, user_code_hash, client, state, member, interval_ms, polled_at, expires_at, source)
       VALUES (?, ?, 'cli', ?, NULL, 5000, NULL, ?, ?)`,
    );
    database.exec('BEGIN');
    for (const source of sources)
      for (let at = 0; at < each; at++) {
        const name = `${source} ${at}`;
        insert.run(`hash ${name}`, `code ${name}`, state, over, source === null ? null : hashSecret(source));
      }
    database.exec('COMMIT');
  });
}

async function waiting(platform: Platform): Promise<number> {
  let count = 0;
  await platform.tamper((database) => {
    const row = database.prepare('SELECT count(*) AS count FROM staff_devices').get();
    count = Number(row?.count);
  });
  return count;
}

describe('RFC 8628: a code that waits for a decision', () => {
  test('is always given; the oldest of a source gives way when it has too many, and no other’s', async () => {
    const platform = await openPlatform();
    const other = await start(platform, '192.0.2.2');
    const first = await start(platform, '192.0.2.1');
    await crowd(platform, ['192.0.2.1'], { each: SOURCE_PENDING_MAX - 2 });
    platform.clock.ms += 1;
    const last = await start(platform, '192.0.2.1');
    expect(await waits(platform, first)).toBe(true);
    const oneMore = await start(platform, '192.0.2.1');
    platform.clock.ms += 10_000;
    expect(await waits(platform, first)).toBe(false);
    for (const each of [other, last, oneMore]) expect(await waits(platform, each)).toBe(true);
    expect(await waiting(platform)).toBe(SOURCE_PENDING_MAX + 1);
  });

  test('of everybody without an address gives way to another of them', async () => {
    const platform = await openPlatform();
    const first = await start(platform, null);
    await crowd(platform, [null], { each: UNKNOWN_PENDING_MAX - 1 });
    const known = await start(platform, '192.0.2.1');
    expect(await waits(platform, first)).toBe(true);
    await start(platform, null);
    expect(await waits(platform, first)).toBe(false);
    expect(await waits(platform, known)).toBe(true);
  });

  test('survives a crowd of many addresses: the largest source gives way', async () => {
    const platform = await openPlatform();
    const single = await start(platform, '192.0.2.1');
    platform.clock.ms += 1;
    const sources = Array.from({ length: PENDING_MAX / 50 }, (_, each) => `198.51.100.${each}`);
    await crowd(platform, sources, { each: 50 });
    platform.clock.ms += 1;
    const newcomer = await start(platform, '203.0.113.1');
    expect(await waits(platform, single)).toBe(true);
    expect(await waits(platform, newcomer)).toBe(true);
    expect(await waiting(platform)).toBe(PENDING_MAX + 1);
  });

  test('that was decided or is over takes no place, and gives way to no other', async () => {
    const platform = await openPlatform();
    await start(platform, '203.0.113.1');
    await crowd(platform, ['192.0.2.1'], { each: SOURCE_PENDING_MAX, state: 'approved' });
    const first = await start(platform, '192.0.2.1');
    await start(platform, '192.0.2.1');
    expect(await waits(platform, first)).toBe(true);
    platform.clock.ms += TEN_MINUTES_MS;
    const later = await start(platform, '192.0.2.1');
    expect(await waits(platform, later)).toBe(true);
  });

  test('is kept without the address that it was asked for from', async () => {
    const platform = await openPlatform();
    await start(platform, '192.0.2.77');
    await platform.tamper((database) => {
      const rows = JSON.stringify(database.prepare('SELECT * FROM staff_devices').all());
      expect(rows).toContain(hashSecret('192.0.2.77'));
      expect(rows).not.toContain('192.0.2.77');
    });
  });
});
