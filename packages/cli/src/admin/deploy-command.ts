/** `freehold verticals deploy` sends a folder, or a manifest and files, as one deployment and waits for its end. */
import type { Caller, RawInput } from '@freehold/control-plane/client';
import {
  type AdminOperation,
  adminOperations,
  type Deployment,
  type DeployStep,
  MODULES_MAX,
} from '@freehold/directory/declarations';
import { type Command, type Outcome, requireOptions } from '../lib/command.ts';
import type { World } from '../lib/world.ts';
import { bytesText, progressText } from '../output/progress.ts';
import { callerOf, PROFILE_OPTION, requireTarget } from '../settings/target.ts';
import { answerText } from './answer-text.ts';
import { readBundle } from './bundle.ts';
import { fieldsOf, optionOf } from './fields.ts';
import { readInput } from './read-input.ts';

const operation = adminOperations['verticals.deploy'];

/** The fields that are typed: all but the files. */
const spoken: AdminOperation = {
  ...operation,
  input: { ...operation.input, body: operation.input.body.omit({ modules: true }) },
};
const fields = fieldsOf(spoken);
const FROM_FILES: ReadonlySet<string> = new Set(['slug', 'manifest']);

const described = {
  path: ['verticals', 'deploy'] as const,
  summary: 'Deploy a version of a vertical',
  description: [
    'Registers the version that the manifest names, uploads its modules, and admits and promotes it when asked to.',
    'From a folder, manifest.json is the manifest, and every other file a module, named by its way from there; hidden files stay out. Without a folder, --manifest names the manifest and --module each file, by its way from the manifest or as name=file.',
    `A deployment has ${MODULES_MAX} files and ${bytesText(operation.form.bytesMax)} at most. Ctrl-C ends the waiting alone.`,
    'promote needs an admitted version, so that a new one needs --admit too. The same deployment again does nothing.',
    `Asks ${operation.method} ${operation.path}.`,
  ].join('\n'),
  examples: [
    {
      line: 'freehold verticals deploy fieldwork dist --admit --promote',
      does: 'what is in ./dist, to serve at once',
    },
    {
      line: 'freehold verticals deploy fieldwork --manifest manifest.json --module main.js=dist/main.js',
      does: 'one file, which then waits for a verdict',
    },
  ],
  arguments: [
    { name: 'slug', summary: 'Slug' },
    { name: 'folder', summary: 'The folder to deploy', optional: true, isFile: true },
  ],
  options: {
    manifest: {
      summary: 'The manifest; the default is the manifest.json of the folder',
      placeholder: 'file',
    },
    module: {
      kind: 'list',
      summary: 'A file to deploy; can be given several times',
      placeholder: '[name=]file',
    },
    ...Object.fromEntries(
      fields.filter(({ name }) => !FROM_FILES.has(name)).map((field) => [field.name, optionOf(field)]),
    ),
    idempotencyKey: { summary: 'Calls with the same key are one call', placeholder: 'key' },
    ...PROFILE_OPTION,
  },
} satisfies Omit<Command, 'run'>;

export const deployCommand: Command = {
  ...described,
  run: async (raw, world) => {
    requireOptions(described, raw);
    const text = (name: string): string | undefined => {
      const given = raw[name];
      return typeof given === 'string' ? given : undefined;
    };
    const modules = Array.isArray(raw.module) ? raw.module : [];
    const names = { folder: text('folder'), manifest: text('manifest'), modules };
    const bundle = readBundle(names, world.cwd);
    const input = await readInput(spoken, {
      fields,
      described,
      raw: { ...raw, manifest: JSON.stringify(bundle.manifest) },
      world,
    });
    const call = callerOf(requireTarget(world, text('profile')), world);
    return deploy({ call, input: { ...input, files: bundle.files }, key: text('idempotencyKey'), world });
  },
};

interface Deploying {
  readonly call: Caller;
  readonly input: RawInput;
  readonly key: string | undefined;
  readonly world: World;
}

/** Listens to progress events; they also keep a connection open that a proxy would close for silence. */
async function deploy({ call, input, key, world }: Deploying): Promise<Outcome> {
  const heard: DeployStep[] = [];
  try {
    const response = await call(operation, input, {
      onProgress: (said) => {
        const step = said as DeployStep;
        heard.push(step);
        world.progress(stepText(step));
      },
      ...(key === undefined ? {} : { idempotencyKey: key }),
    });
    world.progress(null);
    const value = response.value as Deployment;
    return { value, text: `${sentenceOf(value)}\n\n${answerText(operation, response, world)}` };
  } catch (error) {
    const step = heard.at(-1);
    if (step && world.interrupted.aborted)
      world.say(
        `The deployment goes on. See what becomes of it with freehold vertical-versions get ${String(input.params?.slug)} ${step.id}.`,
      );
    throw error;
  }
}

function stepText({ step, version, modules, bytes }: DeployStep): string {
  const what = `${version} ${step}`;
  if (step !== 'uploading') return progressText(what, { done: 0, total: null, unit: 'bytes' });
  return `${progressText(what, { ...bytes, unit: 'bytes' })}, ${modules.done} of ${modules.total} modules`;
}

/** Says what is deployed, and which command comes next. */
function sentenceOf({ version: { id, vertical, version, status, serving } }: Deployment): string {
  const what = `${vertical} ${version} is deployed`;
  if (serving) return `${what}, and it serves.`;
  if (status === 'admitted')
    return `${what} and admitted. Let it serve with freehold channels promote ${vertical} prod --id ${id}`;
  return `${what}, and ${status}. Admit it with freehold vertical-versions admit ${vertical} ${id}`;
}
