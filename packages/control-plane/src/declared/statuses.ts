/**
 * Which statuses an operation can answer, from its declaration: what the OpenAPI document promises, and what the
 * server is tested against.
 */
import { PROBLEMS, type ProblemCode } from '@freehold/contracts';
import type { AdminOperation } from '@freehold/directory/declarations';
import { pathParams } from '@freehold/operations';
import { isUnsafe, isValidated, takesIdempotencyKey, takesIfMatch } from './operations.ts';

/**
 * The statuses without a problem: success, an idempotent create that found the thing there, a plan, an unchanged read.
 */
export function successStatuses(operation: AdminOperation): number[] {
  return [
    ...(operation.success !== 200 && (operation.success === 201 || operation.plan) ? [200] : []),
    operation.success,
    ...(isValidated(operation) ? [304] : []),
  ];
}

/** The codes that an operation can fail with: what it declares, and what the pipeline around it answers. */
export function problemCodes(operation: AdminOperation): ProblemCode[] {
  const unsafe = isUnsafe(operation.method);
  const codes = new Set<ProblemCode>([
    'validation_failed',
    'unauthenticated',
    'rate_limited',
    // A builder at a door for staff, a vertical at anybody's; a staff session that another site tries to use.
    'forbidden',
    // What the path names is not there; a builder names another tenant.
    ...(pathParams(operation.path).length > 0 || namesTenant(operation) ? (['not_found'] as const) : []),
    // An idempotency key that was used for another request.
    ...(takesIdempotencyKey(operation) ? (['conflict'] as const) : []),
    ...(unsafe ? (['payload_too_large', 'unsupported_media_type'] as const) : []),
    ...(takesIfMatch(operation) ? (['precondition_failed'] as const) : []),
    'internal',
    // The directory is shutting down, or a commit could not be stored.
    'unavailable',
    ...(operation.problems ?? []),
  ]);
  return [...codes].sort((left, right) => PROBLEMS[left].status - PROBLEMS[right].status);
}

/** Whether a builder could name a tenant that is not its own. */
function namesTenant({ builder, input }: AdminOperation): boolean {
  const schemas = [input.params, input.query, input.body];
  return builder === 'own-tenant' && schemas.some((schema) => schema && 'tenant' in schema.shape);
}
