/** The declaration of an application to the platform that serves it. */
import type { VerticalManifest } from '@freehold/contracts';
import { makeScopeUnit } from '@freehold/kernel';
import { migrationDigest } from '@freehold/store';
import type { App, AppLook } from '../declaration/app.ts';
import { publicPathsOf } from '../public/public-routes.ts';

/** One migration, as it is declared to the platform. */
export interface DeclaredMigration {
  readonly set: string;
  readonly version: number;
  readonly name: string;
  readonly digest: string;
}

export interface Declared {
  readonly manifest: VerticalManifest;
  readonly migrations: readonly DeclaredMigration[];
  /** The hosts that it means to call. */
  readonly egress: readonly string[];
  readonly isolate: 'tenant' | 'vertical';
  /** The paths of its public surface. */
  readonly publicPaths: readonly string[];
  /** The columns with personal data, by table. */
  readonly personal: Readonly<Record<string, readonly string[]>>;
  readonly look: AppLook;
  readonly letsPeopleIn: boolean;
}

export function declarationOf(app: App): Declared {
  const own = makeScopeUnit(app.vertical).migrations.filter(({ guarded }) => guarded);
  return {
    manifest: app.manifest,
    migrations: own.flatMap(({ name: set, migrations }) =>
      migrations.map((each) => ({
        set,
        version: each.version,
        name: each.name,
        digest: migrationDigest(each),
      })),
    ),
    egress: app.egress ?? [],
    isolate: app.isolate ?? 'vertical',
    publicPaths: publicPathsOf(app.publicSurface),
    personal: app.erasure?.personal ?? {},
    look: app.look ?? {},
    letsPeopleIn: app.authenticatedPrincipal.kind === 'signed-in',
  };
}
