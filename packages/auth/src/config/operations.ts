/** Settings delivered to a scope, and the tenant's session secret (spec 2.3). */

import {
  CONFIG_KEYS_MAX,
  configPatch,
  type DeliveryWarning,
  PlatformError,
  parseInput,
} from '@freehold/contracts';
import { SESSION_TTL_MS } from '@freehold/oidc-rp';
import type { UnitContext } from '@freehold/store';
import { base64url } from 'jose';
import { recordEvent } from '../events/operations.ts';
import { invalid, refusal } from '../lib/refusals.ts';
import type { SecretKeeper, SecretPlace } from '../lib/secret-keeper.ts';
import { endAllGrants } from '../programs/grants.ts';
import {
  CLIENT_SECRET_KEY,
  findChoiceWarnings,
  IDENTITY_CHOICE_KEY,
  isSameClient,
  parseIdentityChoice,
} from './identity-choice.ts';
import {
  concernsSignIn,
  findOrphanedOwner,
  type OwnerOrphaned,
  recordOrphanedOwner,
} from './orphaned-owner.ts';
import {
  countFormerSecrets,
  deleteFormerSecrets,
  deleteFormerSecretsUpTo,
  deleteSetting,
  loadConfig,
  loadFormerSecrets,
  loadSecret,
  replaceSecret,
  SESSION_SECRET,
  type SettingRow,
  saveConfigVersion,
  saveFormerSecret,
  saveSecret,
  saveSetting,
} from './store.ts';

/** 256 bits: the strength of the HMAC that it keys. */
const SESSION_SECRET_BYTES = 32;
/** A secret's last session lives for seven days; the eighth is for clocks that disagree across machines. */
const FORMER_SECRET_TTL_MS = SESSION_TTL_MS + 24 * 3_600_000;
/** Each costs a signature's check on requests whose cookie it did not sign. */
const FORMER_SECRETS_MAX = 5;
/** Names that a careless reader of the delivered map would take for a part of its object. */
const FORBIDDEN_KEYS: readonly string[] = ['__proto__', 'constructor', 'prototype'];

/** The source of instance authentication; `changed` is false when the caller's copy is current. */
export type InstanceConfig =
  | { readonly changed: false; readonly version: string }
  | {
      readonly changed: true;
      readonly version: string;
      readonly tenantId: string;
      /** The one that signs. Null before it was minted. */
      readonly sessionSecret: string | null;
      /** Every one that verifies, the one that signs first; empty before it was minted. */
      readonly sessionSecrets: readonly string[];
      readonly config: Readonly<Record<string, string>>;
      readonly resealDue: boolean;
    };

/** The place of a setting, to which its seal is bound. */
export function configPlace(scopeId: string, key: string): SecretPlace {
  return ['config', 'value', scopeId, key];
}

export const SESSION_SECRET_PLACE: SecretPlace = ['secrets', 'value', SESSION_SECRET];

/** The time is part of the place, so that a writer of the database cannot make a former secret verify for longer. */
export function formerSecretPlace(validUntilMs: number): SecretPlace {
  return ['former_session_secrets', 'value', String(validUntilMs)];
}

