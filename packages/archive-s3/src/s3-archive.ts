/**
 * An archive in a bucket that speaks the S3 protocol: AWS, or any store that is compatible with it. Four requests, each
 * signed (AWS, "Signature Version 4") over the digest of its body, with a limit in time and a few retries. An object is one
 * request, which the store takes whole or not at all: an interrupted one leaves nothing that would have to be removed.
 */
import { createHash } from 'node:crypto';
import { PlatformError } from '@freehold/contracts';
import type { Archive } from '@freehold/engine-node';
import { AwsClient } from 'aws4fetch';
import { parseListing } from './listing.ts';

export interface S3ArchiveOptions {
  /** Of the store, without the bucket: `https://s3.eu-central-1.amazonaws.com`, `http://127.0.0.1:9000`. */
  readonly endpoint: string;
  readonly bucket: string;
  /** Default `us-east-1`, which stores without regions expect. */
  readonly region?: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  /** The beginning of every key: `backups/production/`. Default: empty. */
  readonly prefix?: string;
  /** Default: the platform's `fetch`. */
  readonly fetch?: typeof fetch;
  /** For one request, in milliseconds. Default 30,000. */
  readonly timeoutMs?: number;
  /** The number of retries of a request that failed for a passing reason. Default 3. */
  readonly retriesMax?: number;
  /** Waits between retries. Default: a timer. */
  readonly sleep?: (ms: number) => Promise<void>;
}

interface S3Request {
  readonly method: 'GET' | 'PUT' | 'DELETE';
  /** Below the bucket. */
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

const TIMEOUT_MS = 30_000;
const RETRIES_MAX = 3;
const RETRY_MS = 200;
/** The statuses that may pass: too many requests, and errors of the store (RFC 9110, 15.6; AWS, "Error Responses"). */
const isPassing = (status: number): boolean => status === 429 || status === 408 || status >= 500;

/**
 * Makes one. Its members reject with `unavailable`, reason `archive_unavailable`, or `archive_refused` when the store
 * does not accept the credentials or the bucket.
 */
export function makeS3Archive(options: S3ArchiveOptions): Archive {
  const { endpoint, bucket, prefix = '', timeoutMs = TIMEOUT_MS, retriesMax = RETRIES_MAX } = options;
  const { fetch: send = fetch, sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms)) } = options;
  const client = new AwsClient({
    accessKeyId: options.accessKeyId,
    secretAccessKey: options.secretAccessKey,
    ...(options.sessionToken === undefined ? {} : { sessionToken: options.sessionToken }),
    service: 's3',
    region: options.region ?? 'us-east-1',
  });

  const urlOf = ({ key, query = {} }: S3Request): URL => {
    const path = [bucket, ...key.split('/')].map(encodeURIComponent).join('/');
    const url = new URL(`${endpoint.replace(/\/+$/, '')}/${path}`);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    return url;
  };

  const attempt = async (request: S3Request): Promise<Response> => {
    const { method, body } = request;
    const digest = createHash('sha256')
      .update(body ?? '')
      .digest('hex');
    const signed = await client.sign(urlOf(request).href, {
      method,
      headers: { 'x-amz-content-sha256': digest },
      ...(body ? { body: body as Uint8Array<ArrayBuffer> } : {}),
    });
    return send(signed, { signal: AbortSignal.timeout(timeoutMs) });
  };

  /** Answers the response unless it is an error; 404 is none here. */
  const ask = async (request: S3Request): Promise<Response> => {
    for (let tries = 0; ; tries++) {
      const outcome = await attempt(request).catch((error: unknown) => unreachable(error));
      // Not by the class of the answer: an HTTP adapter replaces the global one, and fetch answers with the first.
      if (outcome instanceof PlatformError) {
        if (tries >= retriesMax) throw outcome;
      } else {
        if (outcome.ok || outcome.status === 404) return outcome;
        if (!isPassing(outcome.status) || tries >= retriesMax) throw await refused(outcome);
        await outcome.body?.cancel();
      }
      await sleep(RETRY_MS * 2 ** tries);
    }
  };

  return {
    put: async (key, body) => {
      const response = await ask({ method: 'PUT', key: prefix + key, body });
      if (response.status === 404) throw await refused(response);
      await response.body?.cancel();
    },
    get: async (key) => {
      const response = await ask({ method: 'GET', key: prefix + key });
      if (response.ok) return new Uint8Array(await response.arrayBuffer());
      const error = await refused(response);
      // Without its bucket, everything is missing: that is not the same as an object that is not there.
      if (error.message.includes('NoSuchBucket')) throw error;
      return null;
    },
    list: async function* list(begin) {
      const query = { 'list-type': '2', 'encoding-type': 'url', prefix: prefix + begin };
      for (let token: string | null = ''; token !== null; ) {
        const more: Record<string, string> = token === '' ? {} : { 'continuation-token': token };
        const response = await ask({ method: 'GET', key: '', query: { ...query, ...more } });
        if (!response.ok) throw await refused(response);
        const page = parseListing(await response.text());
        for (const key of page.keys) yield key.slice(prefix.length);
        token = page.nextToken;
      }
    },
    delete: async (key) => {
      const response = await ask({ method: 'DELETE', key: prefix + key });
      await response.body?.cancel();
    },
  };
}

/** The store's error by its own code, which holds nothing of the request. */
async function refused(response: Response): Promise<PlatformError> {
  const said = /<Code>([A-Za-z0-9]{1,64})<\/Code>/.exec(await response.text().catch(() => ''))?.[1];
  const reason = isPassing(response.status) ? 'archive_unavailable' : 'archive_refused';
  return new PlatformError(
    'unavailable',
    `The archive's store answered ${response.status}${said === undefined ? '' : ` (${said})`}.`,
    { reason },
  );
}

function unreachable(cause: unknown): PlatformError {
  return new PlatformError('unavailable', "The archive's store cannot be reached.", {
    reason: 'archive_unavailable',
    cause,
  });
}
