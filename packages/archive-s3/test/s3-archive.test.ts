/** An archive in a bucket, against a server that verifies every signature. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openNodeEngine, restoreDataDirectory } from '@freehold/engine-node';
import { defineUnit } from '@freehold/store';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { makeS3Archive, type S3ArchiveOptions } from '../src/index.ts';
import { parseListing } from '../src/listing.ts';
import { startS3Server } from './s3-server.ts';

const KEYS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
const bytes = (text: string) => new TextEncoder().encode(text);

async function start(more: Partial<S3ArchiveOptions> = {}) {
  const server = await startS3Server({ ...KEYS, bucket: 'backups', pageKeys: 3 });
  onTestFinished(() => server.close());
  const slept: number[] = [];
  const archive = makeS3Archive({
    endpoint: server.endpoint,
    bucket: 'backups',
    ...KEYS,
    sleep: async (ms) => void slept.push(ms),
    ...more,
  });
  const list = async (prefix: string): Promise<string[]> => {
    const keys: string[] = [];
    for await (const key of archive.list(prefix)) keys.push(key);
    return keys.sort();
  };
  return { server, archive, slept, list };
}

describe('an archive in a bucket', () => {
  test('keeps objects below its prefix, replaces, lists in pages, and deletes', async () => {
    const { server, archive, list } = await start({ prefix: 'production/', region: 'eu-central-1' });
    const names = Array.from({ length: 8 }, (_, i) => `units/scope-a/b/history/file-${i}.zst.0000`);
    for (const name of names) await archive.put(name, bytes(name));
    await archive.put('owner', new Uint8Array());
    await archive.put('owner', bytes('we'));
    expect([...server.objects.keys()].every((key) => key.startsWith('production/'))).toBe(true);
    server.objects.set('elsewhere', Buffer.from('not ours'));
    expect(await list('units/')).toEqual(names);
    expect(await list('')).toEqual(['owner', ...names]);
    expect(await list('nothing/')).toEqual([]);
    expect(await archive.get('owner')).toEqual(bytes('we'));
    expect(await archive.get('absent')).toBeNull();
    await archive.delete('owner');
    await archive.delete('owner');
    expect(await list('owner')).toEqual([]);
    const large = new Uint8Array(3_000_000).map((_, i) => i * 7);
    await archive.put('large', large);
    expect(await archive.get('large')).toEqual(large);
  });

  test('works where an HTTP adapter has replaced the global Response, as that of a running platform does', async () => {
    const { archive, slept, list } = await start();
    vi.stubGlobal('Response', class extends Response {});
    onTestFinished(() => void vi.unstubAllGlobals());
    await archive.put('a', bytes('a'));
    expect([await archive.get('a'), await archive.get('absent'), await list('')]).toEqual([
      bytes('a'),
      null,
      ['a'],
    ]);
    expect(slept).toEqual([]);
  });

  test('an interrupted put leaves nothing, so that there is nothing to tidy', async () => {
    const { server, archive, list } = await start({ retriesMax: 0 });
    server.failures.push(0);
    await expect(archive.put('half', bytes('of a photograph'))).rejects.toMatchObject({
      reason: 'archive_unavailable',
    });
    expect([await list(''), server.objects.size, archive.tidy]).toEqual([[], 0, undefined]);
  });

  test('tries again what fails for a passing reason, and gives up in words', async () => {
    const { server, archive, slept } = await start();
    server.failures.push(503, 0, 500);
    await archive.put('a', bytes('a'));
    expect(server.requests).toHaveLength(4);
    expect(slept).toEqual([200, 400, 800]);
    server.failures.push(500, 500, 429, 503);
    await expect(archive.get('a')).rejects.toMatchObject({
      code: 'unavailable',
      reason: 'archive_unavailable',
    });
    await server.close();
    await expect(archive.get('a')).rejects.toMatchObject({
      code: 'unavailable',
      reason: 'archive_unavailable',
    });
  });

  test.each<readonly [what: string, options: Partial<S3ArchiveOptions>, code: string]>([
    ['another secret', { secretAccessKey: 'wrong' }, 'SignatureDoesNotMatch'],
    ['another key', { accessKeyId: 'AKIDOTHER' }, 'InvalidAccessKeyId'],
    ['another bucket', { bucket: 'absent' }, 'NoSuchBucket'],
  ])('with %s is refused at once, whatever is asked', async (_what, options, code) => {
    const { server, archive, list } = await start(options);
    const refused = { reason: 'archive_refused', message: expect.stringContaining(code) };
    await expect(archive.put('a', bytes('a'))).rejects.toMatchObject(refused);
    await expect(archive.get('a')).rejects.toMatchObject(refused);
    await expect(list('')).rejects.toMatchObject(refused);
    expect(server.requests).toHaveLength(3);
    expect(server.objects.size).toBe(0);
    await expect(archive.put('a', bytes('a'))).rejects.not.toThrow(/wJalr|wrong/);
  });

  test('gives up on a store that does not answer', async () => {
    const hanging = ((_request: Request, init?: RequestInit) =>
      new Promise((_resolve, reject) => {
        init?.signal?.addEventListener('abort', () => reject(init.signal?.reason));
      })) as typeof fetch;
    const { archive } = await start({ fetch: hanging, timeoutMs: 5, retriesMax: 1 });
    await expect(archive.get('a')).rejects.toMatchObject({ reason: 'archive_unavailable' });
  });

  test('brings a data directory back', async () => {
    const { archive } = await start({ prefix: 'p/' });
    const place = mkdtempSync(join(tmpdir(), 'freehold-s3-'));
    const unit = defineUnit({
      kind: 'scope-s3',
      migrations: [
        {
          name: 's3',
          migrations: [{ version: 1, name: 'rows', sql: 'CREATE TABLE row (id INTEGER PRIMARY KEY)' }],
        },
      ],
      queries: ['count'],
      open: ({ db }) => ({
        add: (): void => db.run('INSERT INTO row DEFAULT VALUES'),
        count: (): number => db.get<{ n: number }>('SELECT count(*) AS n FROM row')?.n ?? 0,
      }),
    });
    const open = (dataDirectory: string) => {
      const engine = openNodeEngine({
        dataDirectory,
        archive: { archive, intervalMs: 60_000 },
        onIncident: (error) => {
          throw error;
        },
      });
      onTestFinished(() => engine.close());
      return engine;
    };
    onTestFinished(() => rmSync(place, { recursive: true, force: true }));
    const engine = open(join(place, 'old'));
    for (let i = 0; i < 10; i++) await engine.unit(unit, 'a', { create: true }).add();
    await engine.flushArchive();
    const into = join(place, 'new');
    expect(await restoreDataDirectory({ archive, into })).toEqual({ units: 1, skipped: [] });
    expect(await open(into).unit(unit, 'a').count()).toBe(10);
  });
});

test.each([
  ['', 'nothing'],
  ['<html>log in</html>', 'another page'],
  ['<ListBucketResult><Contents><Key>a</Key></Contents>', 'a page without its end'],
  ['<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>', 'a page that lacks its next'],
  [
    '<ListBucketResult><IsTruncated>false</IsTruncated><Contents></Contents></ListBucketResult>',
    'a key that lacks',
  ],
])('a listing is read whole or refused: %s (%s)', (xml) => {
  expect(() => parseListing(xml)).toThrow(expect.objectContaining({ reason: 'archive_unavailable' }));
});

test('keys of a listing are decoded', () => {
  const xml = `<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>a&amp;b</NextContinuationToken>
    <Contents><Key>a%2Fb+c%26</Key></Contents></ListBucketResult>\n`;
  expect(parseListing(xml)).toEqual({ keys: ['a/b c&'], nextToken: 'a&b' });
});
