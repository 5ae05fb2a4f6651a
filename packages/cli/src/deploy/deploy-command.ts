/** `freehold deploy`: bundles the application in a builder's folder, and lets a platform serve it. */
import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { canonicalJson } from '@freehold/contracts';
import { type Caller, ControlPlaneError } from '@freehold/control-plane/client';
import type { ProjectBundle } from '@freehold/dev';
import {
  adminOperations,
  type Deployment,
  type DeployStep,
  type VersionSource,
} from '@freehold/directory/declarations';
import { z } from 'zod';
import { inOneSentence, loadBundling } from '../dev/load-dev.ts';
import { command } from '../lib/command.ts';
import type { World } from '../lib/world.ts';
import { bytesText, progressText } from '../output/progress.ts';
import { callerOf, PROFILE_OPTION, requireTarget } from '../settings/target.ts';
import { filesFor, knownFiles } from './files.ts';
import { gitSource } from './git-source.ts';
import { moveScopes, waveText } from './wave.ts';

export const deployProjectCommand = command({
  path: ['deploy'],
  summary: 'Deploy the application in this folder to a platform',
  description: [
    'Bundles the application that src/app.ts declares, sends what the platform does not have yet, and lets the version of',
    'the manifest serve. A vertical that the platform does not know is registered first. Where the platform reviews',
    'versions, it waits there for its verdict. The same again does nothing. In a Git repository, the version keeps the commit',
    'and the branch. In CI, FREEHOLD_URL and FREEHOLD_TOKEN say where to; a push token of the kind deploy is enough.',
    'docs/deploying.md says more.',
  ].join('\n'),
  examples: [
    { line: 'freehold deploy', does: 'to the platform of the profile in use' },
    { line: 'freehold deploy --no-promote', does: 'sends the version, and lets the one before go on' },
    { line: 'freehold deploy --dry-run', does: 'says what would be sent' },
  ],
  arguments: [],
  options: {
    directory: { summary: 'The folder of the application; the default is this one', placeholder: 'dir' },
    promote: { kind: 'choice', summary: 'Whether it serves at once; it does by default' },
    acknowledgeMigrations: {
      kind: 'flag',
      summary: 'Accept that its migrations differ from those that serve',
    },
    dryRun: { kind: 'flag', summary: 'Bundle it and say what would be sent' },
    ...PROFILE_OPTION,
  },
  input: z.strictObject({
    directory: z.string().min(1, 'must not be empty').default('.'),
    promote: z.boolean().default(true),
    acknowledgeMigrations: z.boolean().default(false),
    dryRun: z.boolean().default(false),
    profile: z.string().optional(),
  }),
  run: async ({ directory, promote, acknowledgeMigrations, dryRun, profile }, world) => {
    const folder = resolve(world.cwd, directory);
    const { bundleProject } = await loadBundling(folder);
    world.progress('bundling');
    const bundle = await bundleProject(folder).catch(inOneSentence);
    const call = callerOf(requireTarget(world, profile), world);
    const { slug, name } = bundle.manifest;
    world.progress('asking the platform what it has');
    const known = await knownFiles(call, slug);
    const source = await gitSource(folder, world.env);
    const files = filesFor(bundle, known);
    const plan = {
      vertical: slug,
      version: bundle.manifest.version,
      registers: known === null,
      modules: { total: files.total.modules, sent: files.sent.length },
      bytes: { total: files.total.bytes, sent: files.bytes },
      source,
    };
    world.progress(null);
    if (dryRun) return { value: { dryRun: true, ...plan }, text: planText(plan) };
    if (known === null) await call(adminOperations['verticals.create'], { body: { slug, name } });
    const deployed = await send({ call, world, bundle, files, source, promote, acknowledgeMigrations });
    const said = sentenceOf(deployed, plan);
    if (!deployed.version.serving) return { value: { ...deployed, wave: null }, text: said };
    const wave = await moveScopes({ call, world }, slug);
    return { value: { ...deployed, wave }, text: `${said}\n${waveText(wave)}` };
  },
});

