/**
 * The platform as a vertical's process reaches it: HTTP over a socket of that vertical alone, so that the socket says which
 * vertical asks. Every call names an instance, and the directory says whether it is one of this vertical and tenant.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { ReadableStream as NodeStream } from 'node:stream/web';
import { mailToHolder } from '@freehold/app/hosting';
import { type OwnerReplacement, readInstance } from '@freehold/auth';
import { PlatformError, type ScopeId, type TenantId, toFailure } from '@freehold/contracts';
import { type BlobEntry, failureOf, type IncidentSink, type Outcome, unknownUnit } from '@freehold/store';
import { z } from 'zod';
import type { Isolate, StoredBundle } from '../lib/bundle.ts';
import { judgeCall, withoutSecrets } from './identity-calls.ts';
import type { OrdersInFlight } from './orders-in-flight.ts';
import type { InstanceRef, PlatformPorts, WaitingCalls } from './ports.ts';
import type { SignIns } from './sign-ins.ts';
import { BATCH_BYTES_MAX, type HostedLine, parseLines } from './telemetry.ts';

/** The most bytes of a call in JSON. */
const CALL_BYTES_MAX = 4 * 1_024 * 1_024;
/** The number of blobs on one page of a listing. */
const BLOBS_PAGE = 1_000;

export interface ServicesOptions {
  readonly vertical: string;
  readonly ports: PlatformPorts;
  /** Null for one that is not there. @throws Error for one that is damaged. */
  readonly bundle: (digest: string) => Promise<StoredBundle | null>;
  /** Waits for the memory that an isolate needs. @throws PlatformError `unavailable` where there is none. */
  readonly makeRoom: (isolate: string) => Promise<void>;
  /** The instances that share an isolate of a bundle. */
  readonly isolateOf: (digest: string) => Isolate;
  readonly onIncident: IncidentSink;
  readonly now: () => number;
  readonly signIns: Pick<SignIns, 'recognised'>;
  readonly orders: OrdersInFlight;
  /** The room for calls that wait for a person. */
  readonly waiting: WaitingCalls;
}

interface Asked extends InstanceRef {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
}

type Route = (asked: Asked, options: ServicesOptions) => Promise<void>;

const unitCall = z.object({
  method: z.string().max(100),
  input: z.unknown().optional(),
  create: z.boolean().optional(),
});
const vaultCall = z.object({
  method: z.enum(['keys', 'allot', 'bind', 'handBack', 'shredded', 'shred']),
  input: z.array(z.unknown()).max(4),
});
const blobLimits = z.object({
  bytesMax: z.coerce.number().int().min(0),
  bytes: z.coerce.number().int().min(0).optional(),
  digest: z.string().optional(),
});

/** The body of an order that replaces an owner → the address of the present one, until they are told. */
const HOLDERS = new WeakMap<object, string | null>();

/** The calls of an instance. The owner of the scope was checked. */
const ROUTES: Readonly<Record<string, Route>> = {
  'GET /settings': async ({ response, url, tenant }, { vertical, ports, isolateOf, makeRoom }) => {
    const digest = url.searchParams.get('bundle') ?? '';
    const isolate = isolateOf(digest);
    // Before it is loaded: in the middle of a start, its instance could not answer that it waits.
    if (!url.searchParams.getAll('loaded').includes(isolate))
      await makeRoom(isolate === 'tenant' ? `${digest} ${tenant}` : digest);
    const [{ settings, platformSecret }, secrets] = await Promise.all([
      ports.settingsOf(vertical),
      ports.secretsOf(vertical),
    ]);
    sendJson(response, 200, {
      settings: { ...secrets, ...settings },
      platformSecret,
      has: { blobs: ports.blobs !== null, foreignSeals: ports.foreignSeals === true },
      isolate,
    });
  },
  'POST /identity': async (asked, options) => {
    const { request, response, tenant, scope } = asked;
    const { vertical, ports, now, signIns, orders, waiting } = options;
    const { method, input, create = false } = unitCall.parse(await readJson(request));
    const outcome = await outcomeOf(async () => {
      const { verticalOf } = ports;
      const { recognised } = signIns;
      const sources = { recognised, orders, verticalOf, vertical, now };
      const judged = await judgeCall(method, input, { tenant, scope }, sources);
      if (method === 'openQuestion' && !waiting.mayBegin()) return false;
      if (method === 'readQuestion' && !waiting.mayGoOn()) return null;
      const directory = ports.engine.unit(ports.identity, tenant, { create }) as unknown as Readonly<
        Record<string, (input: unknown) => Promise<unknown>>
      >;
      const call = directory[method];
      if (!call) throw unknownUnit('identity');
      const value = await call(judged);
      if (method === 'mintOwnerReplacement')
        for (const order of orders.bodies({ tenant, scope }, 'owner-replacement'))
          HOLDERS.set(order, (value as OwnerReplacement).holder.email);
      return method === 'getConfig' ? withoutSecrets(value as Readonly<Record<string, string>>) : value;
    });
    sendJson(response, 200, outcome);
  },
  'POST /configuration': async ({ response, tenant, scope }, { ports: { engine, identity } }) => {
    const outcome = await outcomeOf(async () => {
      const read = await readInstance(engine.unit(identity, tenant), { scopeId: scope });
      if (!read.changed) throw new TypeError('the directory left out the configuration');
      return { version: read.version, config: withoutSecrets(read.config) };
    });
    sendJson(response, 200, outcome);
  },
  'POST /vault': async ({ request, response, tenant, scope }, { ports: { vault } }) => {
    const { method, input } = vaultCall.parse(await readJson(request));
    const ref = { tenantId: tenant as TenantId, scopeId: scope as ScopeId };
    const call = vault[method] as (...given: readonly unknown[]) => Promise<unknown>;
    sendJson(response, 200, await outcomeOf(() => call.call(vault, ref, ...input)));
  },
  // The words are the platform's: an instance sends no person a mail of its own in the operator's name.
  'POST /holder-notice': async ({ response, tenant, scope }, { ports, orders }) => {
    const ref = { tenant, scope };
    const outcome = await outcomeOf(async () => {
      const order = orders.bodies(ref, 'owner-replacement').find((each) => HOLDERS.has(each));
      if (!order) throw refused('The operator replaces no owner here.');
      const to = HOLDERS.get(order) ?? null;
      HOLDERS.delete(order);
      const business = (await ports.nameOf(ref)) ?? '';
      return mailToHolder(ports.mailer ?? undefined, { to, business, why: String(order.why) });
    });
    sendJson(response, 200, outcome);
  },
};

