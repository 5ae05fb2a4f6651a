/**
 * Deploying a version: the directory registers, admits and promotes it in its transactions, and the runtime takes the
 * upload and serves it. The runtime is a port; a platform need not have one.
 */
import { createHash } from 'node:crypto';
import { canonicalJson, type Failure, PlatformError, type VerticalManifest } from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import { z } from 'zod';
import type { AdminCall } from '../access/actors.ts';
import { aboutOf } from '../access/reach.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import type { PreviewRef } from '../declarations/previews.ts';
import {
  bundleDigest,
  type DeclaredMigration,
  type Deployment,
  deployment,
  versionParts,
  versionSource,
} from '../declarations/vertical-records.ts';
import {
  acknowledgeMigrations,
  DEPLOY_FORM_BYTES_MAX,
  type DeployModule,
  type DeployStep,
  deployModule,
  deployStep,
  type KnownModule,
  knownModule,
  params,
  tag,
} from '../declarations/verticals.ts';
import type { Effect } from '../lib/effects.ts';
import { type CallOf, type Change, type ChangeContext, delegated } from '../lib/handlers.ts';
import { servingScript } from '../service-refs/script-names.ts';
import type { Unanswered } from '../verticals/outcome.ts';
import { promote, requirePromotable, type Serving, servingOf } from './channels.ts';
import type { RegistryMethods } from './feature.ts';
import { targetOf } from './operations.ts';
import { changesAgainstServing, reviewerOf, staffReviewRequired } from './reviews.ts';
import { addVersion, findSame, requireFitting } from './versions.ts';
import {
  forgetVersion,
  loadContent,
  requireVersion,
  updateVersion,
  type VersionContent,
  type VersionRow,
  versionOfRow,
} from './versions-store.ts';
import { requireVertical, type VerticalRow } from './verticals-store.ts';

/** The most files of one deployment. */
export const MODULES_MAX = 500;

type DeployCall = CallOf<typeof verticalsDeploy>;

export const verticalsModules = adminOperation({
  name: 'verticals.modules',
  summary: 'List the files that the runtime has of a vertical',
  description:
    'By the SHA-256 of their bytes, of all its versions. A deployment names such a file in known instead of sending it.',
  tag,
  method: 'GET',
  path: '/verticals/:slug/modules',
  input: { params },
  output: z.object({ items: z.array(bundleDigest) }).meta({ id: 'VerticalModules' }),
  builder: 'own-tenant',
  pushToken: 'deploy',
  problems: ['unsupported', 'runtime_fault'],
});

/** @throws PlatformError `not_found`; `unsupported` (501), reason `no_runtime`; `runtime_fault` (502). */
export async function readModules(
  { directory, runtime, incident }: DeployDeps,
  call: AdminCall,
): Promise<z.output<typeof verticalsModules.output>> {
  await directory.registryVertical({ call: aboutOf(call) });
  try {
    return { items: [...(await requireRuntime(runtime).modules(String(call.params.slug)))] };
  } catch (cause) {
    if (cause instanceof PlatformError) throw cause;
    incident('runtime')(cause);
    throw undecided(cause);
  }
}

/** The work of the runtime. */
interface PreparedDeployment extends Serving {
  /** Whether this call registered the version, and must take it back when the runtime refuses. */
  readonly isNew: boolean;
  readonly serves: boolean;
}

/** A bundle as it is sent: its declaration, the files that are new, and those that the runtime has. */
export const bundleParts = {
  ...versionParts,
  modules: z.array(deployModule).max(MODULES_MAX),
  known: z
    .array(knownModule)
    .max(MODULES_MAX)
    .default([])
    .describe('Files that the runtime has already, by the SHA-256 of their bytes: see verticals.modules'),
};

