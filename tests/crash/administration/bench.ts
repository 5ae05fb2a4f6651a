/** Prepares and performs deeds: each call is announced before it is made, and its result after. */
import { writeSync } from 'node:fs';
import { PlatformError, parseInput } from '@freehold/contracts';
import {
  type AdminOperation,
  type AdminOperationName,
  adminOperations,
  type OperationRecord,
} from '../../../packages/directory/src/admin-operations.ts';
import type { Actor, AdminResult } from '../../../packages/directory/src/index.ts';
import { isAct, performAct } from './acts.ts';
import { THIS_REQUEST } from './conditions.ts';
import { isLong } from './judge.ts';
import type { OpenedPlatform } from './open.ts';
import type { Condition, DeedName, Line, Logged, RepeatableCall } from './protocol.ts';

export type CallParts = Omit<RepeatableCall, 'operation' | 'key'>;

/** A mutation that is ready to be made, on data that no other mutation touches. */
export interface Prepared extends CallParts {
  readonly effect: readonly Condition[];
  /** The rows of the log that belong to it. Default: those of its request. */
  readonly logged?: Logged;
  /** Called when it was acknowledged, or refused. */
  readonly after?: () => void;
}

/** Makes one kind of mutation. */
export type Deed = (bench: Bench) => Promise<Prepared>;

export interface Bench {
  readonly platform: OpenedPlatform;
  /** Returns a new name. */
  name(prefix: string): string;
  /** Makes a call that prepares another one, and returns its value. */
  value<T = { id: string }>(operation: AdminOperationName, parts?: CallParts): Promise<T>;
  /** The same for long work, which must succeed. */
  finish(operation: AdminOperationName, parts?: CallParts): Promise<OperationRecord>;
  /** Begins long work, and does not wait for its end. */
  begin(operation: AdminOperationName, parts?: CallParts): Promise<OperationRecord>;
  /** Makes the mutation itself. */
  make(operation: DeedName, prepared: Prepared): Promise<void>;
  /** Repeats a call. */
  repeat(call: RepeatableCall, request: string): Promise<void>;
}

const STAFF: Actor = { kind: 'staff', id: 'ada', name: 'Ada', role: 'admin' };

/** Writes a line synchronously, so that the test gets it even if this process dies. */
export function say(line: Line): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}

export function makeBench(platform: OpenedPlatform, round: string): Bench {
  let names = 0;
  const next = (): number => {
    names += 1;
    return names;
  };
  const perform = async (
    call: RepeatableCall,
    effect: readonly Condition[] | null,
    {
      request = `req-${round}-${next()}`,
      waits = true,
      again = false,
      logged,
    }: { request?: string; waits?: boolean; again?: boolean; logged?: Logged | undefined } = {},
  ): Promise<AdminResult> => {
    const told = effect?.map((each) => ofRequest(each, request)) ?? null;
    say({ t: 'begin', request, call, effect: told, ...(logged ? { logged } : {}) });
    try {
      const result = await performOn(platform, call, request, again);
      say({ t: 'acknowledged', request, replayed: result.replayed, head: result.head ?? null });
      // A caller of long work waits for its end, which is reported apart.
      if (waits && isLong(call)) await waitForEnd(platform, result, request);
      return result;
    } catch (error) {
      say({ t: 'refused', request, ...wordsOf(error) });
      throw error;
    }
  };
  const callOf = (operation: DeedName, parts: CallParts): RepeatableCall => ({
    ...parts,
    operation,
    key: `key-${round}-${next()}`,
  });
  return {
    platform,
    name: (prefix) => `${prefix}-${round}-${next()}`,
    value: async <T>(operation: AdminOperationName, parts: CallParts = {}) =>
      (await perform(callOf(operation, parts), null)).value as T,
    finish: async (operation, parts = {}) => {
      const { value } = await perform(callOf(operation, parts), null);
      const { id } = value as OperationRecord;
      const record = await recordOf(platform, id);
      if (record.state !== 'done') throw new Error(`${operation} ended as ${JSON.stringify(record)}`);
      return record;
    },
    begin: async (operation, parts = {}) =>
      (await perform(callOf(operation, parts), null, { waits: false })).value as OperationRecord,
    make: async (operation, { effect, after, logged, ...parts }) => {
      try {
        await perform(callOf(operation, parts), effect, { logged });
      } finally {
        after?.();
      }
    },
    repeat: async (call, request) => void (await perform(call, [], { request, again: true })),
  };
}

/** Tells the call itself from others of its kind. */
function ofRequest(condition: Condition, request: string): Condition {
  if (!('sql' in condition)) return condition;
  return {
    ...condition,
    params: condition.params.map((value) => (value === THIS_REQUEST ? request : value)),
  };
}

/** Parses as the transport does, and performs. */
async function performOn(
  platform: OpenedPlatform,
  call: RepeatableCall,
  requestId: string,
  again = false,
): Promise<AdminResult> {
  const { operation, builder, upload, key } = call;
  if (isAct(operation)) {
    await performAct(platform, operation, call.args ?? {}, { request: requestId, key, again });
    return { status: 200, value: null, replayed: false };
  }
  const { input }: AdminOperation = adminOperations[operation];
  return platform.admin.perform({
    operation,
    params: input.params ? parseInput('The path', input.params, call.params) : {},
    query: input.query ? parseInput('The query', input.query, call.query ?? {}) : {},
    body: input.body ? parseInput('The body', input.body, call.body ?? {}) : {},
    actor:
      builder === undefined ? STAFF : { kind: 'builder', id: 'tok_ci', name: 'ci', tenant: builder as never },
    requestId,
    idempotencyKey: key,
    ...(upload === undefined
      ? {}
      : {
          upload: {
            mediaType: 'application/x-ndjson',
            body: new Response(upload).body as ReadableStream<Uint8Array>,
          },
        }),
  });
}

async function waitForEnd(platform: OpenedPlatform, { value }: AdminResult, request: string): Promise<void> {
  const { id } = value as OperationRecord;
  say({ t: 'ended', request, state: (await recordOf(platform, id)).state });
}

/** Waits for long work to end. */
export async function recordOf({ admin }: OpenedPlatform, operation: string): Promise<OperationRecord> {
  for (;;) {
    const { value } = await admin.perform({
      operation: 'operations.get',
      params: { operation },
      query: { wait: '30s' },
      body: {},
      actor: STAFF,
      requestId: 'req-follow',
    });
    const record = value as OperationRecord;
    if (record.state !== 'queued' && record.state !== 'running') return record;
  }
}

/** Reads the directory, for callers without a call to announce. */
export async function ask<T>(
  platform: OpenedPlatform,
  operation: AdminOperationName,
  query: Readonly<Record<string, unknown>> = {},
  params: Readonly<Record<string, unknown>> = {},
): Promise<T> {
  const result = await performOn(platform, { operation, params, query, key: 'none' }, 'req-look');
  return result.value as T;
}

function wordsOf(error: unknown): { readonly reason: string; readonly message: string } {
  if (error instanceof PlatformError)
    return { reason: error.reason ?? error.code, message: `${error.code}: ${error.message}` };
  return { reason: 'unexpected', message: error instanceof Error ? String(error.stack) : String(error) };
}
