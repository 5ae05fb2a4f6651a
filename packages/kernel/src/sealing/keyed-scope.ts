/**
 * A scope from outside, with a vault behind it. What a call lacks of keys is found by a look before its handler, and
 * comes with the next look: a handler runs once. Here too, the vault is asked who was erased before an older state
 * answers anything.
 */

import { PlatformError } from '@freehold/contracts';
import type { ClaimedDelivery, WorkDone, WorkRequest } from '../deliveries/declarations.ts';
import type { ScopeStub } from '../scope-host.ts';
import type { ScopeInvoke, ScopeInvoked } from '../scope-methods.ts';
import type { KeyKeeper } from './key-keeper.ts';
import { isKeysNeeded, isNothing, type KeyNeeds, type KeySupply, needsOf, noVault } from './key-needs.ts';
import { isErasuresUnseen, isKeysUnbound } from './pending-erasures.ts';
import type { Vault } from './vault.ts';

/** How often the look of one call may find that something is missing: what it reads may change between two looks. */
const LOOKS_MAX = 50;

export interface KeyedScope {
  readonly scopeId: string;
  readonly vault: Vault;
  readonly keeper: KeyKeeper;
}

/** A round of work whose deliveries needed keys that the vault refuses; told to the runner in the same process. */
const refused = new WeakMap<WorkDone, unknown>();

/** Why some deliveries of a round went without their keys, or undefined. */
export function keysRefusedTo(round: WorkDone): unknown {
  return refused.get(round);
}

/** Wraps a scope's stub. Its callers see one call, whatever had to be fetched for it. */
export function keyedScope(stub: ScopeStub, keyed: KeyedScope): ScopeStub {
  const { scopeId, vault, keeper } = keyed;

  const redactPendingErasures = async (): Promise<void> => {
    const { tenantId, mark } = await stub.latecomers({});
    if (mark === null) return;
    await stub.redactLatecomers({
      mark,
      receipts: await vault.shredded({ tenantId, scopeId: scopeId as never }),
    });
  };

  /** Makes a call, and again each time that it was not begun for want of something. */
  const call = async <T>(
    make: (supply: KeySupply) => Promise<T>,
    bring: (supply: KeySupply) => Promise<KeySupply> = async (supply) => supply,
  ): Promise<T> => {
    let supply: KeySupply = {};
    for (let looks = 1; ; looks++) {
      try {
        return await make(supply);
      } catch (error) {
        if (looks >= LOOKS_MAX) throw error;
        supply = {};
        if (isErasuresUnseen(error)) await redactPendingErasures();
        else if (isKeysUnbound(error)) await keeper.bindAll(scopeId);
        else if (isKeysNeeded(error)) supply = await bring(await keeper.fetch(scopeId, requireNeeds(error)));
        else throw error;
      }
    }
  };

  const invoke = async (input: ScopeInvoke): Promise<ScopeInvoked> => {
    if (input.tenantId !== undefined) keeper.know(scopeId, input.tenantId);
    const { keyWork, ...result } = await call((keys) => stub.invoke({ ...input, keys }));
    if (keyWork) keeper.tend(scopeId, keyWork);
    return result;
  };

  const methods = new Map<string | symbol, unknown>([
    ['invoke', invoke],
    ['work', (input: WorkRequest) => workThrough({ stub, keyed, call }, input)],
  ]);
  return new Proxy(stub, {
    get: (target, name) => {
      const known = methods.get(name);
      if (known) return known;
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      const through = (input: object): Promise<unknown> =>
        call(
          () => method(input),
          // What reads takes no keys along: they are handed in before.
          async (supply) => {
            await stub.provideKeys(supply);
            return {};
          },
        );
      methods.set(name, through);
      return through;
    },
  });
}

type Call = <T>(make: (supply: KeySupply) => Promise<T>) => Promise<T>;

/** One round of work: rounds are made until none lacks a key, and answered as one. */
async function workThrough(
  { stub, keyed, call }: { readonly stub: ScopeStub; readonly keyed: KeyedScope; readonly call: Call },
  input: WorkRequest,
): Promise<WorkDone> {
  const claimed: ClaimedDelivery[] = [];
  let settled = 0;
  let sweep = false;
  let brought: KeySupply = {};
  let withoutKeys = input.withoutKeys;
  let refusal: unknown;
  for (let looks = 1; ; looks++) {
    const round: WorkDone = await call((keys) =>
      stub.work({ ...(withoutKeys ? { withoutKeys } : {}), keys: { ...brought, ...keys } }),
    );
    claimed.push(...round.claimed);
    settled += round.settled;
    sweep ||= round.sweep === true;
    const { needs, ...rest } = round;
    if (needs && looks < LOOKS_MAX && !withoutKeys) {
      try {
        brought = await keyed.keeper.fetch(keyed.scopeId, needs);
        continue;
      } catch (error) {
        // What was lent out must be answered all the same; a vault that is away is asked again by the next round.
        if (isPassing(error) && claimed.length === 0) throw error;
        if (!isPassing(error)) {
          refusal = error;
          withoutKeys = true;
          // A person's damaged key is in no other delivery's way: those who make persons still have their pool.
          brought = await keyed.keeper
            .fetch(keyed.scopeId, { subjects: [], pool: needs.pool })
            .catch(() => ({}));
          continue;
        }
      }
    }
    const done: WorkDone = { ...rest, claimed, settled, ...(sweep ? { sweep: true } : {}) };
    if (refusal !== undefined) refused.set(done, refusal);
    return done;
  }
}

/** A vault that is out of reach for a while, in distinction from one that is there and cannot give a key. */
function isPassing(error: unknown): boolean {
  return error instanceof PlatformError && error.code === 'unavailable';
}

/** Wraps the stub of a host without a vault: what a call lacks cannot be had, and is no business of its caller. */
export function unkeyedScope(stub: ScopeStub): ScopeStub {
  const methods = new Map<string | symbol, unknown>();
  return new Proxy(stub, {
    get: (target, name) => {
      const known = methods.get(name);
      if (known) return known;
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      const through = async (input: object): Promise<unknown> => {
        const answer = await method(input).catch((error: unknown) => {
          throw isKeysNeeded(error) ? noVault() : error;
        });
        if (name === 'work' && (answer as WorkDone).needs) throw noVault();
        return answer;
      };
      methods.set(name, through);
      return through;
    },
  });
}

/** @throws the failure itself when it names nothing that could be fetched. */
function requireNeeds(error: PlatformError): KeyNeeds {
  const needs = needsOf(error);
  if (isNothing(needs)) throw error;
  return needs;
}
