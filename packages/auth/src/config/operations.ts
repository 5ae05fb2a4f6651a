/** Settings delivered to a scope, and the tenant's session secret (spec 2.3). */
import { createHash } from 'node:crypto';
import { CONFIG_KEYS_MAX, configPatch, PlatformError, parseInput } from '@freehold/contracts';
import { SESSION_TTL_MS } from '@freehold/oidc-rp';
import type { UnitContext } from '@freehold/store';
import { base64url } from 'jose';
import { recordEvent } from '../events/operations.ts';
import {
  CLIENT_SECRET_KEY,
  IDENTITY_CHOICE_KEY,
  isSameClient,
  parseIdentityChoice,
} from './identity-choice.ts';
import type { SecretKeeper } from '../lib/secret-keeper.ts';
import {
  concernsSignIn,
  findOrphanedOwner,
  type OwnerOrphaned,
  recordOrphanedOwner,
} from './orphaned-owner.ts';
import { configPlace, formerSecretPlace, sessionSecretPlace } from './places.ts';
import {
  countFormerSecrets,
  deleteFormerSecrets,
  deleteFormerSecretsUpTo,
  deleteSetting,
  loadConfig,
  loadFormerSecrets,
  loadInstanceMarks,
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
/** What a secret signed last lives for seven days; the eighth is for clocks that disagree across machines. */
const FORMER_SECRET_KEPT_MS = SESSION_TTL_MS + 24 * 3_600_000;
/** Each costs a signature's check on requests whose cookie it did not sign. */
const FORMER_SECRETS_MAX = 5;
/** Names that a careless reader of the delivered map would take for a part of its object. */
const NO_KEYS: readonly string[] = ['__proto__', 'constructor', 'prototype'];
/** What a version says of a scope to which nothing was ever delivered, and of a tenant without a secret. */
const NONE = 'none';

/** What instance authentication is built from; `changed` is false when the caller's copy still holds. */
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
      /** Whether some of it is to be sealed anew: `resealSecrets`. */
      readonly resealDue: boolean;
    };

/** The config feature of the identity directory. */
export function makeConfigOperations(unit: UnitContext, keeper: SecretKeeper) {
  const fingerprintOf = makeFingerprint();
  const reveal = (rows: readonly SettingRow[]): Record<string, string> =>
    Object.fromEntries(rows.map((row) => [row.key, keeper.reveal(configPlace(row.scopeId, row.key), row)]));
  /** What cannot be opened is left out, and is a change whatever is delivered in its place. */
  const revealWhatOpens = (rows: readonly SettingRow[]): Record<string, string> =>
    Object.fromEntries(
      rows.flatMap((row) => {
        const value = keeper.tryReveal(configPlace(row.scopeId, row.key), row);
        return value === null ? [] : [[row.key, value]];
      }),
    );

  return {
    /**
     * Delivers settings: null removes a key, the rest stays. Answers every key that is set afterwards, sorted.
     *
     * A client secret belongs to one issuer and client. A delivery after which `platform:auth` names another pair,
     * and that brings no OIDC_CLIENT_SECRET, removes the one that is there, also when there was no pair before:
     * whoever may choose an issuer would otherwise be sent a secret that they were never told. Deliver both at once.
     *
     * A delivery that leaves the owner outside is carried out and answered with a `warning`, which is for the operator
     * to see. Delivering the same again answers the same.
     * @throws PlatformError `validation_failed` on a key beyond 128 or a value beyond 16,384 characters, on a key
     * named `__proto__`, `constructor` or `prototype`, and when more than 100 settings would be kept for the scope.
     */
    putConfig(input: { scopeId: string; config: Readonly<Record<string, string | null>> }): {
      keys: string[];
      warning?: OwnerOrphaned;
    } {
      const { scopeId } = input;
      const patch = parsePatch(input.config);
      const rows = loadConfig(unit.db, scopeId);
      const before = revealWhatOpens(rows);
      const changed = changesOf({ kept: rows, present: before, patch });
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
      const kept = loadConfig(unit.db, scopeId);
      const keys = kept.map(({ key }) => key);
      if (keys.length > CONFIG_KEYS_MAX) throw tooManySettings(keys.length);
      const after = revealWhatOpens(kept);
      const warning = concernsSignIn(patch) ? findOrphanedOwner(unit, { scopeId, before, after }) : null;
      if (warning === null) return { keys };
      if (changed.length > 0) recordOrphanedOwner(unit, scopeId, warning);
      return { keys, warning };
    },

    /** Everything that was delivered to a scope. @throws PlatformError `unavailable` for what cannot be opened. */
    getConfig(input: { scopeId: string }): Record<string, string> {
      return reveal(loadConfig(unit.db, input.scopeId));
    },

    /**
     * The settings, unless the caller has them: cheap enough for every request, because what is sealed is opened only
     * when something changed. @throws PlatformError `unavailable` for what cannot be opened.
     */
    readInstanceConfig(input: { scopeId: string; knownVersion?: string }): InstanceConfig {
      const { scopeId } = input;
      const nowMs = unit.now();
      const { configVersion, keptSecrets } = loadInstanceMarks(unit.db, { scopeId, nowMs });
      // The version names the tenant, so that one tenant's can never be taken for another's.
      const version = `${unit.key}/${configVersion ?? NONE}/${fingerprintOf(keptSecrets)}`;
      if (version === input.knownVersion) return { changed: false, version };
      const current = loadSecret(unit.db, SESSION_SECRET);
      const former = current === undefined ? [] : loadFormerSecrets(unit.db, nowMs);
      const rows = loadConfig(unit.db, scopeId);
      const sessionSecrets = [
        ...(current === undefined ? [] : [keeper.reveal(sessionSecretPlace(), current)]),
        ...former.map((row) => keeper.reveal(formerSecretPlace(row.validUntilMs), row)),
      ];
      return {
        changed: true,
        version,
        tenantId: unit.key,
        sessionSecret: sessionSecrets[0] ?? null,
        sessionSecrets,
        config: reveal(rows),
        resealDue: [...(current === undefined ? [] : [current]), ...former, ...rows].some(keeper.isDue),
      };
    },

    /** The tenant's session-signing secret, minted on the first call: 32 random bytes as base64url. */
    sessionSecret(): string {
      const kept = loadSecret(unit.db, SESSION_SECRET);
      return kept === undefined ? mintSecret(unit, keeper) : keeper.reveal(sessionSecretPlace(), kept);
    },

    /**
     * Replaces the tenant's session secret in every scope. What the former one signed verifies for 8 more days, so
     * that nobody is signed out and no sign-in under way is lost. With `keepFormer: false`, for a secret that others
     * may have, it and all that came before it end now, and everybody signs in again.
     * @returns until when the former secret verifies; null when there is none, or none any more.
     * @throws PlatformError `conflict`, reason `rotated_too_often`, while five former secrets still verify;
     * `unavailable` for a former secret that is to be kept and cannot be opened.
     */
    rotateSessionSecret(input: { by?: string; keepFormer?: boolean }): { formerValidUntilMs: number | null } {
      const { by, keepFormer = true } = input;
      const former = loadSecret(unit.db, SESSION_SECRET);
      if (former === undefined) {
        mintSecret(unit, keeper);
        return { formerValidUntilMs: null };
      }
      const nowMs = unit.now();
      const validUntilMs = nowMs + FORMER_SECRET_KEPT_MS;
      if (keepFormer) {
        deleteFormerSecretsUpTo(unit.db, nowMs);
        if (countFormerSecrets(unit.db) >= FORMER_SECRETS_MAX) throw rotatedTooOften();
        const secret = keeper.reveal(sessionSecretPlace(), former);
        const kept = keeper.keep(formerSecretPlace(validUntilMs), secret);
        saveFormerSecret(unit.db, { ...kept, replacedAtMs: nowMs, validUntilMs });
      } else deleteFormerSecrets(unit.db);
      const anew = keeper.keep(sessionSecretPlace(), makeSecret(unit));
      replaceSecret(unit.db, { name: SESSION_SECRET, ...anew, atMs: nowMs });
      const detail = { former: keepFormer ? 'kept' : 'ended' };
      recordEvent(unit, 'session_secret_rotated', { actor: by, detail });
      return { formerValidUntilMs: keepFormer ? validUntilMs : null };
    },
  };
}

