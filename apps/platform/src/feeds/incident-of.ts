/** What an incident is about, read from where it was seen: the vertical, its version, and whose scope it was. */

import { ID_PREFIXES, idSchema } from '@freehold/contracts';
import type { Incident } from '@freehold/directory';
import type { IncidentSink } from '@freehold/store';
import type { ServedNode } from './serving.ts';

export interface KnownFleet {
  /** The version of a vertical that runs here, or undefined for what is no vertical. */
  readonly versionOf: (slug: string) => string | undefined;
  /** Whose a scope is, where this process has seen it; undefined otherwise. */
  readonly tenantOf: (scope: string) => string | undefined;
}

const scopeId = idSchema(ID_PREFIXES.scope);
/** Units of a vertical that belong to a tenant: what fails in one fails in the request that led there. */
const OF_A_TENANT = new Set(['identity', 'vault']);

/** @param node whose request is being served, if any. */
export function incidentOf(
  error: unknown,
  { kind, key, method }: Parameters<IncidentSink>[1],
  node: ServedNode | null,
  { versionOf, tenantOf }: KnownFleet,
): Incident {
  const where = { kind, method: methodName(method) };
  const slug = kind.replace(/^scope-/, '');
  const version = versionOf(slug);
  const isVertical = version !== undefined;
  if (!isVertical && !OF_A_TENANT.has(kind)) return { error, where };
  const ownKey = scopeId.safeParse(key).success ? key : null;
  // Calls of one unit are committed together: the request at hand may be another one's, and the key never is.
  const isOurs = node !== null && (ownKey === null || ownKey === node.scope);
  const scope = ownKey ?? node?.scope;
  const tenant = isOurs ? node.tenant : tenantOf(scope ?? '');
  const stamp = isVertical ? { vertical: slug, version: isOurs ? node.version : version } : stampOf(node);
  return {
    error,
    where,
    ...stamp,
    // A tenant that nobody knows here is left out by the intake, and the scope stays.
    ...(scope === undefined ? {} : { scope: { tenant: tenant ?? '', scope } }),
  };
}

function stampOf(node: ServedNode | null): { readonly vertical?: string; readonly version?: string } {
  return node === null ? {} : { vertical: node.vertical, version: node.version };
}

/**
 * `GET /api/orders/ord_1` becomes `GET/api/orders/id`: issues are told apart by where, and a where that holds values would
 * be a new issue each time.
 */
function methodName(method: string): string {
  const [verb = '', path, ...more] = method.split(' ');
  if (path === undefined || more.length > 0 || !/^[A-Z]+$/.test(verb) || !path.startsWith('/')) return method;
  const words = path.slice(1).split('/', 5);
  return [verb, ...words.map((word) => (/^[a-z][a-z-]{0,23}$/.test(word) ? word : 'id'))].join('/');
}

/** What this process has seen of the fleet. A scope never changes hands, so that nothing here grows old. */
export function makeKnownFleet() {
  const tenants = new Map<string, string>();
  const versions = new Map<string, string>();
  return {
    noteScope: (scope: string, tenant: string) => void tenants.set(scope, tenant),
    noteVertical: (slug: string, version: string) => void versions.set(slug, version),
    tenantOf: (scope: string) => tenants.get(scope),
    versionOf: (slug: string) => versions.get(slug),
  };
}
