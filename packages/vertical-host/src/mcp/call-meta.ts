/** What HTTP says in headers, a tool call says under `_meta`: the same conditions, keys and answers (spec 4.5.2). */
import { type InvokeRequest, type InvokeResult, PlatformError, type Problem } from '@freehold/contracts';
import { parseIdempotencyKey } from '@freehold/contracts/http';

/** The members of `_meta` that are ours. */
export const MCP_META = {
  /** Asked, on calls that change something: a repeat with the same key is answered from the first. */
  idempotencyKey: 'freehold/idempotencyKey',
  /** Asked, on calls that change something: a version as `freehold/version` told it, or `*`. */
  ifMatch: 'freehold/ifMatch',
  /** Answered: the version of the operation's entity after the call; absent when it has none. */
  version: 'freehold/version',
  /** Answered: true when this is the stored answer of an earlier call; absent otherwise. */
  replayed: 'freehold/replayed',
  /** Answered: the recorded call; absent for reads. */
  invocation: 'freehold/invocation',
  /** Answered with `isError`: the problem document. */
  problem: 'freehold/problem',
} as const;

/** As many characters as an entity tag may have here, none of them a quote: `_meta` holds the version itself. */
const VERSION = /^[!#-~]{1,255}$/;

/**
 * Reads the conditions of a call.
 * @throws PlatformError `validation_failed` for one that is malformed: a condition is met or refused, never dropped.
 */
export function readCallMeta(
  meta: Readonly<Record<string, unknown>> | undefined,
): Pick<InvokeRequest, 'idempotencyKey' | 'ifMatch'> {
  const idempotencyKey = readKey(meta?.[MCP_META.idempotencyKey]);
  const ifMatch = meta?.[MCP_META.ifMatch];
  if (ifMatch !== undefined && (typeof ifMatch !== 'string' || !VERSION.test(ifMatch)))
    throw malformed(MCP_META.ifMatch, 'must be a version without quotes, or *');
  return {
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(ifMatch === undefined ? {} : { ifMatch }),
  };
}

/** A key may be quoted as in the header: the two spellings of one key are the same key on every surface. */
function readKey(key: unknown): string | undefined {
  if (key === undefined) return undefined;
  const fault = malformed(MCP_META.idempotencyKey, 'must be 1 to 255 visible ASCII characters');
  if (typeof key !== 'string') throw fault;
  try {
    return parseIdempotencyKey(key);
  } catch {
    throw fault;
  }
}

function malformed(key: string, message: string): PlatformError {
  return new PlatformError('validation_failed', `The member ${key} of _meta ${message}.`, {
    errors: [{ path: key, message }],
  });
}

/** What a call that was made says beside its answer. */
export function resultMeta({ version, replayed, invocation }: InvokeResult): Record<string, unknown> {
  return {
    ...(version === null ? {} : { [MCP_META.version]: version }),
    ...(replayed ? { [MCP_META.replayed]: true } : {}),
    ...(invocation === null ? {} : { [MCP_META.invocation]: invocation }),
  };
}

/** What a refused call says beside its text. */
export function problemMeta(problem: Problem): Record<string, unknown> {
  return { [MCP_META.problem]: problem };
}
