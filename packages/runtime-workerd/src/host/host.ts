/**
 * The worker in the process of a deployed vertical that is ours: it finds the object of a request's scope, which runs the
 * bundle, and hands the bundle its capabilities. The platform reaches it over two sockets in a folder of its own: one for the
 * requests of instances, one for its own orders.
 */
import { WorkerEntrypoint } from 'cloudflare:workers';
import { CALL_HEADER, decodeCall } from '@freehold/app/worker/capabilities';
import { problemDocument } from '@freehold/contracts';
import { sendLines } from './batch.ts';
import { loadedFrom } from './bundles.ts';
import type { HostEnv } from './env.ts';
import { notAnswered, reportFailure } from './failures.ts';
import { collectGarbage, scopesLoaded } from './isolates.ts';
import type { Moved, MoveOrder } from './orders.ts';
import { noteSettingsChange } from './settings-changes.ts';

export { Egress } from './egress.ts';
export { Platform } from './platform.ts';
export { Supervisor } from './supervisor.ts';
export { Tail } from './tail.ts';

/** The number of objects that are asked side by side. */
const OPENED_AT_ONCE = 16;

/** The platform's own orders. */
export class Control extends WorkerEntrypoint<HostEnv> {
  override async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const scope = searchParams.get('scope') ?? '';
    const supervisor = () => this.env.SCOPES.getByName(scope);
    switch (`${request.method} ${pathname}`) {
      case 'GET /health':
        return Response.json({ status: 'ok' });
      case 'POST /lines':
        await sendLines(this.env);
        return Response.json({});
      case 'POST /rest':
        for (const loaded of scopesLoaded()) await this.env.SCOPES.getByName(loaded).rest();
        // Also where none rested: the texts of the bundles that were loaded are garbage here.
        collectGarbage();
        return Response.json({});
      case 'POST /check':
        return Response.json(await this.#declarationOf(searchParams.get('digest') ?? ''));
      case 'POST /running':
        return Response.json(await this.#runningOf((await request.json()) as readonly string[]));
      case 'POST /move': {
        const moved: Moved = await supervisor().move((await request.json()) as MoveOrder);
        if (moved.failure !== null || moved.from !== moved.running) collectGarbage();
        return Response.json(moved);
      }
      case 'POST /settings-changed':
        noteSettingsChange();
        return Response.json({});
      case 'POST /restart':
        await supervisor().restart();
        return Response.json({});
      case 'POST /remove':
        await supervisor().remove();
        return Response.json({});
      default:
        return new Response(null, { status: 404 });
    }
  }

  /** The digests that scopes run, a few at a time: each object is opened for it. */
  async #runningOf(scopes: readonly string[]): Promise<(string | null)[]> {
    const found: (string | null)[] = [];
    for (let at = 0; at < scopes.length; at += OPENED_AT_ONCE) {
      const some = scopes.slice(at, at + OPENED_AT_ONCE);
      found.push(...(await Promise.all(some.map((scope) => this.env.SCOPES.getByName(scope).runningNow()))));
    }
    return found;
  }

  /** Loaded for this question alone: what `load` returns is freed with the request. */
  async #declarationOf(digest: string): Promise<unknown> {
    const worker = this.env.LOADER.load(await loadedFrom(this.env, digest, { outbound: null, tail: null }));
    const entrypoint = worker.getEntrypoint('Declaration') as unknown as { declaration(): Promise<unknown> };
    return entrypoint.declaration();
  }
}

/** workerd itself reads that much of a body that nothing else reads. */
const GRACE_BYTES = 65_536;
/** The most bytes that are read of a body that was refused: a sender who sends more is cut off. */
const REFUSED_BYTES_MAX = 32 * 1_024 * 1_024;

/** Reads a body to its end, passes on what is wanted, and reads some of what is not. It does not reject. */
async function readThrough(
  body: ReadableStream<Uint8Array>,
  writer: WritableStreamDefaultWriter<Uint8Array>,
): Promise<void> {
  const reader = body.getReader();
  let isWanted = true;
  let refusedBytes = 0;
  const unwanted = (): void => {
    isWanted = false;
  };
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      if (isWanted) await writer.write(value).catch(unwanted);
      else refusedBytes += value.byteLength;
      if (refusedBytes > REFUSED_BYTES_MAX) break;
    }
    await writer.close().catch(unwanted);
  } catch (error) {
    // The sender went away.
    await writer.abort(error).catch(unwanted);
  }
}

// biome-ignore lint/style/noDefaultExport: it is what workerd hands requests to.
export default {
  async fetch(request: Request, env: HostEnv, ctx: ExecutionContext): Promise<Response> {
    const header = request.headers.get(CALL_HEADER);
    if (header === null) return new Response(null, { status: 400 });
    const { tenant, scope: name } = decodeCall(header);
    const object = env.SCOPES.getByName(name);
    const failed = (error: unknown): Response => {
      reportFailure(env, ctx, { tenant, scope: name, method: 'fetch' }, error);
      return problemDocument(notAnswered(error));
    };
    const scope = { fetch: (sent: Request) => object.fetch(sent).catch(failed) };
    const bytes = Number(request.headers.get('content-length') ?? Number.NaN);
    if (request.body === null || bytes <= GRACE_BYTES) return scope.fetch(request);
    const { readable, writable } = new IdentityTransformStream();
    const writer = writable.getWriter();
    const read = readThrough(request.body, writer);
    const answer = await scope.fetch(new Request(request, { body: readable }));
    // An application that refuses an upload has not read it. Its sender would be cut off while writing, and miss the answer.
    if (!answer.ok) {
      writer.abort().catch(() => undefined);
      await read;
    }
    return answer;
  },
} satisfies ExportedHandler<HostEnv>;
