/** The version of an instance's configuration: every request compares it with the copy that its process holds. */
import { createHash } from 'node:crypto';
import type { SqlDatabase, UnitContext } from '@freehold/store';
import { SESSION_SECRET } from './store.ts';

/** Stands for a scope without a delivery, and for a tenant without a secret. */
const NONE = 'none';

/**
 * Makes the function that returns the version of a scope's configuration. It changes with a delivery, with a rotation
 * of the session secret, when a former secret expires, and after a restore of the directory, where a counter would
 * repeat itself. It names the tenant, so that two tenants never share one.
 */
export function makeConfigVersion(unit: UnitContext): (scopeId: string) => string {
  // The list of secrets is nearly always the one from before.
  let last = { secrets: '', fingerprint: NONE };
  return (scopeId) => {
    const { delivered, secrets } = loadMarks(unit.db, { scopeId, nowMs: unit.now() });
    if (secrets !== last.secrets) last = { secrets, fingerprint: fingerprintOf(secrets) };
    return `${unit.key}/${delivered ?? NONE}/${last.fingerprint}`;
  };
}

/** 96 bits of a hash say nothing about secrets of 256, nor about their sealed form. */
function fingerprintOf(secrets: string): string {
  return secrets === '' ? NONE : createHash('sha256').update(secrets).digest('base64url').slice(0, 16);
}

/** Reads both marks by one statement. Secrets are read in their stored form, which opens nothing. */
function loadMarks(
  db: SqlDatabase,
  { scopeId, nowMs }: { readonly scopeId: string; readonly nowMs: number },
): { readonly delivered: string | null; readonly secrets: string } {
  const row = db.get<{ delivered: string | null; secret: string | null; formers: string | null }>(
    `SELECT (SELECT version FROM config_versions WHERE scope_id = ?) AS delivered,
       (SELECT value FROM secrets WHERE name = ?) AS secret,
       (SELECT group_concat(value, ' ') FROM
         (SELECT value FROM former_session_secrets WHERE valid_until > ? ORDER BY id DESC)) AS formers`,
    scopeId,
    SESSION_SECRET,
    nowMs,
  );
  const { delivered = null, secret = null, formers = null } = row ?? {};
  // Neither a secret nor its sealed form has a space in it.
  return { delivered, secrets: secret === null ? '' : `${secret} ${formers ?? ''}` };
}