/** The config feature of the identity directory. @param configVersion from `makeConfigVersion`. */
export function makeConfigOperations(
  unit: UnitContext,
  keeper: SecretKeeper,
  configVersion: (scopeId: string) => string,
) {
  return {
    /**
     * Delivers settings: null removes a key, the others stay. Returns every key that is set afterwards, sorted.
     *
     * A client secret belongs to one issuer and client. A delivery after which `platform:auth` names another pair,
     * and that brings no OIDC_CLIENT_SECRET, removes the present one, also when there was no pair before: a tenant who
     * may choose an issuer would otherwise be sent a secret that they do not know. Deliver both at once.
     *
     * A delivery that orphans the owner, or that sets up no sign-in, takes effect and answers `warnings` for the
     * operator. Delivering the same again answers the same.
     * @throws PlatformError `validation_failed` on a key beyond 128 or a value beyond 16,384 characters, on a key
     * named `__proto__`, `constructor` or `prototype`, and when the scope would have more than 100 settings.
     */
    putConfig(input: { scopeId: string; config: Readonly<Record<string, string | null>> }): {
      keys: string[];
      warnings?: readonly (OwnerOrphaned | DeliveryWarning)[];
    } {
      const { scopeId } = input;
      const patch = parsePatch(input.config);
      const rows = loadConfig(unit.db, scopeId);
      const before = revealReadable(keeper, rows);
      const changed = changesOf({ rows, readable: before, patch });
      for (const [key, value] of changed) {
        if (value === null) deleteSetting(unit.db, { scopeId, key });
        else saveSetting(unit.db, { scopeId, key, ...keeper.keep(configPlace(scopeId, key), value) });
      }
      if (changed.length > 0) {
        const keys = changed.map(([key]) => key);
        // The event's id marks the change. A counter could repeat itself after a rewind, with other contents.
        const version = recordEvent(unit, 'config_changed', { scopeId, detail: { keys } });
        saveConfigVersion(unit.db, { scopeId, version });
      }
      const rowsAfter = loadConfig(unit.db, scopeId);
      const keys = rowsAfter.map(({ key }) => key);
      if (keys.length > CONFIG_KEYS_MAX) throw tooManySettings(keys.length);
      const after = revealReadable(keeper, rowsAfter);
      if (!concernsSignIn(patch)) return { keys };
      const orphaned = findOrphanedOwner(unit, { scopeId, before, after });
      if (orphaned !== null && changed.length > 0) recordOrphanedOwner(unit, scopeId, orphaned);
      const warnings = [...(orphaned === null ? [] : [orphaned]), ...findChoiceWarnings(after)];
      return warnings.length === 0 ? { keys } : { keys, warnings };
    },

    /** Returns all delivered settings of a scope. @throws PlatformError `unavailable` for one that does not open. */
    getConfig(input: { scopeId: string }): Record<string, string> {
      return reveal(keeper, loadConfig(unit.db, input.scopeId));
    },

    /**
     * Returns the settings, unless the caller's copy is current: sealed values are opened only after a change.
     * @throws PlatformError `unavailable` for a value that does not open.
     */
    readInstanceConfig(input: { scopeId: string; knownVersion?: string }): InstanceConfig {
      const { scopeId } = input;
      const version = configVersion(scopeId);
      if (version === input.knownVersion) return { changed: false, version };
      const current = loadSecret(unit.db, SESSION_SECRET);
      const former = current === undefined ? [] : loadFormerSecrets(unit.db, unit.now());
      const rows = loadConfig(unit.db, scopeId);
      const sessionSecrets = [
        ...(current === undefined ? [] : [keeper.reveal(SESSION_SECRET_PLACE, current)]),
        ...former.map((row) => keeper.reveal(formerSecretPlace(row.validUntilMs), row)),
      ];
      return {
        changed: true,
        version,
        tenantId: unit.key,
        sessionSecret: sessionSecrets[0] ?? null,
        sessionSecrets,
        config: reveal(keeper, rows),
        resealDue: [...(current === undefined ? [] : [current]), ...former, ...rows].some(keeper.isDue),
      };
    },

    /** Returns the tenant's session-signing secret, minted on the first call: 32 random bytes as base64url. */
    sessionSecret(): string {
      const stored = loadSecret(unit.db, SESSION_SECRET);
      return stored === undefined ? mintSecret(unit, keeper) : keeper.reveal(SESSION_SECRET_PLACE, stored);
    },

    /**
     * Replaces the tenant's session secret in every scope. The former one verifies for 8 more days, so that users stay
     * signed in and running sign-ins complete. With `keepFormer: false`, for a leaked secret, it and all before it
     * end now, all programs with them, and all users sign in again.
     * @returns until when the former secret verifies; null when none does.
     * @throws PlatformError `conflict`, reason `rotated_too_often`, while five former secrets verify; `unavailable`
     * for a former secret to keep that does not open.
     */
    rotateSessionSecret(input: { by?: string; keepFormer?: boolean }): { formerValidUntilMs: number | null } {
      const { by, keepFormer = true } = input;
      const former = loadSecret(unit.db, SESSION_SECRET);
      if (former === undefined) {
        mintSecret(unit, keeper);
        return { formerValidUntilMs: null };
      }
      const nowMs = unit.now();
      const validUntilMs = nowMs + FORMER_SECRET_TTL_MS;
      if (keepFormer) {
        deleteFormerSecretsUpTo(unit.db, nowMs);
        if (countFormerSecrets(unit.db) >= FORMER_SECRETS_MAX) throw rotatedTooOften();
        const secret = keeper.reveal(SESSION_SECRET_PLACE, former);
        const stored = keeper.keep(formerSecretPlace(validUntilMs), secret);
        saveFormerSecret(unit.db, { ...stored, replacedAtMs: nowMs, validUntilMs });
      } else {
        deleteFormerSecrets(unit.db);
        // A secret that leaked may have opened anything: programs end with the sessions.
        endAllGrants(unit, 'secret_rotated');
      }
      const stored = keeper.keep(SESSION_SECRET_PLACE, makeSecret(unit));
      replaceSecret(unit.db, { name: SESSION_SECRET, ...stored, atMs: nowMs });
      const detail = { former: keepFormer ? 'kept' : 'ended' };
      recordEvent(unit, 'session_secret_rotated', { actor: by, detail });
      return { formerValidUntilMs: keepFormer ? validUntilMs : null };
    },
  };
}

