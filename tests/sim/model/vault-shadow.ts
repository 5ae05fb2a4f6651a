/** The shadow of a tenant's vault: a key is made once, stays the same, and is gone for good once it is destroyed. */
import { createHash } from 'node:crypto';
import { canonicalJson, toTimestamp } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { nameOf, summary, type WatchedCall } from '../engine/watch.ts';
import { makeShadow, type Shadow, type ShadowParts } from './shadow.ts';
import { difference, type Mirror } from './state.ts';
import { makeTables } from './tables.ts';

interface KeyRow {
  readonly scopeId: string;
  readonly subject: string;
  readonly digest: string | null;
  readonly shreddedAt: number | null;
  readonly hasKey: 0 | 1;
}

export interface VaultShadow extends Shadow {
  keyOf(scopeId: string, person: string): Uint8Array | 'destroyed' | undefined;
  /** Returns the stored forms of destroyed keys: no file may contain them. */
  remains(): readonly string[];
}

const MIRRORS: readonly Mirror[] = [
  {
    table: 'keys',
    invariant: 'all_or_nothing',
    sql: `SELECT scope_id AS scopeId, subject, digest, shredded_at AS shreddedAt, slot IS NOT NULL AS hasKey
      FROM subject_keys`,
    key: (row) => `${row.scopeId} ${row.subject}`,
  },
];

type Given = { readonly key: string } | { readonly shredded: unknown };

export function makeVaultShadow(
  parts: Omit<
    ShadowParts,
    'tables' | 'execute' | 'requireNothingLeft' | 'difference' | 'forget' | 'admitted'
  > & {
    readonly now: () => number;
  },
): VaultShadow {
  const { unit, judge, now } = parts;
  const tables = makeTables();
  const keys = tables.table<KeyRow>('keys');
  const texts = tables.table<string>('texts');
  /** The stored form of each key. */
  const wrapped = tables.table<string>('wrapped');

  const receiptOf = ({ subject, digest, shreddedAt }: KeyRow) => ({
    subject,
    keyDigest: digest,
    shreddedAt: toTimestamp(shreddedAt ?? 0),
  });

  /** Expects the key that a person has, or a new one. */
  const expected = (scopeId: string, subject: string, given: Given | undefined): unknown => {
    const name = `${scopeId} ${subject}`;
    const row = keys.get(name);
    if (row?.hasKey === 0) return { shredded: receiptOf(row) };
    if (row) return { key: texts.get(name) };
    const key = given && 'key' in given ? given.key : '';
    if (texts.values().includes(key)) judge.fail('erasure', `${nameOf(unit)} gave the same key twice`);
    const digest = createHash('sha256').update(Buffer.from(key, 'base64url')).digest('hex');
    keys.set(name, { scopeId, subject, digest, shreddedAt: null, hasKey: 1 });
    texts.set(name, key);
    return { key };
  };

  const learnWrapped = (db: SqlDatabase, scopeId: string, subjects: readonly string[]): void => {
    for (const subject of subjects) {
      const row = db.get<{ wrapped: string | null }>(
        'SELECT wrapped FROM subject_keys JOIN key_slots USING (slot) WHERE scope_id = ? AND subject = ?',
        scopeId,
        subject,
      );
      if (row?.wrapped) wrapped.set(`${scopeId} ${subject}`, row.wrapped);
    }
  };

  const execute = ({ method, input, outcome }: WatchedCall, db: SqlDatabase): void => {
    if (!outcome) return;
    const given = input as { scopeId: string; subjects?: { subject: string }[]; subject: string };
    const { scopeId, subject } = given;
    const subjects = (given.subjects ?? []).map((each) => each.subject);
    if (!outcome.ok) throw judge.fail('outcome', `${nameOf(unit)}.${method} came to ${summary(outcome)}`);
    const value = outcome.value as { readonly keys: Record<string, Given> };
    const wanted = (): unknown => {
      if (method === 'supply') {
        const made = subjects.some((each) => !keys.get(`${scopeId} ${each}`));
        return {
          keys: Object.fromEntries(subjects.map((each) => [each, expected(scopeId, each, value.keys[each])])),
          made,
        };
      }
      if (method === 'shredded')
        return keys
          .values()
          .filter((row) => row.scopeId === scopeId && row.shreddedAt !== null)
          .map(receiptOf);
      const before = keys.get(`${scopeId} ${subject}`);
      const after: KeyRow =
        before?.shreddedAt != null
          ? before
          : { scopeId, subject, digest: before?.digest ?? null, shreddedAt: now(), hasKey: 0 };
      keys.set(`${scopeId} ${subject}`, after);
      return receiptOf(after);
    };
    const [found, right] = [canonicalJson(value), canonicalJson(wanted())];
    if (found !== right)
      judge.fail('erasure', `${nameOf(unit)}.${method} answered ${found} instead of ${right}`);
    if (method === 'supply') learnWrapped(db, scopeId, subjects);
  };

  const shadow = makeShadow({
    ...parts,
    tables,
    execute,
    requireNothingLeft: () => undefined,
    difference: (db: SqlDatabase, contents) => difference(db, contents, MIRRORS),
    forget: () => undefined,
    admitted: (_db, contents) => contents,
  });
  return {
    ...shadow,
    get bookmarks() {
      return shadow.bookmarks;
    },
    get isSettled() {
      return shadow.isSettled;
    },
    remains: () =>
      keys
        .keys()
        .filter((name) => keys.get(name)?.hasKey === 0)
        .flatMap((name) => wrapped.get(name) ?? []),
    keyOf: (scopeId, person) => {
      const row = keys.get(`${scopeId} ${person}`);
      if (!row) return undefined;
      return row.hasKey === 0
        ? 'destroyed'
        : Buffer.from(texts.get(`${scopeId} ${person}`) ?? '', 'base64url');
    },
  };
}
