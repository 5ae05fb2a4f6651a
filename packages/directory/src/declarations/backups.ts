/** The operations about backups (spec 4.3; design: control-plane-routes, "Copies and erasure"). */
import { exportFormat, ID_PREFIXES, idSchema, timestamp } from '@freehold/contracts';
import { z } from 'zod';

export const tag = 'Backups';

export const backupId = idSchema(ID_PREFIXES.backup);

export const backupRecord = z
  .object({
    id: backupId,
    kind: z.enum(['scope', 'directory']),
    origin: z
      .enum(['taken', 'scheduled', 'reap', 'upload'])
      .describe(
        'taken: asked for, and kept until it is deleted. scheduled: made by the platform itself, and deleted by it when newer ones take its place. reap: made before the scope was deleted. upload: a copy that came from outside',
      ),
    tenant: z.string().nullable(),
    scope: z.string().nullable(),
    vertical: z.string().nullable(),
    format: exportFormat,
    bytes: z.int(),
    sha256: z
      .string()
      .describe('Of its bytes, in hexadecimal; they were read back and compared when it was written'),
    address: z.string().describe('Where it lies in the place that the operator keeps backups in'),
    bookmark: z.string().nullable().describe('The moment that it shows, where the engine has bookmarks'),
    at: timestamp,
  })
  .meta({ id: 'Backup' });

export type BackupRecord = z.infer<typeof backupRecord>;

const lost = z
  .object({ tenants: z.int(), scopes: z.int() })
  .describe('How many are there now and not in the backup: nothing leads to them afterwards');

export const revocationRecord = z.object({
  action: z.string().describe('The operation that revoked it'),
  at: timestamp,
  tenant: z.string().nullable(),
  scope: z.string().nullable(),
  vertical: z.string().nullable(),
  other: z.string().nullable().describe('Further target: a host name, a key, an id'),
});

export type RevocationRecord = z.infer<typeof revocationRecord>;

export const directoryRestored = z
  .object({
    backup: backupId,
    tables: z.int(),
    rows: z.int(),
    lost,
    keptAway: z
      .array(z.object({ action: z.string(), count: z.int() }))
      .describe('Rows of the backup that were revoked since: how many, by the operation that revoked them'),
    epoch: z.int().describe('How often the directory was restored'),
    previousHead: z.object({ sequence: z.int(), hash: z.string() }),
  })
  .meta({ id: 'DirectoryRestored' });

export type DirectoryRestored = z.infer<typeof directoryRestored>;