function reveal(keeper: SecretKeeper, rows: readonly SettingRow[]): Record<string, string> {
  return Object.fromEntries(
    rows.map((row) => [row.key, keeper.reveal(configPlace(row.scopeId, row.key), row)]),
  );
}

/** Leaves out the settings that do not open: they count as changed by any delivery in their place. */
function revealReadable(keeper: SecretKeeper, rows: readonly SettingRow[]): Record<string, string> {
  return Object.fromEntries(
    rows.flatMap((row) => {
      const value = keeper.tryReveal(configPlace(row.scopeId, row.key), row);
      return value === null ? [] : [[row.key, value]];
    }),
  );
}

function mintSecret(unit: UnitContext, keeper: SecretKeeper): string {
  const value = makeSecret(unit);
  const stored = keeper.keep(SESSION_SECRET_PLACE, value);
  saveSecret(unit.db, { name: SESSION_SECRET, ...stored, atMs: unit.now() });
  recordEvent(unit, 'session_secret_minted', {});
  return value;
}

function makeSecret(unit: UnitContext): string {
  return base64url.encode(unit.random(SESSION_SECRET_BYTES));
}

function rotatedTooOften(): PlatformError {
  return refusal(
    'conflict',
    'rotated_too_often',
    'The session secret was replaced five times in eight days. Wait until the oldest has run out.',
  );
}

type Change = readonly [key: string, value: string | null];

/** The names are refused before the schema runs, which silently drops the first of them. */
function parsePatch(config: unknown): ReadonlyMap<string, string | null> {
  const forbidden = FORBIDDEN_KEYS.find(
    (key) => typeof config === 'object' && config !== null && Object.hasOwn(config, key),
  );
  if (forbidden !== undefined)
    throw invalid(forbidden, 'is not a name for a setting', `A setting cannot be named ${forbidden}.`);
  return new Map(Object.entries(parseInput('The config', configPatch, config)));
}

/** Returns the changes of a patch, the removal of a client secret that no longer has its client included. */
function changesOf(delivery: {
  readonly rows: readonly SettingRow[];
  readonly readable: Readonly<Record<string, string>>;
  readonly patch: ReadonlyMap<string, string | null>;
}): Change[] {
  const { rows, readable, patch } = delivery;
  const before = new Map(Object.entries(readable));
  const unreadable = new Set(rows.map(({ key }) => key).filter((key) => !before.has(key)));
  const wanted = new Map(patch);
  if (!wanted.has(CLIENT_SECRET_KEY) && movesClient(readable, patch)) wanted.set(CLIENT_SECRET_KEY, null);
  return [...wanted].filter(([key, value]) => unreadable.has(key) || (before.get(key) ?? null) !== value);
}

/** Whether the choice names another issuer or client after the patch than before it. */
function movesClient(
  present: Readonly<Record<string, string>>,
  patch: ReadonlyMap<string, string | null>,
): boolean {
  const delivered = patch.get(IDENTITY_CHOICE_KEY);
  if (delivered === undefined) return false;
  const next = delivered === null ? null : parseIdentityChoice({ [IDENTITY_CHOICE_KEY]: delivered });
  return !isSameClient(parseIdentityChoice(present), next);
}

function tooManySettings(count: number): PlatformError {
  const message = `A scope has at most ${CONFIG_KEYS_MAX} settings; this delivery would make it ${count}.`;
  return new PlatformError('validation_failed', message, {
    errors: [{ path: '', message: `must leave at most ${CONFIG_KEYS_MAX} settings` }],
  });
}
