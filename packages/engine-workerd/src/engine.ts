/** The engine port on workerd: moves a call to the Durable Object of its unit. */
import { type Failure, PlatformError, toFailure } from '@freehold/contracts';
import {
  assertUnitKey,
  type Engine,
  type EngineTools,
  type IncidentSink,
  makeStub,
  type Outcome,
  type UnitOptions,
} from '@freehold/store';
import { makeUnitTools } from './tools/unit-tools.ts';
import type { UnitObject } from './unit-object.ts';

/** The binding of a namespace whose class {@link makeUnitObject} made. */
export type UnitNamespace = DurableObjectNamespace<UnitObject>;

export interface WorkerdEngineOptions {
  /** A namespace for each kind of unit that is called. */
  readonly namespaces: Readonly<Record<string, UnitNamespace>>;
  /** Receives the errors of objects that were unreachable or did not answer. */
  readonly onIncident: IncidentSink;
  /** Whether the objects were made with a `history`. Default false. */
  readonly rewind?: boolean;
}

/** Opens the engine. It costs nothing; it and its stubs may live as long as the isolate. */
export function workerdEngine({
  namespaces,
  onIncident,
  rewind = false,
}: WorkerdEngineOptions): Engine & EngineTools {
  const pending = new Set<Promise<Outcome>>();
  let closed = false;

  /** Returns the function that moves one call to the object of a unit. A failure on the way is an answer too. */
  const mover = (kind: string, key: string): Move => {
    assertUnitKey(key);
    const namespace = Object.hasOwn(namespaces, kind) ? namespaces[kind] : undefined;
    if (!namespace) throw new TypeError(`no Durable Object namespace is bound for units of kind ${kind}`);
    const send = connect(namespace, key);
    return async (method, ask, expected = false) => {
      if (closed) return { ok: false, failure: toFailure(shuttingDown()) };
      const sent = send(ask);
      pending.add(sent);
      try {
        return await sent;
      } catch (error) {
        if (!expected) onIncident(error, { kind, key, method });
        return { ok: false, failure: unanswered(kind) };
      } finally {
        pending.delete(sent);
      }
    };
  };

  return {
    capabilities: { name: 'workerd', rewind },
    unit: ({ kind }, key, options: UnitOptions = {}) => {
      const move = mover(kind, key);
      return makeStub((method, input) => move(method, (stub) => stub.call(method, input, options)));
    },
    tools: ({ kind }, key) => {
      const move = mover(kind, key);
      return makeUnitTools(
        // An object that was told to end gives no answer.
        (tool, input) =>
          move(tool, (stub) => stub.tool(tool, input), tool === 'leave' || tool === 'undoRewind'),
        { newId: () => crypto.randomUUID() },
      );
    },
    close: async () => {
      closed = true;
      await Promise.allSettled(pending);
    },
  };
}

type Ask = (stub: DurableObjectStub<UnitObject>) => Promise<unknown>;
type Move = (method: string, ask: Ask, expected?: boolean) => Promise<Outcome>;

/**
 * Calls through one stub of workerd arrive in the order in which they were made, so the stub is reused. One that
 * failed fails for ever, and one belongs to the request that made it: both are replaced.
 */
function connect(namespace: UnitNamespace, key: string): (ask: Ask) => Promise<Outcome> {
  let current: DurableObjectStub<UnitObject> | undefined;
  const send = async (ask: Ask): Promise<Outcome> => {
    current ??= namespace.get(namespace.idFromName(key));
    const stub = current;
    try {
      return (await ask(stub)) as Outcome;
    } catch (error) {
      if (current === stub) current = undefined;
      throw error;
    }
  };
  return async (ask) => {
    try {
      return await send(ask);
    } catch (error) {
      if (!isOfOtherRequest(error)) throw error;
      return await send(ask);
    }
  };
}

/**
 * Whether workerd refused a call of another request. It refuses before it sends anything, and only its text shows it;
 * so the call may be made again.
 */
function isOfOtherRequest(error: unknown): boolean {
  return (
    error instanceof Error && error.message.startsWith('Cannot perform I/O on behalf of a different request')
  );
}

/**
 * Returns the failure of a call without an answer. The object may have died before the call, in it, or after its
 * commit.
 */
function unanswered(kind: string): Failure {
  return toFailure(
    new PlatformError(
      'unavailable',
      `No answer came from this ${kind}. The call may or may not have been done.`,
      { reason: 'unit_unreachable', headers: { 'retry-after': '1' } },
    ),
  );
}

function shuttingDown(): PlatformError {
  return new PlatformError('unavailable', 'The platform is shutting down. Try again in a moment.', {
    reason: 'shutting_down',
    headers: { 'retry-after': '5' },
  });
}
