/**
 * The search of a list: the records that have all words, in their own texts or in those of the records that they name. Each
 * source of hits is read from an index to a bound, so that a search among a million records takes as long as among a thousand.
 */
import type { SqlDatabase, SqlValue } from '@freehold/store';
import type { Field } from './fields.ts';
import { ARCHIVED, IMPORTED, LIVE } from './partitions.ts';
import type { AnyRecords } from './records.ts';
import { type RecordTable, wordTable } from './tables.ts';
import { endOfPrefix } from './words.ts';

/** The hits of a search that are looked at. Of more, the list shows a part and says so. */
export const HITS_MAX = 1_000;
/** The words that are read for the hits of several words: most records may have one of them and not the other. */
const CANDIDATES_MAX = 10_000;

/** The records that a caller may read. */
export type Reach = 'all' | readonly string[];

/** The related records that a caller may read: by the names of others, nothing is found. */
export interface SearchedRelation {
  readonly reach: Reach;
  /** Whether imported ones that have not moved yet are there for readers. */
  readonly isImportShown: boolean;
}

export interface Search {
  readonly archived: boolean;
  /** Whether imported records that have not moved yet are among them. */
  readonly isImportShown: boolean;
  readonly reach: Reach;
  readonly related: ReadonlyMap<Field, SearchedRelation>;
}

export interface Hits {
  readonly ids: readonly string[];
  /** Whether there are more than are looked at. */
  readonly cut: boolean;
}

interface Query {
  readonly text: string;
  readonly params: readonly SqlValue[];
}

/** Returns the records that have all words, the longest of which comes first. */
export function hitsOf(
  sql: Pick<SqlDatabase, 'get' | 'all'>,
  table: RecordTable,
  search: Search,
  words: readonly string[],
): Hits {
  const [first, ...others] = words;
  // Signs alone are no words: nothing has them.
  if (first === undefined) return { ids: [], cut: false };
  const read = (from: Query, conditions: readonly Query[]): string[] => {
    const where = conditions.length === 0 ? '' : ` WHERE ${conditions.map(({ text }) => text).join(' AND ')}`;
    const rows = sql.all<{ id: string }>(
      `SELECT DISTINCT h.id FROM (${from.text}) h${where} LIMIT ?`,
      ...from.params,
      ...conditions.flatMap(({ params }) => params),
      HITS_MAX + 1,
    );
    return rows.map(({ id }) => id);
  };
  const hits = (ids: readonly string[], isCut: () => boolean): Hits => ({
    ids: ids.slice(0, HITS_MAX),
    cut: ids.length > HITS_MAX || isCut(),
  });
  const has = (word: string): Query => hasWord(table, search, word);
  // Records that the caller may not read are not counted either.
  if (search.reach !== 'all')
    return hits(
      read(
        { text: 'SELECT value AS id FROM json_each(?)', params: [JSON.stringify(search.reach)] },
        words.map(has),
      ),
      () => false,
    );
  const sources = sourcesOf(table, search, first, others.length === 0 ? HITS_MAX + 1 : CANDIDATES_MAX);
  const ids = read(union(sources.map(({ found }) => found)), others.map(has));
  const isCut = (): boolean =>
    sources.some(({ bounds }) =>
      bounds.some(
        ({ text, params, max }) =>
          (sql.get<{ n: number }>(`SELECT count(*) AS n FROM (${text})`, ...params)?.n ?? 0) >= max,
      ),
    );
  return hits(ids, isCut);
}

/** Hits from one index, and what was read for them: where as much was found as is read, some may be missing. */
interface Source {
  readonly found: Query;
  readonly bounds: readonly (Query & { readonly max: number })[];
}

