/** Which of the secrets that are kept are sealed. Those from before are not, until they are sealed in passing. */
import type { Migration } from '@freehold/store';

export const sealedSecretsMigration: Migration = {
  version: 12,
  name: 'sealed secrets',
  sql: `ALTER TABLE config ADD COLUMN sealed INTEGER NOT NULL DEFAULT 0 CHECK (sealed IN (0, 1));
  ALTER TABLE secrets ADD COLUMN sealed INTEGER NOT NULL DEFAULT 0 CHECK (sealed IN (0, 1));
  ALTER TABLE former_session_secrets ADD COLUMN sealed INTEGER NOT NULL DEFAULT 0 CHECK (sealed IN (0, 1));
  ALTER TABLE accounts ADD COLUMN totp_sealed INTEGER NOT NULL DEFAULT 0 CHECK (totp_sealed IN (0, 1));`,
};
