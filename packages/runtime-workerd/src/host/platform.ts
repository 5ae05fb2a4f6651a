/** The platform as one instance sees it. The props say whose calls these are, and the bundle cannot change them. */
import { WorkerEntrypoint } from 'cloudflare:workers';
import type { PlatformCapability } from '@freehold/app/worker/capabilities';
import { type Failure, PlatformError, toFailure } from '@freehold/contracts';
import type { Outcome, UnitOptions } from '@freehold/store';
import { note } from './batch.ts';
import { askPlatform, type HostEnv } from './env.ts';

interface InstanceRef {
  readonly tenant: string;
  readonly scope: string;
}

export class Platform extends WorkerEntrypoint<HostEnv, InstanceRef> implements PlatformCapability {
  async identity(method: string, input: unknown, options: UnitOptions): Promise<Outcome> {
    // A question to a person is over when another bundle is to run, which would otherwise wait for the answer, and hold up all.
    if (method === 'readQuestion' && (await this.env.SCOPES.getByName(this.ctx.props.scope).isChanging()))
      return { ok: true, value: null };
    return this.#ask('/identity', { method, input, create: options.create === true });
  }

  vault(method: string, input: readonly unknown[]): Promise<Outcome> {
    return this.#ask('/vault', { method, input });
  }

  configuration(): Promise<Outcome> {
    return this.#ask('/configuration', {});
  }

  tellHolder(): Promise<Outcome> {
    return this.#ask('/holder-notice', {});
  }

  blobs(request: Request): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    const { method, body } = request;
    const range = request.headers.get('range');
    const headers: Record<string, string> = range === null ? {} : { range };
    return askPlatform(this.env, `/blobs${pathname}${search}`, this.ctx.props, { method, body, headers });
  }

  /** The target goes in a header, the body passes through. */
  model(request: Request): Promise<Response> {
    const headers = new Headers(request.headers);
    headers.set('x-freehold-target', request.url);
    const { method, body } = request;
    return askPlatform(this.env, '/model', this.ctx.props, { method, body, headers, redirect: 'manual' });
  }

  async invoked(operations: number): Promise<void> {
    note(this.env, this.ctx, { kind: 'invoked', ...this.ctx.props, operations });
  }

  async wake(): Promise<void> {
    await this.env.SCOPES.getByName(this.ctx.props.scope).wake();
  }

  async #ask(path: string, body: unknown): Promise<Outcome> {
    try {
      const response = await askPlatform(this.env, path, this.ctx.props, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      const answer = await response.json();
      return response.ok ? (answer as Outcome) : { ok: false, failure: answer as Failure };
    } catch {
      return { ok: false, failure: toFailure(unreachable()) };
    }
  }
}

function unreachable(): PlatformError {
  return new PlatformError('unavailable', 'The platform did not answer. Try again in a moment.', {
    reason: 'platform_unreachable',
    headers: { 'retry-after': '1' },
  });
}
