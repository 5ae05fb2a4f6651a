/** Previews: versions that run beside the live one, on data of their own. Data only, so that a client can import it. */
import { idSchema, lineOfText, scopeId, slug, tenantId, timestamp } from '@freehold/contracts';
import { z } from 'zod';
import { planCount } from './admin-operation.ts';
import { requester, versionNumber, versionSource } from './vertical-records.ts';

export const tag = 'Previews';

/** The most previews of one vertical at a time. */
export const PREVIEWS_MAX = 10;

export const previewId = idSchema('prv');
export const params = z.strictObject({ slug });
export const ofPreview = z.strictObject({ slug, preview: previewId });

export const days = z.int().min(1).max(30).default(7).describe('When it ends by itself');
export const branch = lineOfText(200).describe('The branch that it shows');

export const previewRecord = z
  .object({
    id: previewId,
    vertical: slug,
    version: versionNumber.describe('Of the manifest. A preview is no version, and never serves'),
    tenant: tenantId,
    scope: scopeId.nullable().describe('The scope whose copy it has; null: it began empty'),
    hostname: z.string(),
    branch: branch.nullable(),
    source: versionSource.nullable().describe('The commit that it was made from'),
    network: z.boolean().describe('Whether its code may call other hosts'),
    createdBy: requester,
    createdAt: timestamp,
    expiresAt: timestamp.describe('When it ends by itself'),
  })
  .meta({ id: 'Preview' });
export type PreviewRecord = z.infer<typeof previewRecord>;

/** A preview, as its runtime knows it. */
export interface PreviewRef {
  readonly id: string;
  readonly vertical: string;
  readonly script: string;
  readonly tenant: string;
  readonly scope: string;
  /** Whether its code may call public hosts. */
  readonly network: boolean;
}

const columns = z.array(z.string());

export const previewMade = z
  .object({
    preview: previewRecord,
    copied: z
      .object({
        tables: planCount,
        rows: planCount,
        masked: columns.describe('Columns with a mask in the place of each value, as table.column'),
        unmasked: columns.describe('Columns with text that was copied as it is'),
      })
      .nullable()
      .describe('Null where it began empty'),
  })
  .meta({ id: 'PreviewMade' });
export type PreviewMade = z.infer<typeof previewMade>;

export const previewLink = z
  .object({
    url: z.url(),
    expiresAt: timestamp
      .nullable()
      .describe('Of the link that makes its reader the owner; null: there is an owner'),
  })
  .meta({ id: 'PreviewLink' });
export type PreviewLink = z.infer<typeof previewLink>;

/** One step of making a preview, for its events. */
export const previewStep = z.object({
  step: z.enum(['uploading', 'copying', 'opening']),
  preview: previewId,
});
export type PreviewStep = z.infer<typeof previewStep>;
