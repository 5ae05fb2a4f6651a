/** The stages of a deployed vertical's life that are interrupted, each over the place that the ones before left. */
import type { AdminOperationName } from '../../../packages/directory/src/admin-operations.ts';

export const VERTICAL = 'notes';

export interface Stage {
  readonly title: string;
  readonly operation: AdminOperationName;
  /** The version that it brings, lets serve, or moves scopes to. */
  readonly version: string;
  readonly body: (version: string) => Readonly<Record<string, unknown>>;
  /** Whether scopes are there already. */
  readonly scopes: boolean;
  /** The version that serves before, and afterwards. */
  readonly serves: readonly [string | null, string];
  /** The version that every scope runs before, and afterwards. */
  readonly runs: readonly [string | null, string | null];
}

/** The deploy body without its bundle, which the process adds. */
const deploy = (more: object) => (): Readonly<Record<string, unknown>> => ({
  admit: true,
  acknowledgeMigrations: true,
  ...more,
});
const promote = (version: string) => ({ version, acknowledgeMigrations: true });
const wave = () => ({ waveSize: 2 });

export const stages: readonly Stage[] = [
  {
    title: 'the first deployment, which serves at once',
    operation: 'verticals.deploy',
    version: '1.0.0',
    body: deploy({ promote: true }),
    scopes: false,
    serves: [null, '1.0.0'],
    runs: [null, null],
  },
  {
    title: 'the deployment of a version with a migration',
    operation: 'verticals.deploy',
    version: '2.0.0',
    body: deploy({ promote: false }),
    scopes: true,
    serves: ['1.0.0', '1.0.0'],
    runs: ['1.0.0', '1.0.0'],
  },
  {
    title: 'its promotion',
    operation: 'channels.promote',
    version: '2.0.0',
    body: promote,
    scopes: true,
    serves: ['1.0.0', '2.0.0'],
    runs: ['1.0.0', '1.0.0'],
  },
  {
    title: 'the wave that migrates the scopes',
    operation: 'verticals.move',
    version: '2.0.0',
    body: wave,
    scopes: true,
    serves: ['2.0.0', '2.0.0'],
    runs: ['1.0.0', '2.0.0'],
  },
  {
    title: 'the deployment of a version that serves at once',
    operation: 'verticals.deploy',
    version: '3.0.0',
    body: deploy({ promote: true }),
    scopes: true,
    serves: ['2.0.0', '3.0.0'],
    runs: ['2.0.0', '2.0.0'],
  },
  {
    title: 'the wave without a migration',
    operation: 'verticals.move',
    version: '3.0.0',
    body: wave,
    scopes: true,
    serves: ['3.0.0', '3.0.0'],
    runs: ['2.0.0', '3.0.0'],
  },
  {
    title: 'the promotion of the version before',
    operation: 'channels.promote',
    version: '2.0.0',
    body: promote,
    scopes: true,
    serves: ['3.0.0', '2.0.0'],
    runs: ['3.0.0', '3.0.0'],
  },
  {
    title: 'the wave back',
    operation: 'verticals.move',
    version: '2.0.0',
    body: wave,
    scopes: true,
    serves: ['2.0.0', '2.0.0'],
    runs: ['3.0.0', '2.0.0'],
  },
];

/** The platform alone dies at a step, or the processes of its verticals, or both. */
export type Victims = 'platform' | 'processes' | 'both';

/** The state of the vertical, as the directory, the runtime and each scope tell it. */
export interface Look {
  readonly registered: string | null;
  readonly serving: string | null;
  readonly uploaded: readonly string[];
  /** By the name of the scope's tenant. */
  readonly scopes: Readonly<Record<string, ScopeLook>>;
  readonly openIntents: number;
}

export interface ScopeLook {
  /** The version that answers. */
  readonly version: string;
  /** Whether its database has what 2.0.0 migrates. */
  readonly migrated: boolean;
  readonly notes: readonly string[];
  readonly snapshots: readonly string[];
}

/** A message of the process. */
export type Said =
  | { readonly t: 'over'; readonly points: number; readonly refused: string | null }
  | { readonly t: 'look'; readonly when: 'before' | 'after'; readonly look: Look }
  | { readonly t: 'repeated'; readonly refused: string | null }
  | { readonly t: 'verdict'; readonly status: string };
