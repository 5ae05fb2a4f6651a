/** `freehold scope pull` saves a scope's copy as a database file on this machine. The access log records it. */
import { resolve } from 'node:path';
import { scopeId, slug, tenantId } from '@freehold/contracts';
import { z } from 'zod';
import { command } from '../lib/command.ts';
import { bytesText } from '../output/progress.ts';
import { requireFree } from '../output/save.ts';
import { PROFILE_OPTION } from '../settings/target.ts';
import { pullScope } from './pull-scope.ts';

export const pullCommand = command({
  path: ['scope', 'pull'],
  summary: 'Bring a copy of a scope to this machine',
  description: [
    'Writes everything that the scope holds at one moment into a SQLite file that only you may read: whole, or not at all.',
    'It is tenant data. The access log of the platform says who took it, and what happens to the file is up to you.',
  ].join('\n'),
  examples: [
    {
      line: 'freehold scope pull tnt_01jd0000000000000000000000 scp_01jd0000000000000000000000 --out acme.sqlite',
      does: 'into ./acme.sqlite',
    },
  ],
  arguments: [
    { name: 'tenant', summary: 'The id or the slug of the tenant' },
    { name: 'scope', summary: 'The id or the slug of the scope' },
  ],
  options: {
    out: { summary: 'The file to write; the default is ./<scope>.sqlite', placeholder: 'file' },
    force: { kind: 'flag', summary: 'Replace the file if there is one' },
    ...PROFILE_OPTION,
  },
  input: z.strictObject({
    tenant: z.union([tenantId, slug], 'must be a slug, or an id that begins with tnt_'),
    scope: z.union([scopeId, slug], 'must be a slug, or an id that begins with scp_'),
    out: z.string().min(1, 'must not be empty').optional(),
    force: z.boolean().default(false),
    profile: z.string().optional(),
  }),
  run: async ({ tenant, scope, out = `${scope}.sqlite`, force, profile }, world) => {
    const file = resolve(world.cwd, out);
    requireFree(file, force);
    const { bytes, bookmark } = await pullScope(
      { tenant, scope, profile, file, format: 'sqlite', force },
      world,
    );
    return {
      value: { file, bytes, bookmark },
      text: `Wrote ${file} (${bytesText(bytes)}). Look into it with freehold scope open ${out}`,
    };
  },
});
