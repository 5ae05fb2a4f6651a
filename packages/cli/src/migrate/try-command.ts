/** `freehold migrate try`: runs the missing migrations of the application in this folder on a copy of a scope. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { PlatformError, scopeId, slug, tenantId } from '@freehold/contracts';
import { z } from 'zod';
import { inOneSentence, loadDev } from '../dev/load-dev.ts';
import { command } from '../lib/command.ts';
import type { World } from '../lib/world.ts';
import { bytesText } from '../output/progress.ts';
import { tableText } from '../output/table.ts';
import { pullScope } from '../scope/pull-scope.ts';
import { PROFILE_OPTION } from '../settings/target.ts';

export const migrateTryCommand = command({
  path: ['migrate', 'try'],
  summary: 'Run the missing migrations on a copy of a scope',
  description: [
    'Brings a copy of a scope to this machine, runs on it the migrations of the application in this folder that it lacks, and',
    'shows the time of each, the rows that it wrote, and what it made, changed and dropped. A scope answers no call while its',
    'migrations run: that time is shown, too. The scope itself is not changed. The copy is tenant data: it is deleted at the',
    'end, and the access log of the platform says who took it. With --copy, one that is here is used, and',
    'stays as it is.',
  ].join('\n'),
  examples: [
    { line: 'freehold migrate try acme main', does: 'on a copy of the scope main of the tenant acme' },
    { line: 'freehold migrate try --copy acme.sqlite', does: 'on a copy that is here' },
    { line: 'freehold migrate try --copy acme.sqlite --json', does: 'for a program' },
  ],
  arguments: [
    { name: 'tenant', summary: 'The id or the slug of the tenant', optional: true },
    { name: 'scope', summary: 'The id or the slug of the scope', optional: true },
  ],
  options: {
    copy: {
      summary: 'A copy of a scope on this machine, as a SQLite file or as NDJSON',
      placeholder: 'file',
    },
    directory: { summary: 'The folder of the application; the default is this one', placeholder: 'dir' },
    ...PROFILE_OPTION,
  },
  input: z
    .strictObject({
      tenant: z.union([tenantId, slug], 'must be a slug, or an id that begins with tnt_').optional(),
      scope: z.union([scopeId, slug], 'must be a slug, or an id that begins with scp_').optional(),
      copy: z.string().min(1, 'must not be empty').optional(),
      directory: z.string().min(1, 'must not be empty').optional(),
      profile: z.string().optional(),
    })
    .refine(({ tenant, scope, copy }) => (copy === undefined ? scope !== undefined : tenant === undefined), {
      error: 'Name the tenant and the scope, or a copy that is here by --copy.',
    }),
  run: async ({ tenant, scope, copy, directory, profile }, world) => {
    const folder = resolve(world.cwd, directory ?? '.');
    const { tryMigrations } = await loadDev(folder);
    const tried = async (file: string) => tryMigrations(folder, file).catch(inOneSentence);
    const value =
      copy === undefined
        ? await withCopy({ tenant, scope, profile }, world, tried)
        : await tried(resolve(world.cwd, copy));
    return { value, text: textOf(value, world.output.columns) };
  },
});

interface OfScope {
  readonly tenant: string | undefined;
  readonly scope: string | undefined;
  readonly profile: string | undefined;
}

/** Brings a copy into a folder that only this person may read, and deletes it afterwards. */
async function withCopy<T>(
  { tenant, scope, profile }: OfScope,
  world: World,
  work: (file: string) => Promise<T>,
): Promise<T> {
  if (tenant === undefined || scope === undefined)
    throw new PlatformError('validation_failed', '<scope> is missing.');
  const directory = mkdtempSync(join(tmpdir(), 'freehold-copy-'));
  try {
    const file = join(directory, 'copy');
    await pullScope({ tenant, scope, profile, file, format: 'ndjson', force: false }, world);
    world.progress('Migrating the copy …');
    return await work(file);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

type Tried = Awaited<ReturnType<typeof import('@freehold/dev')['tryMigrations']>>;

function textOf(
  { from, migrations, lockedMs, bytesBefore, bytesAfter }: Tried,
  columns: number | null,
): string {
  if (migrations.length === 0) return `The scope has every migration: it is at version ${from}.`;
  const rows = migrations.map(({ version, name, ms, rowsWritten, logBytes }) => [
    String(version),
    name,
    timeText(ms),
    String(rowsWritten),
    bytesText(logBytes),
  ]);
  const changes = migrations.flatMap(({ version, changes: each }) =>
    each.map(({ type, name, change, rowsBefore, rowsAfter }) => {
      const [was, is] = [rowsBefore ?? 0, rowsAfter ?? 0];
      const counted = type !== 'table' || was === is ? '' : `: ${was} rows, then ${is}`;
      return `  ${version}  ${type} ${name} ${change === 'rows' ? 'has other rows' : change}${counted}`;
    }),
  );
  return [
    tableText(['version', 'name', 'time', 'rowsWritten', 'log'], rows, columns),
    ...(changes.length === 0 ? [] : ['', ...changes]),
    '',
    `A scope like this answers no call for ${timeText(lockedMs)} while it is migrated, on a machine like this one.`,
    `Its database has ${bytesText(bytesBefore)} before and ${bytesText(bytesAfter)} after. The scope itself was not changed.`,
  ].join('\n');
}

/** `850 ms`, `3.2 s` */
function timeText(ms: number): string {
  return ms < 1_000 ? `${Math.max(1, Math.round(ms))} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
