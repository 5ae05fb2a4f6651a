/**
 * An application as the runtime of a platform serves it: one object an instance, which holds the scope's database and runs
 * the whole application beside it. Everything else comes as a capability that is bound to the instance.
 */
import { type DurableObject, WorkerEntrypoint } from 'cloudflare:workers';
import {
  type Failure,
  fromFailure,
  PlatformError,
  problemDocument,
  publicError,
  toFailure,
} from '@freehold/contracts';
import { makeUnitObject, makeUnitTools, type UnitObject } from '@freehold/engine-workerd';
import {
  makeScopeUnit,
  runDeliveries,
  type ScopeMethods,
  type ScopeStub,
  type ScopeUnit,
  type Vault,
} from '@freehold/kernel';
import {
  type BlobStore,
  type Engine,
  type EngineTools,
  type IncidentSink,
  makeStub,
  unknownUnit,
} from '@freehold/store';
import type { App } from '../declaration/app.ts';
import type { AppServices, WebFiles } from '../declaration/env.ts';
import { makeApp, type RunningApp } from '../make-app.ts';
import { declarationOf } from '../platform/declaration-of.ts';
import {
  CALL_HEADER,
  decodeCall,
  type HostedBlobEntry,
  type HostedCall,
  type InstanceProps,
  type PlatformCapability,
} from './capabilities.ts';
import { makeToldSignIns } from './told-sign-in.ts';
import { type Refused, watchedScope } from './watched-scope.ts';

export interface HostedOptions {
  /** The built pages, which the bundle brings: `webFiles` of `freehold:web-files`. */
  readonly webFiles?: WebFiles | undefined;
  /**
   * The application runs in `freehold dev`: each refusal of a reaction is told, and the place of `unauthenticated()` is that of
   * the source. Default: it is deployed.
   */
  readonly developed?: { readonly declaredAt: string | null } | undefined;
}

/** The object of an instance, as the runtime calls it. */
export interface InstanceObject extends UnitObject {
  fetch(request: Request): Promise<Response>;
  /** Does the scope's due work. Returns the time of the next, in milliseconds since the epoch, or null. */
  work(): Promise<number | null>;
  /** Opens the scope's database, which migrates it. Null when it is open; `unknown_unit` where there is none yet. */
  open(): Promise<Failure | null>;
}

/** The exports of a bundle's main module. */
export interface HostedApp {
  readonly Instance: new (ctx: DurableObjectState, env: Cloudflare.Env) => DurableObject & InstanceObject;
  /** Tells what is in the bundle. The platform compares it with what was submitted. */
  readonly Declaration: new (
    ctx: ExecutionContext,
    env: Cloudflare.Env,
  ) => WorkerEntrypoint & { declaration(): unknown };
}

const now = (): number => Date.now();
const random = (bytes: number): Uint8Array => crypto.getRandomValues(new Uint8Array(bytes));

/** One line an incident, which the runtime's tail takes: what broke and where, never what was sent. */
const onIncident: IncidentSink = (error, where) => {
  const said = error instanceof Error ? (error.stack ?? error.message) : 'something that is not an error';
  // biome-ignore lint/suspicious/noConsole: the runtime reads it.
  console.error(JSON.stringify({ freehold: 'incident', where, error: said }));
};

/** One line a refusal, as {@link onIncident}. */
const onRefused = (refused: Refused): void => {
  // biome-ignore lint/suspicious/noConsole: the runtime reads it.
  console.error(JSON.stringify({ freehold: 'refused', ...refused }));
};

/** The largest copy, as text. It passes through part by part; this bounds the database of one instance. */
const COPY_BYTES_MAX = 16 * 1_024 * 1_024 * 1_024;

/**
 * Makes what the main module of a bundle exports: `Instance`, the class of an instance's object, and `Declaration`, which
 * tells the platform what was deployed.
 */
