/** The verticals that run in this process, and the settings of their sign-in that `FREEHOLD_SIGN_IN` chooses. */

import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type App, type AppServices, makeApp, type RunningApp } from '@freehold/app';
import { webFilesOf } from '@freehold/app/node';
import type { VerticalManifest } from '@freehold/contracts';
import { verticalSecret } from '@freehold/contracts/http';
import { type DirectoryHostAdmin, declaredMigrations, type VerticalGateway } from '@freehold/directory';
import { fieldwork } from '@freehold/fieldwork';
import type { ScopeHost } from '@freehold/kernel';
import type { Application } from '../network/router.ts';
import type { SignInMode } from '../settings/settings.ts';
import type { DeployedVerticals } from './deployed.ts';

/** A vertical in this process: its worker, and its scopes. */
export interface CoLocatedVertical {
  readonly manifest: VerticalManifest;
  readonly fetch: Application['fetch'];
  readonly publicPaths: Application['publicPaths'];
  /** The settings that every instance is bound to. */
  readonly bindings: () => Application['bindings'];
  readonly host: ScopeHost;
  readonly units: RunningApp['units'];
  /** Its own: it opens this vertical's management, and the platform's API for this vertical alone. */
  readonly platformSecret: string;
}

export interface VerticalsOptions extends Omit<AppServices, 'webFiles' | 'onWork'> {
  readonly platformSecret: string;
  /** Receives a scope of a vertical in which work was enqueued. */
  readonly onWork: (slug: string, scopeId: string) => void;
  /** The settings that every instance is bound to, none of which may belong to one tenant. */
  readonly bindings: () => Readonly<Record<string, string>>;
}

/** The compiled-in verticals: each declaration, and the folder of its package. */
const COMPILED_IN: readonly { readonly app: App; readonly folder: string }[] = [
  { app: fieldwork, folder: join(dirname(fileURLToPath(import.meta.resolve('@freehold/fieldwork'))), '..') },
];

/** Opens them, by slug. @param options `platformSecret` is the platform's own: each vertical's secret is derived from it. */
export async function openVerticals(
  options: VerticalsOptions,
): Promise<ReadonlyMap<string, CoLocatedVertical>> {
  const opened = await Promise.all(COMPILED_IN.map((each) => openVertical(each, options)));
  return new Map(opened.map((vertical) => [vertical.manifest.slug, vertical]));
}

async function openVertical(
  { app, folder }: (typeof COMPILED_IN)[number],
  { bindings, onWork, ...services }: VerticalsOptions,
): Promise<CoLocatedVertical> {
  const { slug } = app.manifest;
  const webFiles = webFilesOf(app, folder);
  const platformSecret = await verticalSecret(services.platformSecret, slug);
  const running = makeApp(app, {
    ...services,
    platformSecret,
    onWork: (scopeId) => onWork(slug, scopeId),
    ...(webFiles === undefined ? {} : { webFiles }),
  });
  const { manifest, host, units, publicPaths } = running;
  return { manifest, host, units, platformSecret, bindings, fetch: running.app.fetch, publicPaths };
}

/** The way to each vertical: in this process, or in the process of one that was deployed. */
export function makeGateway(
  verticals: ReadonlyMap<string, Pick<CoLocatedVertical, 'fetch' | 'bindings' | 'host' | 'platformSecret'>>,
  deployed: Pick<DeployedVerticals, 'bound'> = { bound: () => null },
): VerticalGateway {
  return {
    bound: (slug) => {
      const vertical = verticals.get(slug);
      return vertical
        ? {
            platformSecret: vertical.platformSecret,
            fetch: async (request) =>
              vertical.fetch(request, { ...vertical.bindings(), node: null, clientAddress: null }),
          }
        : deployed.bound(slug);
    },
    // The contract has no route for these: snapshots, and the erasure of a person.
    local: (slug) => verticals.get(slug)?.host ?? null,
  };
}

/** Registers each build that is new. Its own migrations count; those of the platform below them do not. */
export async function registerVerticals(
  hostAdmin: Pick<DirectoryHostAdmin, 'registerBuiltIn'>,
  verticals: ReadonlyMap<string, Pick<CoLocatedVertical, 'manifest' | 'units'>>,
): Promise<void> {
  for (const { manifest, units } of verticals.values()) {
    const own = units.scope.migrations.filter(({ guarded }) => guarded);
    await hostAdmin.registerBuiltIn({ manifest, migrations: declaredMigrations(own) });
  }
}

/** The client that an issuer knows this platform by. */
export interface PlatformClient {
  readonly url: string;
  readonly clientId: string | undefined;
  readonly clientSecret: string | undefined;
}

/**
 * The settings of every instance to which none were delivered. Without an `AUTH_PROVIDER`, as for `hosted`, an instance without
 * a delivered choice lets no caller in.
 */
export function bindingsOf(
  mode: SignInMode,
  client: PlatformClient | null,
): Readonly<Record<string, string>> {
  if (mode === 'directory') return { AUTH_PROVIDER: 'directory' };
  if (mode === 'tokens' && client !== null) return { AUTH_PROVIDER: 'oidc', OIDC_ISSUER: client.url };
  return {};
}

/**
 * The secret of the platform's client, for the instances that chose its issuer: they keep none, so that another secret, of
 * the operator or after a restore, is theirs at once. Nothing without a secret. For the sign-in alone.
 */
export function clientBindingsOf(client: PlatformClient | null): Readonly<Record<string, string>> {
  if (client?.clientId === undefined || client.clientSecret === undefined) return {};
  const { url, clientId, clientSecret } = client;
  return { OIDC_ISSUER: url, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret };
}

/** The settings for a new instance whose provisioning names none: to sign in at the platform's issuer. */
export function newScopeSettingsOf(
  mode: SignInMode,
  client: PlatformClient | null,
): Readonly<Record<string, string>> {
  if (mode !== 'hosted' || client?.clientId === undefined) return {};
  return {
    'platform:auth': JSON.stringify({ mode: 'oidc', issuer: client.url, clientId: client.clientId }),
  };
}

/** The settings for the demo. Null removes a setting that an earlier start delivered. */
export function demoConfigOf(
  mode: SignInMode,
  client: PlatformClient | null,
): Readonly<Record<string, string | null>> {
  return { 'platform:auth': null, OIDC_CLIENT_SECRET: null, ...newScopeSettingsOf(mode, client) };
}
