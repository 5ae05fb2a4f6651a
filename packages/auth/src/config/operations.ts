/** Settings delivered to a scope, and the tenant's session secret (spec 2.3). */
import { configPatch, parseInput } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { base64url } from 'jose';
import { recordEvent } from '../events/operations.ts';
import {
  deleteSetting,
  loadConfig,
  loadConfigVersion,
  loadSecret,
  saveConfigVersion,
  saveSecret,
  saveSetting,
} from './store.ts';

/** 256 bits: the strength of the HMAC that it keys. */
const SESSION_SECRET_BYTES = 32;
const SESSION_SECRET = 'session';
/** What a version ends in for a scope to which nothing was ever delivered. */
const NEVER_DELIVERED = 'none';

/** What instance authentication is built from; `changed` is false when the caller's copy still holds. */
export type InstanceConfig =
  | { readonly changed: false; readonly version: string }
  | {
      readonly changed: true;
      readonly version: string;
      readonly tenantId: string;
      /** Null before it was minted. */
      readonly sessionSecret: string | null;
      readonly config: Readonly<Record<string, string>>;
    };

/** The config feature of the identity directory. */
export function makeConfigOperations(unit: UnitContext) {
  return {
    /**
     * Delivers settings: null removes a key, the rest stays. Answers every key that is set afterwards, sorted.
     * @throws PlatformError `validation_failed` on a key beyond 128 or a value beyond 16,384 characters.
     */
    putConfig(input: { scopeId: string; config: Readonly<Record<string, string | null>> }): {
      keys: string[];
    } {
      const { scopeId } = input;
      const patch = parseInput('The config', configPatch, input.config);
      const present = loadConfig(unit.db, scopeId);
      const changed = Object.entries(patch).filter(([key, value]) => (present[key] ?? null) !== value);
      for (const [key, value] of changed) {
        if (value === null) deleteSetting(unit.db, { scopeId, key });
        else saveSetting(unit.db, { scopeId, key, value });
      }
      if (changed.length > 0) {
        const keys = changed.map(([key]) => key);
        // The event's id marks the change. A counter could repeat itself after a rewind, with other contents.
        const version = recordEvent(unit, 'config_changed', { scopeId, detail: { keys } });
        saveConfigVersion(unit.db, { scopeId, version });
      }
      return { keys: Object.keys(loadConfig(unit.db, scopeId)) };
    },

    /** Everything that was delivered to a scope. */
    getConfig(input: { scopeId: string }): Record<string, string> {
      return loadConfig(unit.db, input.scopeId);
    },

    /** The settings, unless the caller has them: cheap enough for every request. */
    readInstanceConfig(input: { scopeId: string; knownVersion?: string }): InstanceConfig {
      // The version names the tenant, so that one tenant's can never be taken for another's.
      const version = `${unit.key}/${loadConfigVersion(unit.db, input.scopeId) ?? NEVER_DELIVERED}`;
      if (version === input.knownVersion) return { changed: false, version };
      return {
        changed: true,
        version,
        tenantId: unit.key,
        sessionSecret: loadSecret(unit.db, SESSION_SECRET) ?? null,
        config: loadConfig(unit.db, input.scopeId),
      };
    },

    /** The tenant's session-signing secret, minted on the first call: 32 random bytes as base64url. */
    sessionSecret(): string {
      const found = loadSecret(unit.db, SESSION_SECRET);
      if (found !== undefined) return found;
      const value = base64url.encode(unit.random(SESSION_SECRET_BYTES));
      saveSecret(unit.db, { name: SESSION_SECRET, value, atMs: unit.now() });
      recordEvent(unit, 'session_secret_minted', {});
      return value;
    },
  };
}