export const verticalsDeploy = adminOperation({
  name: 'verticals.deploy',
  summary: 'Register a version, upload it, and admit and promote it when asked to',
  description:
    'The version is the one that the manifest names; its digest is computed. It is uploaded under its archive script. promote needs an admitted version, so that a new one needs admit too. Where this platform has no runtime to upload to, it is refused before anything is written (reason no_runtime). A form brings files that JSON has no room for: its field meta is the JSON of everything but modules, and each other part is one module, named by its file name. With Accept: text/event-stream, answers events: progress with each step as it happens, and at the end done with the answer, whose id is the head of the admin log, or failed with the problem. It is deployed to the end even when the reader goes away, and what is refused before it begins is refused as without events.',
  tag,
  method: 'POST',
  path: '/verticals/:slug/deploy',
  input: {
    params,
    body: z.strictObject({
      ...bundleParts,
      admit: z.boolean().default(false),
      promote: z.boolean().default(false),
      acknowledgeMigrations,
      source: versionSource.optional().describe('The commit that it was made from'),
    }),
  },
  form: { files: 'modules', bytesMax: DEPLOY_FORM_BYTES_MAX },
  events: { progress: deployStep },
  output: deployment,
  success: 201,
  builder: 'own-tenant',
  pushToken: 'deploy',
  destructive: true,
  problems: ['forbidden', 'immutable', 'invalid_transition', 'unsupported', 'runtime_fault'],
});

export const deployVersion = /* @__PURE__ */ delegated<
  typeof verticalsDeploy,
  PreparedDeployment,
  { readonly id: string }
>(verticalsDeploy, {
  begin: (context, call) => {
    const { db } = context;
    const { params, body, actor } = call;
    const vertical = requireVertical(db, actor, params.slug);
    const { manifest, migrations, egress } = body;
    const content: VersionContent = { manifest, migrations, egress };
    // The digest covers the files; the declarations are compared separately.
    requireFiles(body);
    const name = { version: manifest.version, digest: digestOf(body.modules, body.known) };
    requireFitting(vertical, manifest, name.version);
    const found = findSame(context, vertical, name, content);
    const version = found ?? addVersion(context, vertical, name, content);
    // The failure of an earlier deployment of it, which still runs, must not take it back.
    if (found && found.uploadedAtMs === null) updateVersion(db, { ...found, revision: context.revision });
    const admitted = body.admit ? admittedBy(context, vertical, version, call) : version;
    if (body.promote && version.id !== vertical.serving)
      requirePromotable(db, actor, vertical, admitted, body);
    if (found && found.uploadedAtMs !== null && isDone(vertical, found, admitted, body))
      return { change: { ...answer(context, vertical, found), status: 200, audit: null } };
    const after = { version: name.version, digest: name.digest, admit: body.admit, promote: body.promote };
    return {
      intent: { target: targetOf(vertical, version.id), before: null, after },
      prepared: { ...servingOf(version), isNew: !found, serves: body.promote },
    };
  },
  settle: (context, call, { id }) => {
    const { db, revision } = context;
    const { params, body, actor } = call;
    const vertical = requireVertical(db, actor, params.slug);
    const before = requireVersion(db, vertical.slug, { id });
    const nowMs = context.now();
    const judged = body.admit ? admittedBy(context, vertical, before, call) : before;
    // A version that was discarded keeps who brought it first.
    const isNew = before.uploadedAtMs === null && before.deployedBy === null;
    const brought = isNew ? broughtBy(call) : {};
    const after: VersionRow = { ...judged, ...brought, uploadedAtMs: nowMs, revision, updatedAtMs: nowMs };
    updateVersion(db, after);
    if (body.promote) promote(context, vertical, after);
    const shown = requireVertical(db, actor, params.slug);
    const audit = {
      target: targetOf(vertical, id),
      before: { status: before.status, serving: vertical.serving === id },
      after: {
        version: after.version,
        digest: after.digest,
        status: after.status,
        serving: shown.serving === id,
        source: after.source,
      },
    };
    return { ...answer(context, shown, after, vertical), audit, rerouted: body.promote };
  },
  undo: ({ db, intent }, { params, actor }, { id, isNew }) => {
    if (!isNew) return;
    const vertical = requireVertical(db, actor, params.slug);
    const row = requireVersion(db, vertical.slug, { id });
    // A reviewer may have decided about it meanwhile: then it stays.
    if (row.revision === intent && row.status === 'pending') forgetVersion(db, id);
  },
});

