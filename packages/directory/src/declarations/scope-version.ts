/** Which version of its vertical a scope runs on (spec 4.3; control-plane-routes, "Scopes"). */
import { scopeId, slug, snapshotId, timestamp } from '@freehold/contracts';
import { z } from 'zod';
import { versionId } from './vertical-records.ts';

export const scopeVersionRecord = z
  .object({
    scope: scopeId,
    vertical: slug,
    version: z.string().nullable().describe('What it runs on; null while nothing serves'),
    id: versionId.nullable(),
    bound: z.boolean().describe('True for a version of its own, false where it follows prod'),
    boundAt: timestamp.nullable(),
    snapshot: snapshotId.nullable().describe('The copy that was taken before this binding'),
    etag: z.string().describe('The version of this record; send it back in If-Match'),
  })
  .meta({ id: 'ScopeVersion' });

export type ScopeVersionRecord = z.infer<typeof scopeVersionRecord>;
