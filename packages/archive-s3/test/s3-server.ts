/**
 * A small S3 server for tests, written from AWS's description of the protocol and not from its clients: it verifies the
 * signature of every request and the digest of every body, and lists in pages.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface S3Server {
  readonly endpoint: string;
  readonly objects: Map<string, Buffer>;
  /** Every request that came, as `PUT /bucket/key`. */
  readonly requests: string[];
  /** Answers the next requests with these statuses, instead of serving them; 0 breaks the connection. */
  readonly failures: number[];
  close(): Promise<void>;
}

export interface S3ServerOptions {
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** The number of keys on a page. */
  readonly pageKeys: number;
}

interface Answer {
  readonly status: number;
  readonly body?: string | Buffer;
}

export async function startS3Server(options: S3ServerOptions): Promise<S3Server> {
  const objects = new Map<string, Buffer>();
  const requests: string[] = [];
  const failures: number[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const url = new URL(request.url ?? '/', 'http://store');
    requests.push(`${request.method} ${decodeURIComponent(url.pathname)}`);
    const failure = failures.shift();
    if (failure === 0) return void request.socket.destroy();
    const body = Buffer.concat(chunks);
    const answer =
      failure === undefined
        ? (refusal(request, url, body, options) ?? serve(request.method ?? '', url, body, options, objects))
        : error(failure, 'InternalError');
    response.writeHead(answer.status, { 'content-type': 'application/xml' });
    response.end(request.method === 'HEAD' ? undefined : answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    objects,
    requests,
    failures,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function serve(
  method: string,
  url: URL,
  body: Buffer,
  { bucket, pageKeys }: S3ServerOptions,
  objects: Map<string, Buffer>,
): Answer {
  const [, found, ...path] = url.pathname.split('/');
  if (found !== bucket) return error(404, 'NoSuchBucket');
  const key = decodeURIComponent(path.join('/'));
  if (key === '')
    return method === 'GET'
      ? list(url, pageKeys, [...objects.keys()].sort())
      : error(405, 'MethodNotAllowed');
  if (method === 'PUT') {
    objects.set(key, body);
    return { status: 200 };
  }
  if (method === 'DELETE') {
    objects.delete(key);
    return { status: 204 };
  }
  const object = objects.get(key);
  if (!object) return error(404, 'NoSuchKey');
  return { status: 200, body: object };
}

function list(url: URL, pageKeys: number, keys: readonly string[]): Answer {
  const query = url.searchParams;
  if (query.get('list-type') !== '2' || query.get('encoding-type') !== 'url')
    return error(400, 'InvalidArgument');
  const after = Buffer.from(query.get('continuation-token') ?? '', 'base64').toString();
  const matching = keys.filter((key) => key.startsWith(query.get('prefix') ?? '') && key > after);
  const page = matching.slice(0, pageKeys);
  const isTruncated = matching.length > page.length;
  const token = Buffer.from(page.at(-1) ?? '').toString('base64');
  const contents = page.map(
    (key) => `<Contents><Key>${encodeURIComponent(key)}</Key><Size>1</Size></Contents>`,
  );
  return {
    status: 200,
    body: `<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><IsTruncated>${isTruncated}</IsTruncated>${contents.join('')}${
      isTruncated ? `<NextContinuationToken>${token}</NextContinuationToken>` : ''
    }</ListBucketResult>`,
  };
}

/** Verifies a request (AWS, "Authenticating Requests (AWS Signature Version 4)"); null when it is in order. */
function refusal(
  request: IncomingMessage,
  url: URL,
  body: Buffer,
  { accessKeyId, secretAccessKey }: S3ServerOptions,
): Answer | null {
  const found =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      request.headers.authorization ?? '',
    );
  if (!found) return error(403, 'AccessDenied');
  const [, id, date = '', region = '', signedHeaders = '', signature = ''] = found;
  if (id !== accessKeyId) return error(403, 'InvalidAccessKeyId');
  const digest = sha256(body);
  if (request.headers['x-amz-content-sha256'] !== digest) return error(400, 'XAmzContentSHA256Mismatch');
  const names = signedHeaders.split(';');
  for (const needed of ['host', 'x-amz-content-sha256', 'x-amz-date'])
    if (!names.includes(needed)) return error(403, 'AccessDenied');
  const when = String(request.headers['x-amz-date']);
  const query = [...url.searchParams].map(([name, value]) => `${encode(name)}=${encode(value)}`).sort();
  const canonical = [
    request.method,
    url.pathname,
    query.join('&'),
    ...names.map((name) => `${name}:${String(request.headers[name]).trim()}`),
    '',
    signedHeaders,
    digest,
  ].join('\n');
  const scope = `${date}/${region}/s3/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', when, scope, sha256(canonical)].join('\n');
  const keys = [date, region, 's3', 'aws4_request'];
  const key = keys.reduce<string | Buffer>((by, part) => hmac(by, part), `AWS4${secretAccessKey}`);
  const expected = hmac(key, toSign);
  return when.startsWith(date) && timingSafeEqual(expected, Buffer.from(signature, 'hex'))
    ? null
    : error(403, 'SignatureDoesNotMatch');
}

function error(status: number, code: string): Answer {
  return { status, body: `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code></Error>` };
}

/** RFC 3986, unreserved characters. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function sha256(bytes: string | Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
