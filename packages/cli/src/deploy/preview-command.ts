/** `freehold preview`: runs the application in a builder's folder beside the version that serves, on data of its own. */
import { resolve } from 'node:path';
import { scopeId } from '@freehold/contracts';
import { type Caller, ControlPlaneError } from '@freehold/control-plane/client';
import type { ProjectBundle } from '@freehold/dev';
import {
  adminOperations,
  type PreviewLink,
  type PreviewMade,
  type PreviewStep,
} from '@freehold/directory/declarations';
import { z } from 'zod';
import { inOneSentence, loadBundling } from '../dev/load-dev.ts';
import { command } from '../lib/command.ts';
import type { World } from '../lib/world.ts';
import { callerOf, PROFILE_OPTION, requireTarget } from '../settings/target.ts';
import { filesFor, knownFiles } from './files.ts';
import { gitSource } from './git-source.ts';

export const previewCommand = command({
  path: ['preview'],
  summary: 'Run the application in this folder beside the one that serves, on a masked copy',
  description: [
    'Bundles the application that src/app.ts declares, and runs it on the platform under a host name of its own, in a process',
    'of its own. It is no version: nothing is promoted, and the same number can be shown again. With --scope it gets a copy of',
    'that scope: columns that erasure.personal declares are masked, and sealed values stay sealed. Columns with other text are',
    'named, and copied with --acknowledge-unmasked alone. Without --scope it begins empty. It sends no mail: freehold logs',
    'shows what it would have sent. It ends by itself, or with freehold previews end. docs/deploying.md says more.',
  ].join('\n'),
  examples: [
    { line: 'freehold preview', does: 'begins empty, and ends after seven days' },
    {
      line: 'freehold preview --scope scp_01j00000000000000000000000 --days 2',
      does: 'on a masked copy of that scope',
    },
  ],
  arguments: [],
  options: {
    directory: { summary: 'The folder of the application; the default is this one', placeholder: 'dir' },
    scope: { summary: 'The scope whose copy it gets; the default is none', placeholder: 'scope' },
    days: {
      kind: 'value',
      summary: 'When it ends by itself; 7 by default, 30 at most',
      placeholder: 'number',
    },
    branch: { summary: 'The branch that it shows; the default is that of the folder', placeholder: 'name' },
    network: { kind: 'flag', summary: 'Let its code call public hosts' },
    acknowledgeUnmasked: {
      kind: 'flag',
      summary: 'Accept that some columns with text are copied as they are',
    },
    ...PROFILE_OPTION,
  },
  input: z.strictObject({
    directory: z.string().min(1, 'must not be empty').default('.'),
    scope: scopeId.optional(),
    days: z.coerce.number().int().min(1).max(30).default(7),
    branch: z.string().min(1, 'must not be empty').optional(),
    network: z.boolean().default(false),
    acknowledgeUnmasked: z.boolean().default(false),
    profile: z.string().optional(),
  }),
  run: async ({ directory, profile, branch, ...wish }, world) => {
    const folder = resolve(world.cwd, directory);
    const { bundleProject } = await loadBundling(folder);
    world.progress('bundling');
    const bundle = await bundleProject(folder).catch(inOneSentence);
    const call = callerOf(requireTarget(world, profile), world);
    const { slug, name } = bundle.manifest;
    const known = await knownFiles(call, slug);
    if (known === null) await call(adminOperations['verticals.create'], { body: { slug, name } });
    const source = await gitSource(folder, world.env);
    const named = branch ?? source?.ref ?? null;
    const more = {
      ...(named === null ? {} : { branch: named }),
      ...(source === null ? {} : { source }),
    };
    const made = await make({ call, world, bundle, known }, { ...wish, ...more }).catch(explained);
    const { id: preview } = made.preview;
    const { value } = await call(adminOperations['previews.open'], { params: { slug, preview } });
    const link = value as PreviewLink;
    world.progress(null);
    return { value: { ...made, url: link.url }, text: textOf(made, link) };
  },
});

interface Making {
  readonly call: Caller;
  readonly world: World;
  readonly bundle: ProjectBundle;
  readonly known: ReadonlySet<string> | null;
}

async function make({ call, world, bundle, known }: Making, wish: object): Promise<PreviewMade> {
  const { manifest, migrations, egress } = bundle;
  const files = filesFor(bundle, known);
  const { value } = await call(
    adminOperations['previews.create'],
    {
      params: { slug: manifest.slug },
      body: { manifest, migrations, egress, known: files.known, ...wish },
      files: files.sent,
    },
    { onProgress: (said) => world.progress(`preview: ${(said as PreviewStep).step}`) },
  );
  return value as PreviewMade;
}

function explained(error: unknown): never {
  if (error instanceof ControlPlaneError && error.reason === 'unmasked_text')
    throw new ControlPlaneError(`${error.message} Here that is --acknowledge-unmasked.`, error);
  throw error;
}

function textOf({ preview, copied }: PreviewMade, { url }: PreviewLink): string {
  const { vertical, version, id, scope, expiresAt } = preview;
  const lines = [`${vertical} ${version} runs as the preview ${id} until ${expiresAt}.`];
  if (copied) {
    lines.push(`It has a copy of ${scope}: ${copied.rows} rows of ${copied.tables} tables.`);
    lines.push(`Masked: ${listOf(copied.masked)}. Copied as they are: ${listOf(copied.unmasked)}.`);
  }
  return [...lines, `Open it: ${url}`, `End it: freehold previews end ${vertical} ${id}`].join('\n');
}

function listOf(columns: readonly string[]): string {
  return columns.length === 0 ? 'no column' : columns.join(', ');
}
