/** Asks the platform for a tenant (spec 4.3): for a vertical with the grant `tenant-provisioner`. */
import { slug, tenantId } from '@freehold/contracts';
import { z } from 'zod';
import {
  askPlatform,
  type PlatformAddress,
  PlatformRequestError,
  type PlatformRequestOptions,
} from './ask-platform.ts';

const TENANTS_PATH = '/tenants';

export interface TenantOrder extends PlatformAddress {
  /** Never used twice, also not after the tenant is deleted. */
  readonly slug: string;
  readonly name: string;
  /** For 24 hours the platform repeats its answer to the same call with the same key. */
  readonly idempotencyKey?: string;
}

const requestedTenant = z.object({ id: tenantId, slug, name: z.string(), status: z.string() });

export interface RequestedTenant extends z.infer<typeof requestedTenant> {
  /** False when a tenant of this slug and name existed already. */
  readonly created: boolean;
}

/** The platform's refusal. Reasons: `not_granted`, `slug_taken`, `slug_retired` and others. */
export class TenantRequestError extends PlatformRequestError {
  override readonly name = 'TenantRequestError';
}

/**
 * Creates a tenant, as this vertical. Idempotent by slug: the same name returns the existing tenant, another name is a
 * conflict.
 * @throws TenantRequestError when the platform refuses, or its answer is not part of its contract.
 * @throws TypeError as `fetch` does, when the control plane cannot be reached; also when it takes too long.
 */
export async function requestTenant(
  { idempotencyKey, slug: asked, name, ...address }: TenantOrder,
  options: PlatformRequestOptions = {},
): Promise<RequestedTenant> {
  const question = {
    path: TENANTS_PATH,
    body: { slug: asked, name },
    idempotencyKey,
    answer: requestedTenant,
    Refused: TenantRequestError,
  };
  const { status, value } = await askPlatform(address, question, options);
  return { ...value, created: status === 201 };
}
