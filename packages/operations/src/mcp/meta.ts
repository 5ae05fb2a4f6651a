/** A tool call carries under `_meta` what HTTP carries in headers: the same conditions, keys and answers (spec 4.5.2). */
import { PlatformError } from '@freehold/contracts';
import { parseIdempotencyKey } from '@freehold/contracts/http';

/** The members of `_meta` that are ours. */
export const MCP_META = {
  /** Asked, on calls that change something: a repeat with the same key is answered from the first. */
  idempotencyKey: 'freehold/idempotencyKey',
  /** Asked, on calls that change something: a version as `freehold/version` told it, or `*`. */
  ifMatch: 'freehold/ifMatch',
  /** Answered: the version of what was read or changed; absent when it has none. */
  version: 'freehold/version',
  /** Answered: true when this is the stored answer of an earlier call; absent otherwise. */
  replayed: 'freehold/replayed',
  /** Answered by a vertical's tools: the recorded call; absent for reads. */
  invocation: 'freehold/invocation',
  /** Answered with `isError`: the problem document. */
  problem: 'freehold/problem',
} as const;

/** As many characters as an entity tag may have here, none of them a quote: `_meta` holds the version itself. */
const VERSION = /^[!#-~]{1,255}$/;

/** The conditions of a tool call. */
export interface CallConditions {
  readonly idempotencyKey?: string;
  readonly ifMatch?: string;
}

/**
 * Reads the conditions of a call.
 * @throws PlatformError `validation_failed` for one that is malformed: a condition is met or refused, never dropped.
 */
export function readCallMeta(meta: Readonly<Record<string, unknown>> | undefined): CallConditions {
  const idempotencyKey = readKey(meta?.[MCP_META.idempotencyKey]);
  const ifMatch = meta?.[MCP_META.ifMatch];
  if (ifMatch !== undefined && (typeof ifMatch !== 'string' || !VERSION.test(ifMatch)))
    throw malformedMeta(MCP_META.ifMatch, 'must be a version without quotes, or *');
  return {
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(ifMatch === undefined ? {} : { ifMatch }),
  };
}

/** The refusal of a member of `_meta`. @param message what it must be: `must be …`. */
export function malformedMeta(member: string, message: string): PlatformError {
  return new PlatformError('validation_failed', `The member ${member} of _meta ${message}.`, {
    errors: [{ path: member, message }],
  });
}

/** A key may be quoted as in the header: the two spellings of one key are the same key on every surface. */
function readKey(key: unknown): string | undefined {
  if (key === undefined) return undefined;
  const fault = malformedMeta(MCP_META.idempotencyKey, 'must be 1 to 255 visible ASCII characters');
  if (typeof key !== 'string') throw fault;
  try {
    return parseIdempotencyKey(key);
  } catch {
    throw fault;
  }
}
