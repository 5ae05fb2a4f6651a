/**
 * Moves a copy of one scope into another one of the same tenant. Its data is sealed anew under keys of the target, so
 * that erasing a person in one scope does not reach the other.
 */
import { PlatformError, type ScopeRef, type ShredReceipt } from '@freehold/contracts';
import { open, type SqlDatabase, seal } from '@freehold/store';
import { eventPlace } from '../events/store.ts';
import { answerPlace } from '../idempotency/idempotency.ts';
import { type Shredded, valuePlace } from '../keys/subject-keys.ts';
import type { SubjectKey, Vault } from '../keys/vault.ts';
import type { Vertical } from '../vertical/vertical.ts';
import { REDACT_SQL } from './erasures.ts';

/** The facts about a staged copy. */
export interface StagedScope {
  /** The scope that was copied; null in copies from before this was stored, which count as this scope's own. */
  readonly scopeId: string | null;
  /** Every person with sealed data in it. Empty unless it is another scope's. */
  readonly subjects: readonly string[];
}

/** The keys on both sides. */
export interface MovingKeys {
  readonly from: Readonly<Record<string, SubjectKey>>;
  readonly to: Readonly<Record<string, SubjectKey>>;
}

/** Ends the pass that only collects the persons for whom a vertical seals. */
class Looked extends Error {
  override readonly name = 'Looked';
}

/** Reads whose copy it is, and whose keys it needs. Changes nothing. */
export function lookAtStaged(staged: SqlDatabase, vertical: Vertical, scopeId: string): StagedScope {
  const row = staged.get<{ scopeId: string | null }>('SELECT scope_id AS scopeId FROM _spine_scope');
  const from = row?.scopeId ?? null;
  if (from === null || from === scopeId) return { scopeId: from, subjects: [] };
  const subjects = new Set(
    staged
      .all<{ subject: string }>(
        `SELECT DISTINCT subject FROM _spine_events WHERE subject IS NOT NULL
         UNION SELECT subject FROM _spine_subject_keys
         UNION SELECT subject FROM _spine_unbound_keys
         UNION SELECT j.value AS subject FROM _spine_idempotency i, json_each(i.subjects) j
           WHERE i.subjects IS NOT NULL`,
      )
      .map(({ subject }) => subject),
  );
  if (vertical.reseal) {
    const { reseal } = vertical;
    try {
      staged.savepoint(() => {
        reseal({
          sql: staged,
          reseal: (subject, _place, sealed) => {
            subjects.add(subject);
            return sealed;
          },
        });
        throw new Looked();
      });
    } catch (error) {
      if (!(error instanceof Looked)) throw error;
    }
  }
  return { scopeId: from, subjects: [...subjects].sort() };
}

/** Fetches the keys of both sides. A person has none where they were erased. */
export async function fetchMovingKeys(vault: Vault, to: ScopeRef, from: StagedScope): Promise<MovingKeys> {
  const source = { tenantId: to.tenantId, scopeId: from.scopeId as ScopeRef['scopeId'] };
  return {
    from: await vault.keys(source, from.subjects),
    to: await vault.keys(to, from.subjects),
  };
}

/** Seals all data of a staged copy anew. Data of erased persons is redacted. */
export function moveIn(
  staged: SqlDatabase,
  {
    vertical,
    from,
    to,
    keys,
    random,
    nowMs,
  }: {
    readonly vertical: Vertical;
    readonly from: string;
    readonly to: string;
    readonly keys: MovingKeys;
    readonly random: (bytes: number) => Uint8Array;
    readonly nowMs: number;
  },
): void {
  const opened = (subject: string, place: string, sealed: string): string | null => {
    const found = keys.from[subject];
    if (!found || 'shredded' in found) return null;
    for (const each of [found.key, ...(found.more ?? [])]) {
      const text = open(Buffer.from(each, 'base64url'), `${from}/${subject}/${place}`, sealed);
      if (text !== null) return text;
    }
    throw new PlatformError(
      'validation_failed',
      'This copy comes from another installation: its sealed data does not open with the keys that are here.',
      { reason: 'copy_foreign' },
    );
  };
  const sealed = (subject: string, place: string, text: string): string | null => {
    const found = keys.to[subject];
    if (!found || 'shredded' in found) return null;
    return seal(Buffer.from(found.key, 'base64url'), `${to}/${subject}/${place}`, text, random(12));
  };
  const anew = (subject: string, place: string, text: string): string | null => {
    const plain = opened(subject, place, text);
    return plain === null ? null : sealed(subject, place, plain);
  };

  for (const { id, subject, payload } of staged.all<{ id: string; subject: string; payload: string }>(
    `SELECT id, subject, payload FROM _spine_events
     WHERE subject IS NOT NULL AND payload IS NOT NULL AND payload NOT LIKE '{%'`,
  )) {
    const text = anew(subject, eventPlace(id), payload);
    if (text !== null) staged.run('UPDATE _spine_events SET payload = ? WHERE id = ?', text, id);
    else staged.run(REDACT_SQL, JSON.stringify(shreddedOf(keys, subject)), subject);
  }
  for (const row of staged.all<{
    principal: string;
    operation: string;
    key: string;
    result: string;
    subjects: string;
  }>(
    'SELECT principal, operation, key, result, subjects FROM _spine_idempotency WHERE subjects IS NOT NULL',
  )) {
    const place = answerPlace(row);
    const subjects = JSON.parse(row.subjects) as string[];
    const plain = subjects.reduceRight<string | null>(
      (text, subject) => (text === null ? null : opened(subject, place, text)),
      row.result,
    );
    const result = subjects.reduce<string | null>(
      (text, subject) => (text === null ? null : sealed(subject, place, text)),
      plain,
    );
    const where = 'WHERE principal = ? AND operation = ? AND key = ?';
    const id = [row.principal, row.operation, row.key] as const;
    if (result === null) staged.run(`DELETE FROM _spine_idempotency ${where}`, ...id);
    else staged.run(`UPDATE _spine_idempotency SET result = ? ${where}`, result, ...id);
  }
  vertical.reseal?.({
    sql: staged,
    reseal: (subject, place, text) => anew(subject, valuePlace(place), text),
  });
  // An older copy of the source may hold unsealed data of a person who was erased there since.
  for (const [subject, key] of Object.entries(keys.from))
    if ('shredded' in key) vertical.onShred?.({ sql: staged, now: nowMs }, subject);
  // The erasures and the keys of the source do not concern this scope.
  staged.run('DELETE FROM _spine_shredded');
  staged.run('DELETE FROM _spine_subject_keys');
  staged.run('DELETE FROM _spine_unbound_keys');
}

/** Returns what stands for a payload whose person was erased on either side. */
function shreddedOf({ from, to }: MovingKeys, subject: string): Shredded {
  const receipt = receiptIn(from[subject]) ?? receiptIn(to[subject]);
  return { $shredded: { at: receipt?.shreddedAt ?? '' } };
}

function receiptIn(key: SubjectKey | undefined): ShredReceipt | undefined {
  return key && 'shredded' in key ? key.shredded : undefined;
}
