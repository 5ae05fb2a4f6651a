/** What device codes have beside their first table: who asked for one. Numbered by itself, beside the staff's own. */
import type { Migration } from '@freehold/store';

const sourceMigration: Migration = {
  version: 1,
  name: 'sources of device codes',
  sql: `
    -- The hash of a network address, or of its range; null where nobody knows it.
    ALTER TABLE staff_devices ADD COLUMN source TEXT;
    -- Who waits, the oldest of a source first.
    CREATE INDEX staff_devices_waiting ON staff_devices (source, expires_at) WHERE state = 'pending';
  `,
};

/** The set that the directory applies after that of the staff. */
export const deviceMigrations = { name: 'staff-devices', migrations: [sourceMigration] } as const;
