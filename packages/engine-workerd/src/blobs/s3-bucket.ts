/**
 * A bucket that speaks the S3 protocol, for a self-hosted workerd. This module makes requests and reads answers. The
 * owner of the keys signs: `send` gets a request with the digest of its body, and signs it over that.
 */
import { createHash } from 'node:crypto';
import type { Bucket, BucketObject } from './bucket.ts';

export interface S3BucketOptions {
  /** The address of the store, without the bucket: `https://s3.eu-central-1.amazonaws.com`, `http://127.0.0.1:9000`. */
  readonly endpoint: string;
  readonly bucket: string;
  /**
   * Signs a request (AWS, "Signature Version 4") and sends it, with its own retries: with `aws4fetch`, `(request) =>
   * client.fetch(request)`.
   */
  readonly send: (request: Request) => Promise<Response>;
}

interface S3Request {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** The key below the bucket. */
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
}

/** Makes a bucket. Objects are addressed path-style. */
export function makeS3Bucket({ endpoint, bucket, send }: S3BucketOptions): Bucket {
  const ask = async ({ method, key = '', query = {}, headers = {}, body }: S3Request): Promise<Response> => {
    const url = new URL(`${endpoint.replace(/\/+$/, '')}/${pathOf(bucket, key)}`);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const digest = createHash('sha256')
      .update(body ?? '')
      .digest('hex');
    return send(
      new Request(url, {
        method,
        headers: { ...headers, 'x-amz-content-sha256': digest },
        ...(body === undefined ? {} : { body }),
      }),
    );
  };

  /** Returns the text of a success. A failure may come with the status of a success. */
  const textOf = async (request: S3Request): Promise<string> => {
    const response = await ask(request);
    const text = await response.text();
    if (!response.ok || /<Error>/.test(text)) throw refused(request, response.status, text);
    return text;
  };

  return {
    put: async (key, body) => void (await textOf({ method: 'PUT', key, body })),

    upload: async (key) => {
      const begun = await textOf({ method: 'POST', key, query: { uploads: '' } });
      const uploadId = elementOf(begun, 'UploadId');
      if (uploadId === null) throw new Error('the store began an upload without naming it');
      const etags: string[] = [];
      return {
        part: async (body) => {
          const query = { partNumber: String(etags.length + 1), uploadId };
          const response = await ask({ method: 'PUT', key, query, body });
          const etag = response.headers.get('etag');
          const text = await response.text();
          if (!response.ok || etag === null) throw refused({ method: 'PUT' }, response.status, text);
          etags.push(etag);
        },
        complete: async () => {
          const parts = etags.map(
            (etag, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>${escaped(etag)}</ETag></Part>`,
          );
          const body = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`;
          await textOf({ method: 'POST', key, query: { uploadId }, body });
        },
        abort: async () => void (await textOf({ method: 'DELETE', key, query: { uploadId } })),
      };
    },

    copy: async (from, to) => {
      const headers = { 'x-amz-copy-source': `/${pathOf(bucket, from)}` };
      await textOf({ method: 'PUT', key: to, headers });
    },

    get: async (key, range) => {
      const headers: Record<string, string> = range ? { range: `bytes=${range.start}-${range.end - 1}` } : {};
      const response = await ask({ method: 'GET', key, headers });
      if (response.ok) {
        const body = response.body ?? (new Response(new Uint8Array(0)).body as ReadableStream<Uint8Array>);
        return { body, bytes: sizeIn(response) };
      }
      const text = await response.text();
      // A missing bucket is a failure and not a missing object.
      if (response.status === 404 && codeOf(text) !== 'NoSuchBucket') return null;
      throw refused({ method: 'GET' }, response.status, text);
    },

    delete: async (key) => {
      const response = await ask({ method: 'DELETE', key });
      const text = await response.text();
      if (!response.ok && (response.status !== 404 || codeOf(text) === 'NoSuchBucket'))
        throw refused({ method: 'DELETE' }, response.status, text);
    },

    list: async function* list(prefix) {
      const query = { 'list-type': '2', 'encoding-type': 'url', prefix };
      for (let token: string | null = ''; token !== null; ) {
        const more: Record<string, string> = token === '' ? {} : { 'continuation-token': token };
        const page = parsePage(await textOf({ method: 'GET', query: { ...query, ...more } }));
        yield* page.objects;
        token = page.nextToken;
      }
    },
  };
}

/** Returns the size of the whole object: in an answer with a part, after the slash of `Content-Range`. */
function sizeIn({ status, headers }: Response): number {
  const text = status === 206 ? headers.get('content-range')?.split('/')[1] : headers.get('content-length');
  if (text === undefined || text === null || !/^\d+$/.test(text)) throw unreadable();
  return Number(text);
}

/** Parses a page of a listing. A truncated one must not pass for a short one. */
function parsePage(xml: string): { readonly objects: BucketObject[]; readonly nextToken: string | null } {
  const isTruncated = elementOf(xml, 'IsTruncated');
  const nextToken = elementOf(xml, 'NextContinuationToken');
  const isWhole = /<\/ListBucketResult>\s*$/.test(xml) && isTruncated !== null;
  if (!isWhole || (isTruncated === 'true') !== (nextToken !== null)) throw unreadable();
  const objects = [...xml.matchAll(/<Contents>(.*?)<\/Contents>/gs)].map(
    ([, contents = '']): BucketObject => {
      const key = elementOf(contents, 'Key');
      const bytes = Number(elementOf(contents, 'Size') ?? Number.NaN);
      const atMs = Date.parse(elementOf(contents, 'LastModified') ?? '');
      if (key === null || !Number.isSafeInteger(bytes) || !Number.isFinite(atMs)) throw unreadable();
      return { key: decodeURIComponent(key.replaceAll('+', ' ')), bytes, atMs };
    },
  );
  return { objects, nextToken };
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function elementOf(xml: string, name: string): string | null {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return text === undefined
    ? null
    : text.replace(/&(\w+);/g, (whole, entity: string) => ENTITIES[entity] ?? whole);
}

function escaped(text: string): string {
  return text.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`);
}

function pathOf(bucket: string, key: string): string {
  return [bucket, ...key.split('/')].map(encodeURIComponent).join('/');
}

function codeOf(xml: string): string | null {
  return elementOf(xml, 'Code');
}

/** Returns a failure with the store's own error code, which holds nothing of the request. */
function refused({ method }: Pick<S3Request, 'method'>, status: number, text: string): Error {
  const code = codeOf(text);
  return new Error(`the store answered ${method} with ${status}${code === null ? '' : ` (${code})`}`);
}

function unreadable(): Error {
  return new Error('the store answered a listing that cannot be read');
}