/** Opens the server of a vertical. Close it with `server.close()`. */
export function openServices(socket: string, options: ServicesOptions): Promise<Server> {
  const server = createServer((request, response) => {
    answer(request, response, options).catch((error: unknown) => {
      const failure = failureOf(error);
      if (failure.code === 'internal')
        options.onIncident(error, {
          kind: 'runtime',
          key: options.vertical,
          method: `services ${request.method} ${request.url?.split('?')[0]}`,
        });
      if (response.headersSent) response.destroy();
      else sendJson(response, statusOf(error), failure);
    });
  });
  // An upload of an attachment may take as long as its sender needs.
  server.requestTimeout = 0;
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(socket, () => resolve(server));
  });
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  options: ServicesOptions,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://platform.internal');
  const named = `${request.method} ${url.pathname}`;
  if (named.startsWith('GET /bundles/')) return sendBundle(url, response, options);
  if (named === 'GET /egress-policy')
    return sendJson(response, 200, await options.ports.egressPolicy(options.vertical));
  if (named === 'POST /telemetry') {
    const lines = parseLines(await readText(request, BATCH_BYTES_MAX));
    options.ports.onLines(options.vertical, await withOwnInstances(lines, options));
    return sendJson(response, 200, {});
  }
  const asked = { request, response, url, ...(await ownerOf(request, options)) };
  if (url.pathname.startsWith('/blobs/')) return answerBlobs(asked, options);
  if (url.pathname === '/model') return relay(asked, options);
  const route = Object.hasOwn(ROUTES, named) ? ROUTES[named] : undefined;
  if (!route) throw new PlatformError('not_found', 'There is no such capability.');
  await route(asked, options);
}

/** @throws PlatformError `forbidden` unless the scope is one of this vertical and tenant. */
async function ownerOf(request: IncomingMessage, { vertical, ports }: ServicesOptions): Promise<InstanceRef> {
  const { 'x-freehold-tenant': tenant, 'x-freehold-scope': scope } = request.headers;
  if (typeof tenant === 'string' && typeof scope === 'string') {
    const ref = { tenant, scope };
    if ((await ports.verticalOf(ref)) === vertical) return ref;
  }
  throw refused('This is no instance of this application.');
}

function refused(message: string): PlatformError {
  return new PlatformError('forbidden', message, { reason: 'capability_refused' });
}

/** A bundle may call itself in the name of any instance: a line that names one of another vertical names none. */
async function withOwnInstances(
  lines: readonly HostedLine[],
  { vertical, ports }: ServicesOptions,
): Promise<readonly HostedLine[]> {
  const known = new Map<string, boolean>();
  const shown: HostedLine[] = [];
  for (const line of lines) {
    const { tenant, scope, ...rest } = { tenant: undefined, scope: undefined, ...line };
    const name = `${tenant} ${scope}`;
    if (tenant !== undefined && scope !== undefined && !known.has(name))
      known.set(name, (await ports.verticalOf({ tenant, scope })) === vertical);
    shown.push(known.get(name) ? line : (rest as HostedLine));
  }
  return shown;
}

async function sendBundle(url: URL, response: ServerResponse, { bundle }: ServicesOptions): Promise<void> {
  const found = await bundle(decodeURIComponent(url.pathname.slice('/bundles/'.length)));
  if (!found) throw new PlatformError('not_found', 'There is no such bundle.');
  sendJson(response, 200, found);
}