interface Plan {
  readonly vertical: string;
  readonly version: string;
  readonly registers: boolean;
  readonly modules: { readonly total: number; readonly sent: number };
  readonly bytes: { readonly total: number; readonly sent: number };
  readonly source: VersionSource | null;
}

interface Sending {
  readonly call: Caller;
  readonly world: World;
  readonly bundle: ProjectBundle;
  readonly files: ReturnType<typeof filesFor>;
  readonly source: VersionSource | null;
  readonly promote: boolean;
  readonly acknowledgeMigrations: boolean;
}

/** Where only staff may admit it, it is left for their verdict. */
async function send(asked: Sending): Promise<Deployment> {
  try {
    return await deploy(asked, { admit: true, promote: asked.promote });
  } catch (error) {
    if (!(error instanceof ControlPlaneError) || error.reason !== 'staff_review_required')
      throw explained(error);
    return deploy(asked, { admit: false, promote: false });
  }
}

async function deploy(
  { call, world, bundle, files, source, acknowledgeMigrations }: Sending,
  wish: { readonly admit: boolean; readonly promote: boolean },
): Promise<Deployment> {
  const { manifest, migrations, egress } = bundle;
  const { known, sent } = files;
  const from = source === null ? {} : { source };
  const { value } = await call(
    adminOperations['verticals.deploy'],
    {
      params: { slug: manifest.slug },
      body: { manifest, migrations, egress, known, ...wish, acknowledgeMigrations, ...from },
      files: sent,
    },
    {
      idempotencyKey: keyOf(bundle, { ...wish, acknowledgeMigrations, known, ...from }),
      onProgress: (said) => {
        const { step, version, bytes } = said as DeployStep;
        const done = step === 'uploading' ? bytes : { done: 0, total: null };
        world.progress(progressText(`${version} ${step}`, { ...done, unit: 'bytes' }));
      },
    },
  );
  world.progress(null);
  return value as Deployment;
}

/** The same deployment is one call, however often it is made: after a broken connection, it is followed to its end. */
function keyOf({ manifest, modules }: ProjectBundle, wish: object): string {
  const content = canonicalJson({ manifest, modules: modules.map(({ digest }) => digest), ...wish });
  return `deploy-${createHash('sha256').update(content).digest('hex').slice(0, 40)}`;
}

/** The next step after a refusal, where the platform cannot know it. */
function explained(error: unknown): unknown {
  if (!(error instanceof ControlPlaneError)) return error;
  const hint =
    error.code === 'immutable'
      ? 'Raise the version in the manifest, and deploy again.'
      : error.reason === 'migrations_changed'
        ? 'Here that is --acknowledge-migrations.'
        : null;
  return hint === null ? error : new ControlPlaneError(`${error.message} ${hint}`, error);
}

function planText({ vertical, version, registers, modules, bytes }: Plan): string {
  const what = `${vertical} ${version}: ${modules.sent} of ${modules.total} files would be sent, ${bytesText(bytes.sent)} of ${bytesText(bytes.total)}.`;
  return registers ? `${what} The platform does not know ${vertical}: it would be registered.` : what;
}

function sentenceOf({ version: { id, vertical, version, status, serving } }: Deployment, plan: Plan): string {
  const sent = `${plan.modules.sent} of ${plan.modules.total} files were sent, ${bytesText(plan.bytes.sent)}.`;
  if (serving) return `${vertical} ${version} serves. ${sent}`;
  if (status === 'admitted')
    return `${vertical} ${version} is deployed. ${sent}\nLet it serve with freehold channels promote ${vertical} prod --id ${id}`;
  return `${vertical} ${version} is deployed, and waits for the platform's verdict. ${sent}\nSee it with freehold vertical-versions get ${vertical} ${id}`;
}