/** SHA-256 over the names, media types and digests of the files, independent of their order and of which were sent. */
export function digestOf(sent: readonly DeployModule[], known: readonly KnownModule[] = []): string {
  const files = [
    ...sent.map(({ name, mediaType, base64 }) => ({ name, mediaType, digest: sha256Of(bytesOf(base64)) })),
    ...known,
  ].sort((left, right) => (left.name < right.name ? -1 : 1));
  return createHash('sha256').update(canonicalJson(files)).digest('hex');
}

function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** @throws PlatformError `validation_failed` for none, for too many, and for two of one name. */
export function requireFiles({ modules, known }: Pick<DeployCall['body'], 'modules' | 'known'>): void {
  const names = [...modules, ...known].map(({ name }) => name);
  const message =
    names.length === 0
      ? 'must have a file'
      : names.length > MODULES_MAX
        ? `must have at most ${MODULES_MAX} files`
        : new Set(names).size < names.length
          ? 'must not name a file twice'
          : null;
  if (message === null) return;
  throw new PlatformError('validation_failed', `modules: ${message}.`, {
    errors: [{ path: 'modules', message }],
  });
}

/** The deployment that brought a version: a later one of the same content does not replace it. */
function broughtBy({ actor, body }: DeployCall): Pick<VersionRow, 'deployedBy' | 'source'> {
  const { kind, id, name } = actor;
  return { deployedBy: { kind, id, name }, source: body.source ?? null };
}

/** The version after this call has admitted it. @throws PlatformError where it may not. */
function admittedBy(
  { db }: Pick<ChangeContext, 'db'>,
  vertical: VerticalRow,
  version: VersionRow,
  { actor }: DeployCall,
): VersionRow {
  if (version.status === 'admitted' && version.reviewedBy === 'platform') return version;
  const reviewedBy = reviewerOf(db, actor, vertical);
  if (reviewedBy === 'owner' && version.reviewedBy === 'platform') throw staffReviewRequired();
  return { ...version, status: 'admitted', reviewedBy };
}

function isDone(
  vertical: VerticalRow,
  found: VersionRow,
  admitted: VersionRow,
  { promote: promotes }: DeployCall['body'],
): boolean {
  const isJudged = found.status === admitted.status && found.reviewedBy === admitted.reviewedBy;
  return isJudged && (!promotes || vertical.serving === found.id);
}

/** @param before the vertical before this deployment: the changes are against the version that served then. */
function answer(
  { db }: Pick<ChangeContext, 'db'>,
  vertical: VerticalRow,
  row: VersionRow,
  before: VerticalRow = vertical,
): Pick<Change<Deployment>, 'value'> {
  const changes = changesAgainstServing(db, before, loadContent(db, row.id));
  return { value: { version: versionOfRow(row, vertical), changes, promoted: vertical.serving === row.id } };
}

/** One file of a version: its bytes, or their SHA-256 where the runtime has them. */
export type RuntimeModule = { readonly name: string; readonly mediaType: string } & (
  | { readonly bytes: Uint8Array; readonly digest?: never }
  | { readonly digest: string; readonly bytes?: never }
);

/** The part of an upload that a runtime has taken so far. */
export interface TakenModules {
  readonly modules: number;
  readonly bytes: number;
}

/**
 * Runs uploaded versions. Each method may be called again after a failure with the same input, and must then reach the
 * same result. A `PlatformError` says that nothing was done; any other error leaves that open.
 */