async function answerBlobs(
  { request, response, url, scope }: Asked,
  { ports }: ServicesOptions,
): Promise<void> {
  if (!ports.blobs)
    throw new PlatformError('unsupported', 'Nothing can be attached here.', { reason: 'no_blob_store' });
  const store = ports.blobs(scope);
  const digest = url.pathname.slice('/blobs/'.length);
  // It becomes the name of a file.
  if (digest !== '' && !/^[0-9a-f]{64}$/.test(digest))
    throw new PlatformError('not_found', 'There are no such bytes.');
  switch (request.method) {
    case 'PUT': {
      const { bytesMax, ...limits } = blobLimits.parse(Object.fromEntries(url.searchParams));
      const body = Readable.toWeb(request) as unknown as ReadableStream<Uint8Array>;
      return sendJson(response, 200, await store.put(body, { bytesMax, ...limits }));
    }
    case 'GET': {
      if (digest === '')
        return sendJson(response, 200, await pageOf(store.list(), url.searchParams.get('after')));
      const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '');
      const body = await store.open(
        digest,
        range ? { start: Number(range[1]), end: Number(range[2]) + 1 } : undefined,
      );
      if (!body) throw new PlatformError('not_found', 'There are no such bytes.');
      response.writeHead(200, { 'content-type': 'application/octet-stream' });
      return pipe(body, response);
    }
    case 'DELETE':
      await (digest === '' ? store.clear() : store.delete(digest));
      return sendJson(response, 200, {});
    default:
      throw new PlatformError('method_not_allowed', 'The store of attachments has no such method.');
  }
}

/** In the order of their digests, so that the next page follows the last digest of this one. */
async function pageOf(list: AsyncIterable<BlobEntry>, after: string | null): Promise<readonly BlobEntry[]> {
  const entries: BlobEntry[] = [];
  for await (const entry of list) if (entry.digest > (after ?? '')) entries.push(entry);
  return entries.sort((one, other) => (one.digest < other.digest ? -1 : 1)).slice(0, BLOBS_PAGE);
}

/** Headers between two hops, and those of this socket. */
const NOT_RELAYED =
  /^(?:connection|keep-alive|transfer-encoding|host|content-length|upgrade|te|x-freehold-.*)$/;

/** Sends a request to a provider of models. */
async function relay({ request, response, tenant, scope }: Asked, { ports }: ServicesOptions): Promise<void> {
  const target = new URL(String(request.headers['x-freehold-target']));
  // It would reach every service that the platform can, without the guard against private addresses.
  if (!ports.isModelProvider(target))
    throw refused(`${target.host} is no provider of language models that the operator set up.`);
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (NOT_RELAYED.test(name) || value === undefined) continue;
    headers.set(name, withSecret(String(value), target, ports));
  }
  const body = request.method === 'GET' || request.method === 'HEAD' ? null : await readBytes(request);
  const init: RequestInit = { method: request.method ?? 'GET', headers, body, redirect: 'manual' };
  ports.onModelCall?.({ tenant, scope });
  const answered = await ports.modelFetch(target.href, init).catch(() => null);
  // No answer: the request fails for the application as one to a provider that it cannot reach.
  if (answered === null) return void response.destroy();
  const relayed = [...answered.headers].filter(
    ([name]) => !NOT_RELAYED.test(name) && name !== 'content-encoding',
  );
  response.writeHead(answered.status, relayed.flat());
  if (answered.body) await pipe(answered.body, response);
  else response.end();
}

/** The secrets of models stay here: a bundle knows their names alone. */
function withSecret(value: string, target: URL, { modelSecret }: PlatformPorts): string {
  return value.replace(/\bheld:([A-Z0-9_]+)/, (_, name: string) => {
    const secret = modelSecret(name, target);
    if (secret !== null) return secret;
    throw refused(`The operator's ${name} is not for this address.`);
  });
}

async function pipe(body: ReadableStream<Uint8Array>, response: ServerResponse): Promise<void> {
  const source = Readable.fromWeb(body as unknown as NodeStream);
  await new Promise<void>((resolve) => {
    // An answer that breaks off is no fault of the platform: its reader finds it cut off.
    source.once('error', () => response.destroy());
    response.once('error', () => response.destroy());
    response.once('close', () => {
      // A reader who left stops the one who writes.
      source.destroy();
      resolve();
    });
    source.pipe(response);
  });
}

async function outcomeOf(work: () => Promise<unknown>): Promise<Outcome> {
  try {
    return { ok: true, value: (await work()) ?? null };
  } catch (error) {
    if (error instanceof PlatformError) return { ok: false, failure: toFailure(error) };
    throw error;
  }
}

async function readBytes(request: IncomingMessage, max = CALL_BYTES_MAX): Promise<Buffer<ArrayBuffer>> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > max)
      throw new PlatformError('payload_too_large', `A call of the platform has at most ${max} bytes.`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

async function readText(request: IncomingMessage, max: number): Promise<string> {
  return (await readBytes(request, max)).toString('utf8');
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  return JSON.parse(await readText(request, CALL_BYTES_MAX));
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const body = Buffer.from(JSON.stringify(value));
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length });
  response.end(body);
}

function statusOf(error: unknown): number {
  if (error instanceof PlatformError) return error.status;
  return error instanceof z.ZodError || error instanceof SyntaxError ? 400 : 500;
}
