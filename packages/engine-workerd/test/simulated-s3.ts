/**
 * A store in memory that speaks the part of the S3 protocol that attachments need. It requires the same as a real one.
 */
import { createHash } from 'node:crypto';

interface Held {
  readonly bytes: Uint8Array;
  readonly at: Date;
}

export interface SimulatedS3 {
  readonly endpoint: string;
  readonly bucket: string;
  readonly send: (request: Request) => Promise<Response>;
  readonly objects: Map<string, Held>;
  /** Uploads that are neither complete nor aborted. */
  readonly uploads: Map<string, Map<number, Uint8Array>>;
  /** Answers the next request without doing it. */
  answerNext(answer: () => Response): void;
  /** Methods and queries, in their order. */
  readonly log: string[];
}

const ENDPOINT = 'https://s3.example.test';
const BUCKET = 'attachments';
const KEYS_PER_PAGE = 10;
const PART_BYTES_MIN = 5 * 1_024 * 1_024;

export function makeSimulatedS3(): SimulatedS3 {
  const objects = new Map<string, Held>();
  const uploads = new Map<string, Map<number, Uint8Array>>();
  const log: string[] = [];
  let next: (() => Response) | null = null;

  const answer = (key: string, query: URLSearchParams, request: Request, body: Uint8Array): Response => {
    const uploadId = query.get('uploadId');
    const upload = uploadId === null ? undefined : uploads.get(uploadId);
    if (uploadId !== null && !upload) return failure(404, 'NoSuchUpload');
    switch (request.method) {
      case 'POST':
        if (query.has('uploads')) return begin();
        return upload
          ? complete(key, uploadId ?? '', upload, new TextDecoder().decode(body))
          : failure(400, 'X');
      case 'PUT':
        if (upload) return part(upload, Number(query.get('partNumber')), body);
        return put(key, request.headers.get('x-amz-copy-source'), body);
      case 'DELETE':
        if (uploadId !== null) uploads.delete(uploadId);
        else objects.delete(key);
        return new Response(null, { status: 204 });
      default:
        return key === '' ? list(query) : get(key, request.headers.get('range'));
    }
  };

  const begin = (): Response => {
    const id = `upload-${uploads.size}&${log.length}`;
    uploads.set(id, new Map());
    return xml(`<InitiateMultipartUploadResult><UploadId>${id.replace('&', '&amp;')}</UploadId>
      </InitiateMultipartUploadResult>`);
  };

  const part = (upload: Map<number, Uint8Array>, number: number, body: Uint8Array): Response => {
    upload.set(number, body);
    return new Response(null, { headers: { etag: `"${digestOf(body).slice(0, 32)}"` } });
  };

  const complete = (key: string, id: string, upload: Map<number, Uint8Array>, manifest: string): Response => {
    const named = [...manifest.matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>"(\w+)"<\/ETag>/g)];
    const parts = named.map(([, number, etag]) => {
      const bytes = upload.get(Number(number));
      return bytes && digestOf(bytes).startsWith(etag ?? '?') ? bytes : null;
    });
    const isWhole = parts.length === upload.size && parts.every((each) => each !== null);
    // The store begins its answer before it knows the result.
    if (!isWhole) return xml('<Error><Code>InvalidPart</Code></Error>');
    const all = parts as Uint8Array[];
    if (all.slice(0, -1).some(({ length }) => length < PART_BYTES_MIN))
      return xml('<Error><Code>EntityTooSmall</Code></Error>');
    uploads.delete(id);
    objects.set(key, { bytes: new Uint8Array(Buffer.concat(all)), at: new Date() });
    return xml('<CompleteMultipartUploadResult></CompleteMultipartUploadResult>');
  };

  const put = (key: string, source: string | null, body: Uint8Array): Response => {
    const from =
      source === null ? undefined : objects.get(decodeURIComponent(source.split('/').slice(2).join('/')));
    if (source !== null && !from) return failure(404, 'NoSuchKey');
    objects.set(key, { bytes: from?.bytes ?? body, at: new Date() });
    return source === null ? new Response(null) : xml('<CopyObjectResult></CopyObjectResult>');
  };

  const get = (key: string, range: string | null): Response => {
    const bytes = objects.get(key)?.bytes;
    if (!bytes) return failure(404, 'NoSuchKey');
    if (range === null) return new Response(bytes, { headers: { 'content-length': String(bytes.length) } });
    const [start = 0, last = 0] = range.replace('bytes=', '').split('-').map(Number);
    if (start >= bytes.length) return failure(416, 'InvalidRange');
    const end = Math.min(last + 1, bytes.length);
    const headers = { 'content-range': `bytes ${start}-${end - 1}/${bytes.length}` };
    return new Response(bytes.slice(start, end), { status: 206, headers });
  };

  const list = (query: URLSearchParams): Response => {
    const after = query.get('continuation-token') ?? '';
    const keys = [...objects.keys()]
      .filter((key) => key.startsWith(query.get('prefix') ?? '') && key > after)
      .sort();
    const page = keys.slice(0, KEYS_PER_PAGE);
    const isTruncated = page.length < keys.length;
    const contents = page.map((key) => {
      const { bytes, at } = objects.get(key) as Held;
      return `<Contents><Key>${encodeURIComponent(key)}</Key><LastModified>${at.toISOString()}</LastModified><Size>${bytes.length}</Size></Contents>`;
    });
    const token = isTruncated ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : '';
    return xml(
      `<ListBucketResult><IsTruncated>${isTruncated}</IsTruncated>${token}${contents.join('')}</ListBucketResult>`,
    );
  };

  return {
    endpoint: ENDPOINT,
    bucket: BUCKET,
    objects,
    uploads,
    log,
    answerNext: (given) => {
      next = given;
    },
    send: async (request) => {
      const url = new URL(request.url);
      log.push(`${request.method} ${url.search}`);
      const given = next;
      next = null;
      if (given) return given();
      const body = new Uint8Array(await request.arrayBuffer());
      // The digest is signed: another body than that is refused.
      if (request.headers.get('x-amz-content-sha256') !== digestOf(body))
        return failure(400, 'XAmzContentSHA256Mismatch');
      const [, bucket, ...key] = url.pathname.split('/').map(decodeURIComponent);
      if (url.origin !== ENDPOINT || bucket !== BUCKET) return failure(404, 'NoSuchBucket');
      return answer(key.join('/'), url.searchParams, request, body);
    },
  };
}

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function xml(text: string, status = 200): Response {
  return new Response(`<?xml version="1.0" encoding="UTF-8"?>${text}`, { status });
}

function failure(status: number, code: string): Response {
  return xml(`<Error><Code>${code}</Code></Error>`, status);
}
