/**
 * The whole platform inside the test's own process: on real sockets, with a management client that has no public
 * address.
 */
import { readFileSync } from 'node:fs';
import { MANAGEMENT_ROUTES, type ManagementRoute, PLATFORM_SECRET_HEADER } from '@freehold/contracts';
import { type Platform, startPlatform } from '../../apps/platform/src/platform.ts';
import { parseSettings } from '../../apps/platform/src/settings/settings.ts';
import { newPlace, type PlatformPlace } from '../support/platform.ts';

export type RouteName = keyof typeof MANAGEMENT_ROUTES;

/** The content of a management call: fields, and bytes where the route takes some. */
export interface Ask {
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly bytes?: { readonly body: string | ArrayBuffer; readonly type: string };
}

export interface EmbeddedPlatform {
  readonly place: PlatformPlace;
  readonly platform: Platform;
  /** Unexpected errors. */
  readonly incidents: readonly unknown[];
  /** The address of the demo's application, and its scope. */
  readonly app: string;
  readonly scope: { readonly tenantId: string; readonly scopeId: string };
  readonly token: string;
  /** Calls a route of fieldwork under `/internal/*`, as the control plane does. */
  manage(name: RouteName, ask?: Ask): Promise<Response>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts one on free ports and an empty data directory, or again on the place of a closed one. */
export async function openEmbeddedPlatform(
  env: Record<string, string> = {},
  formerPlace?: PlatformPlace,
): Promise<EmbeddedPlatform> {
  const place = formerPlace ?? (await newPlace());
  const incidents: unknown[] = [];
  const settings = parseSettings({
    PORT: String(place.port),
    ISSUER_PORT: String(place.issuerPort),
    FREEHOLD_DATA: place.dataDirectory,
    // The figures of a request are those of a platform without a witness.
    FREEHOLD_ANCHOR_FILE: 'none',
    ...env,
  });
  const platform = await startPlatform(settings, (error, where) => incidents.push([where, error]));
  const { demo } = platform;
  const bound = platform.gateway.bound('fieldwork');
  if (!demo || !bound) throw new Error('the platform has no demo');
  const scope = { tenantId: demo.tenant, scopeId: demo.scope };
  return {
    place,
    platform,
    incidents,
    app: demo.origin,
    scope,
    token: readFileSync(platform.tokenFile, 'utf8').trim(),
    manage: (name, ask = {}) =>
      bound.fetch(
        requestOf(MANAGEMENT_ROUTES[name], { ...scope, ...ask.fields }, ask.bytes, bound.platformSecret),
      ),
    [Symbol.asyncDispose]: async () => {
      await platform.close();
      place.remove();
    },
  };
}

function requestOf(
  { method, path, takes }: ManagementRoute,
  fields: Readonly<Record<string, unknown>>,
  bytes: Ask['bytes'],
  secret: string,
): Request {
  const rest = new Map(Object.entries(fields));
  const address = path.replaceAll(/:(\w+)/g, (_, name: string) => {
    const value = String(rest.get(name));
    rest.delete(name);
    return encodeURIComponent(value);
  });
  const url = new URL(`http://fieldwork.internal/internal/${address}`);
  const headers = new Headers({ [PLATFORM_SECRET_HEADER]: secret });
  if (takes === 'query' || takes === 'bytes')
    for (const [name, value] of rest) url.searchParams.set(name, String(value));
  if (takes === 'query') return new Request(url, { method, headers });
  if (takes === 'json') {
    headers.set('content-type', 'application/json');
    return new Request(url, { method, headers, body: JSON.stringify(Object.fromEntries(rest)) });
  }
  if (!bytes) throw new Error(`${path} takes bytes`);
  if (takes === 'form') {
    const form = new FormData();
    form.set('meta', JSON.stringify(Object.fromEntries(rest)));
    form.set('file', new Blob([bytes.body], { type: bytes.type }));
    return new Request(url, { method, headers, body: form });
  }
  headers.set('content-type', bytes.type);
  return new Request(url, { method, headers, body: bytes.body });
}
