/** `freehold migrate make`: writes the next migration of the application in this folder. */
import { resolve } from 'node:path';
import { z } from 'zod';
import { inOneSentence, loadDev } from '../dev/load-dev.ts';
import { command } from '../lib/command.ts';

export const migrateMakeCommand = command({
  path: ['migrate', 'make'],
  summary: 'Write the next migration from what records declare',
  description: [
    'Compares the tables that the migrations of the application make with those that its records declare, and prints the next',
    'migration as SQL: read it, change it, and keep it. With --write it is put at the end of src/migrations.ts. No database is',
    'altered: a scope gets the migration when it is opened by the version that has it.',
    '',
    'A column that is no longer declared is a question: --rename says that it has a new name, --drop that its values may be lost.',
    'So is another type that not every value has (--convert), and a field that must be filled (--fill).',
  ].join('\n'),
  examples: [
    { line: 'freehold migrate make "animals have a colour"', does: 'printed' },
    { line: 'freehold migrate make "animals have a colour" --write', does: 'in src/migrations.ts' },
    {
      line: 'freehold migrate make "a fee is a price" --rename animals.fee=price',
      does: 'with a renamed column',
    },
    {
      line: 'freehold migrate make "no nicknames" --drop animals.nickname',
      does: 'with values that are lost',
    },
    {
      line: 'freehold migrate make "a fee is a number" --convert animals.fee --fill animals.fee=0',
      does: 'with 0 for fees that are no number',
    },
  ],
  arguments: [{ name: 'name', summary: 'What it does, in a few words' }],
  options: {
    directory: { summary: 'The folder of the application; the default is this one', placeholder: 'dir' },
    write: { kind: 'flag', summary: 'Put it into the file of the migrations' },
    file: { summary: 'That file; the default is src/migrations.ts', placeholder: 'file' },
    rename: { kind: 'list', summary: 'A renamed column, as table.old=new', placeholder: 'column' },
    drop: {
      kind: 'list',
      summary: 'A column whose values may be lost, as table.column',
      placeholder: 'column',
    },
    convert: {
      kind: 'list',
      summary: 'A column of which values may be lost as its type changes, as table.column',
      placeholder: 'column',
    },
    fill: {
      kind: 'list',
      summary: 'The value of records that have none, as table.column=value',
      placeholder: 'value',
    },
  },
  input: z.strictObject({
    name: z
      .string()
      .trim()
      .min(1, 'must not be empty')
      .max(100, 'must have at most 100 characters')
      .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]*$/u, 'must be one line of text'),
    directory: z.string().min(1, 'must not be empty').optional(),
    write: z.boolean().default(false),
    file: z.string().min(1, 'must not be empty').default('src/migrations.ts'),
    rename: z.array(z.string()).default([]),
    drop: z.array(z.string()).default([]),
    convert: z.array(z.string()).default([]),
    fill: z.array(z.string()).default([]),
  }),
  run: async ({ directory, write, file, ...asked }, { cwd }) => {
    const folder = resolve(cwd, directory ?? '.');
    const { makeMigration } = await loadDev(folder);
    try {
      const made = await makeMigration(folder, { ...asked, file: write ? file : null });
      return { value: made, text: textOf(made) };
    } catch (error) {
      return inOneSentence(error);
    }
  },
});

function textOf({ version, steps, text, file }: Awaited<ReturnType<Make>>): string {
  if (steps.length === 0) return 'The migrations make what the records declare: there is nothing to write.';
  const lost = steps.filter(({ isDestructive }) => isDestructive).length;
  return [
    ...(file === null
      ? [text.trimEnd()]
      : [`Wrote migration ${version} into ${file}: read it before it runs.`]),
    ...(file === null && text.includes('fillWords(')
      ? ['', "It needs this at the top: import { fillWords } from '@freehold/app';"]
      : []),
    ...(lost === 0 ? [] : ['', `It destroys values of ${lost === 1 ? 'a column' : `${lost} columns`}.`]),
  ].join('\n');
}
type Make = typeof import('@freehold/dev')['makeMigration'];
