/** The service that the public surface acts as, and the idempotency keys of its calls. */
import { createHash } from 'node:crypto';
import type { InvokeResult, OperationStub } from '@freehold/contracts';
import type { HandlerActor, PublicActor } from './public-surface.ts';

/**
 * The actor over a scope as its service sees it: `host.operations(scopeId, 'service:booking')`.
 * @param allowedOrigins see {@link PublicActor}.
 */
export function makePublicActor(stub: OperationStub, allowedOrigins: readonly string[]): PublicActor {
  return {
    allowedOrigins,
    invoke: (operation, input, call) => stub.invoke({ operation, input, ...call }),
  };
}

interface Visit {
  readonly origin: string;
  /** The key of the request. */
  readonly key: string | undefined;
}

export interface Calls {
  readonly actor: HandlerActor;
  /** Whether all calls repeated earlier ones. */
  replayed(): boolean;
}

/** The actor for one request: each of its calls gets a key derived from the visitor's. */
export function makeHandlerActor(actor: PublicActor, { origin, key }: Visit): Calls {
  let count = 0;
  const outcomes = { anew: false, replayed: false };
  return {
    actor: {
      allowedOrigins: actor.allowedOrigins,
      invoke: async (operation, input) => {
        count += 1;
        const call = key === undefined ? {} : { idempotencyKey: keyOf({ origin, key, count }) };
        const result = await actor.invoke(operation, input, call);
        if (isReplay(result)) outcomes.replayed = true;
        else if (isRecorded(result)) outcomes.anew = true;
        return result;
      },
    },
    replayed: () => outcomes.replayed && !outcomes.anew,
  };
}

/**
 * All visitors of all sites are one principal, and the scope stores keys by principal: two sites must not share a key,
 * and the second call of a request is no repeat of its first.
 */
function keyOf(call: { readonly origin: string; readonly key: string; readonly count: number }): string {
  return createHash('sha256')
    .update(JSON.stringify([call.origin, call.key, call.count]))
    .digest('base64url');
}

function isReplay(result: Partial<InvokeResult> | undefined): boolean {
  return result?.replayed === true;
}

/** Reads are not recorded, so that they are neither new nor repeated. */
function isRecorded(result: Partial<InvokeResult> | undefined): boolean {
  return typeof result?.invocation === 'string';
}
