/** Brings a copy of a scope to this machine. */
import { PlatformError } from '@freehold/contracts';
import type { ClientResponse } from '@freehold/control-plane/client';
import { adminOperations } from '@freehold/directory/declarations';
import { scopeIdOf, tenantIdOf } from '../admin/slugs.ts';
import type { World } from '../lib/world.ts';
import { progressText } from '../output/progress.ts';
import { saveStream } from '../output/save.ts';
import { callerOf, requireTarget } from '../settings/target.ts';

export interface PullRequest {
  /** Ids or slugs. */
  readonly tenant: string;
  readonly scope: string;
  readonly profile: string | undefined;
  readonly file: string;
  /** A database file, which not every engine can give away, or text, which all can. */
  readonly format: 'sqlite' | 'ndjson';
  /** Whether an existing file is replaced. */
  readonly force: boolean;
}

/** Writes a scope into a file: whole, or not at all. The access log of the platform records it. */
export async function pullScope(
  { tenant: ofTenant, scope: ofScope, profile, file, format, force }: PullRequest,
  world: World,
): Promise<{ readonly bytes: number; readonly bookmark: string | null }> {
  const call = callerOf(requireTarget(world, profile), world);
  const tenant = await tenantIdOf(call, ofTenant);
  const scope = await scopeIdOf(call, tenant, ofScope);
  const { value } = (await call(adminOperations['scopes.export'], {
    params: { tenant, scope },
    query: { format },
  })) as ClientResponse<{
    readonly format: string;
    readonly bookmark: string | null;
    readonly body: ReadableStream<Uint8Array>;
  }>;
  if (value.format !== format) {
    await value.body.cancel();
    throw new PlatformError('unsupported', `The scope was answered in another form than ${format}.`);
  }
  const bytes = await saveStream(value.body, file, {
    force,
    onBytes: (done) => world.progress(progressText('Copying', { done, total: null, unit: 'bytes' })),
  });
  return { bytes, bookmark: value.bookmark };
}