export function hostedApp(declared: App, { webFiles, developed }: HostedOptions = {}): HostedApp {
  const app = developed ? placed(declared, developed.declaredAt) : declared;
  const { vertical } = app;
  const kind = makeScopeUnit(vertical).kind;
  const UnitObject = makeUnitObject<ScopeMethods>(
    ({ props }) => countingScopeUnit(vertical, props as InstanceProps),
    { onIncident, copyBytesMax: COPY_BYTES_MAX, now, random },
  );

  class Instance extends UnitObject {
    #running: RunningApp | undefined;
    #working: ScopeStub | undefined;

    get #props(): InstanceProps {
      return this.ctx.props as InstanceProps;
    }

    override async fetch(request: Request): Promise<Response> {
      try {
        const { node, clientAddress, caller } = callOf(request);
        return await this.#app().app.fetch(request, { ...this.#props.settings, node, clientAddress, caller });
      } catch (error) {
        const shown = publicError(error);
        if (shown !== error) onIncident(error, { kind, key: this.#props.scope, method: request.method });
        return problemDocument(shown);
      }
    }

    async work(): Promise<number | null> {
      const { host } = this.#app();
      const { scope: scopeId, has } = this.#props;
      this.#working ??= developed ? watchedScope(host.scope(scopeId), onRefused) : host.scope(scopeId);
      return runDeliveries({
        vertical,
        scope: this.#working,
        scopeId,
        now,
        onIncident,
        ...(has.blobs ? { attachments: host.attachments } : {}),
      });
    }

    async open(): Promise<Failure | null> {
      const outcome = await this.call('identify', {}, {});
      return outcome.ok ? null : outcome.failure;
    }

    #app(): RunningApp {
      this.#running ??= makeApp(app, this.#services());
      return this.#running;
    }

    #services(): AppServices {
      const { platform, scope, platformSecret, has } = this.#props;
      return {
        engine: this.#engine(),
        vault: vaultOver(platform),
        ...(has.blobs ? { blobs: (scopeId) => blobsOver(platform, scope, scopeId) } : {}),
        tellHolder: async () => answerOf(await platform.tellHolder()) as 'mail' | 'log',
        signIn: makeToldSignIns(platform, app.manifest.env),
        platformSecret: [...platformSecret],
        now,
        random,
        fetch: async () => {
          throw new TypeError('the platform asks the issuers of a deployed application');
        },
        modelFetch: (url, init) => untilAborted(url, init, (request) => platform.model(request)),
        onIncident,
        ...(webFiles ? { webFiles } : {}),
      };
    }

    /** The object's own scope, and the tenant's identity directory. Every other unit is none that this instance knows. */
    #engine(): Engine & EngineTools {
      const { platform, scope, tenant } = this.#props;
      return {
        capabilities: { name: 'workerd', rewind: false },
        unit: (definition, key, options = {}) =>
          makeStub(async (method, input) => {
            if (definition.kind === kind && key === scope) return this.call(method, input, options);
            if (definition.kind === 'identity' && key === tenant)
              return platform.identity(method, input, options);
            return { ok: false, failure: toFailure(unknownUnit(definition.kind)) };
          }),
        tools: (definition, key) =>
          makeUnitTools(
            async (tool, input) =>
              definition.kind === kind && key === scope
                ? this.tool(tool, input)
                : { ok: false, failure: toFailure(unknownUnit(definition.kind)) },
            { newId: () => crypto.randomUUID(), isAtHand: true },
          ),
        close: async () => undefined,
      };
    }
  }

  class Declaration extends WorkerEntrypoint {
    declaration() {
      return declarationOf(app);
    }
  }

  return { Instance, Declaration };
}

/** A stack of the bundle names places of the bundle. */
function placed(app: App, declaredAt: string | null): App {
  const { authenticatedPrincipal: seam } = app;
  return seam.kind === 'unauthenticated' ? { ...app, authenticatedPrincipal: { ...seam, declaredAt } } : app;
}

/** The wait in which operations are counted together, in milliseconds. A crash loses them: charging too little is better. */
const COUNT_MS = 1_000;

