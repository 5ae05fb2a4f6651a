/** Lets the slug of a tenant or a scope stand where its id does: two lists are asked before the call itself. */
import { PlatformError, slug as slugSchema } from '@freehold/contracts';
import type { Caller } from '@freehold/control-plane/client';
import { adminOperations } from '@freehold/directory/declarations';
import type { RawInput } from '../lib/command.ts';
import { type Field, SLUGGED } from './fields.ts';
import type { CallParts } from './read-input.ts';

/** Stands for an id while the rest is judged: nothing is sent before that. */
const UNKNOWN = { tenant: `tnt_${'0'.repeat(26)}`, scope: `scp_${'0'.repeat(26)}` } as const;

interface Listed {
  readonly id: string;
  readonly slug: string;
}

/** Returns the fields that were typed as slugs, tenants first. */
export function slugsIn(fields: readonly Field[], raw: RawInput): readonly Field[] {
  return fields
    .filter((field) => {
      const given = raw[field.name];
      if (!SLUGGED.has(field.name) || typeof given !== 'string') return false;
      return !(field.isNullable && given === 'null') && isSlug(given);
    })
    .sort((left) => (SLUGGED.get(left.name) === 'tenant' ? -1 : 1));
}

export function isSlug(text: string): boolean {
  return slugSchema.safeParse(text).success;
}

/** Returns the input with a valid id in place of each slug. */
export function withPlaceholders(raw: RawInput, slugs: readonly Field[]): RawInput {
  return { ...raw, ...Object.fromEntries(slugs.map(({ name }) => [name, UNKNOWN[kindOf(name)]])) };
}

/**
 * Returns the call with the ids of the slugs.
 * @throws PlatformError `not_found` for an unknown slug; `validation_failed` for a scope's slug without its tenant.
 */
export async function withIds(
  parts: CallParts,
  { slugs, raw, call }: { readonly slugs: readonly Field[]; readonly raw: RawInput; readonly call: Caller },
): Promise<CallParts> {
  const found: Record<Field['part'], Record<string, unknown>> = {
    params: { ...parts.params },
    query: { ...parts.query },
    body: { ...parts.body },
  };
  for (const { name, part } of slugs) {
    const tenant = found.params.tenant ?? found.query.tenant ?? found.body.tenant;
    found[part][name] =
      kindOf(name) === 'tenant'
        ? await tenantIdOf(call, String(raw[name]))
        : await scopeIdOf(call, tenant, String(raw[name]));
  }
  return {
    ...(parts.params ? { params: found.params } : {}),
    ...(parts.query ? { query: found.query } : {}),
    ...(parts.body ? { body: found.body } : {}),
  };
}

/** Returns the id of the tenant with this slug, or the id that was given. */
export async function tenantIdOf(call: Caller, given: string): Promise<string> {
  if (!isSlug(given)) return given;
  return idIn(call, { operation: 'tenants.list', query: { q: given }, slug: given, what: 'tenant' });
}

/** Returns the id of the tenant's scope with this slug, or the id that was given. */
export async function scopeIdOf(call: Caller, tenant: unknown, given: string): Promise<string> {
  if (!isSlug(given)) return given;
  if (typeof tenant !== 'string')
    throw new PlatformError(
      'validation_failed',
      'The slug of a scope needs its tenant beside it: tenants can have scopes of the same slug. Name the tenant, or the id of the scope.',
    );
  return idIn(call, { operation: 'scopes.list', params: { tenant }, slug: given, what: 'scope' });
}

interface Search {
  readonly operation: 'tenants.list' | 'scopes.list';
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly slug: string;
  readonly what: string;
}

async function idIn(call: Caller, { operation, params, query, slug, what }: Search): Promise<string> {
  let cursor: string | null = null;
  do {
    const { value } = await call(adminOperations[operation], {
      ...(params ? { params } : {}),
      query: { ...query, limit: 200, ...(cursor === null ? {} : { cursor }) },
    });
    const page = value as { readonly items: readonly Listed[]; readonly nextCursor: string | null };
    const found = page.items.find((each) => each.slug === slug);
    if (found) return found.id;
    cursor = page.nextCursor;
  } while (cursor !== null);
  throw new PlatformError('not_found', `There is no ${what} with the slug "${slug}".`);
}

function kindOf(name: string): 'tenant' | 'scope' {
  return SLUGGED.get(name) ?? 'tenant';
}