function mintSecret(unit: UnitContext, keeper: SecretKeeper): string {
  const value = makeSecret(unit);
  const kept = keeper.keep(sessionSecretPlace(), value);
  saveSecret(unit.db, { name: SESSION_SECRET, ...kept, atMs: unit.now() });
  recordEvent(unit, 'session_secret_minted', {});
  return value;
}

function makeSecret(unit: UnitContext): string {
  return base64url.encode(unit.random(SESSION_SECRET_BYTES));
}

/**
 * Makes the function that tells one list of secrets from another. It differs whenever the list does: with a rotation,
 * when a former secret's time is over, and after a restore of the directory, where a counter would repeat itself.
 * 96 bits of a hash say nothing about secrets of 256, nor about what they are sealed as.
 */
function makeFingerprint(): (keptSecrets: string) => string {
  // Every request asks, and the list is nearly always the one from before.
  let last = { text: '', fingerprint: NONE };
  return (text) => {
    if (text !== last.text) {
      const digest = createHash('sha256').update(text).digest('base64url');
      last = { text, fingerprint: text === '' ? NONE : digest.slice(0, 16) };
    }
    return last.fingerprint;
  };
}

function rotatedTooOften(): PlatformError {
  return new PlatformError(
    'conflict',
    'The session secret was replaced five times in eight days. Wait until the oldest has run out.',
    { reason: 'rotated_too_often' },
  );
}

/** A pair of null removes the key. */
type Change = readonly [key: string, value: string | null];

/** The names are refused before the schema runs, which leaves the first of them out without a word. */
function parsePatch(config: unknown): ReadonlyMap<string, string | null> {
  const odd = NO_KEYS.find(
    (key) => typeof config === 'object' && config !== null && Object.hasOwn(config, key),
  );
  if (odd !== undefined)
    throw new PlatformError('validation_failed', `A setting cannot be named ${odd}.`, {
      errors: [{ path: odd, message: 'is not a name for a setting' }],
    });
  return new Map(Object.entries(parseInput('The config', configPatch, config)));
}

/** What a patch changes, a client secret that it leaves without its owner included. */
function changesOf({
  kept,
  present,
  patch,
}: {
  readonly kept: readonly SettingRow[];
  /** Those of them that could be opened. */
  readonly present: Readonly<Record<string, string>>;
  readonly patch: ReadonlyMap<string, string | null>;
}): Change[] {
  const before = new Map(Object.entries(present));
  const unreadable = new Set(kept.map(({ key }) => key).filter((key) => !before.has(key)));
  const wanted = new Map(patch);
  if (!wanted.has(CLIENT_SECRET_KEY) && movesClient(present, patch)) wanted.set(CLIENT_SECRET_KEY, null);
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
  const message = `A scope keeps at most ${CONFIG_KEYS_MAX} settings; this delivery would make it ${count}.`;
  return new PlatformError('validation_failed', message, {
    errors: [{ path: '', message: `must leave at most ${CONFIG_KEYS_MAX} settings` }],
  });
}