function countingScopeUnit(vertical: App['vertical'], { platform, has }: InstanceProps): ScopeUnit {
  const unit = makeScopeUnit(vertical, {
    onWork: () => void platform.wake().catch(later),
    foreignSeals: has.foreignSeals === true ? 'sealed' : 'fault',
  });
  let operations = 0;
  const report = (): void => {
    const counted = operations;
    operations = 0;
    void platform.invoked(counted).catch(later);
  };
  unit.onInvoked(() => {
    operations += 1;
    if (operations === 1) setTimeout(report, COUNT_MS);
  });
  return unit;
}

function callOf(request: Request): HostedCall {
  const value = request.headers.get(CALL_HEADER);
  if (value === null) throw new TypeError('the runtime did not say what this request is about');
  return decodeCall(value);
}

/** The alarm of the runtime comes anyway. */
function later(): void {}

function answerOf(outcome: Awaited<ReturnType<PlatformCapability['vault']>>): unknown {
  if (outcome.ok) return outcome.value;
  throw fromFailure(outcome.failure);
}

/** A signal does not cross to the platform: what is given up here is cancelled, which its sender notices. */
async function untilAborted(
  url: RequestInfo | URL,
  { signal, ...init }: RequestInit = {},
  send: (request: Request) => Promise<Response>,
): Promise<Response> {
  signal?.throwIfAborted();
  const answered = send(new Request(url, init));
  if (!signal) return answered;
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = (): void => {
    reject(signal.reason);
    void answered.then(({ body }) => body?.cancel()).catch(() => undefined);
  };
  signal.addEventListener('abort', abort, { once: true });
  try {
    const response = await Promise.race([answered, promise]);
    if (response.body === null) return response;
    return new Response(response.body.pipeThrough(new IdentityTransformStream(), { signal }), response);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** The platform knows the scope: what is passed for it is left out. */
function vaultOver(platform: PlatformCapability): Vault {
  const ask =
    (method: keyof Vault) =>
    async (_scope: unknown, ...input: readonly unknown[]): Promise<never> =>
      answerOf(await platform.vault(method, input)) as never;
  return {
    keys: ask('keys'),
    allot: ask('allot'),
    bind: ask('bind'),
    handBack: ask('handBack'),
    shredded: ask('shredded'),
    shred: ask('shred'),
  };
}

const BLOBS = 'http://blobs.internal/';

function blobsOver(platform: PlatformCapability, own: string, scopeId: string): BlobStore {
  if (scopeId !== own) throw unknownUnit('scope');
  const send = async (method: string, path: string, init: RequestInit = {}): Promise<Response | null> => {
    const response = await platform.blobs(new Request(`${BLOBS}${path}`, { ...init, method }));
    if (response.ok) return response;
    if (response.status === 404 && method === 'GET') return null;
    throw fromFailure((await response.json()) as Failure);
  };
  const required = (response: Response | null): Response => {
    if (response) return response;
    throw new PlatformError('unavailable', 'The place of attachments did not answer.', {
      reason: 'blob_store_unreachable',
    });
  };
  return {
    put: async (body, limits) =>
      (await required(
        await send('PUT', `?${new URLSearchParams(limitsOf(limits))}`, { body }),
      ).json()) as Awaited<ReturnType<BlobStore['put']>>,
    open: async (digest, range) => {
      const headers = range ? { range: `bytes=${range.start}-${range.end - 1}` } : {};
      return (await send('GET', digest, { headers }))?.body ?? null;
    },
    delete: async (digest) => void (await send('DELETE', digest)),
    list: async function* () {
      for (let after = ''; ; ) {
        const page = (await required(await send('GET', `?after=${after}`)).json()) as HostedBlobEntry[];
        yield* page;
        const last = page.at(-1);
        if (!last) return;
        after = last.digest;
      }
    },
    clear: async () => void (await send('DELETE', '')),
  };
}

function limitsOf({ bytesMax, bytes, digest }: Parameters<BlobStore['put']>[1]): Record<string, string> {
  return {
    bytesMax: String(bytesMax),
    ...(bytes === undefined ? {} : { bytes: String(bytes) }),
    ...(digest === undefined ? {} : { digest }),
  };
}