export interface VerticalRuntime {
  /** The SHA-256 of each file that it has of a vertical. */
  modules(vertical: string): Promise<readonly string[]>;
  /**
   * Stores a version under its archive script.
   * @param onTaken reports the progress, as often as the runtime likes. It does not throw.
   */
  upload(
    upload: {
      readonly vertical: string;
      readonly version: string;
      readonly script: string;
      readonly manifest: VerticalManifest;
      readonly migrations: readonly DeclaredMigration[];
      readonly egress: readonly string[];
      readonly modules: readonly RuntimeModule[];
    },
    onTaken: (taken: TakenModules) => void,
  ): Promise<void>;
  /**
   * Moves a scope to an uploaded version, which opens and migrates it. It waits for requests that are running, and holds
   * new ones meanwhile. Null: it runs there now. A failure left the scope as it was, at the version before.
   */
  move(order: {
    readonly vertical: string;
    readonly tenant: string;
    readonly scope: string;
    readonly script: string;
  }): Promise<{ readonly failure: Failure | null }>;
  /** Lets the instances of a vertical that run start again with its present settings, before their next request. */
  settingsChanged(vertical: string): Promise<void>;
  /**
   * Forgets an uploaded version, and those of its files that no other one has. Returns what went; with `dryRun`, what would go.
   * @param scopes those of the vertical: none of them may run it.
   * @throws PlatformError `conflict`, reason `version_in_use`.
   */
  discard(order: {
    readonly vertical: string;
    readonly script: string;
    readonly scopes: readonly { readonly tenant: string; readonly scope: string }[];
    readonly dryRun: boolean;
  }): Promise<{ readonly files: number; readonly bytes: number }>;
  /** Versions that run beside the one that serves, on data of their own. Absent: it runs none. */
  readonly previews?: PreviewRuntime;
  /** Makes an uploaded version the one that the serving script runs. */
  serve(choice: {
    readonly vertical: string;
    readonly version: string;
    readonly servingScript: string;
    readonly archiveScript: string;
  }): Promise<void>;
}

/** The previews of a runtime. */
export interface PreviewRuntime {
  /**
   * Masks a copy of a scope in NDJSON, and removes what a former attempt left of the preview. The answer names columns as
   * `table.column`.
   * @throws PlatformError `validation_failed`, reason `copy_damaged`.
   */
  mask(
    preview: PreviewRef,
    copy: ReadableStream<Uint8Array>,
  ): Promise<{
    readonly body: ReadableStream<Uint8Array>;
    readonly masked: readonly string[];
    readonly unmasked: readonly string[];
  }>;
  /** Moves one management request to a preview. */
  manage(preview: PreviewRef, request: Request): Promise<Response>;
  /** Ends a preview and removes everything of it. Repeating it does nothing. */
  end(preview: PreviewRef): Promise<void>;
}

export interface DeployDeps {
  readonly directory: UnitStub<RegistryMethods>;
  readonly runtime: VerticalRuntime | undefined;
  /** Reports an unexpected error of the named method. */
  readonly incident: (method: string) => (error: unknown) => void;
}

