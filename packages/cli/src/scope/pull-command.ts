/** `freehold scope pull` saves a scope's copy as a database file on this machine. The access log records it. */
import { resolve } from 'node:path';
import { PlatformError, scopeId, slug, tenantId } from '@freehold/contracts';
import type { ClientResponse } from '@freehold/control-plane/client';
import { adminOperations } from '@freehold/directory/declarations';
import { z } from 'zod';
import { scopeIdOf, tenantIdOf } from '../admin/slugs.ts';
import { command } from '../lib/command.ts';
import { bytesText, progressText } from '../output/progress.ts';
import { requireFree, saveStream } from '../output/save.ts';
import { callerOf, PROFILE_OPTION, requireTarget } from '../settings/target.ts';

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
  run: async ({ tenant: ofTenant, scope: ofScope, out = `${ofScope}.sqlite`, force, profile }, world) => {
    const file = resolve(world.cwd, out);
    requireFree(file, force);
    const call = callerOf(requireTarget(world, profile), world);
    const tenant = await tenantIdOf(call, ofTenant);
    const scope = await scopeIdOf(call, tenant, ofScope);
    const { value } = (await call(adminOperations['scopes.export'], {
      params: { tenant, scope },
      query: { format: 'sqlite' },
    })) as ClientResponse<{
      readonly format: string;
      readonly bookmark: string | null;
      readonly body: ReadableStream<Uint8Array>;
    }>;
    if (value.format !== 'sqlite') {
      await value.body.cancel();
      throw new PlatformError('unsupported', 'The scope was answered in a form that is no database file.');
    }
    const bytes = await saveStream(value.body, file, {
      force,
      onBytes: (done) => world.progress(progressText('Copying', { done, total: null, unit: 'bytes' })),
    });
    return {
      value: { file, bytes, bookmark: value.bookmark },
      text: `Wrote ${file} (${bytesText(bytes)}). Look into it with freehold scope open ${out}`,
    };
  },
});
