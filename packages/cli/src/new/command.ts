/**
 * `freehold new` makes a vertical that runs, has tests, and refuses every request until sign-in is wired (spec 1;
 *
 */
import { relative, resolve } from 'node:path';
import { slug } from '@freehold/contracts';
import type { TemplateName } from '@freehold/dev/new';
import { z } from 'zod';
import { inOneSentence, loadScaffold } from '../dev/load-dev.ts';
import { command } from '../lib/command.ts';

const TEMPLATES = ['empty', 'react', 'records'] as const satisfies readonly TemplateName[];

/** The length is checked first: the message of the slug does not mention it. */
const name = z.string().max(63, 'must have at most 63 characters').pipe(slug);

const path = z.string().min(1, 'must not be empty').optional();

const title = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .max(100, 'must have at most 100 characters')
  .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]*$/u, 'must be one line of text');

export const newCommand = command({
  path: ['new'],
  summary: 'Make a new vertical',
  description: [
    'Makes a directory with a vertical: its declaration, one small feature with its table and operations, and a test.',
    'Everything under /api answers 401 until people may sign in: the 401 names the line to change. A directory that',
    'holds something is refused, and a failure leaves nothing behind.',
    '',
    'The packages of Freehold are not published yet: --packages makes the project install them from a folder.',
  ].join('\n'),
  examples: [
    {
      line: 'freehold new acme-notes --packages ~/freehold/dist/packages',
      does: 'in ./acme-notes, with packages from tarballs',
    },
    { line: 'freehold new acme-notes --template react', does: 'with a page of its own, made with React' },
    { line: 'freehold new acme-notes --template records', does: 'made of records, with pages for them' },
    { line: 'freehold new acme-notes --title "Notes of Acme" --directory notes', does: 'in ./notes' },
    { line: 'freehold new acme-notes --json', does: 'for a program that reads the answer' },
  ],
  arguments: [{ name: 'name', summary: 'Lower-case letters, digits and hyphens, beginning with a letter' }],
  options: {
    directory: { summary: 'Where to make it; the default is ./<name>', placeholder: 'dir' },
    title: { summary: 'What people call it; the default is made of the name', placeholder: 'text' },
    template: {
      summary: `What to begin with: ${TEMPLATES.join(', ')}; the default is empty`,
      placeholder: 'name',
    },
    packages: {
      summary: 'The folder of tarballs that `npm run pack` makes in a checkout',
      placeholder: 'dir',
    },
  },
  input: z.strictObject({
    name,
    directory: path,
    title: title.optional(),
    template: z.enum(TEMPLATES).default('empty'),
    packages: path,
  }),
  run: async (input, { cwd }) => {
    const { name: chosen, title: called = titleOf(chosen), template } = input;
    const scaffold = await loadScaffold(cwd);
    const directory = resolve(cwd, input.directory ?? chosen);
    const { files, packages } = orInOneSentence(() => {
      const tarballs =
        input.packages === undefined ? null : scaffold.readTarballs(resolve(cwd, input.packages));
      const planned = scaffold.planProject({ name: chosen, title: called, template, tarballs });
      scaffold.writeProject(directory, planned);
      return { files: planned, packages: tarballs?.folder ?? null };
    });

    const shown = relative(cwd, directory) || '.';
    const next = [
      ...(shown === '.' ? [] : [`cd ${quoted(shown)}`]),
      'npm install',
      ...(template === 'react' ? ['npm run build'] : []),
      'npm run dev',
    ];
    const notes = [
      'Everything under /api answers 401 until you let people in: src/app.ts says how.',
      ...(template === 'react'
        ? ['npm run web, in a second terminal, builds the page again on each save.']
        : []),
      ...(packages === null ? [UNPUBLISHED] : []),
    ];
    return {
      value: {
        name: chosen,
        title: called,
        directory,
        packages,
        files: [...files.keys()],
        next,
        notes,
      },
      text: [
        `Made ${called} in ${shown} (${files.size} files).`,
        '',
        'Next:',
        ...next.map((line) => `  ${line}`),
        '',
        ...notes,
      ].join('\n'),
    };
  },
});

const UNPUBLISHED =
  'The packages of Freehold are not published yet, so npm install will not find them: make the project with --packages.';

function orInOneSentence<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    return inOneSentence(error);
  }
}

/** `acme-notes` → `Acme Notes`. */
function titleOf(name: string): string {
  const words = name.split('-').filter(Boolean);
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join(' ');
}

/** Quotes a path for a shell. */
function quoted(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