/** The effects of deploying and promoting, by operation. */
export function makeDeployEffects({
  directory,
  runtime,
  incident,
}: DeployDeps): Readonly<Record<string, Effect>> {
  const promote: Effect<Serving> = {
    turn: turnOf,
    check: async () => undefined,
    run: async (_deps, _call, prepared) => {
      await askRuntime(serve(requireRuntime(runtime), prepared), incident);
      return { facts: { id: prepared.id } };
    },
  };

  const deploy: Effect<PreparedDeployment> = {
    turn: turnOf,
    check: async (_deps, call) => {
      // Access comes first: a caller that must not know the vertical learns nothing about the runtime either.
      await directory.registryVertical({ call: aboutOf(call) });
      requireRuntime(runtime);
    },
    run: async (_deps, call, prepared, report = () => undefined) => {
      const { manifest, migrations, egress, modules: sent, known } = bodyOf(call);
      const { id, vertical, version, script } = prepared;
      const modules = [...sent.map(({ base64, ...file }) => ({ ...file, bytes: bytesOf(base64) })), ...known];
      const present = requireRuntime(runtime);
      const total = totalOf(sent, known);
      const say = (step: DeployStep['step'], taken: TakenModules): void =>
        report(stepOf(step, { id, version, taken, total }));
      say('registered', NOTHING);
      say('uploading', NOTHING);
      let isUploading = true;
      const onTaken = (taken: TakenModules): void => {
        if (isUploading) say('uploading', taken);
      };
      await askRuntime(
        present.upload({ vertical, version, script, manifest, migrations, egress, modules }, onTaken),
        incident,
      );
      isUploading = false;
      say('uploaded', total);
      // The upload is done by now: a refusal no longer proves that nothing happened.
      if (prepared.serves) await askRuntime(serve(present, prepared), incident, false);
      return { facts: { id } };
    },
    finalize: ({ call, value, report }) => {
      const { admit, promote: promotes, modules, known } = bodyOf(call);
      const {
        version: { id, version },
      } = value as Deployment;
      const total = totalOf(modules, known);
      const say = (step: DeployStep['step']): void =>
        report(stepOf(step, { id, version, taken: total, total }));
      if (admit) say('admitted');
      if (promotes) say('serving');
    },
  };

  return { 'channels.promote': promote, 'verticals.deploy': deploy };
}

/** Two that promote at once would let the runtime serve another version than the directory names. */
export function turnOf({ params }: AdminCall): string {
  return `vertical ${params.slug}`;
}

/** @param isDecided whether a refusal proves that nothing was done. Default: it does. */
export async function askRuntime<T>(
  work: Promise<T>,
  incident: DeployDeps['incident'],
  isDecided = true,
): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    if (isDecided && cause instanceof PlatformError) throw cause;
    if (!(cause instanceof PlatformError)) incident('runtime')(cause);
    throw undecided(cause);
  }
}

const NOTHING: TakenModules = { modules: 0, bytes: 0 };

function bodyOf(call: AdminCall): CallOf<typeof verticalsDeploy>['body'] {
  return (call as unknown as CallOf<typeof verticalsDeploy>).body;
}

/** Only what was sent has bytes to take. */
function totalOf(modules: readonly DeployModule[], known: readonly KnownModule[]): TakenModules {
  // Four characters are three bytes, less one for each character of padding (RFC 4648, section 4).
  const bytes = modules.reduce(
    (sum, { base64 }) => sum + (base64.length / 4) * 3 - (/=*$/.exec(base64)?.[0].length ?? 0),
    0,
  );
  return { modules: modules.length + known.length, bytes };
}

function stepOf(
  step: DeployStep['step'],
  {
    id,
    version,
    taken,
    total,
  }: Pick<DeployStep, 'id' | 'version'> & { readonly taken: TakenModules; readonly total: TakenModules },
): DeployStep {
  return {
    step,
    id,
    version,
    modules: { done: taken.modules, total: total.modules },
    bytes: { done: taken.bytes, total: total.bytes },
  };
}

function serve(runtime: VerticalRuntime, { vertical, version, script }: Serving): Promise<void> {
  return runtime.serve({ vertical, version, servingScript: servingScript(vertical), archiveScript: script });
}

/** An error that leaves the outcome open: see `verticals/outcome.ts`. */
function undecided(cause: unknown): PlatformError {
  return new PlatformError('runtime_fault', 'The runtime did not report the outcome.', {
    reason: 'vertical_unreachable' satisfies Unanswered,
    cause,
  });
}

/** @throws PlatformError `unsupported` (501), reason `no_runtime`. */
export function requireRuntime(runtime: VerticalRuntime | undefined): VerticalRuntime {
  if (runtime) return runtime;
  throw new PlatformError(
    'unsupported',
    'This platform runs the verticals that are compiled into it or that its operator binds, and has no runtime that versions could be uploaded to.',
    { reason: 'no_runtime' },
  );
}

export function bytesOf(base64: string): Uint8Array {
  return Uint8Array.fromBase64(base64);
}
