/** Attachments in a bucket, inside workerd: R2 by its binding, and a store that speaks S3. */
import { env } from 'cloudflare:workers';
import { describeBlobStore } from '@freehold/testkit/unit-contract';
import { describe, expect, test } from 'vitest';
import { type Bucket, PART_BYTES } from '../src/blobs/bucket.ts';
import { makeBucketBlobStore } from '../src/blobs/bucket-blob-store.ts';
import { makeR2Bucket } from '../src/blobs/r2-bucket.ts';
import { makeS3Bucket } from '../src/blobs/s3-bucket.ts';
import { makeSimulatedS3 } from './simulated-s3.ts';

const SIZES = [PART_BYTES, 2 * PART_BYTES + 5];
const LIMITS = { bytesMax: 100_000_000 };

/** Returns R2 with more than one page of every listing. */
function inPages(r2: R2Bucket): R2Bucket {
  return new Proxy(r2, {
    get: (target, name) => {
      if (name === 'list') return (options: R2ListOptions) => target.list({ ...options, limit: 10 });
      const member: unknown = Reflect.get(target, name);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}

const r2 = makeR2Bucket(inPages(env.BLOBS));
describeBlobStore({
  name: 'R2',
  store: (scopeId) => makeBucketBlobStore({ bucket: r2, scopeId }),
  sizes: SIZES,
  behind: {
    damage: async (scopeId, digest, at) => {
      const key = `blobs/${scopeId}/${digest}`;
      const bytes = new Uint8Array((await (await env.BLOBS.get(key))?.arrayBuffer()) ?? new ArrayBuffer(0));
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      await env.BLOBS.put(key, bytes);
    },
    dropChunks: (scopeId, digest) => env.BLOBS.delete(`blobs/${scopeId}/${digest}.chunks`),
  },
});

const s3 = makeSimulatedS3();
const s3Bucket = makeS3Bucket(s3);
describeBlobStore({
  name: 'a store that speaks S3',
  store: (scopeId) => makeBucketBlobStore({ bucket: s3Bucket, scopeId }),
  // The store is the same, so that one blob of two parts shows what this bucket does.
  sizes: [PART_BYTES + 1],
  behind: {
    damage: async (scopeId, digest, at) => {
      const found = s3.objects.get(`blobs/${scopeId}/${digest}`);
      if (found) found.bytes[at] = (found.bytes[at] ?? 0) ^ 1;
    },
    dropChunks: async (scopeId, digest) => void s3.objects.delete(`blobs/${scopeId}/${digest}.chunks`),
  },
});

function piecesOf(count: number, bytes: number, onPull: (at: number) => void = () => undefined) {
  let at = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        onPull(at);
        if (at === count) return controller.close();
        controller.enqueue(new Uint8Array(bytes).fill(at));
        at += 1;
      },
    },
    { highWaterMark: 0 },
  );
}