/** Returns the sources of the records with a word, each of so many at most. */
function sourcesOf(table: RecordTable, search: Search, word: string, max: number): readonly Source[] {
  const parts = partsOf(search);
  const own = (): Source => {
    const found = {
      text: `SELECT w.id FROM ${wordTable(table)} w WHERE w.archived ${parts} AND ${BEGINS} LIMIT ?`,
      params: [...rangeOf(word), max],
    };
    return { found, bounds: [{ ...found, max }] };
  };
  const named = (field: Field): Source => {
    const relatedMax = HITS_MAX + 1;
    const related = relatedWith(field, search, word, relatedMax);
    // CROSS JOIN keeps the order: the few related records lead to those that name them.
    const found = {
      text: `SELECT t.id FROM (${related.text}) k CROSS JOIN ${table.name} t ON t.archived ${parts} AND t.${field.column} = k.id LIMIT ?`,
      params: [...related.params, max],
    };
    return {
      found,
      bounds: [
        { ...found, max },
        { ...related, max: relatedMax },
      ],
    };
  };
  return [...(table.search.length > 0 ? [own()] : []), ...table.searchRelations.map(named)];
}

/** Returns the related records with a word, so many at most. Archived ones are shown by name, and so are found by it. */
function relatedWith(field: Field, { related }: Search, word: string, max: number): Query {
  const { words, parts } = namesOf(field, related);
  const { reach } = related.get(field) ?? NONE;
  if (reach === 'all')
    return {
      text: `SELECT DISTINCT w.id FROM ${words} w WHERE w.archived ${parts} AND ${BEGINS} LIMIT ?`,
      params: [...rangeOf(word), max],
    };
  return {
    text: `SELECT r.value AS id FROM json_each(?) r WHERE EXISTS (
      SELECT 1 FROM ${words} w INDEXED BY ${words}_by_id WHERE w.id = r.value AND w.archived ${parts} AND ${BEGINS}) LIMIT ?`,
    params: [JSON.stringify(reach), ...rangeOf(word), max],
  };
}

/** Returns the condition that a record `h` has a word, or names one that has it. */
function hasWord(table: RecordTable, search: Search, word: string): Query {
  const parts = partsOf(search);
  const own = (): Query => {
    const words = wordTable(table);
    return {
      text: `EXISTS (SELECT 1 FROM ${words} w INDEXED BY ${words}_by_id WHERE w.id = h.id AND w.archived ${parts} AND ${BEGINS})`,
      params: rangeOf(word),
    };
  };
  const named = (field: Field): Query => {
    const { words, parts: relatedParts } = namesOf(field, search.related);
    const { reach } = search.related.get(field) ?? NONE;
    const name = `t.${field.column}`;
    return {
      text: `EXISTS (SELECT 1 FROM ${table.name} t CROSS JOIN ${words} w INDEXED BY ${words}_by_id ON w.id = ${name}
        WHERE t.id = h.id AND t.archived ${parts} AND w.archived ${relatedParts} AND ${BEGINS}${
          reach === 'all' ? '' : ` AND ${name} IN (SELECT value FROM json_each(?))`
        })`,
      params: [...rangeOf(word), ...(reach === 'all' ? [] : [JSON.stringify(reach)])],
    };
  };
  const ways = [...(table.search.length > 0 ? [own()] : []), ...table.searchRelations.map(named)];
  return {
    text: `(${ways.map(({ text }) => text).join(' OR ')})`,
    params: ways.flatMap(({ params }) => params),
  };
}

/** Of a relation about which nothing is said, the caller may read none. */
const NONE: SearchedRelation = { reach: [], isImportShown: false };

function namesOf(
  field: Field,
  related: Search['related'],
): { readonly words: string; readonly parts: string } {
  const { isImportShown } = related.get(field) ?? NONE;
  return {
    words: wordTable((field.target as AnyRecords).table),
    parts: isImportShown ? `IN (${LIVE}, ${ARCHIVED}, ${IMPORTED})` : `IN (${LIVE}, ${ARCHIVED})`,
  };
}

function partsOf({ archived, isImportShown }: Search): string {
  if (archived) return `= ${ARCHIVED}`;
  return isImportShown ? `IN (${LIVE}, ${IMPORTED})` : `= ${LIVE}`;
}

/** The condition that a word of `w` begins as searched. */
const BEGINS = 'w.word >= ? AND w.word < ?';

function rangeOf(word: string): readonly SqlValue[] {
  return [word, endOfPrefix(word)];
}

function union(queries: readonly Query[]): Query {
  return {
    text: queries.map(({ text }) => `SELECT id FROM (${text})`).join(' UNION ALL '),
    params: queries.flatMap(({ params }) => params),
  };
}
