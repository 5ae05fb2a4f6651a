/** Makes a database out of a text copy, without trusting the copy's own description. */
import { createHash, type Hash } from 'node:crypto';
import { PAUSE_BYTES, pause } from '../lib/pauses.ts';
import { linesOf } from './lines.ts';
import {
  type BoundValue,
  decodeValue,
  type NdjsonHeader,
  type NdjsonTrailer,
  parseHeader,
  parseLine,
} from './ndjson.ts';
import { copyDamaged, copyForeign } from './refusals.ts';
import { make, putUpTables } from './schema.ts';
import { COUNTER_TABLE, quoted } from './tables.ts';

export interface Loaded {
  readonly tables: number;
  readonly rows: number;
}

interface Target {
  readonly insert: (values: readonly BoundValue[]) => void;
  readonly columns: number;
  readonly hash: Hash;
  rows: number;
}

/**
 * Loads a copy into an empty database, with pauses. Call it in a transaction, so that nothing stays of a refused copy.
 * @throws PlatformError `validation_failed`, reason `copy_damaged` or `copy_foreign`.
 */
export async function load(sql: SqlStorage, parts: Iterable<Uint8Array>, kind: string): Promise<Loaded> {
  const whole = createHash('sha256');
  let loading: ReturnType<typeof startLoading> | undefined;
  let isEnded = false;
  let sincePause = 0;
  for (const line of linesOf(parts)) {
    if (isEnded) throw copyDamaged('something follows its end');
    if (!loading) {
      const header = parseHeader(line);
      if (header.kind !== kind)
        throw copyForeign(`it is one of another kind, ${JSON.stringify(header.kind)}`);
      loading = startLoading(sql, header);
    } else {
      const content = parseLine(line) as Partial<NdjsonTrailer> | null;
      if (content?.end === true) {
        if (content.sha256 !== whole.digest('hex')) throw copyDamaged('its digest is another');
        isEnded = true;
        continue;
      }
      loading.row(line, content);
    }
    whole.update(line);
    sincePause += line.length;
    if (sincePause < PAUSE_BYTES) continue;
    sincePause = 0;
    await pause();
  }
  if (!loading || !isEnded) throw copyDamaged('its end is missing');
  return loading.finish();
}

function startLoading(sql: SqlStorage, { schema, tables }: NdjsonHeader) {
  const rest = putUpTables(sql, schema);
  const targets: Target[] = tables.map(({ name, columns }) => ({
    insert: makeInsert(sql, name, columns),
    columns: columns.length,
    hash: createHash('sha256'),
    rows: 0,
  }));
  return {
    row: (line: Uint8Array, content: unknown): void => {
      const { t, r } = (content ?? {}) as { readonly t?: unknown; readonly r?: unknown };
      const target = typeof t === 'number' ? targets[t] : undefined;
      if (!target || !Array.isArray(r) || r.length !== target.columns)
        throw copyDamaged('a line of it is no row of a table');
      // The insertion of earlier rows has set counters already, in an order that is not the copy's.
      if (target.rows === 0 && tables[t as number]?.name === COUNTER_TABLE)
        sql.exec(`DELETE FROM ${COUNTER_TABLE}`);
      target.rows += 1;
      target.hash.update(line);
      target.insert(r.map(decodeValue));
    },
    finish: (): Loaded => {
      for (const [index, { name, rows, sha256 }] of tables.entries()) {
        const loaded = targets[index] as Target;
        if (loaded.rows !== rows || loaded.hash.digest('hex') !== sha256)
          throw copyDamaged(`the rows of ${JSON.stringify(name)} are not those that were counted`);
      }
      make(sql, rest);
      const own = tables.filter(({ name }) => name !== COUNTER_TABLE);
      return { tables: own.length, rows: own.reduce((sum, { rows }) => sum + rows, 0) };
    },
  };
}

/** An INTEGER needs a cast: workerd binds every number as a REAL, and no integer beyond the safe ones. */
function makeInsert(sql: SqlStorage, table: string, columns: readonly string[]): Target['insert'] {
  const into = `INSERT INTO ${quoted(table)} (${columns.map(quoted).join(', ')}) VALUES `;
  return (values) => {
    const places = values.map(({ isInteger }) => (isInteger ? 'CAST(? AS INTEGER)' : '?'));
    try {
      sql.exec(`${into}(${places.join(', ')})`, ...values.map(({ value }) => value));
    } catch (cause) {
      throw copyDamaged('a row of it does not fit its table', cause);
    }
  };
}
