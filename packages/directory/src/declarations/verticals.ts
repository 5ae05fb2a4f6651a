/** The registry of verticals, their versions, and the one that serves (spec 3.4, 4.3; control-plane-routes, "Verticals"). */
import { lineOfText, slug } from '@freehold/contracts';
import { z } from 'zod';
import { bundleDigest, versionId, versionNumber } from './vertical-records.ts';

export const tag = 'Verticals';

export const params = z.strictObject({ slug });

export const name = lineOfText(200);

/** The ways to name one version of a known vertical. */
export const versionChoice = {
  version: versionNumber.optional().describe('By its number'),
  id: versionId.optional().describe('By its id'),
};

export const acknowledgeMigrations = z
  .boolean()
  .default(false)
  .describe('Must be true where the migrations differ from those that serve');

/** 16 MiB: in Base64, a call still fits the limit of an engine (workerd: 32 MiB a call). */
export const DEPLOY_FORM_BYTES_MAX = 16 * 1024 * 1024;

/** No file is larger than the form that it comes in. */
const MODULE_CHARS_MAX = 4 * Math.ceil(DEPLOY_FORM_BYTES_MAX / 3);

const moduleName = {
  name: z
    .string()
    .max(200)
    .regex(/^[A-Za-z0-9_-][A-Za-z0-9_.-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*$/, 'must be a relative path'),
  mediaType: z.string().min(1).max(100).describe('application/javascript+module'),
};

/** One file of a deployment. */
export const deployModule = z.strictObject({
  ...moduleName,
  base64: z.base64().max(MODULE_CHARS_MAX),
});

export type DeployModule = z.infer<typeof deployModule>;

/** One file of a deployment that the runtime has already. */
export const knownModule = z.strictObject({ ...moduleName, digest: bundleDigest });

export type KnownModule = z.infer<typeof knownModule>;

const counted = z.object({ done: z.int().min(0), total: z.int().min(0) });

/** One step of a deployment, for its events. */
export const deployStep = z.object({
  step: z
    .enum(['registered', 'uploading', 'uploaded', 'admitted', 'serving'])
    .describe(
      'uploading is told again as files are taken; admitted and serving once they are written down, where they were asked for',
    ),
  id: versionId,
  version: versionNumber,
  modules: counted,
  bytes: counted,
});

export type DeployStep = z.infer<typeof deployStep>;