describe('a large blob', () => {
  test('is sent to the bucket while it arrives', async () => {
    const steps: string[] = [];
    const watched: Bucket = {
      ...r2,
      upload: async (key) => {
        const upload = await r2.upload(key);
        return {
          ...upload,
          part: async (bytes) => {
            steps.push(`part of ${bytes.length}`);
            await upload.part(bytes);
          },
        };
      },
    };
    const blobs = makeBucketBlobStore({ bucket: watched, scopeId: 'scp_streamed' });
    const quarter = PART_BYTES / 4;
    await blobs.put(
      piecesOf(9, quarter, (at) => steps.push(`piece ${at}`)),
      LIMITS,
    );
    // The fifth piece shows that the first part is not the last, and nothing more is read before that is sent.
    expect(steps.slice(0, 7)).toEqual([
      'piece 0',
      'piece 1',
      'piece 2',
      'piece 3',
      'piece 4',
      `part of ${PART_BYTES}`,
      'piece 5',
    ]);
    expect(steps.at(-1)).toBe(`part of ${quarter}`);
  });

  test('that is refused leaves nothing in the bucket: no parts, and no unfinished object', async () => {
    const blobs = makeBucketBlobStore({ bucket: s3Bucket, scopeId: 'scp_refused' });
    await expect(
      blobs.put(piecesOf(3, PART_BYTES), { ...LIMITS, digest: 'f'.repeat(64) }),
    ).rejects.toMatchObject({ reason: 'digest_mismatch' });
    expect(s3.uploads.size).toBe(0);
    expect([...s3.objects.keys()].filter((key) => key.includes('scp_refused'))).toEqual([]);
  });

  test('whose upload died is removed by a later listing, once no upload can be at it any more', async () => {
    let nowMs = Date.now();
    const options = { bucket: r2, scopeId: 'scp_died', now: () => nowMs, newName: () => 'dead' };
    const dying: Bucket = {
      ...r2,
      copy: () => Promise.reject(new Error('died')),
      delete: async () => undefined,
    };
    const blobs = makeBucketBlobStore(options);
    await expect(
      makeBucketBlobStore({ ...options, bucket: dying }).put(piecesOf(2, PART_BYTES), LIMITS),
    ).rejects.toMatchObject({ code: 'unavailable', reason: 'blob_store_failed' });
    const look = async () => {
      for await (const _ of blobs.list()) throw new Error('what is on its way is no blob');
      return (await env.BLOBS.list({ prefix: 'blobs/scp_died/' })).objects.length;
    };
    // The bytes under their temporary name, and the digests of their chunks.
    expect(await look()).toBe(2);
    nowMs += 2 * 86_400_000;
    expect(await look()).toBe(0);
  });
});

describe('a bucket that fails', () => {
  const open = () => {
    const store = makeSimulatedS3();
    const scopeId = 'scp_failing';
    return { store, blobs: makeBucketBlobStore({ bucket: makeS3Bucket(store), scopeId }) };
  };
  const failed = { code: 'unavailable', reason: 'blob_store_failed' };
  const everyUse = (blobs: ReturnType<typeof makeBucketBlobStore>) => [
    () => blobs.put(piecesOf(1, 5), LIMITS),
    () => blobs.open('a'.repeat(64)),
    () => blobs.delete('a'.repeat(64)),
    () => blobs.clear(),
  ];

  test.each([
    ['with an error of its own', () => new Response('<Error><Code>SlowDown</Code></Error>', { status: 503 })],
    ['without its bucket', () => new Response('<Error><Code>NoSuchBucket</Code></Error>', { status: 404 })],
    [
      'because access is denied',
      () => new Response('<Error><Code>AccessDenied</Code></Error>', { status: 403 }),
    ],
  ])('%s is unavailable, and never taken for one that is empty', async (_name, answer) => {
    const { store, blobs } = open();
    for (const use of everyUse(blobs)) {
      store.answerNext(answer);
      await expect(use()).rejects.toMatchObject(failed);
    }
  });

  test('whose listing is cut off is not taken for a short one', async () => {
    const { store, blobs } = open();
    for (const page of [
      '<ListBucketResult><IsTruncated>false</IsTruncated>',
      '<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>',
      '<ListBucketResult></ListBucketResult>',
      '<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>x</Key></Contents></ListBucketResult>',
    ]) {
      store.answerNext(() => new Response(page));
      await expect(blobs.clear()).rejects.toMatchObject(failed);
    }
  });

  test('at the end of an upload, in the answer of a success, has kept nothing', async () => {
    const { store, blobs } = open();
    const body = piecesOf(2, PART_BYTES, (at) => {
      if (at === 2) store.uploads.forEach((parts) => void parts.delete(1));
    });
    await expect(blobs.put(body, LIMITS)).rejects.toMatchObject(failed);
    expect(store.objects.size).toBe(0);
    expect(store.uploads.size).toBe(0);
  });

  test('reports its own code to operators, and nothing of the request', async () => {
    const { store, blobs } = open();
    store.answerNext(() => new Response('<Error><Code>SlowDown</Code></Error>', { status: 503 }));
    const error = (await blobs.open('a'.repeat(64)).catch((thrown: unknown) => thrown)) as Error;
    expect(String(error.cause)).toBe('Error: the store answered GET with 503 (SlowDown)');
    expect(error.message).not.toContain('SlowDown');
  });
});

test('a scope whose name could be a path has no store', () => {
  expect(() => makeBucketBlobStore({ bucket: r2, scopeId: '../other' })).toThrow(TypeError);
});
